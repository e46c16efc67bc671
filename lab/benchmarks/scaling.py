"""How the fit time of a forest grows with rows, features, classes and threads.

It also measures the cost of the robust criteria, and the share of a fit that the coding takes. Rows,
threads, criteria and coding are measured on Covertype; features and classes on synthetic data at a
fixed depth, so that the trees stay similar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import joblib
import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hardwood import RobustForestClassifier, datasets
from lab import options
from lab.benchmarks.timing import Timing, interleaved
from lab.data import at_hand, noisy_labels
from lab.figures import GREEN, GREY, plain
from lab.library import code, versions
from lab.tables import as_markdown, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE_RATES = (0.0, 0.3)
HALVINGS = 4
N_FEATURES = (16, 64, 256, 1024)
N_CLASSES = (2, 5, 10, 20, 50, 100)
CRITERIA = ("gini", "ne", "gce")
N_ROWS, SYNTHETIC_FEATURES, SYNTHETIC_CLASSES, DEPTH = 50_000, 64, 10, 12
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
    """Training data that both libraries take without conversion."""

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
    return Data(X, noisy_labels(dataset, rate).astype(np.int64))


def synthetic(n_features: int, n_classes: int) -> Data:
    """Make data whose classes are quantiles of a sum of features; 30 % of them are redrawn.

    Half of the columns have 256 values, half are continuous. All nodes keep several classes.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, n_features), dtype=np.float32)
    X[:, ::2] = np.clip(np.rint(32 * X[:, ::2]), -128, 127)
    score = (X / X.std(axis=0))[:, :8].sum(axis=1)
    y = score.argsort().argsort() * n_classes // N_ROWS
    redrawn = rng.random(N_ROWS) < 0.3
    y[redrawn] = rng.integers(n_classes, size=np.count_nonzero(redrawn))
    return Data(X, y)


# --- measuring ------------------------------------------------------------------------------------


def time_fits(data: Data, settings: Settings, **parameters: Any) -> dict[str, Timing]:
    """Time a fit of each library's forest."""
    shared = settings.parameters(data.X.shape[1]) | parameters
    return interleaved(
        {name: partial(make(**shared).fit, *data) for name, make in MODELS.items()}, settings.rounds
    )


def exponent(curve: dict[int, float]) -> float:
    """Return the slope of log time over log size."""
    return float(np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)[0])


def row_visits(forest: Any) -> int:
    """Return the number of rows in all nodes that a forest tried to split."""
    trees = (estimator.tree_ for estimator in forest.estimators_)
    return sum(
        int(np.sum(tree.n_node_samples, where=(tree.impurity > 0) & (tree.n_node_samples >= 2)))
        for tree in trees
    )


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
        "Seconds to fit Covertype and random parts of it with unlimited depth, the exponent of n that "
        "fits these times best, and how much longer the largest part takes than the smallest.",
        ["", *(f"{n:,}" for n in sizes), "grows as", "largest / smallest"],
        rows,
        curves,
    )


def growth(curve: dict[int, float]) -> str:
    return f"{curve[max(curve)] / curve[min(curve)]:.1f} ×"


def curves_over(sizes: Sequence[int], fits: Callable[[int], dict[str, Timing]]) -> Curves:
    """Return the seconds of each model for each size."""
    curves: Curves = {model: {} for model in MODELS}
    for size in sizes:
        for model, timing in fits(size).items():
            curves[model][size] = timing.wall
    return curves


def features_part(settings: Settings) -> Part:
    curves = curves_over(
        N_FEATURES,
        lambda d: time_fits(synthetic(d, SYNTHETIC_CLASSES), settings, max_depth=DEPTH),
    )
    return Part(
        "Features",
        f"Seconds to fit {N_ROWS:,} rows of synthetic data with {SYNTHETIC_CLASSES} classes to depth "
        f"{DEPTH}. A node looks at ⌈√d⌉ features, so the time should grow as √d.",
        ["", *(f"{d:,}" for d in N_FEATURES), "grows as"],
        [
            [model, *map(number, curve.values()), f"d^{exponent(curve):.2f}"]
            for model, curve in curves.items()
        ],
        curves,
    )


