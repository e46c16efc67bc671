"""Finding wrong labels: `LabelAudit` compared with cleanlab, on labels whose noise is known.

It requires cleanlab. No method sees a clean label or the noise.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from hardwood import datasets, noise
from hardwood.audit import DETECTORS, LabelAudit, find_label_issues
from lab import options
from lab.data import load, noise_probabilities, title
from lab.figures import GREEN, GREY, plain
from lab.library import adaptive_forest, version_of, versions
from lab.runner import Plan
from lab.store import Measured, Result, Run, settings_json
from lab.tables import as_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

DATASETS = ("mushrooms", "20news", "unsw_nb15", "mnist", "covertype")
TREES, FOLDS = 100, 5
HOW = ("drop", "relabel", "weight")
CLEANLAB_SCORES = ("self_confidence", "normalized_margin")

_UNIFORM = {f"uniform {rate}": {"kind": "uniform", "rate": rate} for rate in (0.1, 0.2, 0.3, 0.4)}
_PAIRS = {f"pairs {rate}": {"kind": "pair_flip", "rate": rate} for rate in (0.2, 0.3)}
_CLASSES = {
    f"classes {first}, {second}": {"kind": "class_conditional", "rates": [first, second]}
    for first, second in ((0.1, 0.3), (0.2, 0.4))
}
NOISES: dict[str, dict[str, dict[str, Any]]] = {
    "binary": {**_UNIFORM, **_CLASSES},
    "multiclass": {**_UNIFORM, "classes": {"kind": "mahalanobis"}, **_PAIRS},
}


@dataclass(frozen=True)
class Labelled:
    """A training set with corrupted labels."""

    X: Array
    y: Array
    flipped: npt.NDArray[np.bool_]
    T: Array
    data: datasets.Dataset


# --- the methods ---------------------------------------------------------------------------------


def hardwood_audit(seed: int, train: Labelled, threads: int) -> Measured:
    start = time.perf_counter()
    audit = LabelAudit(n_jobs=threads, random_state=seed).fit(train.X, train.y)
    issues = audit.issues_
    seconds = time.perf_counter() - start
    low, high = audit.noise_rate_interval_
    votes = audit.estimator_.oob_votes_
    votes = votes / votes.sum(axis=1, keepdims=True)
    return {
        "average_precision": precision(train, -issues["rank"]),
        "seconds": seconds,
        "matrix_error": matrix_error(train, audit.noise_matrix_),
        "rate": float(audit.noise_rate_),
        "interval": [float(low), float(high)],
        "n_issues": int(audit.n_issues_),
        "detectors": {
            name: precision(train, -find_label_issues(train.y, votes, detector=name)["rank"])
            for name in DETECTORS
        },
    }


def cleanlab_audit(seed: int, train: Labelled, threads: int) -> Measured:
    from cleanlab.count import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        estimate_py_and_noise_matrices_from_probabilities,
    )
    from cleanlab.rank import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        get_label_quality_scores,
    )

    start = time.perf_counter()
    forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=threads)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    proba = cross_val_predict(forest, train.X, train.y, cv=folds, method="predict_proba")
    quality = {
        name: get_label_quality_scores(train.y, proba, method=name) for name in CLEANLAB_SCORES
    }
    prior, columns_sum_to_1, *_ = estimate_py_and_noise_matrices_from_probabilities(train.y, proba)
    seconds = time.perf_counter() - start
    T = columns_sum_to_1.T
    return {
        "average_precision": {name: precision(train, -score) for name, score in quality.items()},
        "seconds": seconds,
        "matrix_error": matrix_error(train, T),
        "rate": float(prior @ (1 - np.diag(T)) / prior.sum()),
    }


def retraining(seed: int, train: Labelled, threads: int) -> Measured:
    """Measure adaptive forests trained on the data as they are and as the audit cleans them."""
    start = time.perf_counter()
    audit = LabelAudit(n_jobs=threads, random_state=seed).fit(train.X, train.y)

    def accuracy(X: Array, y: Array, sample_weight: Array | None = None) -> float:
        forest = adaptive_forest(TREES, random_state=seed, n_jobs=threads)
        forest.fit(X, y, sample_weight)
        return 100 * float(np.mean(forest.predict(train.data.X_test) == train.data.y_test))

    as_it_is = accuracy(train.X, train.y)
    accuracies, cleaned = {"as it is": as_it_is}, {}
    for how in HOW:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that nothing is changed
            X, y, weight = audit.clean(how=how)
        cleaned[how] = y is not train.y or (weight is not None and bool(weight.min() < 1))
        accuracies[how] = accuracy(X, y, weight) if cleaned[how] else as_it_is
    return {**accuracies, "cleaned": cleaned, "seconds": time.perf_counter() - start}


def precision(train: Labelled, suspicion: Any) -> float:
    return 100 * float(average_precision_score(train.flipped, suspicion))


def matrix_error(train: Labelled, T: Array) -> float:
    return float(np.abs(T - train.T).mean())


METHODS: dict[str, Callable[[int, Labelled, int], Measured]] = {
    "hardwood": hardwood_audit,
    "cleanlab": cleanlab_audit,
    "retraining": retraining,
}


# --- running -------------------------------------------------------------------------------------


def bench(
    context: typer.Context,
    names: options.Datasets = None,
    tasks: options.Tasks = None,
    methods: options.Methods = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the noise and of the models.")] = 0,
    threads: options.AllThreads = None,
    store: options.Kept = Path("audit.sqlite"),
    output: options.Output = None,
) -> None:
    """Compare how well the label audit and cleanlab find wrong labels."""
    runs = list(
        plan_runs(
            options.choose_datasets(names, DATASETS),
            options.choose("--tasks", tasks, NOISES),
            options.choose("--methods", methods, METHODS),
            seed,
            max_rows,
        )
    )
    libraries = ["hardwood", "scikit-learn", *(["cleanlab"] if version_of("cleanlab") else [])]
    plan = Plan(runs, perform, versions(libraries, machine=False))
    rows = rows_of(options.stored_results(plan, store, threads))
    if rows:
        words = "Average precision of hardwood and cleanlab in each setting"
        image = (
            options.save_figure(partial(draw, rows), output.with_suffix(".png"), words)
            if output
            else ""
        )
        options.write_page(page(rows, image, options.command_line(context)), output)


def plan_runs(
    names: Sequence[str], tasks: Sequence[str], methods: Sequence[str], seed: int, max_rows: int
) -> Iterator[Run]:
    """Yield the runs, with all methods of a setting together."""
    for name in names:
        for task in tasks:
            if name == "mushrooms" and task == "multiclass":
                continue  # it has two classes anyway
            for setting, definition in NOISES[task].items():
                settings = settings_json({"benchmark": "audit", "noise": definition})
                for method in methods:
                    yield Run(name, task, method, "", setting, seed, TREES, max_rows, settings)


def perform(run: Run, threads: int) -> Measured:
    definition = json.dumps(json.loads(run.settings)["noise"])
    train = labelled(run.dataset, run.task, definition, run.seed, run.max_rows)
    size = {"rows": len(train.y), "flipped": float(train.flipped.mean())}
    return {**size, **METHODS[run.model](run.seed, train, threads)}


@lru_cache(maxsize=1)
def labelled(name: str, task: str, definition: str, seed: int, max_rows: int) -> Labelled:
    data = load(name, task)
    T = noise_probabilities(data, json.loads(definition))
    y, flipped = noise.corrupt(data.y_train.astype(np.int64), T, random_state=seed)
    rows = np.arange(len(y))
    if len(y) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:max_rows])
    return Labelled(data.X_train[rows], y[rows], flipped[rows], T, data)


# --- the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """The results of one setting."""

    dataset: str
    task: str
    noise: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    retrained: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the setting."""
        return f"{title(self.dataset)} {self.task}, {self.noise}"

    @property
    def peer(self) -> float:
        """The better of cleanlab's two scores."""
        return float(max(self.theirs["average_precision"].values()))

    @property
    def gain(self) -> float:
        """Points of average precision above cleanlab's."""
        return float(self.ours["average_precision"]) - self.peer

    @property
    def time(self) -> float:
        """Our time as a share of cleanlab's."""
        return float(self.ours["seconds"] / self.theirs["seconds"])

    @property
    def is_covered(self) -> bool:
        """Whether the interval covers the true noise rate."""
        low, high = self.ours["interval"]
        return bool(low <= self.ours["flipped"] <= high)

    def cleaning(self, how: str) -> float:
        """Points of accuracy gained by cleaning."""
        return float(self.retrained[how] - self.retrained["as it is"])

    def is_cleaned(self, how: str) -> bool:
        """Whether the audit cleaned anything."""
        return bool(self.retrained["cleaned"][how])


