"""The cost of keeping a forest: time to save and load it, and the size of the file.

Covertype with 30 % uniform label noise. `hardwood.save` and `hardwood.load` are compared with joblib
on scikit-learn's forest. With Gini, both grow trees of about the same size; by default ours are
smaller. The forests take turns. Files are in the page cache when they are loaded. `save` waits until
the file is on disk, which joblib does not; the column "without waiting" leaves that out.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from unittest import mock

import joblib
import typer
from sklearn.ensemble import RandomForestClassifier

import hardwood
from hardwood import RobustForestClassifier
from lab import options
from lab.benchmarks.timing import timed
from lab.data import load, noisy_labels
from lab.library import versions
from lab.tables import as_markdown

COLUMNS = (
    "forest",
    "nodes (millions)",
    "save (s)",
    "without waiting (s)",
    "load (s)",
    "save + load, relative to joblib",
    "file (MB)",
    "relative to joblib",
)

Save = Callable[[Any, Path], object]
Load = Callable[[Path], object]


def bench(
    trees: options.Trees = 100,
    rounds: options.Rounds = 3,
    folder: Annotated[
        Path | None, typer.Option(help="Where to put the files; by default a temporary folder.")
    ] = None,
) -> None:
    """Measure the time to save and load a forest, and the size of its file."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        print(as_markdown(COLUMNS, measure(trees, rounds, Path(name))))
    print(f"\n{versions(['hardwood', 'scikit-learn', 'joblib', 'numpy'])}")


def save_without_waiting(model: Any, path: Path) -> None:
    with mock.patch.object(os, "fsync", return_value=None):
        hardwood.save(model, path)


class Kept(NamedTuple):
    """A forest, and how to save it, save it without waiting for the disk, and load it."""

    model: Any
    save: Save
    save_quickly: Save
    load: Load


def forests(n_trees: int) -> dict[str, Kept]:
    dataset = load("covertype")
    y = noisy_labels(dataset, rate=0.3)
    theirs = RandomForestClassifier(n_trees, n_jobs=-1, random_state=0)
    kept = {"scikit-learn, joblib": Kept(theirs, joblib.dump, joblib.dump, joblib.load)}
    for criterion in ("gini", "ne"):
        ours = RobustForestClassifier(n_trees, criterion=criterion, n_jobs=-1, random_state=0)
        kept[f"hardwood, {criterion}"] = Kept(
            ours, hardwood.save, save_without_waiting, hardwood.load
        )
    for each in kept.values():
        each.model.fit(dataset.X_train, y)
    return kept


def measure(n_trees: int, rounds: int, folder: Path) -> Iterator[list[str]]:
    kept = forests(n_trees)
    path = folder / "forest"
    seconds: dict[str, list[tuple[float, ...]]] = {name: [] for name in kept}
    sizes: dict[str, int] = {}
    for _ in range(rounds):
        for name, (model, save, save_quickly, load_from) in kept.items():
            saving = timed(partial(save, model, path)).wall
            os.sync()  # nobody pays for what another has left to write
            quick = timed(partial(save_quickly, model, path)).wall
            os.sync()
            seconds[name].append((saving, quick, timed(partial(load_from, path)).wall))
            sizes[name] = path.stat().st_size
            path.unlink()
    medians = {
        name: tuple(statistics.median(each) for each in zip(*taken, strict=True))
        for name, taken in seconds.items()
    }
    theirs = next(iter(kept))
    for name, (saving, quick, loading) in medians.items():
        n_nodes = sum(tree.tree_.node_count for tree in kept[name].model.estimators_)
        yield [
            name,
            f"{n_nodes / 1e6:.1f}",
            f"{saving:.2f}",
            f"{quick:.2f}",
            f"{loading:.2f}",
            f"{(saving + loading) / (medians[theirs][0] + medians[theirs][2]):.3f}",
            f"{sizes[name] / 1e6:,.0f}",
            f"{sizes[name] / sizes[theirs]:.3f}",
        ]
