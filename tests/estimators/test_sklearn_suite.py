"""scikit-learn's own tests of trees and forests pass on our classes, but for known reasons."""

from __future__ import annotations

import re

import pytest
import sklearn
import sklearn_suite


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, str]]:
    return sklearn_suite.run()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sklearn.__version__.startswith(f"{sklearn_suite.RELEASE}."),
        reason=f"the known failures are those of scikit-learn {sklearn_suite.RELEASE}",
    ),
]


def test_no_other_test_fails(found: dict[str, dict[str, str]]) -> None:
    assert len(found) > 300
    unexpected = sklearn_suite.failures(found)[""]
    assert not unexpected, {name: found[name]["error"] for name in unexpected}


def test_what_is_expected_to_fail_does(found: dict[str, dict[str, str]]) -> None:
    failed = [name for name, result in found.items() if result["outcome"] == "failed"]
    for reason, patterns in sklearn_suite.REASONS.items():
        for pattern in patterns:
            assert any(re.fullmatch(pattern, name) for name in failed), (reason, pattern)
