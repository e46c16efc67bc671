"""UNSW-NB15: the two CSV files of its training and testing partition."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source
from hardwood.datasets._text import open_text, read_table

_FILES = ("UNSW_NB15_training-set.csv", "UNSW_NB15_testing-set.csv")
_NOT_FEATURES = {"id", "proto", "service", "state", "attack_cat", "label"}  # as in the paper
_CLASSES = (
    "Normal", "Analysis", "Backdoor", "DoS", "Exploits", "Fuzzers", "Generic", "Reconnaissance",
    "Shellcode", "Worms",
)  # fmt: skip


def _read(paths: list[Path]) -> Dataset:
    (X_train, y_train, names), (X_test, y_test, test_names) = map(_read_csv, paths)
    if names != test_names:
        raise ValueError("the two files have different columns")
    # Some copies have the two names swapped. The training set has more rows.
    if (len(y_train), len(y_test)) == (SOURCE.shape.n_test, SOURCE.shape.n_train):
        X_train, y_train, X_test, y_test = X_test, y_test, X_train, y_train
    return Dataset(X_train, y_train, X_test, y_test, np.array(_CLASSES), np.array(names))


def _read_csv(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8], list[str]]:
    with open_text(path) as file:
        header = [name.strip() for name in next(csv.reader(file), [])]
    if "attack_cat" not in header:
        raise ValueError(f"{path.name} has no column attack_cat")
    names = [name for name in header if name.lower() not in _NOT_FEATURES]
    columns = [header.index(name) for name in names]
    with open_text(path) as file:
        X = read_table(file, np.float64, usecols=columns, skiprows=1)
    with open_text(path) as file:
        categories = read_table(file, np.str_, usecols=header.index("attack_cat"), skiprows=1)
    categories = np.char.strip(categories[:, 0])
    label_of = {name: label for label, name in enumerate(_CLASSES)}
    unknown = sorted(set(categories) - set(label_of))
    if unknown:
        raise ValueError(f"{path.name} has the unknown attack categories {', '.join(unknown)}")
    return X, np.array([label_of[name] for name in categories], dtype=np.uint8), names


SOURCE = Source(
    name="unsw_nb15",
    shape=Shape(175_341, 82_332, 39, 10),
    binary_task=BinaryTask(("attack", "benign"), lambda category: category != "Normal"),
    layouts=(Layout(tuple((file,) for file in _FILES)),),
    read=_read,
    originals=(
        f"{' and '.join(_FILES)}, available on request from "
        "https://research.unsw.edu.au/projects/unsw-nb15-dataset (they cannot be downloaded)"
    ),
)
