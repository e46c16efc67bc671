"""What it costs to keep a forest: time to save and to load it, and the size of the file.

Covertype with 30 % uniform label noise, 100 trees. `hardwood.save` and `hardwood.load` against
joblib on scikit-learn's forest. With Gini both grow trees of about the same size; by default ours
are smaller. The forests take turns. Files are in the page cache when they are loaded. `save` waits until the disk has the
file, which joblib does not do; the column "without waiting" leaves that out.

    python benchmarks/persistence.py
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import joblib
from sklearn.ensemble import RandomForestClassifier

import hardwood
from hardwood import RobustForestClassifier, datasets
from lab.benchmarks.common import markdown_table, noisy_labels, timed, versions

Save = Callable[[Any, Path], object]
Load = Callable[[Path], object]


def save_without_waiting(model: Any, path: Path) -> None:
    with mock.patch.object(os, "fsync", return_value=None):
        hardwood.save(model, path)


class Kept(NamedTuple):
    """A forest, and how it is saved, saved without waiting for the disk, and loaded."""

    model: Any
    save: Save
    save_quickly: Save
    load: Load


def forests(n_trees: int) -> dict[str, Kept]:
    dataset = datasets.load("covertype")
    y = noisy_labels(dataset, rate=0.3, seed=0)
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
        for name, (model, save, save_quickly, load) in kept.items():
            saving = timed(partial(save, model, path)).wall
            os.sync()  # nobody pays for what another has left to write
            quick = timed(partial(save_quickly, model, path)).wall
            os.sync()
            seconds[name].append((saving, quick, timed(partial(load, path)).wall))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where to put the files; a temporary folder by default")
    arguments = parser.parse_args()
    columns = (
        "forest",
        "nodes (millions)",
        "save (s)",
        "without waiting (s)",
        "load (s)",
        "save + load, share of joblib's",
        "file (MB)",
        "share of joblib's",
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = measure(arguments.trees, arguments.rounds, Path(folder))
        print(markdown_table(columns, rows))
    print(f"\n{versions(['hardwood', 'scikit-learn', 'joblib', 'numpy'])}")


if __name__ == "__main__":
    main()
