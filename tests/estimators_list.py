"""The estimators that the tests run through: all that `hardwood` exports."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import hardwood
from hardwood import RobustForestClassifier, RobustTreeClassifier

EXPORTED = [getattr(hardwood, name) for name in hardwood.__all__]
ESTIMATORS = [each for each in EXPORTED if isinstance(each, type)]
FORESTS = [cls for cls in ESTIMATORS if issubclass(cls, RobustForestClassifier)]


def small(cls: Any, n_trees: int) -> Any:
    """What makes an estimator of this class, with few trees if it is a forest."""
    return partial(cls, n_trees) if "n_estimators" in cls._get_param_names() else cls


def weights_are_no_copies(why: str) -> dict[str, str]:
    """Return the checks of scikit-learn that fail where a weight of 2 is not a row twice."""
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}


def every_robust_model(n_trees: int) -> Any:
    """Run a test for the tree and for forests of a few trees, which ``make(**parameters)`` makes."""
    classes = [RobustTreeClassifier, *FORESTS]
    return pytest.mark.parametrize(
        "make", [small(cls, n_trees) for cls in classes], ids=[cls.__name__ for cls in classes]
    )
