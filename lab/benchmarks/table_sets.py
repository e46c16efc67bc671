"""Folders of real tables: reading them, splitting them, and making their labels noisy.

A folder holds ``balanced/``, ``imbalanced/`` and ``mixed/``, or some of them, with tables in files
``*.csv.gz``: a header, the label in the last column, ``class``, and an empty field for a missing value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from hardwood import datasets, noise

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FAMILIES = ("balanced", "imbalanced", "mixed")
HALVES = ("development", "held-out")
LABEL = "class"
TEST_SHARE = 0.3

UNIFORM_RATES = {"0": 0.0, "0.1": 0.1, "0.2": 0.2, "0.3": 0.3, "0.4": 0.4}
NOISES = (*UNIFORM_RATES, "classes", "pairs")
PAIR_RATE = 0.25
CLASS_RATE = {"balanced": 0.25, "imbalanced": 0.15, "mixed": 0.25}
"""The mean rate of the classes in class-conditional noise."""

# Rules are chosen on the development half and judged on the other one. Tables from one source are in
# the same half: each line names such a source or, in the first group, a table that is alone. The
# halves have about the same sizes, numbers of classes, and difficulty. A table that is not named
# here, for example one that was kept back, is held out.
DEVELOPMENT: frozenset[str] = frozenset(
    {
        *("banana", "heart", "monk-2", "movement_libras", "ring", "saheart", "sonar", "wine"),
        "pima",  # in balanced/ and in imbalanced/
        *("segment", "segment0"),
        *("kr-vs-k-one_vs_fifteen", "kr-vs-k-three_vs_eleven", "kr-vs-k-zero-one_vs_draw"),
        *("kr-vs-k-zero_vs_eight", "kr-vs-k-zero_vs_fifteen"),
        *("poker-8-9_vs_5", "poker-8_vs_6"),
        *("yeast-0-2-5-6_vs_3-7-8-9", "yeast-1-2-8-9_vs_7", "yeast-2_vs_4", "yeast3", "yeast4"),
        "nursery",
    }
)


def half_of(table: str) -> str:
    """Return the half that a table belongs to, "development" or "held-out".

    Examples
    --------
    >>> from lab.benchmarks.table_sets import half_of
    >>> half_of("yeast3"), half_of("abalone9-18")
    ('development', 'held-out')
    """
    return HALVES[table not in DEVELOPMENT]


# --- reading -------------------------------------------------------------------------------------


def default_folder() -> Path:
    """Return the folder ``tables`` in the first folder of `hardwood.datasets.search_path` with one."""
    places = [Path(place) / "tables" for place in datasets.search_path()]
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"No folder of tables at {' or '.join(map(str, places))}. Name one with --folder."
    )


def find_tables(folder: Path, families: Sequence[str] = FAMILIES) -> list[Path]:
    """Return the files of the tables below a folder, sorted by family and name."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    found = [
        path for family in FAMILIES if family in families for path in tables_in(folder / family)
    ]
    if not found:
        places = ", ".join(f"{family}/*.csv.gz" for family in families)
        raise FileNotFoundError(f"{folder} holds no tables. It must have files {places}.")
    return found


def tables_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.csv.gz"))


def name_of(path: Path) -> str:
    """Return the name of a table: that of its file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from lab.benchmarks.table_sets import name_of
    >>> name_of(Path("tables/balanced/monk-2.csv.gz"))
    'monk-2'
    """
    return path.name.removesuffix(".csv.gz")


