"""The libraries that are compared, each brought to the same parameters.

Unlimited depth, leaves of one sample, ``max_features`` candidates a node, bootstrap. Where a
library cannot do the same, its `note` says so, and the report prints it.
"""

from __future__ import annotations

import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import RobustForestClassifier
from lab.speed import ranger

__all__ = ["BASELINE", "PEERS", "Forest", "Peer", "Settings"]

Matrix = NDArray[np.float32]
Labels = NDArray[np.int64]

# Sampling with replacement sees 1 − 1/e of the rows: the share to draw where there is no bootstrap.
_DISTINCT_SHARE = 0.632


@dataclass(frozen=True)
class Settings:
    """What all peers are given."""

    n_trees: int
    max_features: int
    n_features: int
    n_classes: int
    n_threads: int
    seed: int


class Forest(ABC):
    """One library's forest, behind the few methods that the worker measures."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def prepare(self, X: Matrix, y: Labels) -> Any:
        """Return the training data as `fit` takes it; not timed."""
        return X, y

    @abstractmethod
    def fit(self, data: Any) -> None:
        """Grow the forest."""

    @abstractmethod
    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        """Return class probabilities in the order of the labels."""

    @abstractmethod
    def n_nodes(self) -> int:
        """Return the number of nodes of all trees, leaves included."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes of the stored model."""


class _ByteCounter:
    """A file that only counts, so that a large model is not held twice."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        n_bytes = memoryview(data).nbytes
        self.n_bytes += n_bytes
        return n_bytes


def _pickled_size(model: Any) -> int:
    counter = _ByteCounter()
    pickle.dump(model, counter, protocol=pickle.HIGHEST_PROTOCOL)
    return counter.n_bytes


class _ScikitForest(Forest):
    """What has scikit-learn's parameters and methods."""

    def __init__(self, settings: Settings, make: Callable[..., Any]) -> None:
        super().__init__(settings)
        self.model = make(
            n_estimators=settings.n_trees,
            max_features=settings.max_features,
            n_jobs=settings.n_threads,
            random_state=settings.seed,
        )

    def fit(self, data: tuple[Matrix, Labels]) -> None:
        self.model.fit(*data)

    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        self.model.n_jobs = n_threads
        probabilities: NDArray[Any] = self.model.predict_proba(X)
        return probabilities

    def n_nodes(self) -> int:
        return sum(int(tree.tree_.node_count) for tree in self.model.estimators_)

    def size(self) -> int:
        return _pickled_size(self.model)


class _Hardwood(_ScikitForest):
    def __init__(self, settings: Settings, criterion: str) -> None:
        super().__init__(settings, partial(RobustForestClassifier, criterion=criterion))

    def n_nodes(self) -> int:
        return int(self.model._compact.node_start[-1])


class _ScikitLearn(_ScikitForest):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, import_module("sklearn.ensemble").RandomForestClassifier)


class _Intelex(_ScikitForest):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, import_module("sklearnex.ensemble").RandomForestClassifier)

    def fit(self, data: tuple[Matrix, Labels]) -> None:
        super().fit(data)
        if not hasattr(self.model, "_onedal_estimator"):
            raise RuntimeError("it fell back on scikit-learn's own forest")


class _OneDal(_Intelex):
    """The library under scikit-learn-intelex, asked for its exact splits."""

    def fit(self, data: tuple[Matrix, Labels]) -> None:
        forest = import_module("onedal.ensemble").RandomForestClassifier

        class Exact(forest):  # type: ignore[misc, valid-type]
            def __init__(self, **parameters: Any) -> None:
                super().__init__(**parameters, algorithm="dense")

        self.model._onedal_factory = Exact
        super().fit(data)
        # As a local class cannot be pickled.
        self.model._onedal_estimator.__class__ = forest
        del self.model._onedal_factory


class _Ydf(Forest):
    def prepare(self, X: Matrix, y: Labels) -> Any:
        ydf = import_module("ydf")
        label = ("y", ydf.Semantic.CATEGORICAL)
        return ydf.create_vertical_dataset(
            {"x": X, "y": y}, columns=[label], include_all_columns=True, label="y"
        )

    def fit(self, data: Any) -> None:
        learner = import_module("ydf").RandomForestLearner(
            label="y",
            num_trees=self.settings.n_trees,
            num_candidate_attributes=self.settings.max_features,
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=self.settings.n_threads,
            random_seed=self.settings.seed,
        )
        self.model = learner.train(data, verbose=0)

    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        predicted = self.model.predict({"x": X}, num_threads=n_threads)
        if predicted.ndim == 1:  # of two classes, the second
            predicted = np.column_stack([1 - predicted, predicted])
        probabilities = np.zeros((len(X), self.settings.n_classes))
        probabilities[:, [int(label) for label in self.model.label_classes()]] = predicted
        return probabilities

    def n_nodes(self) -> int:
        text = str(self.model.describe("text"))
        found = re.search(r"Total number of nodes: (\d+)", text)
        if found is None:
            raise RuntimeError("ydf no longer says how many nodes a model has")
        return int(found[1])

    def size(self) -> int:
        return len(self.model.serialize())


