"""A review of labels, simulated: how many rows people must check, and how well the plan foretells it.

Labels are flipped by known noise, so a simulated reviewer can look them up. It requires cleanlab. No
method sees a clean label or the noise, apart from the reviewer's verdicts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from hardwood import noise
from hardwood.audit import LabelAudit
from lab import options
from lab.benchmarks import table_sets
from lab.benchmarks.review_page import draw, page
from lab.data import load
from lab.library import adaptive_forest, versions
from lab.runner import Plan
from lab.store import Measured, Run, open_results, settings_json

Array = npt.NDArray[Any]

LARGE = ("mushrooms", "20news", "unsw_nb15", "mnist", "covertype")
KINDS = ("0.1", "0.2", "0.3", "classes", "pairs")
TARGET = 0.01
BATCH = 0.05
"""Share of the rows that are reviewed before the audit is updated."""
SHARES = (0.01, 0.02, 0.05, 0.1)
"""Shares of the rows after which a model is trained."""
ERRING = 0.9
ERRING_SHARES = (0.1, 0.2, 0.3)
TREES, FOLDS, MAX_TEST = 100, 5, 10_000
PARTS = ("order", "plan", "erring", "training")
"""What a run measures: rows needed, the plan, a reviewer who errs, and models trained on the way."""


@dataclass(frozen=True)
class Table:
    """Training rows with true and noisy labels, and test rows."""

    X: Array
    y: Array
    noisy: Array
    X_test: Array
    y_test: Array

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which labels are wrong."""
        return np.asarray(self.y != self.noisy)


# --- running -------------------------------------------------------------------------------------


