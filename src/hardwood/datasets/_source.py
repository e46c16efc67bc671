"""What is known about a data set: its size, its binary task, and its original files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote


class Shape(NamedTuple):
    """The size of a data set: rows, columns and classes."""

    n_train: int
    n_test: int
    n_features: int
    n_classes: int


class BinaryTask(NamedTuple):
    """How the paper groups the classes into two. Label 0 is the group it lists first."""

    classes: tuple[str, str]
    is_first: Callable[[str], bool]

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the data set with the two groups as labels."""
        label_of = np.array([not self.is_first(name) for name in dataset.classes], dtype=np.uint8)
        return dataset._replace(
            y_train=label_of[dataset.y_train],
            y_test=label_of[dataset.y_test],
            classes=np.array(self.classes),
        )


class Layout(NamedTuple):
    """One form in which the original files come."""

    files: tuple[tuple[str, ...], ...]  # the names each may have; folders end with a slash
    places: tuple[str, ...] = (".",)  # where to look, relative to the folder searched

    def find(self, folder: Path) -> list[Path] | None:
        """Return the files in the first place that has them all."""
        for place in self.places:
            found = [_first(folder / place, names) for names in self.files]
            paths = [path for path in found if path]
            if len(paths) == len(self.files):
                return paths
        return None


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    for name in names:
        path = folder / name
        if path.is_dir() if name.endswith("/") else path.is_file():
            return path
    return None


@dataclass(frozen=True)
class Source:
    """A data set of the paper."""

    name: str
    shape: Shape  # of the complete originals
    binary_task: BinaryTask
    layouts: tuple[Layout, ...]  # the first one found is read
    read: Callable[[list[Path]], Dataset]
    originals: str  # what the files are and where they come from, for messages
    remotes: tuple[Remote, ...] = ()  # the files to download
    find_companion: Callable[[Path], Path | None] | None = None  # a file that every layout needs

    def find(self, folder: Path) -> list[Path] | None:
        """Return the original files in a folder, or None unless all of them are there."""
        paths = next(filter(None, (layout.find(folder) for layout in self.layouts)), None)
        if paths is None or self.find_companion is None:
            return paths
        companion = self.find_companion(folder)
        return [*paths, companion] if companion else None


def split_at_random(
    X: npt.NDArray[Any],
    y: npt.NDArray[np.uint8],
    classes: Sequence[str],
    feature_names: Sequence[str] | npt.NDArray[np.str_],
) -> Dataset:
    """Return 80 % of the rows for training and 20 % for testing, drawn as in the paper."""
    from sklearn.model_selection import train_test_split

    training, test = train_test_split(np.arange(len(y)), train_size=0.8, random_state=0)
    return Dataset(
        X[training], y[training], X[test], y[test], np.array(classes), np.array(feature_names)
    )
