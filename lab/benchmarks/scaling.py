"""How a forest's fit time grows with rows, features, classes and threads.

    python benchmarks/scaling.py --output docs/benchmarks/scaling.md

Also what the robust criteria cost, and what share of a fit the coding takes. Rows, threads,
criteria and coding are measured on Covertype; features and classes on made data, at a fixed depth,
so that the trees stay alike.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hardwood import RobustForestClassifier, datasets
from hardwood._core import _engine
from lab.benchmarks.common import Timing, interleaved, markdown_table, noisy_labels, versions

NOISE_RATES = (0.0, 0.3)
HALVINGS = 4
N_FEATURES = (16, 64, 256, 1024)
N_CLASSES = (2, 5, 10, 20, 50, 100)
CRITERIA = ("gini", "ne", "gce")
MADE_ROWS, MADE_FEATURES, MADE_CLASSES, MADE_DEPTH = 50_000, 64, 10, 12
CODING_TREES = 100

MODELS: dict[str, Callable[..., Any]] = {
    "hardwood": partial(RobustForestClassifier, criterion="gini"),
    "scikit-learn": RandomForestClassifier,
}


class Settings(NamedTuple):
    """What all parts of the study share."""

    n_trees: int
    n_threads: int
    rounds: int

    def parameters(self, n_features: int) -> dict[str, Any]:
        """Return a forest's parameters, the same for both libraries."""
        return {
            "n_estimators": self.n_trees,
            "max_features": math.isqrt(n_features - 1) + 1,
            "n_jobs": self.n_threads,
            "random_state": 0,
        }


class Data(NamedTuple):
    """Training data as both libraries take it without conversion."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]


Curves = dict[str, dict[int, float]]
"""Seconds by model and size."""


class Part(NamedTuple):
    """A part of the page."""

    title: str
    text: str
    columns: Sequence[str]
    rows: list[list[str]]
    curves: Curves


# --- data -----------------------------------------------------------------------------------------


def load(name: str, rate: float) -> Data:
    dataset = datasets.load(name)
    X = np.ascontiguousarray(dataset.X_train, dtype=np.float32)
    return Data(X, noisy_labels(dataset, rate, seed=0).astype(np.int64))


def made(n_features: int, n_classes: int) -> Data:
    """Make data whose classes are the quantiles of a sum of features, 30 % of them drawn anew.

    Half of the columns have 256 values, half are continuous. All nodes keep several classes.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MADE_ROWS, n_features), dtype=np.float32)
    X[:, ::2] = np.clip(np.rint(32 * X[:, ::2]), -128, 127)
    score = (X / X.std(axis=0))[:, :8].sum(axis=1)
    y = score.argsort().argsort() * n_classes // MADE_ROWS
    redrawn = rng.random(MADE_ROWS) < 0.3
    y[redrawn] = rng.integers(n_classes, size=np.count_nonzero(redrawn))
    return Data(X, y)


# --- measuring ------------------------------------------------------------------------------------


def time_fits(data: Data, settings: Settings, **parameters: Any) -> dict[str, Timing]:
    """Time a fit of each library's forest."""
    shared = settings.parameters(data.X.shape[1]) | parameters
    return interleaved(
        {name: partial(make(**shared).fit, *data) for name, make in MODELS.items()},
        settings.rounds,
    )


def exponent(curve: dict[int, float]) -> float:
    """Return the slope of log time over log size."""
    return float(np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)[0])


def row_visits(forest: Any) -> int:
    """Return how many rows a forest looked at, summed over the nodes that it tried to split."""
    trees = (estimator.tree_ for estimator in forest.estimators_)
    return sum(
        int(np.sum(tree.n_node_samples, where=(tree.impurity > 0) & (tree.n_node_samples >= 2)))
        for tree in trees
    )