def rows_of(results: Sequence[Result]) -> list[Row]:
    settings: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for result in results:
        run = result.run
        settings.setdefault((run.dataset, run.task, run.noise), {})[run.model] = result.measured
    return [
        Row(*setting, *(found[method] for method in METHODS))
        for setting, found in settings.items()
        if set(METHODS) <= set(found)
    ]


def summary(rows: Sequence[Row]) -> str:
    n = len(rows)
    lowest = min(rows, key=lambda row: row.gain)
    slowest = max(rows, key=lambda row: row.time)
    better_matrix = sum(row.ours["matrix_error"] <= row.theirs["matrix_error"] for row in rows)
    rate_errors = [
        fmean(abs(result["rate"] - row.ours["flipped"]) for row, result in pairs)
        for pairs in ([(r, r.ours) for r in rows], [(r, r.theirs) for r in rows])
    ]
    lines = [
        f"Average precision is better than the better of cleanlab's two scores, or within 0.2 points "
        f"of it, in {sum(row.gain >= -0.2 for row in rows)} of {n} settings, and "
        f"{fmean(r.gain for r in rows):+.1f} points on average. The worst is {lowest.name}, "
        f"{lowest.gain:+.2f} points.",
        f"The audit takes {fmean(row.time for row in rows):.2f} of cleanlab's time on average, and at "
        f"most a third in {sum(row.time <= 1 / 3 for row in rows)} of {n} settings. The slowest is "
        f"{slowest.name}, {slowest.time:.2f}.",
        f"The noise matrix is at least as close to the true one in {better_matrix} of {n} settings.",
        f"The noise rate is off by {100 * rate_errors[0]:.1f} points on average, cleanlab's by "
        f"{100 * rate_errors[1]:.1f}. The interval covers the true rate in "
        f"{sum(row.is_covered for row in rows)} of {n} settings.",
    ]
    for how in HOW:
        worst = min(rows, key=lambda row: row.cleaning(how))
        lines.append(
            f'Retraining after `clean(how="{how}")`, which changes the data in '
            f"{sum(row.is_cleaned(how) for row in rows)} of {n} settings, gains "
            f"{fmean(row.cleaning(how) for row in rows):+.2f} points of test accuracy on average. "
            f"The worst is {worst.name}, {worst.cleaning(how):+.2f} points."
        )
    return "\n".join(f"- {line}" for line in lines)


