"""The drawings of ``docs/engine.md``.

python docs/drawings/engine.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from svg import AMBER, GREEN, INK, LIGHT_AMBER, LIGHT_GREEN, LINE, MUTED, Drawing

IMAGES = Path(__file__).parents[1] / "images"


def rank_codes() -> Drawing:
    """Draw a column, its sorted distinct values, and the column of their ranks."""
    picture = Drawing(760, 300, "A column of numbers, its distinct values, and its codes")
    column = ["4.7", "0.2", "1.4", "0.2", "missing", "1.4"]
    distinct = ["0.2", "1.4", "4.7", "missing"]

    picture.text(75, 36, "a column", anchor="middle", bold=True)
    for row, value in enumerate(column):
        picture.cell(35, 52 + 32 * row, 80, 26, value)
    picture.line([(140, 150), (205, 150)], arrow=True)
    picture.text(172, 140, "sort", anchor="middle", size=12, fill=MUTED)

    picture.text(310, 36, "sorted distinct values", anchor="middle", bold=True)
    for code, value in enumerate(distinct):
        y = 68 + 40 * code
        picture.cell(230, y, 80, 26, value)
        picture.line([(318, y + 13), (352, y + 13)], arrow=True)
        picture.cell(360, y, 34, 26, str(code), fill=LIGHT_GREEN, ink=GREEN)
    picture.text(210, 254, "a node with all rows has only these thresholds:", size=12, fill=MUTED)
    picture.text(210, 274, "(0.2 + 1.4)/2 = 0.8 and (1.4 + 4.7)/2 = 3.05", size=12, fill=GREEN)
    picture.line([(420, 150), (485, 150)], arrow=True)
    picture.text(452, 140, "look up", anchor="middle", size=12, fill=MUTED)

    picture.text(545, 36, "its codes", anchor="middle", bold=True)
    for row, value in enumerate(column):
        code = str(distinct.index(value))
        picture.cell(528, 52 + 32 * row, 34, 26, code, fill=LIGHT_GREEN, ink=GREEN)
    for place, words in enumerate(
        ["one byte each for", "up to 255 distinct", "values, two bytes", "for more"]
    ):
        picture.text(590, 128 + 20 * place, words, size=13, fill=MUTED)
    return picture


def two_layouts() -> Drawing:
    """Draw the same codes by column and by row, and what a node reads from each."""
    picture = Drawing(760, 330, "Codes by column for large nodes, by row for small ones")
    n_rows, n_features, side = 8, 9, 24
    large, small = {0, 1, 2, 4, 5, 6, 7}, {2, 5}
    feature, candidates = 3, {1, 3, 6, 7}
    for left, title, notes in (
        (
            70,
            "by column",
            [
                "A large node reads one feature of",
                "many rows. By column, these values",
                "lie next to each other.",
            ],
        ),
        (
            440,
            "by row",
            [
                "A small node reads some features of",
                "few rows. By row, these values lie",
                "close to each other.",
            ],
        ),
    ):
        by_column = title == "by column"
        picture.text(left, 36, title, bold=True)
        picture.text(left + 96, 36, "→ features, ↓ rows", size=12, fill=MUTED)
        for row in range(n_rows):
            for column in range(n_features):
                if by_column:
                    near, wanted = column == feature, column == feature and row in large
                else:
                    near, wanted = row in small, row in small and column in candidates
                picture.box(
                    left + column * side,
                    52 + row * side,
                    side - 3,
                    side - 3,
                    fill=GREEN if wanted else LIGHT_GREEN if near else "#ffffff",
                    stroke=LINE,
                )
        for place, words in enumerate(notes):
            picture.text(left, 272 + 19 * place, words, size=13, fill=MUTED)
    picture.box(310, 60, 14, 14, fill=GREEN)
    picture.text(330, 72, "read", size=12)
    picture.box(310, 84, 14, 14, fill=LIGHT_GREEN, stroke=LINE)
    picture.text(330, 96, "in the same", size=12)
    picture.text(330, 111, "cache lines", size=12)
    return picture


def scan() -> Drawing:
    """Draw one pass over sorted samples: the sums on both sides, and the gain at every cut."""
    labels = "AABAAABBABBB"
    n = len(labels)

    def gini_risk(counts: tuple[int, int]) -> float:
        total = sum(counts)
        return total - sum(c * c for c in counts) / total

    whole = (labels.count("A"), labels.count("B"))
    cuts = []
    for cut in range(1, n):
        left = (labels[:cut].count("A"), labels[:cut].count("B"))
        right = (whole[0] - left[0], whole[1] - left[1])
        cuts.append((left, right, gini_risk(whole) - gini_risk(left) - gini_risk(right)))
    gains = [gain for *_, gain in cuts]
    best = gains.index(max(gains))

    picture = Drawing(760, 384, "One pass over the samples gives the gain at every cut")
    picture.text(30, 36, "samples sorted by a feature's codes, with their classes", bold=True)
    start, step = 150, 48
    for place, label in enumerate(labels):
        fill, ink = (LIGHT_GREEN, GREEN) if label == "A" else (LIGHT_AMBER, AMBER)
        picture.cell(start + place * step, 52, 34, 30, label, fill=fill, ink=ink)

    def at_cut(cut: int) -> float:
        return start + (cut + 1) * step - 7

    picture.text(30, 116, "Σ n² to the left", size=13, fill=MUTED)
    picture.text(30, 142, "Σ n² to the right", size=13, fill=MUTED)
    picture.text(30, 170, "gain", size=13, fill=MUTED)
    bottom, height = 300, 115
    for cut, (left, right, gain) in enumerate(cuts):
        x = at_cut(cut)
        ink = GREEN if cut == best else INK
        for y, side in ((116, left), (142, right)):
            total = str(sum(c * c for c in side))
            picture.text(x, y, total, anchor="middle", size=13, mono=True, fill=ink)
        tall = height * gain / max(gains)
        picture.box(
            x - 11, bottom - tall, 22, tall, fill=GREEN if cut == best else LIGHT_GREEN, radius=2
        )
    picture.line([(start, bottom), (start + n * step - 14, bottom)], stroke=LINE)
    x = at_cut(best)
    picture.line([(x, 50), (x, 98)], stroke=GREEN, dashes="4 3")
    picture.text(x, bottom + 18, "best cut", anchor="middle", size=13, fill=GREEN, bold=True)
    for place, words in enumerate(
        [
            "Moving a sample from right to left changes two numbers: Σ n² on the left by 2n + 1, on the right by",
            "1 − 2n, with n the count of its class on that side. This holds for any number of classes.",
        ]
    ):
        picture.text(30, 346 + 19 * place, words, size=13, fill=MUTED)
    return picture


def stopping() -> Drawing:
    """Draw the gain of a split with Gini and with the negative exponential criterion."""
    picture = Drawing(760, 344, "The same split gains something with Gini and nothing with NE")
    children, parent, lam = (0.08, 0.34), 0.24, 0.75
    kink = lam**2 / (1 + lam**2)

    def gini(p: float) -> float:
        return 2 * p * (1 - p)

    def negative_exponential(p: float) -> float:
        return min(p, 1 - p, lam * math.sqrt(p * (1 - p)))

    charts: list[tuple[float, str, Callable[[float], float]]] = [
        (60, "Gini", gini),
        (430, "NE, λ = 0.75", negative_exponential),
    ]
    for left, title, impurity in charts:

        def place(p: float, height: float, left: float = left) -> tuple[float, float]:
            return left + 270 * p, 240 - 370 * height

        picture.text(left, 36, title, bold=True)
        picture.line([(left, 240), (left + 270, 240)], stroke=LINE)
        for share in (0, 0.5, 1):
            picture.text(
                left + 270 * share, 258, f"{share:g}", anchor="middle", size=12, fill=MUTED
            )
        picture.text(
            left + 135, 276, "share of the second class", anchor="middle", size=12, fill=MUTED
        )
        shares = [math.sin(math.pi * i / 400) ** 2 for i in range(201)]
        picture.line([place(p, impurity(p)) for p in shares], stroke=INK, width=2)
        ends = [(p, impurity(p)) for p in children]
        slope = (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0])
        kept = ends[0][1] + slope * (parent - ends[0][0])
        picture.line([place(*end) for end in ends], stroke=AMBER, width=2)
        for end in ends:
            picture.circle(*place(*end), 4.5, fill=AMBER)
        x, y = place(parent, kept)
        gain = impurity(parent) - kept
        top = place(parent, impurity(parent))[1]
        picture.circle(x, top, 4.5, fill=GREEN)
        if gain > 1e-9:
            picture.line([(x, y), (x, top)], stroke=GREEN, width=4)
            picture.text(x - 12, top - 14, "gain", anchor="end", size=13, fill=GREEN, bold=True)
            notes = [
                "The curve bends everywhere. Children that",
                "differ gain something: the node is split.",
            ]
        else:
            picture.text(x - 12, top - 14, "no gain", anchor="end", size=13, fill=GREEN, bold=True)
            foot = left + 270 * kink
            picture.line([(foot, 240), (foot, 60)], stroke=MUTED, dashes="3 4")
            picture.text(foot + 6, 226, f"λ²/(1 + λ²) = {kink:.2f}", size=12, fill=MUTED)
            notes = [
                "Straight up to the kink. Children below it",
                "gain nothing: the node stays a leaf.",
            ]
        for line, words in enumerate(notes):
            picture.text(left, 306 + 19 * line, words, size=13, fill=MUTED)
    picture.circle(350, 70, 4.5, fill=GREEN)
    picture.text(360, 75, "node", size=12)
    picture.circle(350, 92, 4.5, fill=AMBER)
    picture.text(360, 97, "children", size=12)
    return picture


def nodes() -> Drawing:
    """Draw a tree and the array that holds it."""
    picture = Drawing(760, 350, "A tree as an array of 16-byte nodes in depth-first order")
    places = {0: (170, 80), 1: (100, 150), 2: (60, 220), 3: (140, 220), 4: (240, 150)}
    places |= {5: (205, 220), 6: (285, 220)}
    inner = {0: (1, 4), 1: (2, 3), 4: (5, 6)}
    picture.text(30, 36, "a tree", bold=True)
    for parent, (left, right) in inner.items():
        x, y = places[parent]
        picture.line([(x, y), places[left]], stroke=LINE)
        picture.line([(x, y), places[right]], stroke=GREEN, width=2)
    for number, (x, y) in places.items():
        fill, ink = ("#ffffff", INK) if number in inner else (LIGHT_GREEN, GREEN)
        picture.circle(x, y, 17, fill=fill, stroke=LINE)
        picture.text(x, y + 5, str(number), anchor="middle", fill=ink, mono=True)
    for place, words in enumerate(
        [
            "In depth-first order, the left child is",
            "always the next node. Only the right",
            "child has to be stored.",
        ]
    ):
        picture.text(30, 280 + 19 * place, words, size=13, fill=MUTED)

    picture.text(370, 36, "16 bytes per node", bold=True)
    widths = (150, 90, 110)
    heads = ("threshold, 8", "feature, 4", "right child, 4")
    rows = [("0.8", "2", "4"), ("3.05", "0", "3"), None, None, ("1.5", "2", "6"), None, None]
    leaf = ("rows, first entry", "leaf", "entries")
    x = 370.0
    for head, width in zip(heads, widths, strict=True):
        picture.text(x + width / 2, 58, head, anchor="middle", size=12, fill=MUTED)
        x += width
    for number, row in enumerate(rows):
        y = 68 + 30 * number
        picture.text(356, y + 18, str(number), anchor="end", size=12, fill=MUTED, mono=True)
        x = 370.0
        for words, width in zip(row or leaf, widths, strict=True):
            if row is None:
                picture.cell(x, y, width, 26, words, fill=LIGHT_GREEN, ink=GREEN, size=12)
            else:
                picture.cell(x, y, width, 26, words, size=12)
            x += width
    for parent, (_, right) in inner.items():
        start, end = 81 + 30 * parent, 81 + 30 * right
        out = 734 if parent == 0 else 727
        picture.line([(720, start), (out, start), (out, end), (722, end)], stroke=GREEN, arrow=True)
    for place, words in enumerate(
        ["A leaf points to entries (class, count), one for each", "class it contains."]
    ):
        picture.text(370, 302 + 19 * place, words, size=13, fill=MUTED)
    return picture


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "engine_codes": rank_codes,
    "engine_layouts": two_layouts,
    "engine_scan": scan,
    "engine_stopping": stopping,
    "engine_nodes": nodes,
}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        draw().save(IMAGES / f"{name}.svg")
