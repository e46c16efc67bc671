"""The libraries to compare, all with the same parameters.

Unlimited depth, leaves of one row, ``max_features`` candidates per node, bootstrap. If a library
cannot do the same, its `note` says so, and the page prints it.
"""

from __future__ import annotations

import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import RobustForestClassifier
from lab.benchmarks import ranger
from lab.library import n_nodes, version_of

__all__ = ["BASELINE", "PEERS", "Forest", "Peer", "Settings"]

Matrix = NDArray[np.float32]
Labels = NDArray[np.int64]

# A bootstrap sample has 1 − 1/e of the rows: the share to draw where a library has no bootstrap.
_DISTINCT_SHARE = 0.632


@dataclass(frozen=True)
class Settings:
    """The parameters that all peers get."""

    n_trees: int
    max_features: int
    n_features: int
    n_classes: int
    n_threads: int
    seed: int


class Forest(ABC):
    """The forest of one library, with the methods that the worker measures."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def prepare(self, X: Matrix, y: Labels) -> Any:
        """Return the training data in the form that `fit` takes; this is not timed."""
        return X, y

    @abstractmethod
    def fit(self, data: Any) -> None:
        """Grow the forest."""

    @abstractmethod
    def predict_proba(self, X: Matrix, n_threads: int) -> NDArray[Any]:
        """Return class probabilities in the order of the labels."""

    @abstractmethod
    def n_nodes(self) -> int | None:
        """Return the number of nodes in all trees, including leaves; None if nobody can tell."""

    @abstractmethod
    def size(self) -> int:
        """Return the size of the stored model in bytes."""


class _ByteCounter:
    """A file that only counts bytes, so that a large model is not kept in memory twice."""

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
    """A forest with scikit-learn's parameters and methods."""

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

    def n_nodes(self) -> int | None:
        return sum(int(tree.tree_.node_count) for tree in self.model.estimators_)

    def size(self) -> int:
        return _pickled_size(self.model)


class _Hardwood(_ScikitForest):
    def __init__(self, settings: Settings, criterion: str) -> None:
        super().__init__(settings, partial(RobustForestClassifier, criterion=criterion))

    def n_nodes(self) -> int:
        return n_nodes(self.model)


class _ScikitLearn(_ScikitForest):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, import_module("sklearn.ensemble").RandomForestClassifier)


class _Intelex(_ScikitForest):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, import_module("sklearnex.ensemble").RandomForestClassifier)

    def fit(self, data: tuple[Matrix, Labels]) -> None:
        super().fit(data)
        if not hasattr(self.model, "_onedal_estimator"):
            raise RuntimeError("it fell back to scikit-learn's own forest")


class _OneDal(_Intelex):
    """The library underneath scikit-learn-intelex, with exact splits."""

    def fit(self, data: tuple[Matrix, Labels]) -> None:
        forest = import_module("onedal.ensemble").RandomForestClassifier

        class Exact(forest):  # type: ignore[misc, valid-type]
            def __init__(self, **parameters: Any) -> None:
                super().__init__(**parameters, algorithm="dense")

        self.model._onedal_factory = Exact
        super().fit(data)
        # A local class cannot be pickled.
        self.model._onedal_estimator.__class__ = forest
        del self.model._onedal_factory


class _Snap(_ScikitForest):
    """Snap ML does not tell how many nodes its trees have."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, import_module("snapml").RandomForestClassifier)

    def n_nodes(self) -> None:
        return None


class _Bankai(_ScikitForest):
    def __init__(self, settings: Settings) -> None:
        forest = import_module("bankai_random_forest").BankaiRandomForestClassifier
        super().__init__(settings, forest)


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
        if predicted.ndim == 1:  # two classes: the second one's
            predicted = np.column_stack([1 - predicted, predicted])
        probabilities = np.zeros((len(X), self.settings.n_classes))
        probabilities[:, [int(label) for label in self.model.label_classes()]] = predicted
        return probabilities

    def n_nodes(self) -> int:
        text = str(self.model.describe("text"))
        found = re.search(r"Total number of nodes: (\d+)", text)
        if found is None:
            raise RuntimeError("ydf no longer reports the number of nodes of a model")
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
            num_leaves=min(131_072, len(data[0])),  # the maximum it allows
            max_depth=-1,
            min_child_samples=1,
            min_child_weight=0.0,
            histogram_pool_size=1024,  # MB; by default it keeps a histogram for every leaf
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


@dataclass(frozen=True)
class Peer:
    """A row of the table.

    Attributes
    ----------
    title : str
        Its name in the table.
    library : str
        The package it comes from.
    make : callable or None
        Makes its forest from the settings. None for ranger, which R measures.
    note : str
        How it differs from the others.
    """

    title: str
    library: str
    make: Callable[[Settings], Forest] | None
    note: str = ""

    def version(self) -> str | None:
        """Return the library's version, or None if it is not installed."""
        if self.make is None:
            return ranger.version()
        return version_of(self.library)


BASELINE = "sklearn"

_BOOSTING_NOTE = (
    "grows one tree per class, if there are more than two, on the gradients of the log loss; it uses "
    "256 histogram bins per feature, and draws 63.2 % of the rows without replacement because it has "
    "no bootstrap; a node becomes a leaf if no drawn feature varies; "
)

PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "sklearn": Peer(
            "scikit-learn",
            "scikit-learn",
            _ScikitLearn,
            "counts features that are constant in the node towards `max_features`.",
        ),
        "hardwood-gini": Peer(
            "hardwood, gini",
            "hardwood",
            partial(_Hardwood, criterion="gini"),
            "looks at `max_features` features that vary in the node, and makes no split without a "
            "gain.",
        ),
        "hardwood-ne": Peer("hardwood, ne", "hardwood", partial(_Hardwood, criterion="ne")),
        "hardwood-gce": Peer("hardwood, gce", "hardwood", partial(_Hardwood, criterion="gce")),
        "sklearnex": Peer(
            "scikit-learn-intelex",
            "scikit-learn-intelex",
            _Intelex,
            "searches splits among 256 histogram bins per feature, so they are not exact.",
        ),
        "onedal": Peer(
            "oneDAL, exact",
            "scikit-learn-intelex",
            _OneDal,
            "is scikit-learn-intelex with exact splits, which its public API does not offer.",
        ),
        "snapml": Peer(
            "snapml",
            "snapml",
            _Snap,
            "does not tell how many nodes it grows.",
        ),
        "bankai": Peer(
            "bankai",
            "bankai-random-forest",
            _Bankai,
            "stores the training data and grows the forest again when it is loaded.",
        ),
        "ydf": Peer(
            "ydf",
            "ydf",
            _Ydf,
            "finds exact splits by entropy, because it has no Gini; its data set is created from "
            "the array before the clock starts.",
        ),
        "lightgbm": Peer(
            "lightgbm, rf",
            "lightgbm",
            _LightGBM,
            _BOOSTING_NOTE + "it grows the best leaf first, up to 131,072 leaves per tree.",
        ),
        "xgboost": Peer(
            "xgboost, rf",
            "xgboost",
            _XGBoost,
            _BOOSTING_NOTE + "unlimited depth requires its histogram method.",
        ),
        "ranger": Peer(
            "ranger",
            "ranger",
            None,
            "is a probability forest in R; a node becomes a leaf if no drawn feature varies; the "
            "array is converted to a matrix of doubles before the clock starts.",
        ),
    }
)
"""The peers by their names in ``--peers``, in the order of the tables."""
