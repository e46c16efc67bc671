"""Adaptive forests against the paper's and against other libraries', on the same noisy labels.

    python benchmarks/accuracy.py --results accuracy.jsonl --output docs/benchmarks/accuracy.md

Every cell of the paper's forest tables for the data sets at hand. Each result is a line of the
results file as soon as it is there, so that a run that was stopped goes on where it was. No method
sees a clean label or the noise rate; accuracies are on clean test labels.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from hardwood import AdaptiveForestClassifier, datasets, noise
from lab.benchmarks.common import markdown_table, resumed
from lab.paper import load_spec
from lab.paper.compare import paper_results, title

Array = npt.NDArray[Any]

TREES = 100
# Larger training sets are cut down for the peers, and once more for us to stand beside them.
MOST_ROWS, CUT_TO = 100_000, 50_000
LEAVES = (1, 2, 5, 10, 20, 50, 100)
# Small data sets, where seeds differ most, get as many as in the paper.
SMALL, SEEDS_OF_SMALL = 20_000, 5
TIE = 0.3
OURS = "hardwood"


@dataclass(frozen=True)
class Job:
    """One model trained on one data set with one noise and one seed: the key of a result."""

    dataset: str
    task: str
    noise: str
    method: str
    seed: int
    max_rows: int  # 0: all
    trees: int


# --- the methods ---------------------------------------------------------------------------------


def hardwood_forest(job: Job, X: Array, y: Array, threads: int) -> Any:
    return AdaptiveForestClassifier(job.trees, random_state=job.seed, n_jobs=threads).fit(X, y)


def sklearn_forest(job: Job, X: Array, y: Array, threads: int) -> Any:
    return RandomForestClassifier(job.trees, random_state=job.seed, n_jobs=threads).fit(X, y)


def sklearn_tuned_leaf(job: Job, X: Array, y: Array, threads: int) -> Any:
    """Fit the forest whose ``min_samples_leaf`` has the best out-of-bag score."""
    best = None
    for leaf in LEAVES:
        forest = RandomForestClassifier(
            job.trees,
            min_samples_leaf=leaf,
            oob_score=True,
            random_state=job.seed,
            n_jobs=threads,
        ).fit(X, y)
        if best is None or forest.oob_score_ > best.oob_score_:
            best = forest
    return best


def lightgbm_early_stopping(job: Job, X: Array, y: Array, threads: int) -> Any:
    """Boost until 50 rounds bring nothing on a fifth of the rows, with noisy labels too."""
    import lightgbm

    order = np.random.default_rng(job.seed).permutation(len(y))
    held_out, kept = order[: len(y) // 5], order[len(y) // 5 :]
    model = lightgbm.LGBMClassifier(
        n_estimators=1000,
        random_state=job.seed,
        n_jobs=threads,
        verbose=-1,
    )
    X = np.asarray(X, dtype=np.float32 if X.dtype.itemsize <= 4 else np.float64)
    return model.fit(
        X[kept],
        y[kept],
        eval_set=[(X[held_out], y[held_out])],
        callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )


def cleanlab_forest(job: Job, X: Array, y: Array, threads: int) -> Any:
    from cleanlab.classification import CleanLearning  # type: ignore[import-untyped,import-not-found,unused-ignore]

    forest = RandomForestClassifier(job.trees, random_state=job.seed, n_jobs=threads)
    return CleanLearning(forest, seed=job.seed).fit(X, y.astype(np.int64))


@dataclass(frozen=True)
class Method:
    """A method, what it is called in the tables, and how many seeds it gets."""

    fit: Callable[[Job, Array, Array, int], Any]
    header: str
    seeds: int
    library: str


METHODS = {
    OURS: Method(hardwood_forest, "hardwood, adaptive", 2, "hardwood"),
    "sklearn": Method(sklearn_forest, "scikit-learn", 1, "sklearn"),
    "sklearn_leaf": Method(sklearn_tuned_leaf, "its leaf size tuned", 1, "sklearn"),
    "lightgbm": Method(lightgbm_early_stopping, "LightGBM, stopped early", 1, "lightgbm"),
    "cleanlab": Method(cleanlab_forest, "CleanLearning", 1, "cleanlab"),
}


# --- running -------------------------------------------------------------------------------------


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """Yield what is to be run: small data first, and all methods of a cell together."""
    spec = load_spec("paper")
    for name in sorted(arguments.datasets, key=lambda name: datasets.SHAPES[name].n_train):
        for task, grid in spec.tasks.items():
            if name not in grid.datasets or task not in arguments.tasks:
                continue
            is_large = datasets.SHAPES[name].n_train > MOST_ROWS
            is_small = datasets.SHAPES[name].n_train < SMALL
            for setting in grid.noise:
                if arguments.noise and setting not in arguments.noise:
                    continue
                for method in arguments.methods:
                    is_left_out = method != OURS and setting not in arguments.peer_noise
                    if arguments.peer_noise and is_left_out:
                        continue
                    n_seeds = min(METHODS[method].seeds, arguments.seeds)
                    if is_small and method == OURS:
                        n_seeds = SEEDS_OF_SMALL
                    sizes = {CUT_TO if is_large and method != OURS else 0}
                    if is_large and method == OURS and len(arguments.methods) > 1:
                        sizes.add(CUT_TO)
                    for size in sorted(sizes):
                        for seed in range(1 if size else n_seeds):
                            yield Job(name, task, setting, method, seed, size, arguments.trees)


def run(job: Job, threads: int) -> dict[str, Any]:
    data = load(job.dataset, job.task)
    T = noise_matrix(job.dataset, job.task, job.noise)
    y, _ = noise.corrupt(data.y_train, T, random_state=job.seed)
    X = data.X_train
    if job.max_rows:
        rows = np.random.default_rng(job.seed).permutation(len(y))[: job.max_rows]
        X, y = X[rows], y[rows]
    start = time.perf_counter()
    model = METHODS[job.method].fit(job, X, y, threads)
    seconds = time.perf_counter() - start
    result = {
        **asdict(job),
        "accuracy": 100 * float(np.mean(model.predict(data.X_test) == data.y_test)),
        "seconds": round(seconds, 2),
        "version": version(
            {"sklearn": "scikit-learn"}.get(lib := METHODS[job.method].library, lib)
        ),
    }
    if isinstance(model, AdaptiveForestClassifier):
        result["chosen"] = model.adaptation_.query("chosen")["note"].iloc[0]
        result["decision"] = model.decision_reason_
        result["noise_rate"] = model.noise_rate_
    return result


@lru_cache(maxsize=2)
def load(name: str, task: str) -> datasets.Dataset:
    return datasets.load(name, task=task)  # type: ignore[arg-type]


@lru_cache(maxsize=8)
def noise_matrix(name: str, task: str, setting: str) -> Array:
    definition = dict(load_spec("paper").noise[setting])
    data = load(name, task)
    match definition.pop("kind"):
        case "uniform":
            return noise.uniform(len(data.classes), **definition)
        case "class_conditional":
            return noise.class_conditional(**definition)
        case _:
            return noise.mahalanobis(data.X_train, data.y_train, **definition)


# --- the page ------------------------------------------------------------------------------------

Cell = tuple[str, str, str]
Means = Mapping[Cell, Mapping[tuple[str, int], float]]


def means(results: Iterable[tuple[Job, Mapping[str, Any]]]) -> Means:
    """Return mean accuracies over seeds, by cell, then by method and rows."""
    found: dict[Cell, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for job, result in results:
        cell = job.dataset, job.task, job.noise
        found[cell][job.method, job.max_rows].append(result["accuracy"])
    return {
        cell: {key: fmean(values) for key, values in by_method.items()}
        for cell, by_method in found.items()
    }


def best_of_eight(cell: Cell) -> float | None:
    """Return the paper's best forest, if its data are these."""
    name, task, setting = cell
    if not has_the_papers_data(name):
        return None
    return max(
        accuracy.mean
        for (model, of_task, of_name, _, of_noise), (accuracy, _) in paper_results().items()
        if (model, of_task, of_name, of_noise) == ("rf", task, name, setting)
    )


