"""Shared by the tests of audits."""

import numpy as np
import pytest

from hardwood import AdaptiveForestClassifier
from hardwood.noise import corrupt, uniform


@pytest.fixture(scope="session")
def forest_and_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int) + (X[:, 1] > 1), uniform(3, 0.2), random_state=0)
    return AdaptiveForestClassifier(40, random_state=0).fit(X, y), X