def table_of(
    rows: Sequence[Row], columns: Sequence[str], cells: Callable[[Row], Sequence[str]]
) -> str:
    """Lay out a table with a line for each setting."""
    lines = [[f"{title(row.dataset)}, {row.task}", row.noise, *cells(row)] for row in rows]
    return as_markdown(("data", "noise", *columns), lines, 2)


def detection_table(rows: Sequence[Row]) -> str:
    columns = (
        *(f"cleanlab, {name.replace('_', ' ')}" for name in CLEANLAB_SCORES),
        *("hardwood", "difference", "cleanlab (s)", "hardwood (s)", "relative time"),
    )
    return table_of(
        rows,
        columns,
        lambda row: [
            *(f"{row.theirs['average_precision'][name]:.2f}" for name in CLEANLAB_SCORES),
            f"{row.ours['average_precision']:.2f}",
            f"{row.gain:+.2f}",
            *(f"{result['seconds']:.1f}" for result in (row.theirs, row.ours)),
            f"{row.time:.2f}",
        ],
    )


def noise_table(rows: Sequence[Row]) -> str:
    columns = (
        *("error of T, cleanlab", "hardwood", "wrong labels (%)", "cleanlab"),
        *("hardwood", "interval", "covers"),
    )
    return table_of(
        rows,
        columns,
        lambda row: [
            *(f"{result['matrix_error']:.4f}" for result in (row.theirs, row.ours)),
            f"{100 * row.ours['flipped']:.1f}",
            *(f"{100 * result['rate']:.1f}" for result in (row.theirs, row.ours)),
            " – ".join(f"{100 * end:.1f}" for end in row.ours["interval"]),
            "yes" if row.is_covered else "no",
        ],
    )