def papers_ane(cell: Cell) -> float | None:
    name, task, setting = cell
    if not has_the_papers_data(name):
        return None
    return paper_results()["rf", task, name, "ANE", setting][0].mean


@lru_cache
def has_the_papers_data(name: str) -> bool:
    data, shape = load(name, "multiclass"), datasets.SHAPES[name]
    rows_are = abs(len(data.y_train) - shape.n_train) < 0.01 * shape.n_train
    return rows_are and data.X_train.shape[1] == shape.n_features


def tables(found: Means) -> str:
    parts = []
    peers = [method for method in METHODS if method != OURS]
    for task in ("binary", "multiclass"):
        rows = []
        for cell, by_method in found.items():
            if cell[1] != task or (OURS, 0) not in by_method:
                continue
            cut = CUT_TO if any(size for _, size in by_method) else 0
            numbers = [
                best_of_eight(cell),
                papers_ane(cell),
                by_method[OURS, 0],
                by_method.get((OURS, cut)) if cut else None,
                *(by_method.get((peer, cut)) for peer in peers),
            ]
            rows.append([title(cell[0]), cell[2], *map(show, numbers)])
        if rows:
            columns = (
                *("data", "noise", "paper's best of 8", "paper's ANE", METHODS[OURS].header),
                f"the same, {CUT_TO:,} rows",
                *(METHODS[peer].header for peer in peers),
            )
            parts.append(f"## {task.capitalize()}\n\n{markdown_table(columns, rows, 2)}")
    return "\n\n".join(parts)


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def summary(found: Means) -> str:
    """Count the cells, as the tables have them."""
    lines = []
    ours = [
        (cell, by[OURS, 0], best_of_eight(cell)) for cell, by in found.items() if (OURS, 0) in by
    ]
    beside_paper = [(cell, a - best) for cell, a, best in ours if best is not None]
    noisy = [(cell, d) for cell, d in beside_paper if cell[2] != "0.0"]
    if noisy:
        worst, by = min(beside_paper, key=lambda pair: pair[1])
        lines.append(
            f"Beside the paper's best of eight forests: above it or within 0.1 points in "
            f"{sum(d >= -0.1 for _, d in noisy)} of {len(noisy)} noisy cells; the lowest of all "
            f"{len(beside_paper)} cells is {name_of(worst)}, {by:+.2f} points."
        )
    for peer in METHODS:
        if peer == OURS:
            continue
        differences = [
            (cell, by[OURS, size] - accuracy)
            for cell, by in found.items()
            for (method, size), accuracy in by.items()
            if method == peer and (OURS, size) in by
        ]
        if not differences:
            continue
        worst, by = min(differences, key=lambda pair: pair[1])
        lines.append(
            f"Beside {METHODS[peer].header}: better or within {TIE} points in "
            f"{sum(d >= -TIE for _, d in differences)} of {len(differences)} cells; the lowest is "
            f"{name_of(worst)}, {by:+.2f} points."
        )
    return "\n".join(f"- {line}" for line in lines)


