"""Finding wrong labels: `LabelAudit` against cleanlab, on labels whose noise is known.

    python benchmarks/audit.py --results audit.jsonl --output docs/benchmarks/audit.md

Needs cleanlab. Each result is a line of the results file as soon as it is there, so that a run
that was stopped goes on where it was. No method sees a clean label or the noise.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from hardwood import AdaptiveForestClassifier, datasets, noise
from hardwood.audit import DETECTORS, LabelAudit, find_label_issues
from lab.benchmarks.common import markdown_table, resumed
from lab.paper.compare import title

Array = npt.NDArray[Any]

DATASETS = ("mushrooms", "20news", "unsw_nb15", "mnist", "covertype")
TREES, FOLDS = 100, 5
HOW = ("drop", "relabel", "weight")
CLEANLAB_SCORES = ("self_confidence", "normalized_margin")

UNIFORM = {f"uniform {rate}": rate for rate in (0.1, 0.2, 0.3, 0.4)}
PAIRS = {f"pairs {rate}": rate for rate in (0.2, 0.3)}
CLASSES = {"classes 0.1, 0.3": (0.1, 0.3), "classes 0.2, 0.4": (0.2, 0.4)}
NOISES = {"binary": (*UNIFORM, *CLASSES), "multiclass": (*UNIFORM, "classes", *PAIRS)}


def noise_matrix(data: datasets.Dataset, setting: str) -> Array:
    n_classes = len(data.classes)
    if setting in UNIFORM:
        return noise.uniform(n_classes, UNIFORM[setting])
    if setting in PAIRS:
        return noise.pair_flip(n_classes, PAIRS[setting])
    if setting in CLASSES:
        return noise.class_conditional(CLASSES[setting])
    return noise.mahalanobis(data.X_train, data.y_train)


@dataclass(frozen=True)
class Job:
    """One method on one data set with one noise: the key of a result."""

    dataset: str
    task: str
    noise: str
    method: str
    seed: int
    max_rows: int


@dataclass(frozen=True)
class Labelled:
    """A training set whose labels were corrupted."""

    X: Array
    y: Array
    flipped: npt.NDArray[np.bool_]
    T: Array
    data: datasets.Dataset


# --- the methods ---------------------------------------------------------------------------------


def hardwood_audit(job: Job, train: Labelled, threads: int) -> dict[str, Any]:
    start = time.perf_counter()
    audit = LabelAudit(n_jobs=threads, random_state=job.seed).fit(train.X, train.y)
    issues = audit.issues_
    seconds = time.perf_counter() - start
    low, high = audit.noise_rate_interval_
    votes = audit.estimator_.oob_votes_
    votes = votes / votes.sum(axis=1, keepdims=True)
    return {
        "average_precision": precision(train, -issues["rank"]),
        "seconds": seconds,
        "interval_seconds": time.perf_counter() - start - seconds,
        "matrix_error": matrix_error(train, audit.noise_matrix_),
        "rate": audit.noise_rate_,
        "interval": [low, high],
        "n_issues": audit.n_issues_,
        "detectors": {
            name: precision(train, -find_label_issues(train.y, votes, detector=name)["rank"])
            for name in DETECTORS
        },
    }


def cleanlab_audit(job: Job, train: Labelled, threads: int) -> dict[str, Any]:
    from cleanlab.count import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        estimate_py_and_noise_matrices_from_probabilities,
    )
    from cleanlab.rank import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        get_label_quality_scores,
    )

    start = time.perf_counter()
    forest = RandomForestClassifier(TREES, random_state=job.seed, n_jobs=threads)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=job.seed)
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


def retraining(job: Job, train: Labelled, threads: int) -> dict[str, Any]:
    """Measure adaptive forests of the data as they are and as the audit cleans them."""
    audit = LabelAudit(n_jobs=threads, random_state=job.seed).fit(train.X, train.y)

    def accuracy(X: Array, y: Array, sample_weight: Array | None = None) -> float:
        forest = AdaptiveForestClassifier(TREES, random_state=job.seed, n_jobs=threads)
        forest.fit(X, y, sample_weight)
        return 100 * float(np.mean(forest.predict(train.data.X_test) == train.data.y_test))

    as_it_is = accuracy(train.X, train.y)
    accuracies, cleaned = {"as it is": as_it_is}, {}
    for how in HOW:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The data were not cleaned")
            X, y, weight = audit.clean(how=how)
        cleaned[how] = y is not train.y or (weight is not None and bool(weight.min() < 1))
        accuracies[how] = accuracy(X, y, weight) if cleaned[how] else as_it_is
    return {**accuracies, "cleaned": cleaned}


def precision(train: Labelled, suspicion: Any) -> float:
    return 100 * float(average_precision_score(train.flipped, suspicion))


def matrix_error(train: Labelled, T: Array) -> float:
    return float(np.abs(T - train.T).mean())


METHODS: dict[str, Callable[[Job, Labelled, int], dict[str, Any]]] = {
    "hardwood": hardwood_audit,
    "cleanlab": cleanlab_audit,
    "retraining": retraining,
}


# --- running -------------------------------------------------------------------------------------


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """Yield what is to be run: all methods of a setting together."""
    for name in arguments.datasets:
        for task, noises in NOISES.items():
            if task not in arguments.tasks or (name == "mushrooms" and task == "multiclass"):
                continue  # of two classes anyway
            for setting in noises:
                for method in arguments.methods:
                    yield Job(name, task, setting, method, arguments.seed, arguments.max_rows)


def run(job: Job, threads: int) -> dict[str, Any]:
    train = labelled(job.dataset, job.task, job.noise, job.seed, job.max_rows)
    result = METHODS[job.method](job, train, threads)
    return {**asdict(job), "rows": len(train.y), "flipped": float(train.flipped.mean()), **result}


@lru_cache(maxsize=1)
def labelled(name: str, task: str, setting: str, seed: int, max_rows: int) -> Labelled:
    data = load(name, task)
    T = noise_matrix(data, setting)
    y, flipped = noise.corrupt(data.y_train.astype(np.int64), T, random_state=seed)
    rows = np.arange(len(y))
    if len(y) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:max_rows])
    return Labelled(data.X_train[rows], y[rows], flipped[rows], T, data)


@lru_cache(maxsize=1)
def load(name: str, task: str) -> datasets.Dataset:
    return datasets.load(name, task=task)  # type: ignore[arg-type]


# --- the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What came of one setting."""

    dataset: str
    task: str
    noise: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    retrained: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the setting is called."""
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
        """As a share of cleanlab's."""
        return float(self.ours["seconds"] / self.theirs["seconds"])

    @property
    def is_covered(self) -> bool:
        """Whether the interval covers the true rate."""
        low, high = self.ours["interval"]
        return bool(low <= self.ours["flipped"] <= high)

    def cleaning(self, how: str) -> float:
        """Points of accuracy that cleaning gains."""
        return float(self.retrained[how] - self.retrained["as it is"])

    def is_cleaned(self, how: str) -> bool:
        """Whether the audit found that cleaning helps."""
        return bool(self.retrained["cleaned"][how])