def number(value: float) -> str:
    """Write a number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def labels(rate: float) -> str:
    return f"{100 * rate:.0f} % noise" if rate else "clean"


# --- the parts ------------------------------------------------------------------------------------


def rows_part(settings: Settings) -> Part:
    curves: Curves = {}
    for rate in NOISE_RATES:
        whole = load("covertype", rate)
        order = np.random.default_rng(0).permutation(len(whole.X))
        for halving in range(HALVINGS, -1, -1):
            chosen = order[: len(order) >> halving]
            timings = time_fits(Data(whole.X[chosen], whole.y[chosen]), settings)
            for model, timing in timings.items():
                curve = curves.setdefault(f"{model}, {labels(rate)}", {})
                curve[len(chosen)] = timing.wall
    sizes = list(next(iter(curves.values())))
    n_log_n = {n: n * math.log(n) for n in sizes}
    rows = [
        [name, *map(number, curve.values()), f"n^{exponent(curve):.3f}", growth(curve)]
        for name, curve in curves.items()
    ]
    rows.append(["n·log n", *["–"] * len(sizes), f"n^{exponent(n_log_n):.3f}", growth(n_log_n)])
    return Part(
        "Rows",
        "Seconds to fit Covertype and random parts of it, unlimited depth; the exponent of n that "
        "fits them best, and how much longer the largest takes than the smallest.",
        ["", *(f"{n:,}" for n in sizes), "grows as", "largest / smallest"],
        rows,
        curves,
    )


def growth(curve: dict[int, float]) -> str:
    return f"{curve[max(curve)] / curve[min(curve)]:.1f} ×"


def features_part(settings: Settings) -> Part:
    curves: Curves = {model: {} for model in MODELS}
    for n_features in N_FEATURES:
        data = made(n_features, MADE_CLASSES)
        for model, timing in time_fits(data, settings, max_depth=MADE_DEPTH).items():
            curves[model][n_features] = timing.wall
    return Part(
        "Features",
        f"Seconds to fit {MADE_ROWS:,} rows of made data with {MADE_CLASSES} classes to depth "
        f"{MADE_DEPTH}. ⌈√d⌉ features are looked at in a node, so that √d is the growth to expect.",
        ["", *(f"{d:,}" for d in N_FEATURES), "grows as"],
        [
            [model, *map(number, curve.values()), f"d^{exponent(curve):.2f}"]
            for model, curve in curves.items()
        ],
        curves,
    )


def classes_part(settings: Settings) -> Part:
    curves: Curves = {model: {} for model in MODELS}
    per_visit: dict[int, float] = {}
    for n_classes in N_CLASSES:
        data = made(MADE_FEATURES, n_classes)
        for model, timing in time_fits(data, settings, max_depth=MADE_DEPTH).items():
            curves[model][n_classes] = timing.wall
        shared = settings.parameters(MADE_FEATURES)
        forest = MODELS["hardwood"](**shared, max_depth=MADE_DEPTH).fit(*data)
        per_visit[n_classes] = curves["hardwood"][n_classes] / row_visits(forest)
    rows = []
    for model, curve in curves.items():
        relative = [f"{seconds / curve[2]:.2f} ×" for seconds in curve.values()]
        rows += [[f"{model}, s", *map(number, curve.values())], [f"{model}, of two", *relative]]
    rows.append(
        ["hardwood, a visit, of two", *(f"{t / per_visit[2]:.2f} ×" for t in per_visit.values())]
    )
    return Part(
        "Classes",
        f"Seconds to fit {MADE_ROWS:,} rows and {MADE_FEATURES} features of made data to depth "
        f"{MADE_DEPTH}, and the same relative to two classes; the last row divides by the rows of "
        "the nodes that were searched.",
        ["", *map(str, N_CLASSES)],
        rows,
        curves,
    )


def threads_part(settings: Settings) -> Part:
    counts = [2**k for k in range(int(math.log2(max(2, joblib.cpu_count()))) + 1)]
    data = load("covertype", 0.0)
    curves: Curves = {model: {} for model in MODELS}
    for n_threads in counts:
        for model, timing in time_fits(data, settings._replace(n_threads=n_threads)).items():
            curves[model][n_threads] = timing.wall
    rows = [
        [model, *map(number, curve.values()), f"{curve[1] / curve[counts[-1]]:.2f} ×"]
        for model, curve in curves.items()
    ]
    return Part(
        "Threads",
        "Seconds to fit Covertype, clean, unlimited depth, by the number of threads.",
        ["", *map(str, counts), "the most / one"],
        rows,
        curves,
    )


def criteria_part(settings: Settings) -> Part:
    rows = []
    for rate in NOISE_RATES:
        data = load("covertype", rate)
        shared = settings.parameters(data.X.shape[1])
        forests = {name: RobustForestClassifier(criterion=name, **shared) for name in CRITERIA}
        fits = {name: partial(forest.fit, *data) for name, forest in forests.items()}
        timings = interleaved(fits, settings.rounds)
        visits = {name: row_visits(forest) for name, forest in forests.items()}
        gini = timings["gini"].wall / visits["gini"]
        for name in CRITERIA:
            rows.append(
                [
                    f"{name}, {labels(rate)}",
                    number(timings[name].wall),
                    number(visits[name] / 1e6),
                    f"{timings[name].wall / visits[name] / gini:.2f} ×",
                ]
            )
    return Part(
        "Criteria",
        "Time for a visit of a row in a node, relative to Gini, on Covertype at unlimited depth. "
        "Visits are the rows of the nodes that were searched, in millions.",
        ["", "fit (s)", "visits (M)", "time a visit"],
        rows,
        {},
    )


def coding_part(settings: Settings) -> Part:
    rows = []
    for name in ("covertype", "mnist", "unsw_nb15"):
        if datasets.find(name) is None:
            continue
        for rate in NOISE_RATES:
            data = load(name, rate)
            shared = settings.parameters(data.X.shape[1]) | {"n_estimators": CODING_TREES}
            timings = interleaved(
                {
                    "coding": partial(_engine.code, data.X, settings.n_threads),
                    "fit": partial(MODELS["hardwood"](**shared).fit, *data),
                },
                settings.rounds,
            )
            share = timings["coding"].wall / timings["fit"].wall
            rows.append(
                [
                    f"{name}, {labels(rate)}",
                    number(timings["coding"].wall),
                    number(timings["fit"].wall),
                    f"{100 * share:.1f} %",
                ]
            )
    return Part(
        "Coding",
        f"Seconds for the rank codes alone and for a whole fit of {CODING_TREES} trees with Gini.",
        ["", "coding (s)", "fit (s)", "share"],
        rows,
        {},
    )


PARTS: dict[str, Callable[[Settings], Part]] = {
    "rows": rows_part,
    "features": features_part,
    "classes": classes_part,
    "threads": threads_part,
    "criteria": criteria_part,
    "coding": coding_part,
}

# --- the page -------------------------------------------------------------------------------------

_GREEN, _GREY, _MUTED = "#14532d", "#9a9a9a", "#6b6b6b"
# The axis, and the growth to compare with.
_AXES: dict[str, tuple[str, str, Callable[[float], float] | None]] = {
    "Rows": ("rows", "n·log n", lambda n: n * math.log(n)),
    "Features": ("features d", "√d", math.sqrt),
    "Classes": ("classes", "", None),
    "Threads": ("threads", "1 / threads", lambda threads: 1 / threads),
}


def save_figure(path: Path, parts: Sequence[Part]) -> None:
    """Draw the parts that have curves, both axes logarithmic."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    drawn = [part for part in parts if part.curves]
    figure = Figure(figsize=(3.6 * len(drawn), 3.6), layout="constrained")
    for ax, part in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        label, guide, law = _AXES[part.title]
        for name, curve in part.curves.items():
            own = name.startswith("hardwood")
            ax.plot(
                list(curve),
                list(curve.values()),
                label=name,
                color=_GREEN if own else _GREY,
                linestyle="--" if "noise" in name else "-",
                marker="o",
                markersize=4,
                linewidth=2,
            )
        if law is not None:
            curve = next(iter(part.curves.values()))
            first = min(curve)
            values = [curve[first] * law(size) / law(first) for size in curve]
            ax.plot(list(curve), values, color="black", linestyle=":", linewidth=1, label=guide)
        ax.set_xscale("log")
        ax.set_yscale("log")
        sizes = list(next(iter(part.curves.values())))
        ax.set_xticks(sizes, [_short(size) for size in sizes])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.minorticks_off()
        lowest, highest = ax.get_ylim()
        ticks = [m * 10.0**e for e in range(-3, 5) for m in (1, 2, 5)]
        ax.set_yticks([tick for tick in ticks if lowest <= tick <= highest])
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_xlabel(label)
        ax.set_title(part.title, loc="left", fontsize=11)
        ax.grid(axis="y", color=_MUTED, alpha=0.2)
        ax.tick_params(length=0, labelcolor=_MUTED)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8)
    figure.supylabel("seconds to fit", fontsize=10)
    figure.savefig(path, dpi=150)


