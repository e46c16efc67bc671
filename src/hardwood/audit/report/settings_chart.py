"""How an adaptive forest chose its settings, as two small charts with a common scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.audit.report.words import number, percent

WIDTH, HEIGHT = 360, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 26, 30  # with room for "chosen" above a point


@dataclass(frozen=True)
class Tick:
    """A tick of an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Panel:
    """A family of settings: its scores, their error band, and the setting chosen."""

    title: str
    line: str
    band: str
    points: list[tuple[float, float]]
    chosen: tuple[float, float] | None
    x_ticks: list[Tick]
    words: str


@dataclass(frozen=True)
class SettingsChart:
    """What the section on the settings shows."""

    panels: list[Panel]
    y_ticks: list[Tick]
    level: float
    n_settings: int
    chosen: str
    score: str
    plain_score: str
    is_corrected: bool
    is_mixed: bool
    reason: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def settings_chart(
    table: Any, reason: str = "", is_corrected: bool = False
) -> SettingsChart | None:
    """Return the charts of the ``adaptation_`` of a forest, a data frame, or None without one."""
    if table is None:
        return None
    n_settings = len(table)
    mixture = _mixture_in_words(table[table["chosen"].to_numpy(dtype=bool)])
    is_mixed = int(table["chosen"].sum()) > 1
    # The charts show the settings of the forest that most trees are of.
    largest = table.iloc[int(table["share"].to_numpy(dtype=np.float64).argmax())]
    cuts = ["splitter", "max_features"]
    table = table[(table[cuts] == largest[cuts]).all(axis=1).to_numpy(dtype=bool)]
    family = table["family"].to_numpy()
    amount = table["amount"].to_numpy(dtype=np.float64)
    score = table["score"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    chosen = int(np.flatnonzero(table["chosen"].to_numpy(dtype=bool))[0])
    if not np.isfinite(score).all():
        return None
    low, high = float((score - error).min()), float((score + error).max())
    y_ticks = _y_ticks(low, high)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _BOTTOM - _TOP)

    def panel(title: str, places: NDArray[np.intp]) -> Panel:
        logs = np.log10(amount[places])
        first = float(logs.min())
        last = max(float(logs.max()), first + 1e-9)

        def x(log: float) -> float:
            return _LEFT + 8 + (log - first) / (last - first) * (WIDTH - _LEFT - _RIGHT - 16)

        points = [(x(log), y(score[k])) for log, k in zip(logs, places, strict=True)]
        above, below = (
            [(x(log), y(score[k] + side * error[k])) for log, k in zip(logs, places, strict=True)]
            for side in (1, -1)
        )
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
        best = places[int(np.argmax(score[places]))]
        return Panel(
            title,
            _path(points),
            _path([*above, *reversed(below)]),
            points,
            points[int(np.flatnonzero(places == chosen)[0])] if chosen in places else None,
            [Tick(x(power), number(10**power)) for power in powers],
            f"{title}: best at {amount[best]:,g} rows, {percent(score[best], 1)}.",
        )

    shrinks = family == "shrink"
    return SettingsChart(
        [
            panel("Minimum rows to split a node", np.flatnonzero(~shrinks)),
            panel("Shrinkage of the leaves, in rows", np.flatnonzero(shrinks)),
        ],
        [Tick(y(value), percent(value, _decimals(y_ticks))) for value in y_ticks],
        y(score[chosen]),
        n_settings,
        mixture,
        percent(score[chosen], 1),
        percent(score[0], 1),
        is_corrected,
        is_mixed,
        reason,
    )


def _mixture_in_words(chosen: Any) -> str:
    """Return what was chosen, the most trees first."""
    chosen = chosen.sort_values("share", ascending=False, kind="stable")
    parts = [
        f"{_setting_in_words(row.family, row.amount)}, in trees with {row.splitter} cuts of "
        f"{row.max_features} features"
        for row in chosen.itertuples()
    ]
    if len(parts) == 1:
        return parts[0]
    shares = [percent(share, 0) for share in chosen["share"]]
    listed = [f"{part} ({share} of the trees)" for part, share in zip(parts, shares, strict=True)]
    return "; ".join(listed[:-1]) + "; and " + listed[-1]


def _setting_in_words(family: str, amount: float) -> str:
    match family:
        case "stop":
            return f"stop splitting nodes with fewer than {amount:,g} rows"
        case "shrink":
            return f"shrink each leaf towards its ancestors, with a weight of {amount:,g} rows"
        case _:
            return "keep the trees fully grown"


def _y_ticks(low: float, high: float) -> list[float]:
    """Return two to six round values that span a range."""
    span = max(high - low, 1e-4)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1.0, 2.0, 5.0) if span / (s * power) <= 4)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [k * step for k in range(first, last + 1)]


def _decimals(ticks: list[float]) -> int:
    step = 100 * (ticks[1] - ticks[0])
    return max(0, -math.floor(math.log10(step) + 1e-9)) if round(step, 6) % 1 else 0


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