class _LightGBM(Forest):
    def fit(self, data: tuple[Matrix, Labels]) -> None:
        settings = self.settings
        self.model = import_module("lightgbm").LGBMClassifier(
            boosting_type="rf",
            n_estimators=settings.n_trees,
            subsample=_DISTINCT_SHARE,
            subsample_freq=1,
            feature_fraction_bynode=settings.max_features / settings.n_features,
            num_leaves=min(131_072, len(data[0])),  # the most it allows
            max_depth=-1,
            min_child_samples=1,
            min_child_weight=0.0,
            histogram_pool_size=1024,  # MB; without a limit it keeps one for every leaf
            n_jobs=settings.n_threads,
            random_state=settings.seed,
            verbosity=-1,
        )
        self.model.fit(*data)

    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        probabilities: NDArray[Any] = self.model.booster_.predict(X, num_threads=n_threads)
        if probabilities.ndim == 1:
            probabilities = np.column_stack([1 - probabilities, probabilities])
        return probabilities

    def n_nodes(self) -> int:
        leaves = re.findall(r"^num_leaves=(\d+)$", self.model.booster_.model_to_string(), re.M)
        return sum(2 * int(n_leaves) - 1 for n_leaves in leaves)

    def size(self) -> int:
        return len(self.model.booster_.model_to_string().encode())


class _XGBoost(Forest):
    def fit(self, data: tuple[Matrix, Labels]) -> None:
        settings = self.settings
        self.model = import_module("xgboost").XGBRFClassifier(
            n_estimators=settings.n_trees,
            subsample=_DISTINCT_SHARE,
            colsample_bynode=settings.max_features / settings.n_features,
            tree_method="hist",
            max_depth=0,
            max_leaves=0,
            min_child_weight=0,
            reg_lambda=1e-5,
            n_jobs=settings.n_threads,
            random_state=settings.seed,
        )
        self.model.fit(*data)

    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        self.model.get_booster().set_param({"nthread": n_threads})
        probabilities: NDArray[Any] = self.model.predict_proba(X)
        return probabilities

    def n_nodes(self) -> int:
        stored = self.model.get_booster().save_raw("json")
        return sum(map(int, re.findall(rb'"num_nodes":"(\d+)"', stored)))

    def size(self) -> int:
        return len(self.model.get_booster().save_raw("ubj"))


def _distribution_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Peer:
    """A row of the table.

    Attributes
    ----------
    title : str
        What the table calls it.
    library : str
        The package it is from.
    make : callable or None
        Makes its forest from the settings. None for ranger, which R measures.
    note : str
        What it does otherwise than the others.
    """

    title: str
    library: str
    make: Callable[[Settings], Forest] | None
    note: str = ""

    def version(self) -> str | None:
        """Return the library's version, or None if it is not installed."""
        if self.make is None:
            return ranger.version()
        return _distribution_version(self.library)


BASELINE = "sklearn"

_BOOSTING_NOTE = (
    "grows, of more than two classes, a tree for each, on the gradients of the log loss; "
    "256 histogram bins a feature; draws 63.2 % of the rows without replacement for want of a "
    "bootstrap; a node is a leaf where no drawn feature varies; "
)

PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "sklearn": Peer(
            "scikit-learn",
            "scikit-learn",
            _ScikitLearn,
            "counts features that are constant in the node towards max_features.",
        ),
        "hardwood-gini": Peer(
            "hardwood, gini",
            "hardwood",
            partial(_Hardwood, criterion="gini"),
            "looks at max_features features that vary in the node, and makes no split that gains "
            "nothing.",
        ),
        "hardwood-ne": Peer("hardwood, ne", "hardwood", partial(_Hardwood, criterion="ne")),
        "hardwood-gce": Peer("hardwood, gce", "hardwood", partial(_Hardwood, criterion="gce")),
        "sklearnex": Peer(
            "scikit-learn-intelex",
            "scikit-learn-intelex",
            _Intelex,
            "looks for splits among 256 histogram bins a feature, so that they are not exact.",
        ),
        "onedal": Peer(
            "oneDAL, exact",
            "scikit-learn-intelex",
            _OneDal,
            "is scikit-learn-intelex with its exact splits, which it does not offer its users.",
        ),
        "ydf": Peer(
            "ydf",
            "ydf",
            _Ydf,
            "exact splits by entropy, as it has no Gini; its training data set is made from the "
            "array before the clock starts.",
        ),
        "lightgbm": Peer(
            "lightgbm, rf",
            "lightgbm",
            _LightGBM,
            _BOOSTING_NOTE + "best leaf first, up to 131,072 leaves a tree.",
        ),
        "xgboost": Peer(
            "xgboost, rf",
            "xgboost",
            _XGBoost,
            _BOOSTING_NOTE + "unlimited depth needs its histogram method.",
        ),
        "ranger": Peer(
            "ranger",
            "ranger",
            None,
            "a probability forest in R; a node is a leaf where no drawn feature varies; the array "
            "becomes a matrix of doubles before the clock starts.",
        ),
    }
)
"""The peers by the names that ``--peers`` takes, in the order of the tables."""