def rows_of(results: Mapping[Job, Mapping[str, Any]]) -> list[Row]:
    settings: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for job, result in results.items():
        settings.setdefault((job.dataset, job.task, job.noise), {})[job.method] = result
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
        f"Average precision at or above the better of cleanlab's two scores, within 0.2 points: in "
        f"{sum(row.gain >= -0.2 for row in rows)} of {n} settings, {fmean(r.gain for r in rows):+.1f} "
        f"points on average. The lowest is {lowest.name}, {lowest.gain:+.2f} points.",
        f"Time: {fmean(row.time for row in rows):.2f} of cleanlab's on average; at most a third in "
        f"{sum(row.time <= 1 / 3 for row in rows)} of {n}. The slowest is {slowest.name}, "
        f"{slowest.time:.2f}.",
        f"The noise matrix is as near to the true one or nearer in {better_matrix} of {n}.",
        f"The noise rate is off by {100 * rate_errors[0]:.1f} points on average, cleanlab's by "
        f"{100 * rate_errors[1]:.1f}. The interval covers the true rate in "
        f"{sum(row.is_covered for row in rows)} of {n}.",
    ]
    for how in HOW:
        worst = min(rows, key=lambda row: row.cleaning(how))
        lines.append(
            f'Retraining after `clean(how="{how}")`, which cleans in '
            f"{sum(row.is_cleaned(how) for row in rows)} of {n}: "
            f"{fmean(row.cleaning(how) for row in rows):+.2f} points of test accuracy on average; "
            f"the lowest is {worst.name}, {worst.cleaning(how):+.2f} points."
        )
    return "\n".join(f"- {line}" for line in lines)


def detection_table(rows: Sequence[Row]) -> str:
    columns = (
        *("data", "noise", *(f"cleanlab, {name.replace('_', ' ')}" for name in CLEANLAB_SCORES)),
        *("hardwood", "difference", "cleanlab (s)", "hardwood (s)", "of its time"),
    )
    cells = [
        [
            f"{title(row.dataset)}, {row.task}",
            row.noise,
            *(f"{row.theirs['average_precision'][name]:.2f}" for name in CLEANLAB_SCORES),
            f"{row.ours['average_precision']:.2f}",
            f"{row.gain:+.2f}",
            f"{row.theirs['seconds']:.1f}",
            f"{row.ours['seconds']:.1f}",
            f"{row.time:.2f}",
        ]
        for row in rows
    ]
    return markdown_table(columns, cells, 2)


