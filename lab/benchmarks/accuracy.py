"""Adaptive forests compared with the paper's and with other libraries, on the same noisy labels.

It covers every cell of the paper's forest tables, for the data sets that are here. No method sees a
clean label or the noise rate. Accuracies are measured on clean test labels.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from sklearn.ensemble import RandomForestClassifier

from hardwood import datasets, noise
from lab import options
from lab.data import has_the_papers_rows, load, noise_probabilities, title
from lab.library import adaptive_forest, version_of, versions
from lab.paper import load_spec
from lab.paper.compare import paper_results
from lab.paper.spec import TASKS
from lab.runner import Plan
from lab.store import Measured, Result, Run, settings_json
from lab.tables import as_markdown, number

Array = npt.NDArray[Any]

# Training sets above MOST_ROWS are cut for the peers, and for us once more, for comparison.
MOST_ROWS, CUT_TO = 100_000, 50_000
# Training sets of more numbers than this would take the peers days.
MOST_NUMBERS = 10**8
LEAVES = (1, 2, 5, 10, 20, 50, 100)
# Small data sets, where seeds differ most, get as many seeds as in the paper.
SMALL, SEEDS_OF_SMALL = 20_000, 5
TIE = 0.3
OURS = "hardwood"


# --- the methods ---------------------------------------------------------------------------------


def hardwood_forest(run: Run, X: Array, y: Array, threads: int) -> Any:
    return adaptive_forest(run.trees, random_state=run.seed, n_jobs=threads).fit(X, y)


def sklearn_forest(run: Run, X: Array, y: Array, threads: int) -> Any:
    return RandomForestClassifier(run.trees, random_state=run.seed, n_jobs=threads).fit(X, y)


def sklearn_tuned_leaf(run: Run, X: Array, y: Array, threads: int) -> Any:
    """Fit forests and return the one whose ``min_samples_leaf`` has the best out-of-bag score."""
    best = None
    for leaf in LEAVES:
        forest = RandomForestClassifier(
            run.trees, min_samples_leaf=leaf, oob_score=True, random_state=run.seed, n_jobs=threads
        ).fit(X, y)
        if best is None or forest.oob_score_ > best.oob_score_:
            best = forest
    return best


def lightgbm_early_stopping(run: Run, X: Array, y: Array, threads: int) -> Any:
    """Boost until 50 rounds bring no gain on a fifth of the rows, whose labels are noisy too."""
    import lightgbm

    order = np.random.default_rng(run.seed).permutation(len(y))
    held_out, kept = order[: len(y) // 5], order[len(y) // 5 :]
    model = lightgbm.LGBMClassifier(
        n_estimators=1000, random_state=run.seed, n_jobs=threads, verbose=-1
    )
    X = np.asarray(X, dtype=np.float32 if X.dtype.itemsize <= 4 else np.float64)
    return model.fit(
        X[kept],
        y[kept],
        eval_set=[(X[held_out], y[held_out])],
        callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )


def cleanlab_forest(run: Run, X: Array, y: Array, threads: int) -> Any:
    from cleanlab.classification import CleanLearning  # type: ignore[import-untyped,import-not-found,unused-ignore]

    forest = RandomForestClassifier(run.trees, random_state=run.seed, n_jobs=threads)
    # More than one job would fork this process, which can hang among threads.
    in_one_job = {"n_jobs": 1}
    learner = CleanLearning(forest, seed=run.seed, find_label_issues_kwargs=in_one_job)
    return learner.fit(X, y.astype(np.int64))


@dataclass(frozen=True)
class Method:
    """A method, its name in the tables, its number of seeds, and the library it comes from."""

    fit: Callable[[Run, Array, Array, int], Any]
    header: str
    seeds: int
    library: str


METHODS = {
    OURS: Method(hardwood_forest, "hardwood, adaptive", 2, "hardwood"),
    "sklearn": Method(sklearn_forest, "scikit-learn", 1, "sklearn"),
    "sklearn_leaf": Method(sklearn_tuned_leaf, "scikit-learn, leaf size tuned", 1, "sklearn"),
    "lightgbm": Method(lightgbm_early_stopping, "LightGBM, stopped early", 1, "lightgbm"),
    "cleanlab": Method(cleanlab_forest, "CleanLearning", 1, "cleanlab"),
}


# --- running -------------------------------------------------------------------------------------


def bench(
    context: typer.Context,
    names: options.Datasets = None,
    tasks: options.Tasks = None,
    noise: Annotated[
        options.Several, options.several("Only these kinds of the paper's noise.")
    ] = None,
    peer_noise: Annotated[
        options.Several, options.several("The same, for the other libraries.")
    ] = None,
    methods: options.Methods = None,
    seeds: Annotated[int, typer.Option(min=1, help="Maximum number of seeds.")] = 2,
    trees: options.Trees = 100,
    threads: options.AllThreads = None,
    store: options.Kept = Path("accuracy.sqlite"),
    output: options.Output = None,
) -> None:
    """Compare the accuracy of adaptive forests under label noise with the paper and other libraries."""
    installed = [name for name in METHODS if importlib.util.find_spec(METHODS[name].library)]
    runs = list(
        plan_runs(
            options.choose_datasets(names),
            options.choose("--tasks", tasks, TASKS),
            options.split(noise),
            options.split(peer_noise),
            options.choose("--methods", methods, installed),
            seeds,
            trees,
        )
    )
    plan = Plan(runs, perform, versions(["hardwood", "numpy", "scikit-learn"], machine=False))
    by_hand = options.written_by_hand(output)
    results = options.stored_results(plan, store, threads)
    options.write_page(page(results, options.command_line(context), by_hand), output)


def plan_runs(
    names: Sequence[str],
    tasks: Sequence[str],
    noises: Sequence[str],
    peer_noises: Sequence[str],
    methods: Sequence[str],
    most_seeds: int,
    trees: int,
) -> Iterator[Run]:
    """Yield the runs, small data sets first and all methods of a cell together."""
    spec = load_spec("paper")
    for name in sorted(names, key=lambda name: datasets.SHAPES[name].n_train):
        is_large = datasets.SHAPES[name].n_train > MOST_ROWS
        is_small = datasets.SHAPES[name].n_train < SMALL
        is_wide = (
            not is_large
            and datasets.SHAPES[name].n_train * datasets.SHAPES[name].n_features > MOST_NUMBERS
        )
        for task, grid in spec.tasks.items():
            if name not in grid.datasets or task not in tasks:
                continue
            for setting in grid.noise:
                for method in methods:
                    if is_wide and method != OURS:
                        continue
                    wanted = noises if method == OURS else peer_noises or noises
                    if (noises and setting not in noises) or (wanted and setting not in wanted):
                        continue
                    n_seeds = min(METHODS[method].seeds, most_seeds)
                    if is_small and method == OURS:
                        n_seeds = SEEDS_OF_SMALL
                    sizes = {CUT_TO if is_large and method != OURS else 0}
                    if is_large and method == OURS and len(methods) > 1:
                        sizes.add(CUT_TO)
                    settings = {"benchmark": "accuracy", "noise": spec.noise[setting]}
                    for size in sorted(sizes):
                        for seed in range(1 if size else n_seeds):
                            key = (name, task, method, "", setting, seed, trees, size)
                            yield Run(*key, settings_json(settings))


def perform(run: Run, threads: int) -> Measured:
    data = load(run.dataset, run.task)
    T = noise_matrix(run.dataset, run.task, json.dumps(json.loads(run.settings)["noise"]))
    y, _ = noise.corrupt(data.y_train, T, random_state=run.seed)
    X = data.X_train
    if run.max_rows:
        rows = np.random.default_rng(run.seed).permutation(len(y))[: run.max_rows]
        X, y = X[rows], y[rows]
    method = METHODS[run.model]
    start = time.perf_counter()
    model = method.fit(run, X, y, threads)
    measured = {
        "seconds": round(time.perf_counter() - start, 2),
        "accuracy": 100 * float(np.mean(model.predict(data.X_test) == data.y_test)),
        "version": version_of({"sklearn": "scikit-learn"}.get(method.library, method.library)),
    }
    if run.model == OURS:
        measured["chosen"] = str(model.adaptation_.query("chosen")["note"].iloc[0])
        measured["decision"] = model.decision_reason_
        measured["noise_rate"] = float(model.noise_rate_)
    return measured


@lru_cache(maxsize=8)
def noise_matrix(name: str, task: str, definition: str) -> Array:
    return noise_probabilities(load(name, task), json.loads(definition))


# --- the page ------------------------------------------------------------------------------------

Cell = tuple[str, str, str]
Means = Mapping[Cell, Mapping[tuple[str, int], float]]


def means(results: Sequence[Result]) -> Means:
    """Return mean accuracies over seeds, by cell, then by method and maximum number of rows."""
    found: dict[Cell, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        run = result.run
        found[run.dataset, run.task, run.noise][run.model, run.max_rows].append(result.accuracy)
    return {
        cell: {key: fmean(values) for key, values in by_method.items()}
        for cell, by_method in found.items()
    }


def best_of_eight(cell: Cell) -> float | None:
    """Return the accuracy of the paper's best forest, if the data are the same."""
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
    data, shape = load(name), datasets.SHAPES[name]
    same_features = data.X_train.shape[1] == shape.n_features
    return same_features and has_the_papers_rows(name, len(data.y_train))


