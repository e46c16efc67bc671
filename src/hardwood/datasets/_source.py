"""What is known of a data set: its size, its binary task, and its original files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote


class Shape(NamedTuple):
    """The size of a data set: its rows, columns and classes."""

    n_train: int
    n_test: int
    n_features: int
    n_classes: int


class BinaryTask(NamedTuple):
    """How the paper makes two classes of many: label 0 is its first-listed group."""

    classes: tuple[str, str]
    is_first: Callable[[str], bool]

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the data set with the two groups as its labels."""
        label_of = np.array([not self.is_first(name) for name in dataset.classes], dtype=np.uint8)
        return dataset._replace(
            y_train=label_of[dataset.y_train],
            y_test=label_of[dataset.y_test],
            classes=np.array(self.classes),
        )


@dataclass(frozen=True)
class Source:
    """A data set of the paper.

    Attributes
    ----------
    name : str
        Its name in `load`.
    shape : Shape
        What its complete originals hold.
    binary_task : BinaryTask
        The paper's two groups of its classes.
    find : callable
        Given a folder, the original files in it, or None unless all are there.
    read : callable
        Given those files, the data set.
    originals : str
        What the files are and where they come from, for messages.
    remotes : tuple of Remote
        What a download fetches.
    """

    name: str
    shape: Shape
    binary_task: BinaryTask
    find: Callable[[Path], list[Path] | None]
    read: Callable[[list[Path]], Dataset]
    originals: str
    remotes: tuple[Remote, ...] = ()


def first_file(folder: Path, names: Iterable[str]) -> Path | None:
    """Return the first of the files that is in the folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def one_file(*names: str) -> Callable[[Path], list[Path] | None]:
    """Return a `Source.find` for originals that are one file, under any of the names."""

    def find(folder: Path) -> list[Path] | None:
        path = first_file(folder, names)
        return [path] if path else None

    return find
