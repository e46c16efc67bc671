"""What scikit-learn gets wrong itself in versions that we support: tests look away there."""

from __future__ import annotations

from typing import Any

import pytest
import sklearn
from estimators_list import weights_are_no_copies
from sklearn.utils import get_tags

_VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

# The splitter misplaces some missing values, and decision_path sends all of them to the right.
MISPLACES_MISSING_VALUES = _VERSION < (1, 8)

trees_agree_on_missing_values = pytest.mark.skipif(
    MISPLACES_MISSING_VALUES, reason="scikit-learn before 1.8 misplaces some"
)


def failing_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that fail for no fault of the estimator, and why."""
    if _VERSION < (1, 7) and not get_tags(estimator).classifier_tags.multi_class:
        return weights_are_no_copies(
            "scikit-learn before 1.7 gives the two classes other labels in each of its two fits"
        )
    return {}