def tables(found: Means) -> str:
    parts = []
    peers = [method for method in METHODS if method != OURS]
    for task in ("binary", "multiclass"):
        rows = []
        for cell, by_method in found.items():
            if cell[1] != task or (OURS, 0) not in by_method:
                continue
            cut = CUT_TO if any(size for _, size in by_method) else 0
            values = [
                best_of_eight(cell),
                papers_ane(cell),
                by_method[OURS, 0],
                by_method.get((OURS, cut)) if cut else None,
                *(by_method.get((peer, cut)) for peer in peers),
            ]
            rows.append([title(cell[0]), cell[2], *(number(value, 1, ".2f") for value in values)])
        if rows:
            columns = (
                *("data", "noise", "paper's best of 8", "paper's ANE", METHODS[OURS].header),
                f"the same, {CUT_TO:,} rows",
                *(METHODS[peer].header for peer in peers),
            )
            parts.append(f"## {task.capitalize()}\n\n{as_markdown(columns, rows, 2)}")
    return "\n\n".join(parts)


def summary(found: Means) -> str:
    """Summarise the tables in a few sentences."""
    lines = []
    ours = [
        (cell, by[OURS, 0], best_of_eight(cell)) for cell, by in found.items() if (OURS, 0) in by
    ]
    beside_paper = [(cell, a - best) for cell, a, best in ours if best is not None]
    noisy = [(cell, d) for cell, d in beside_paper if cell[2] != "0.0"]
    if noisy:
        worst, by = min(beside_paper, key=lambda pair: pair[1])
        lines.append(
            f"Compared with the best of the paper's eight forests: better or within 0.1 points in "
            f"{sum(d >= -0.1 for _, d in noisy)} of {len(noisy)} noisy cells. The worst of all "
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
            f"Compared with {METHODS[peer].header}: better or within {TIE} points in "
            f"{sum(d >= -TIE for _, d in differences)} of {len(differences)} cells. The worst is "
            f"{name_of(worst)}, {by:+.2f} points."
        )
    return "\n".join(f"- {line}" for line in lines)