def cleaning_table(rows: Sequence[Row]) -> str:
    def cells(row: Row) -> list[str]:
        gains = (f"{row.cleaning(how):+.2f}" if row.is_cleaned(how) else "unchanged" for how in HOW)
        return [f"{row.retrained['as it is']:.2f}", *gains]

    return table_of(rows, ("accuracy", *HOW), cells)


def detectors_table(rows: Sequence[Row]) -> str:
    def gains(name: str) -> list[float]:
        return [row.ours["detectors"][name] - row.peer for row in rows]

    cells = [
        [
            f"`{name}`",
            f"{fmean(gains(name)):+.2f}",
            f"{min(gains(name)):+.2f}",
            f"{sum(gain >= -0.2 for gain in gains(name))} of {len(rows)}",
        ]
        for name in DETECTORS
    ]
    columns = ("detector", "mean difference", "worst", "better or within 0.2 points")
    return as_markdown(columns, cells, 1)


def page(rows: Sequence[Row], image: str, command: str) -> str:
    libraries = ("hardwood", "cleanlab", "scikit-learn")
    measured = ", ".join(f"{library} {version_of(library)}" for library in libraries)
    most = max(row.ours["rows"] for row in rows)
    return f"""# Finding wrong labels

In short, for `LabelAudit()` with its defaults:

{summary(rows)}

We compare the audit with cleanlab and a scikit-learn forest ({TREES} trees, {FOLDS}-fold
cross-validation), on the training sets of the paper's data (at most {most:,} rows) with labels flipped by known
noise.
*Uniform* noise flips all labels at one rate. *Classes* flips classes at different rates (two classes: the rates named;
more classes: according to their Mahalanobis distances). *Pairs* mistakes each class for the next one. No method sees a
clean label or the noise.

{image}## Which labels are wrong

Average precision at finding the flipped labels, in percent, and seconds by the clock.

{detection_table(rows)}

The detectors on the same out-of-bag votes, compared with the better of cleanlab's two scores (points of average
precision):

{detectors_table(rows)}

## How many labels are wrong, and mistaken for what

The mean absolute error of the entries of the noise matrix T, and the share of wrong labels in percent.

{noise_table(rows)}

## A model trained on the cleaned data

Accuracy on clean test labels, in percent, of `AdaptiveForestClassifier()` trained on the noisy data, and what it gains
when `clean` has cleaned them. `clean` leaves the data *unchanged* where it measures no gain above two standard errors.

{cleaning_table(rows)}

Measured with {measured}. To make this page again:

```bash
{command}
```
"""


def draw(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    ordered = sorted(rows, key=lambda row: row.gain)
    places = np.arange(len(ordered))
    figure = Figure(figsize=(8.5, 1.2 + 0.19 * len(ordered)), layout="constrained")
    ax = figure.subplots()
    theirs = np.array([row.peer for row in ordered])
    ours = np.array([row.ours["average_precision"] for row in ordered])
    ax.hlines(places, theirs, ours, color="#cfe3d2", linewidth=3, zorder=1)
    ax.scatter(theirs, places, s=18, color=GREY, label="cleanlab, the better of its scores")
    ax.scatter(ours, places, s=18, color=GREEN, label="hardwood")
    ax.set_yticks(places, [row.name for row in ordered], fontsize=7)
    ax.set_ylim(-1, len(ordered))
    ax.set_xlabel("average precision at finding the wrong labels (%)")
    plain(ax, grid="x")
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    return figure
