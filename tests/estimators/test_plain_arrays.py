"""Arrays that need no conversion pass without scikit-learn's checks, with the same outcome."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hardwood import RobustForestClassifier
from hardwood._core.validation import encode_labels

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -2, 3, 7, -2, 3] * 4),
        np.array([-128, 127, -128, 0] * 200, dtype=np.int8),
        np.array([255, 0, 9, 9] * 200, dtype=np.uint8),
        np.array([2**63 + 3, 2**63] * 9, dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 1] * 9),
        np.array([2**40, 2**40 + 2] * 9),
        np.arange(20),
        np.zeros(5, dtype=np.int32),
        np.array([], dtype=np.int64),
    ],
    ids=lambda y: f"{y.dtype}-{len(y)}",
)
def test_labels_are_encoded_as_numpy_does(y: NDArray[Any]) -> None:
    classes, labels = encode_labels(y)
    expected, places = np.unique(y, return_inverse=True)
    assert classes.dtype == expected.dtype
    assert labels.dtype == np.uint16
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(labels, places)


def forest() -> RobustForestClassifier:
    return RobustForestClassifier(n_estimators=2, random_state=0)


def test_names_are_forgotten() -> None:
    y = np.arange(60) % 2
    model = forest().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


def test_wrong_arrays_still_raise() -> None:
    y = np.arange(60) % 2
    model = forest().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but RobustForestClassifier"):
        model.predict(X[:, :2])
    for bad in (np.inf, -np.inf):
        wrong = X.copy()
        wrong[7, 1] = bad
        with pytest.raises(ValueError, match="infinity"):
            model.predict(wrong)
        with pytest.raises(ValueError, match="infinity"):
            forest().fit(wrong, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        forest().fit(X, y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])


def test_a_sum_that_overflows_is_no_infinity() -> None:
    huge = np.full((60, 3), np.finfo(np.float64).max)
    huge[::2] /= 2
    y = np.arange(60) % 2
    assert forest().fit(huge, y).score(huge, y) == 1


def test_many_classes_are_warned_of_as_by_scikit_learn() -> None:
    def warned(model: Any) -> set[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, np.arange(60))
        return {str(warning.message) for warning in caught}

    assert warned(forest()) == warned(RandomForestClassifier(2))  # from release 1.7 on
