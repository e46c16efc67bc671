"""The unit of the weights does not matter, however large or small it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import continuous
from estimators_list import ESTIMATORS, small
from numpy.testing import assert_allclose, assert_array_equal

from hardwood import AdaptiveForestClassifier

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("power", [120, -120, 900, -950])
@pytest.mark.parametrize("kind", ["ones", "whole", "real"])
def test_powers_of_two(cls: Any, power: int, kind: str, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    weight = {
        "ones": np.ones(len(X)),
        "whole": rng.integers(1, 4, len(X)).astype(float),
        "real": rng.exponential(size=len(X)) + 0.01,
    }[kind]
    options = {"oob_score": True} if "oob_score" in cls._get_param_names() else {}
    if "bootstrap" in cls._get_param_names():
        options["bootstrap"] = True
    one, other = (
        small(cls, 12)(random_state=0, **options).fit(X, y, weight * 2.0**scale)
        for scale in (0, power)
    )
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    for name in ("noise_matrix_", "oob_decision_function_", "lam_"):
        if hasattr(one, name):
            assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("unit", [1e-300, 1e300, 3.0, 0.1])
def test_other_units(cls: Any, unit: float, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    weight = rng.integers(1, 4, len(X)).astype(float)
    one, other = (small(cls, 12)(random_state=0).fit(X, y, weight * scale) for scale in (1.0, unit))
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_weights_of_all_sizes(rng: np.random.Generator) -> None:
    """One row outweighs all others, and rows that are out of bag weigh nothing beside it."""
    X, y, _ = continuous(2, rng)
    for weight in (
        10.0 ** rng.integers(-300, 300, len(X)),
        np.where(np.arange(len(X)) == 3, 1e60, 1.0),
        np.where(np.arange(len(X)) == 3, 1e-300, 1.0),
    ):
        forest = AdaptiveForestClassifier(12, oob_score=True, random_state=0).fit(X, y, weight)
        assert np.isfinite(forest.predict_proba(X)).all()
        assert np.isfinite(forest.adaptation_["accuracy"]).all()