def bench(
    context: typer.Context,
    names: options.Datasets = None,
    families: Annotated[
        options.Several, options.several("Balanced or imbalanced tables, or large ones.")
    ] = None,
    half: Annotated[
        options.Several, options.several("Only the development or the held-out half.")
    ] = None,
    kinds: Annotated[
        options.Several, options.several("Only these kinds of noise.", "NAMES", "--noise")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    tables: Annotated[
        options.Several, options.several("Only these balanced or imbalanced tables.", "NAMES")
    ] = None,
    parts: Annotated[
        options.Several, options.several(f"What to measure: {', '.join(PARTS)}; by default all.")
    ] = None,
    max_rows: Annotated[int, typer.Option(min=100, help="Maximum number of rows.")] = 4000,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds, from 0.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    run: Annotated[
        bool, typer.Option(help="Perform the runs that the store does not hold.")
    ] = True,
    store: options.Kept = Path("review.sqlite"),
    output: options.Output = None,
) -> None:
    """Simulate reviews of labels, in our order and in cleanlab's."""
    chosen = options.choose("--families", families, ("balanced", "imbalanced", "large"))
    small = [family for family in chosen if family != "large"]
    folder = folder or (table_sets.default_folder() if small else Path())
    halves = options.choose("--half", half, table_sets.HALVES)
    asked = options.split(tables)
    paths = [
        path
        for path in (table_sets.find_tables(folder, small) if small else ())
        if table_sets.half_of(table_sets.name_of(path)) in halves
        and (not asked or table_sets.name_of(path) in asked)
    ]
    large = options.choose_datasets(names, LARGE) if "large" in chosen else []
    kinds = options.choose("--noise", kinds, KINDS)
    measured = [part for part in PARTS if part in options.choose("--parts", parts, PARTS)]
    runs = list(plan_runs(paths, large, kinds, max_rows, range(seeds), measured))
    plan = Plan(
        runs,
        partial(perform, folder),
        versions(["hardwood", "scikit-learn", "cleanlab"], machine=False),
        by_threads=lambda run: False,
    )
    if run or store is None:
        found = options.stored_results(plan, store, jobs)
    else:
        with open_results(store) as opened:
            found = opened.results(runs)
    results = [result for result in found if "rows" in result.measured]
    if results:
        words = "How often labels with a score are wrong, and rows to review in our and in another order"
        image = (
            options.save_figure(partial(draw, results), output.with_suffix(".png"), words)
            if output and {"order", "plan"} <= set(measured)
            else ""
        )
        command = options.command_line(context, leave_out=("store", "run", "jobs"))
        options.write_page(page(results, image, command), output)


def plan_runs(
    paths: Sequence[Path],
    large: Sequence[str],
    kinds: Sequence[str],
    max_rows: int,
    seeds: Sequence[int],
    parts: Sequence[str] = PARTS,
) -> Iterator[Run]:
    """Yield the runs, small tables first."""
    settings = settings_json(
        {"benchmark": "review", "batch": BATCH, "target": TARGET, "parts": parts}
    )
    for seed in seeds:
        for kind in kinds:
            for path in sorted(paths, key=lambda path: path.stat().st_size):
                name, family = table_sets.name_of(path), path.parent.name
                yield Run(name, family, "review", "", kind, seed, TREES, max_rows, settings)
        for name in large:
            for kind in kinds:
                yield Run(name, "large", "review", "", kind, seed, TREES, max_rows, settings)


def perform(folder: Path, run: Run, threads: int) -> Measured:
    if run.task == "large":
        table = large_table(run.dataset, run.noise, run.seed, run.max_rows)
    else:
        path = folder / run.task / f"{run.dataset}.csv.gz"
        table = small_table(path, run.noise, run.seed, run.max_rows)
    counts = np.bincount(table.noisy, minlength=int(table.y.max()) + 1)
    if counts.min() < 2:  # cross-validation needs two rows of each class
        return {"left_out": "a class has fewer than two labels"}
    start = time.perf_counter()
    settings = json.loads(run.settings)
    found = simulate(table, run.seed, settings["batch"], settings["target"], settings["parts"])
    return {**found, "seconds": time.perf_counter() - start}


def small_table(path: Path, kind: str, seed: int, max_rows: int) -> Table:
    split = table_sets.split_table(path, kind, seed)
    first = slice(0, max_rows)  # the rows are in random order
    return Table(
        split.X_train[first], split.y_train[first], split.y_noisy[first], split.X_test, split.y_test
    )


@lru_cache(maxsize=1)
def _large_rows(name: str, seed: int, max_rows: int) -> tuple[Array, ...]:
    data = load(name, "binary" if name == "mushrooms" else "multiclass")
    n = min(max_rows, len(data.y_train) - 1)
    rows, _ = train_test_split(
        np.arange(len(data.y_train)), train_size=n, stratify=data.y_train, random_state=seed
    )
    test = np.random.default_rng(seed).permutation(len(data.y_test))[:MAX_TEST]
    return data.X_train[rows], data.y_train[rows], data.X_test[test], data.y_test[test]


def large_table(name: str, kind: str, seed: int, max_rows: int) -> Table:
    X, y, X_test, y_test = _large_rows(name, seed, max_rows)
    classes, labels = np.unique(y, return_inverse=True)
    T = table_sets.noise_for(kind, len(classes), "balanced")
    noisy, _ = noise.corrupt(labels, T, random_state=seed)
    kept = np.isin(y_test, classes)
    return Table(X, labels, noisy, X_test[kept], np.searchsorted(classes, y_test[kept]))


# --- one review ----------------------------------------------------------------------------------


def simulate(
    table: Table, seed: int, batch: float, target: float, parts: Sequence[str] = PARTS
) -> Measured:
    """Review the labels of a table in several orders, and compare the plan with what is found."""
    n, wrong = len(table.y), table.wrong
    audit = LabelAudit(n_jobs=1, random_state=seed, reviewer_accuracy=1.0)
    audit.fit(table.X, table.noisy)
    found: Measured = {
        "rows": n,
        "classes": int(table.y.max()) + 1,
        "wrong": int(wrong.sum()),
        "can_tell": bool(audit.can_tell_),
    }
    if "plan" in parts:
        found["plan"] = compared(audit, wrong, target)
        found["reliability"] = reliability(audit.issues_["score"].to_numpy(), wrong)
    if not {"order", "erring", "training"} & set(parts):
        return found
    theirs = cleanlab_order(table, seed)
    # A model is trained after a tenth of the rows, so the review may end there.
    until = target if "order" in parts else 1.0
    ours, after = review_in_batches(deepcopy(audit), table, batch, until, target)
    by_rank = audit.issues_.sort_values("rank").index.to_numpy()
    if "order" in parts:
        found["needed"] = {
            "batches": rows_needed(wrong, ours, target),
            "ranks": rows_needed(wrong, by_rank, target),
            "cleanlab": rows_needed(wrong, theirs, target),
            "random": expected_at_random(wrong, target),
        }
    if "plan" in parts:
        found["plan_after_batch"] = after
    if "erring" in parts:
        erring = deepcopy(audit).set_params(reviewer_accuracy=ERRING)
        found["erring"] = erring_review(erring, table, seed, theirs)
    if "training" in parts:
        found["trained"] = accuracies(table, seed, {"batches": ours, "cleanlab": theirs})
    return found


def cleanlab_order(table: Table, seed: int) -> Array:
    from cleanlab.rank import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        get_label_quality_scores,
    )

    folds = StratifiedKFold(
        min(FOLDS, int(np.bincount(table.noisy).min())), shuffle=True, random_state=seed
    )
    forest = RandomForestClassifier(TREES, random_state=seed)
    proba = cross_val_predict(forest, table.X, table.noisy, cv=folds, method="predict_proba")
    return np.argsort(get_label_quality_scores(table.noisy, proba), kind="stable")


def rows_needed(wrong: Array, order: Array, target: float) -> int:
    """Return how many rows are reviewed until at most a share of all labels is wrong."""
    left = np.concatenate([[wrong.sum()], wrong.sum() - np.cumsum(wrong[order])])
    return int(np.argmax(left <= target * len(wrong)))