def _short(size: int) -> str:
    return f"{size / 1000:.0f}k" if size >= 10_000 else str(size)


def page(parts: Sequence[Part], settings: Settings, figure: str | None) -> str:
    command = shlex.join(["python", "benchmarks/scaling.py", *sys.argv[1:]])
    image = f"\n![Seconds to fit against rows, features, classes and threads]({figure})\n"
    sections = "\n\n".join(
        f"## {part.title}\n\n{part.text}\n\n{markdown_table(part.columns, part.rows)}"
        for part in parts
    )
    return f"""# How fit time grows
{image if figure else ""}
{settings.n_trees} trees unless said otherwise, ⌈√d⌉ features a node, bootstrap, Gini, {settings.n_threads} threads. Times are
by the clock, medians of {settings.rounds} rounds in which the libraries take turns. Noise is the share of
training labels flipped uniformly.

{sections}

Measured with `{command}`
({versions(["hardwood", "scikit-learn", "numpy"])}).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, help="write a Markdown page and a figure here")
    arguments = parser.parse_args()
    settings = Settings(arguments.trees, arguments.threads, arguments.rounds)
    parts = []
    for name in arguments.parts:
        part = PARTS[name](settings)
        print(f"{part.title}\n{markdown_table(part.columns, part.rows)}\n", flush=True)
        parts.append(part)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        image = arguments.output.with_suffix(".png")
        has_curves = any(part.curves for part in parts)
        if has_curves:
            save_figure(image, parts)
        text = page(parts, settings, image.name if has_curves else None)
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