@lru_cache(maxsize=4)
def load_table(path: Path) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the features of a table as numbers, and its labels as numbers from 0.

    Texts become the rank of their category in alphabetical order, missing values NaN. Labels are
    numbered in the order of their values.

    Parameters
    ----------
    path : Path
        A CSV file, which may be compressed.

    Returns
    -------
    X : ndarray of float64 of shape (n_rows, n_features)
        The features.
    y : ndarray of int of shape (n_rows,)
        The labels.
    """
    import pandas as pd

    frame, y = load_frame(path)
    X = np.empty(frame.shape)
    for place, (_, column) in enumerate(frame.items()):
        if pd.api.types.is_numeric_dtype(column):
            X[:, place] = column
        else:
            codes = pd.Categorical(column).codes
            X[:, place] = np.where(codes < 0, np.nan, codes)
    return X, y


def load_frame(path: Path) -> tuple[Any, npt.NDArray[np.intp]]:
    """Return the features of a table as they are, a data frame, and its labels as numbers from 0."""
    import pandas as pd

    try:
        # Only an empty field is missing: "NA" and "None" can be categories.
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except (ValueError, EOFError) as error:  # pandas' parser errors are ValueErrors
        raise OSError(f"{path} is not a table: {error}") from error
    if len(frame.columns) < 2 or frame.columns[-1] != LABEL:
        last = f"{frame.columns[-1]!r}" if len(frame.columns) else "missing"
        raise OSError(
            f"The last column of {path} must be {LABEL!r}, after at least one feature; it is {last}."
        )
    labels = frame.pop(LABEL)
    if labels.isna().any():
        raise OSError(f"{path} has {labels.isna().sum()} rows without a label. Remove them.")
    classes, y = np.unique(labels.to_numpy(), return_inverse=True)
    if len(classes) < 2 or np.bincount(y).min() < 2:
        raise OSError(f"{path} must have at least two classes, and two rows of each.")
    return frame, y.astype(np.intp)


# --- noise and splits ----------------------------------------------------------------------------


def rate_of(kind: str, family: str) -> float:
    """Return the rate of a kind of noise; of ``"classes"``, the mean of the classes' rates."""
    if kind == "pairs":
        return PAIR_RATE
    return CLASS_RATE[family] if kind == "classes" else UNIFORM_RATES[kind]


def noise_for(kind: str, K: int, family: str) -> Floats:
    """Return the noise matrix of one of `NOISES`.

    Parameters
    ----------
    kind : str
        A uniform rate; ``"classes"``, which flips class i at the rate r·(½ + i/(K − 1)) evenly to the
        other classes; or ``"pairs"``, which mistakes each class for the next one.
    K : int
        Number of classes.
    family : str
        The family of the table, on which the mean rate r of ``"classes"`` depends.

    Returns
    -------
    ndarray of shape (K, K)
        The noise matrix ``T``: ``T[i, j]`` is the probability that class i is observed as j.

    Examples
    --------
    >>> from lab.benchmarks.table_sets import noise_for
    >>> noise_for("classes", 2, "balanced")
    array([[0.875, 0.125],
           [0.375, 0.625]])
    """
    rate = rate_of(kind, family)
    if kind == "pairs":
        return noise.pair_flip(K, rate)
    if kind != "classes":
        return noise.uniform(K, rate)
    rates = rate * (0.5 + np.arange(K) / (K - 1))
    T = np.repeat(rates[:, np.newaxis] / (K - 1), K, axis=1)
    np.fill_diagonal(T, 1 - rates)
    return noise.class_conditional(T)


@dataclass(frozen=True)
class Split:
    """A table split into a training part, whose labels are noisy, and a test part with clean labels.

    Attributes
    ----------
    X_train, X_test : ndarray of float64
        The features.
    y_train, y_test : ndarray of int
        The clean labels.
    y_noisy : ndarray of int
        The training labels that a model sees.
    flipped : ndarray of bool
        Where `y_noisy` differs from `y_train`.
    n_classes : int
        Number of classes in the table.
    """

    X_train: Floats
    X_test: Floats
    y_train: npt.NDArray[np.intp]
    y_test: npt.NDArray[np.intp]
    y_noisy: npt.NDArray[np.intp]
    flipped: npt.NDArray[np.bool_]
    n_classes: int


@lru_cache(maxsize=4)
def split_table(path: Path, kind: str, seed: int) -> Split:
    """Split a table 70 : 30, stratified by class, and flip labels of its training part.

    The split depends on the seed alone, so that all kinds of noise share it.

    Parameters
    ----------
    path : Path
        The file of the table, in a folder named after its family.
    kind : str
        One of `NOISES`.
    seed : int
        Seed of the split and of the noise.

    Returns
    -------
    Split
        The two parts.
    """
    X, y = load_table(path)
    K = int(y.max()) + 1
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    y_noisy, flipped = noise.corrupt(y_train, noise_for(kind, K, path.parent.name), seed)
    return Split(X_train, X_test, y_train, y_test, y_noisy.astype(np.intp), flipped, K)
