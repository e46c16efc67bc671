"""Fixtures and settings that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Without deadlines (CI machines stall) and with the same examples every time, so that a failure
# is a change's own. `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("hardwood", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("hardwood")


@pytest.fixture
def seed() -> int:
    """The seed of a test's data and models; set HARDWOOD_TEST_SEED to try others."""
    return int(os.environ.get("HARDWOOD_TEST_SEED", "0"))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Where the large data sets are: HARDWOOD_DATA, or ``shared/data`` beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    home = Path(os.environ.get("HARDWOOD_DATA", beside))
    if not (home / "covertype.npz").exists():
        pytest.skip("the data sets are not here: set HARDWOOD_DATA to their folder")
    return home
