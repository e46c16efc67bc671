"""Docstrings that are filled from shared descriptions."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest
from estimators_list import ESTIMATORS

from hardwood import plotting
from hardwood._core.docs import fill_docs

EVERY_ESTIMATOR = pytest.mark.parametrize("cls", ESTIMATORS)
LEFT_OVER = re.compile(r"^ *\{[\w, \n]+\}$", re.MULTILINE)


@EVERY_ESTIMATOR
def test_every_parameter_is_described_with_its_default(cls: Any) -> None:
    doc = inspect.getdoc(cls)
    assert doc is not None
    for name, parameter in inspect.signature(cls).parameters.items():
        (line,) = re.findall(rf"^{name} : .*$", doc, flags=re.MULTILINE)
        default = parameter.default
        shown = f'"{default}"' if isinstance(default, str) else str(default)
        assert line.endswith(f", default={shown}")


@EVERY_ESTIMATOR
def test_defaults_are_no_attributes_of_the_class(cls: Any) -> None:
    assert [name for name in inspect.signature(cls).parameters if hasattr(cls, name)] == []


@EVERY_ESTIMATOR
def test_methods_are_described(cls: Any) -> None:
    for name in ("fit", "predict", "predict_proba", "apply", "decision_path", "to_sklearn"):
        doc = inspect.getdoc(getattr(cls, name))
        assert doc is not None
        assert "\nX : {array-like, sparse matrix} of shape (n_samples, n_features)" in doc
        assert "\nReturns\n-------\n" in doc


@pytest.mark.parametrize(
    "documented", [*ESTIMATORS, *(getattr(plotting, name) for name in plotting.__all__)]
)
def test_no_placeholder_is_left(documented: Any) -> None:
    members = [member for _, member in inspect.getmembers_static(documented, callable)]
    docs = [inspect.getdoc(each) or "" for each in [documented, *members]]
    assert not any(LEFT_OVER.search(doc) for doc in docs)


def test_unknown_names_are_an_error() -> None:
    def function() -> None:
        """Do nothing.

        {no_such_description}
        """

    with pytest.raises(KeyError, match="no_such_description"):
        fill_docs(function)


def test_without_docstrings() -> None:
    """Python strips them if asked to."""
    program = """
import hardwood
tree = hardwood.RobustTreeClassifier().fit([[0], [1]], [0, 1])
print(hardwood.RobustTreeClassifier.fit.__doc__, tree.predict([[1]]))
"""
    run = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "None [1]\n"