def noise_table(rows: Sequence[Row]) -> str:
    columns = (
        *("data", "noise", "T's error, cleanlab", "hardwood", "labels wrong (%)", "cleanlab"),
        *("hardwood", "interval", "covers"),
    )
    cells = [
        [
            f"{title(row.dataset)}, {row.task}",
            row.noise,
            *(f"{result['matrix_error']:.4f}" for result in (row.theirs, row.ours)),
            *(
                f"{100 * rate:.1f}"
                for rate in (row.ours["flipped"], row.theirs["rate"], row.ours["rate"])
            ),
            " – ".join(f"{100 * end:.1f}" for end in row.ours["interval"]),
            "yes" if row.is_covered else "no",
        ]
        for row in rows
    ]
    return markdown_table(columns, cells, 2)


def cleaning_table(rows: Sequence[Row]) -> str:
    cells = [
        [
            f"{title(row.dataset)}, {row.task}",
            row.noise,
            f"{row.retrained['as it is']:.2f}",
            *(f"{row.cleaning(how):+.2f}" if row.is_cleaned(how) else "as they are" for how in HOW),
        ]
        for row in rows
    ]
    return markdown_table(("data", "noise", "accuracy", *HOW), cells, 2)


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
    columns = ("detector", "mean difference", "lowest", "at or above, within 0.2 points")
    return markdown_table(columns, cells, 1)


def page(rows: Sequence[Row], figure: str, command: str) -> str:
    libraries = ("hardwood", "cleanlab", "scikit-learn")
    measured = ", ".join(f"{library} {version(library)}" for library in libraries)
    most = max(row.ours["rows"] for row in rows)
    return f"""# Finding wrong labels

`LabelAudit()` as it comes, against cleanlab with a scikit-learn forest ({TREES} trees, {FOLDS}-fold cross-validation), on the
training sets of the paper's data (at most {most:,} rows) with labels flipped by known noise: *uniform* rates; *classes* are flipped at
different rates (two classes: the rates named; more: by the classes' Mahalanobis distances); *pairs*, each class is mistaken for the
next one. No method sees a clean label or the noise.

{summary(rows)}

![Average precision of hardwood and cleanlab in each setting]({figure})

## Which labels are wrong

Average precision at finding the flipped labels, in percent, and seconds by the clock.

{detection_table(rows)}

The detectors, on the same out-of-bag votes, against the better of cleanlab's two scores (points of average precision):

{detectors_table(rows)}

## How many, and mistaken for what

The mean absolute error of the noise matrix's entries, and the share of wrong labels in percent.

{noise_table(rows)}

## A model of the cleaned data

Accuracy in percent on clean test labels of `AdaptiveForestClassifier()` trained on the noisy data as they are, and what it gains when
`clean` has cleaned them. Where it measures no gain above two standard errors, it leaves them *as they are*.

{cleaning_table(rows)}

Measured with {measured}. To make this page again:

```bash
{command}
```
"""


def save_figure(rows: Sequence[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    ordered = sorted(rows, key=lambda row: row.gain)
    places = np.arange(len(ordered))
    figure = Figure(figsize=(8.5, 1.2 + 0.19 * len(ordered)), layout="constrained")
    ax = figure.subplots()
    theirs = np.array([row.peer for row in ordered])
    ours = np.array([row.ours["average_precision"] for row in ordered])
    ax.hlines(places, theirs, ours, color="#cfe3d2", linewidth=3, zorder=1)
    ax.scatter(theirs, places, s=18, color="#9a9a9a", label="cleanlab, the better of its scores")
    ax.scatter(ours, places, s=18, color="#14532d", label="hardwood")
    ax.set_yticks(places, [row.name for row in ordered], fontsize=7)
    ax.set_ylim(-1, len(ordered))
    ax.set_xlabel("average precision at finding the wrong labels (%)")
    ax.tick_params(length=0)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse(argv)
    planned = list(jobs(arguments))
    rows = rows_of(resumed(planned, partial(run, threads=arguments.threads), arguments.results))
    command = shlex.join(["python", "benchmarks/audit.py", *(argv or sys.argv[1:])])
    if arguments.output and rows:
        picture = arguments.output.with_suffix(".png")
        save_figure(rows, picture)
        arguments.output.write_text(page(rows, picture.name, command), encoding="utf-8")
    elif rows:
        print(page(rows, "audit.png", command))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = [name for name in DATASETS if datasets.find(name) is not None]
    parser.add_argument("--datasets", nargs="+", choices=here, default=here)
    parser.add_argument("--tasks", nargs="+", choices=tuple(NOISES), default=tuple(NOISES))
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--max-rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--results", type=Path, default=Path("audit.jsonl"))
    parser.add_argument("--output", type=Path)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