def classes_part(settings: Settings) -> Part:
    visits: dict[int, int] = {}

    def fits(n_classes: int) -> dict[str, Timing]:
        data = synthetic(SYNTHETIC_FEATURES, n_classes)
        shared = settings.parameters(SYNTHETIC_FEATURES) | {"max_depth": DEPTH}
        visits[n_classes] = row_visits(MODELS["hardwood"](**shared).fit(*data))
        return time_fits(data, settings, max_depth=DEPTH)

    curves = curves_over(N_CLASSES, fits)
    rows = []
    for model, curve in curves.items():
        rows += [[f"{model}, s", *map(number, curve.values())], [f"{model}, relative"]]
        rows[-1] += [f"{seconds / curve[2]:.2f} ×" for seconds in curve.values()]
    per_visit = [seconds / visits[n] for n, seconds in curves["hardwood"].items()]
    rows.append(
        ["hardwood, per visit, relative", *(f"{t / per_visit[0]:.2f} ×" for t in per_visit)]
    )
    return Part(
        "Classes",
        f"Seconds to fit {N_ROWS:,} rows and {SYNTHETIC_FEATURES} features of synthetic data to depth "
        f"{DEPTH}, and the same relative to two classes. The last row divides by the number of rows "
        "in the nodes that were searched.",
        ["", *map(str, N_CLASSES)],
        rows,
        curves,
    )


def threads_part(settings: Settings) -> Part:
    counts = [2**k for k in range(int(math.log2(max(2, joblib.cpu_count()))) + 1)]
    data = load("covertype", 0.0)
    curves = curves_over(counts, lambda n: time_fits(data, settings._replace(n_threads=n)))
    return Part(
        "Threads",
        "Seconds to fit Covertype with clean labels and unlimited depth, by number of threads.",
        ["", *map(str, counts), "speed-up"],
        [
            [model, *map(number, curve.values()), f"{curve[1] / curve[counts[-1]]:.2f} ×"]
            for model, curve in curves.items()
        ],
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
        "Time to visit one row in one node, relative to Gini, on Covertype with unlimited depth. "
        "Visits are the rows in all nodes that were searched, in millions.",
        ["", "fit (s)", "visits (M)", "time per visit"],
        rows,
        {},
    )


def coding_part(settings: Settings) -> Part:
    rows = []
    for name in at_hand(("covertype", "mnist", "unsw_nb15")):
        for rate in NOISE_RATES:
            data = load(name, rate)
            shared = settings.parameters(data.X.shape[1]) | {"n_estimators": CODING_TREES}
            timings = interleaved(
                {
                    "coding": partial(code, data.X, settings.n_threads),
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
        f"Seconds to compute the rank codes, and to fit {CODING_TREES} trees with Gini.",
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


def bench(
    context: typer.Context,
    names: Annotated[
        options.Several, options.several(f"Parts: {', '.join(PARTS)}.", "NAMES", "--parts")
    ] = None,
    trees: options.Trees = 20,
    rounds: options.Rounds = 3,
    threads: options.Threads = 2,
    output: options.Output = None,
) -> None:
    """Measure how fit time grows with rows, features, classes and threads."""
    settings = Settings(trees, threads, rounds)
    parts = []
    for name in options.choose("--parts", names, PARTS):
        parts.append(PARTS[name](settings))
        print(f"{parts[-1].title}\n{as_markdown(parts[-1].columns, parts[-1].rows)}\n", flush=True)
    if output:
        image = ""
        if any(part.curves for part in parts):
            words = "Seconds to fit against rows, features, classes and threads"
            image = options.save_figure(partial(draw, parts), output.with_suffix(".png"), words)
        options.write_page(page(parts, settings, image, options.command_line(context)), output)


# --- the page -------------------------------------------------------------------------------------

# The label of the axis, and the growth to compare with.
_AXES: dict[str, tuple[str, str, Callable[[float], float] | None]] = {
    "Rows": ("rows", "n·log n", lambda n: n * math.log(n)),
    "Features": ("features d", "√d", math.sqrt),
    "Classes": ("classes", "", None),
    "Threads": ("threads", "1 / threads", lambda threads: 1 / threads),
}


def draw(parts: Sequence[Part]) -> Figure:
    """Draw the parts that have curves, with logarithmic axes."""
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
                color=GREEN if own else GREY,
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
        plain(ax, grid="y")
        ax.legend(frameon=False, fontsize=8)
    figure.supylabel("seconds to fit", fontsize=10)
    return figure


def _short(size: int) -> str:
    return f"{size / 1000:.0f}k" if size >= 10_000 else str(size)


def page(parts: Sequence[Part], settings: Settings, image: str, command: str) -> str:
    sections = "\n\n".join(
        f"## {part.title}\n\n{part.text}\n\n{as_markdown(part.columns, part.rows)}"
        for part in parts
    )
    return f"""# How fit time grows

{image}{settings.n_trees} trees unless stated otherwise, ⌈√d⌉ features per node, bootstrap, Gini, {settings.n_threads} threads. Times are
by the clock, medians of {settings.rounds} rounds in which the libraries take turns. Noise is the share of
training labels flipped uniformly.

{sections}

Measured with `{command}`
({versions(["hardwood", "scikit-learn", "numpy"])}).
"""