def name_of(cell: Cell) -> str:
    return f"{title(cell[0])} {cell[1]} {cell[2]}"


def page(results: Sequence[Result], command: str, by_hand: str = "") -> str:
    """Return the page; `by_hand`, such as which figures are of which version, follows the summary."""
    found = means(results)
    trees = ", ".join(sorted({str(result.run.trees) for result in results}))
    used = {(METHODS[r.run.model].library, r.measured["version"]) for r in results}
    named = ", ".join(f"{library} {version}" for library, version in sorted(used))
    return f"""# Accuracy under label noise

In short, for `AdaptiveForestClassifier()` with its defaults:

{summary(found)}

{by_hand}

## How it was measured

A *cell* is one data set with one kind of noise. The tables show the test accuracy of each method, in percent. Test labels are
clean. No method sees a clean label or the noise rate.

The noise is the paper's: uniform rates, and class-conditional noise (two classes: cc1 flips 10 % of one class and 30 %
of the other, cc2 20 % and 40 %; more classes: according to their Mahalanobis distances).

Forests have {trees} trees; the adaptive forest adds as many that are grown from all rows. The methods are:

- *hardwood*: `AdaptiveForestClassifier()` with its defaults. Its results are means of two seeds, or of five on data sets
  below {SMALL:,} rows.
- *The paper*: the best of its eight forests in each cell, and its ANE forest. Its figures are left out where its data
  differ from ours.
- *scikit-learn*: `RandomForestClassifier`; *leaf size tuned*, with the `min_samples_leaf` that has the best out-of-bag
  score, among {", ".join(map(str, LEAVES))}.
- *LightGBM*: at most 1,000 rounds with its default learning rate, stopped after 50 rounds without gain on a fifth of the
  rows, whose labels are as noisy as the rest. (On 20News with two classes, a rate of 0.05 and 2,000 rounds gained 0.4 to
  0.8 points, in many times the time.)
- *CleanLearning*: cleanlab around a `RandomForestClassifier`.

The other libraries are run with one seed. They get only {CUT_TO:,} rows of training sets above {MOST_ROWS:,}; a separate
column shows `hardwood` on the same rows. They are not run on CIFAR-10, whose 3,072 columns take them too long.

{tables(found)}

Measured with {named}. To make this page again:

```bash
{command}
```
"""