def name_of(cell: Cell) -> str:
    return f"{title(cell[0])} {cell[1]} {cell[2]}"


def page(results: Mapping[Job, Mapping[str, Any]], command: str) -> str:
    found = means(results.items())
    trees = ", ".join(sorted({str(job.trees) for job in results}))
    used = sorted({(METHODS[j.method].library, r["version"]) for j, r in results.items()})
    named = ", ".join(f"{library} {number}" for library, number in used)
    return f"""# Accuracy under label noise

Test accuracy in percent of `AdaptiveForestClassifier()` as it comes, of the best of the paper's eight
forests in each cell, of the paper's ANE forest, and of other libraries on the same noisy labels. Forests have
{trees} trees. Noise is as in the paper: uniform rates, and class-conditional noise (two classes: cc1 flips 10 and
30 % of the classes, cc2 20 and 40 %; more: by the classes' Mahalanobis distances). Test labels are clean; no method sees
a clean label or the noise rate. Means of two seeds for `hardwood`, five where there are fewer than {SMALL:,} rows, and one for the
others; training sets above {MOST_ROWS:,} rows are cut to {CUT_TO:,} for the others, and `hardwood` on the same rows stands beside
them. The paper's figures are left out where the data differ from its own.

The peers: `RandomForestClassifier`; the same with `min_samples_leaf` of the best out-of-bag score, among
{", ".join(map(str, LEAVES))}; LightGBM of at most 1,000 rounds, stopped after 50 rounds without progress on a fifth of the
rows, their labels as noisy as all, at its default learning rate (on 20News with two classes a rate of 0.05 and 2,000 rounds had
0.4 to 0.8 points more, in many times the time); cleanlab's `CleanLearning` around a `RandomForestClassifier`.

{summary(found)}

{tables(found)}

Measured with {named}. To make this page again:

```bash
{command}
```
"""


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse(argv)
    planned = list(jobs(arguments))
    shown = resumed(planned, partial(run, threads=arguments.threads), arguments.results)
    text = page(shown, shlex.join(["python", "benchmarks/accuracy.py", *(argv or sys.argv[1:])]))
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = [name for name in datasets.NAMES if datasets.find(name) is not None]
    installed = [
        name
        for name, method in METHODS.items()
        if importlib.util.find_spec(method.library) is not None
    ]
    parser.add_argument("--datasets", nargs="+", choices=here, default=here)
    parser.add_argument(
        "--tasks", nargs="+", choices=("binary", "multiclass"), default=("binary", "multiclass")
    )
    parser.add_argument("--noise", nargs="+", default=())
    parser.add_argument("--peer-noise", nargs="+", default=(), help="the peers' settings; all else")
    parser.add_argument("--methods", nargs="+", choices=installed, default=installed)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--results", type=Path, default=Path("accuracy.jsonl"))
    parser.add_argument("--output", type=Path)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