def expected_at_random(wrong: Array, target: float) -> float:
    """Return how many rows that is on average if they are drawn at random."""
    n, n_wrong, allowed = len(wrong), int(wrong.sum()), int(target * len(wrong))
    # The k-th of m wrong labels among n rows is at k (n + 1)/(m + 1) on average.
    return max(0, n_wrong - allowed) * (n + 1) / (n_wrong + 1)


def decided(rows: Array, labels: Array) -> dict[str, Array]:
    return {"row": rows, "label": labels[rows]}


def review_in_batches(
    audit: LabelAudit, table: Table, batch: float, until: float, target: float
) -> tuple[Array, dict[str, Any]]:
    """Return the rows in the order of a review with updates, and the plan after the first 5 %.

    The review goes on for 10 % of the rows at least, and until at most a share `until` of the labels
    is wrong.
    """
    left = table.wrong.copy()
    n = len(left)
    after: dict[str, Any] = {}
    reviewed: Array = np.empty(0, dtype=np.intp)
    goals = [round(share * n) for share in SHARES]
    while left.sum() > until * n or len(reviewed) < goals[-1]:
        ahead = [goal for goal in goals if goal > len(reviewed)]
        goal = ahead[0] if ahead else len(reviewed) + max(1, round(batch * n))
        rows = audit.next_rows(max(1, goal - len(reviewed)))
        reviewed = np.concatenate([reviewed, rows])
        left[rows] = False
        if left.sum() > until * n or len(reviewed) < goals[-1]:
            audit.update(decided(rows, table.y))
        if len(reviewed) == round(batch * n) and left.sum() > target * n:
            after = compared(audit, left, target)
    return reviewed, after


def compared(audit: LabelAudit, wrong: Array, target: float) -> dict[str, Any]:
    """Return the plan's first, middle and last line next to what is then really left."""
    plan = audit.review_plan(target)
    table = audit.issues_
    order = table.sort_values("rank").index.to_numpy()
    if "decided" in table:
        order = order[: int((~table["decided"]).sum())]
    left = np.concatenate([[wrong.sum()], wrong.sum() - np.cumsum(wrong[order])])
    lines = []
    for line in plan.iloc[[0, len(plan) // 2, len(plan) - 1]].to_dict("records"):
        real = int(left[int(line["rows"])])
        lines.append([float(line[name]) for name in ("left", "left_low", "left_high")] + [real])
    return {
        "planned": int(plan["rows"].iloc[-1]),
        "needed": int(np.argmax(left <= target * len(wrong))),
        "lines": lines,
    }


def reliability(scores: Array, wrong: Array) -> list[list[float]]:
    """Return for each tenth of the scores how many labels, their sum of scores, and how many wrong."""
    place = np.minimum((10 * scores).astype(int), 9)
    return [
        [float(np.bincount(place, weights, minlength=10)[k]) for weights in (None, scores, wrong)]
        for k in range(10)
    ]


def erring_review(
    audit: LabelAudit, table: Table, seed: int, theirs: Array
) -> dict[str, list[float]]:
    """Return the share of right labels after a reviewer who is right 9 times in 10, by share reviewed."""
    n, K = len(table.y), int(table.y.max()) + 1
    random = np.random.default_rng(seed)
    mistaken = random.random(n) > ERRING
    other = (table.y + random.integers(1, K, size=n)) % K
    verdict = np.where(mistaken, other, table.y)
    orders = {"cleanlab": theirs, "random": random.permutation(n)}
    found: dict[str, list[float]] = {name: [] for name in ("batches", *orders)}
    ours: Array = np.empty(0, dtype=np.intp)
    for share in ERRING_SHARES:
        if len(ours):
            audit.update(decided(ours, verdict))
        ours = np.concatenate([ours, audit.next_rows(round(share * n) - len(ours))])
        for name, order in (("batches", ours), *orders.items()):
            reviewed = order[: round(share * n)]
            fixed = table.noisy.copy()
            fixed[reviewed] = verdict[reviewed]
            found[name].append(float(np.mean(fixed == table.y)))
    return found


def accuracies(table: Table, seed: int, orders: dict[str, Array]) -> dict[str, list[float]]:
    """Return the test accuracy of a model before a review and after each share of the rows.

    "told" is our order again, with a model that is told the labels from before the review.
    """

    def accuracy(labels: Array, observed: Array | None = None) -> float:
        forest = adaptive_forest(TREES // 2, random_state=seed, n_jobs=1)
        forest.fit(table.X, labels, observed=observed)
        return float(np.mean(forest.predict(table.X_test) == table.y_test))

    n = len(table.y)
    orders = {**orders, "random": np.random.default_rng(seed).permutation(n)}
    before = accuracy(table.noisy)
    found = {name: [before] for name in ("told", *orders)}
    for share in SHARES:
        for name, order in orders.items():
            fixed = table.noisy.copy()
            reviewed = order[: round(share * n)]
            fixed[reviewed] = table.y[reviewed]
            found[name].append(accuracy(fixed))
            if name == "batches":
                found["told"].append(accuracy(fixed, table.noisy))
    return found
