"""Shared by the tests of audits."""

import shutil

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


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium. Tests that need it are skipped where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()
