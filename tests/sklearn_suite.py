"""Run scikit-learn's own tests of trees and forests on our classes.

    python tests/sklearn_suite.py

This is a pytest plugin as well. It puts our classes in the place of scikit-learn's classifiers
before the tests are collected, and notes which tests use them. The other tests, of regressors
mostly, say nothing about us and are not counted. `REASONS` lists the tests that may fail, and why.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import sklearn.ensemble
import sklearn.tree

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier, RobustTreeClassifier
from hardwood._core.model import estimator

# Patterns of whole names of tests, with the release of scikit-learn that they are of.
RELEASE = "1.9"
REASONS: dict[str, list[str]] = {
    "several outputs are not supported": [
        r"test_multioutput(_string)?\[.*",
        r"test_classes_shape.*",
        r"test_class_weights\[.*",
        r"test_class_weights_forest\[.*",
        r"test_class_weight_errors\[.*",
        r"test_class_weight_balanced_and_bootstrap_multi_output\[.*",
        r"test_classifier_error_oob_score_multiclass_multioutput\[.*",
        r"test_forest_classifier_oob\[.*-X3-y3-.*",
        r"test_forest_y_sparse\[.*",  # a sparse y is one of several outputs
        r"test_min_weight_fraction_leaf(_with_min_samples_leaf)?_on_sparse_input\[.*",
        r"test_prune_tree_classifier_are_subtrees\[.*-multilabel\]",
        r"test_sparse_input\[multilabel-.*",
        r"test_sparse_input\[(coo|csc|csr)_(matrix|array)-.*",
    ],
    "it uses a private method or attribute": [
        r"test_validate_y_class_weight\[.*",
        r"test_oob_not_computed_twice\[.*",
        r"test_max_samples_geq_one\[.*",
    ],
    "splits that gain nothing are not made": [
        "test_xor",
        "test_with_only_one_non_constant_features",
    ],
    "float64 is never narrowed, so small differences count and large numbers fit": [
        r"test_almost_constant_feature\[.*",
        "test_big_input",
    ],
    "ties between splits are broken otherwise": [
        "test_importances_gini_equal_squared_error",
    ],
    "the impurity is the risk of the loss, in natural units": ["test_importances_asymptotic"],
    "a limit that no tree can reach is none": ["test_huge_allocations"],
}
FILES = ("tree/tests/test_tree.py", "ensemble/tests/test_forest.py")
RESULTS = "HARDWOOD_SKLEARN_SUITE"  # the file that the plugin writes to

_used = False


class _Noted:
    """Notes that a test makes an object of this class."""

    def __new__(cls, *args: Any, **parameters: Any) -> Any:
        global _used
        _used = True
        return super().__new__(cls)


# With scikit-learn's names and default criterion.


@estimator
class DecisionTreeClassifier(_Noted, RobustTreeClassifier):
    criterion: str = "gini"


@estimator
class ExtraTreeClassifier(_Noted, RobustTreeClassifier):
    criterion: str = "gini"
    splitter: str = "random"
    max_features: str = "sqrt"


@estimator
class RandomForestClassifier(_Noted, RobustForestClassifier):
    criterion: str = "gini"


@estimator
class ExtraTreesClassifier(_Noted, RobustExtraTreesClassifier):
    criterion: str = "gini"


# --- the plugin ----------------------------------------------------------------------------------

_results: dict[str, dict[str, str]] = {}


def pytest_configure() -> None:
    for cls in (DecisionTreeClassifier, ExtraTreeClassifier):
        setattr(sklearn.tree, cls.__name__, cls)
    for cls in (RandomForestClassifier, ExtraTreesClassifier):
        setattr(sklearn.ensemble, cls.__name__, cls)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    global _used
    _used = False
    outcome = yield
    if _used:
        error = outcome.excinfo
        failed = error is not None and error[0].__name__ != "Skipped"
        _results[item.nodeid.partition("::")[2]] = {
            "outcome": "failed" if failed else "skipped" if error is not None else "passed",
            "error": f"{error[0].__name__}: {error[1]}" if failed else "",
        }


def pytest_sessionfinish() -> None:
    Path(os.environ[RESULTS]).write_text(json.dumps(_results))


# --- the program ---------------------------------------------------------------------------------


def run(*options: str) -> dict[str, dict[str, str]]:
    """Return the outcome of each test that uses our classes, by its name."""
    library = Path(sklearn.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "sklearn_suite", "-c", str(settings)]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", *options]
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        run = subprocess.run(
            [*command, *(str(library / file) for file in FILES)],
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), RESULTS: str(results)},
            capture_output=True,
            text=True,
        )
        if not results.exists():
            raise RuntimeError(run.stdout + run.stderr)
        found: dict[str, dict[str, str]] = json.loads(results.read_text())
    return found


def failures(found: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Return the tests that fail by the reason for it, "" where none is known."""
    failed: dict[str, list[str]] = {reason: [] for reason in (*REASONS, "")}
    for name, result in found.items():
        if result["outcome"] == "failed":
            failed[reason_of(name)].append(name)
    return failed


def reason_of(name: str) -> str:
    for reason, patterns in REASONS.items():
        if any(re.fullmatch(pattern, name) for pattern in patterns):
            return reason
    return ""


def main() -> None:
    found = run(*sys.argv[1:])
    failed = failures(found)
    for name in failed[""]:
        print(f"{name}: {found[name]['error'][:500]}")
    print(f"{len(found)} tests use our classes; {sum(map(len, failed.values()))} fail:")
    for reason, names in failed.items():
        print(f"{len(names):5}  {reason or 'for no known reason'}")


if __name__ == "__main__":
    main()
