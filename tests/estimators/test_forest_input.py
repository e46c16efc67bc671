"""Bad input to a forest gets scikit-learn's usual exception; progress; Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from forests import EVERY_FOREST
from sklearn.exceptions import NotFittedError
from test_bad_input import BAD_PARAMETERS, X, Y, but

from hardwood import RobustForestClassifier

# --- fit -----------------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize(
    ("bad_X", "bad_y", "weight", "message"),
    [
        (but(X, np.inf), Y, None, "infinity"),
        (X[:0], Y[:0], None, "0 sample"),
        (X[:, :0], Y, None, "0 feature"),
        (X[:, 0], Y, None, "2D array"),
        (X[None], Y, None, "dim 3"),
        (X.astype(complex), Y, None, "(?i)complex"),
        (np.full((8, 3), "red"), Y, None, "(?i)str|text|numeric"),
        (X[:5], Y, None, "inconsistent"),
        (X, None, None, "requires y"),
        (X, but(Y, np.nan), None, "NaN"),
        (X, np.column_stack([Y, Y]), None, "(?i)multi-?output|1d|column"),
        (X, np.linspace(0, 1, 8), None, "(?i)continuous|unknown label type"),
        (X, Y, but(np.ones(8), -1), "(?i)negative"),
        (X, Y, np.zeros(8), "(?i)zero|positive"),
        (X, Y, but(np.ones(8), np.nan), "NaN"),
        (X, Y, np.ones(5), "sample_weight"),
        (X, Y, np.full(8, 1e308), "(?i)sample_weight|infinity|large"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data(cls: Any, bad_X: Any, bad_y: Any, weight: Any, message: str) -> None:
    forest = cls(3)
    with pytest.raises((ValueError, TypeError), match=message):
        forest.fit(bad_X, bad_y, weight)
    with pytest.raises(NotFittedError):
        forest.predict(X)


OF_FORESTS = [
    ("n_estimators", [0, -1, 2.5, None, "many"]),
    ("bootstrap", ["yes", None]),
    ("oob_score", ["yes", 3]),
    ("n_jobs", [1.5, "all"]),
    ("verbose", [-1, "loud"]),
    ("warm_start", ["yes", None]),
    ("max_samples", [0, -3, 0.0, -0.5, "half"]),
]
OF_TREES = [(name, values) for name, values in BAD_PARAMETERS if name != "splitter"]


@EVERY_FOREST
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in OF_FORESTS + OF_TREES for value in values],
)
def test_parameters(cls: Any, name: str, value: Any) -> None:
    forest = cls(**{"n_estimators": 3, "bootstrap": True, name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {cls.__name__} must be"):
        forest.fit(X, Y)
    with pytest.raises(NotFittedError):
        forest.predict(X)


@EVERY_FOREST
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_samples": 4, "bootstrap": False}, "max_samples.*bootstrap"),
        ({"oob_score": True, "bootstrap": False}, "bootstrap=True"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
        ({"class_weight": {5: 1.0}}, "(?i)class"),
        ({"class_weight": {0: -1.0}}, "(?i)negative|class_weight|positive"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, "(?i)zero|positive"),
    ],
    ids=str,
)
def test_parameters_that_do_not_go_together(
    cls: Any, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cls(3, **parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("max_samples", "weight"), [(2**70, 1.0), (2**40, 1.0), (1.0, 1e300), (0.5, 1e19)], ids=str
)
def test_more_draws_than_there_can_be(max_samples: Any, weight: float) -> None:
    with pytest.raises(ValueError, match="max_samples"):
        RobustForestClassifier(1, max_samples=max_samples).fit(X, Y, np.full(8, weight))


@EVERY_FOREST
@pytest.mark.parametrize("criterion", ["giny", None, 3], ids=str)
def test_criteria(cls: Any, criterion: Any) -> None:
    with pytest.raises(ValueError, match=f"The 'criterion' parameter of {cls.__name__} must be"):
        cls(3, criterion=criterion).fit(X, Y)


@EVERY_FOREST
def test_two_classes_only(cls: Any) -> None:
    with pytest.raises(ValueError, match="two classes"):
        cls(3, criterion="ranking").fit(X, np.arange(8) % 3)


# --- warm_start ----------------------------------------------------------------------------------


@EVERY_FOREST
def test_warm_start_with_fewer_trees(cls: Any) -> None:
    forest = cls(5, warm_start=True, random_state=0).fit(X, Y)
    votes = forest.predict_proba(X)
    with pytest.raises(ValueError, match=r"n_estimators=3 must be larger or equal.*5"):
        forest.set_params(n_estimators=3).fit(X, Y)
    np.testing.assert_array_equal(forest.predict_proba(X), votes)


@EVERY_FOREST
@pytest.mark.parametrize(
    ("new_X", "new_y", "message"),
    [
        (X[:, :2], Y, "(?i)features"),
        (np.hstack([X, X]), Y, "(?i)features"),
        (X, np.arange(8) % 3, "(?i)class"),
        (X, np.array(["no", "yes"])[Y], "(?i)class"),
        (X, np.zeros(8), "(?i)class"),
    ],
    ids=["fewer features", "more features", "more classes", "other classes", "fewer classes"],
)
def test_warm_start_with_data_of_another_kind(
    cls: Any, new_X: Any, new_y: Any, message: str
) -> None:
    """Trees of one forest must have the same features and classes."""
    forest = cls(2, warm_start=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        forest.set_params(n_estimators=4).fit(new_X, new_y)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_warm_start_with_balanced_classes_warns(class_weight: str) -> None:
    with pytest.warns(UserWarning, match="not recommended for warm_start"):
        RobustForestClassifier(3, warm_start=True, class_weight=class_weight).fit(X, Y)


# --- use -----------------------------------------------------------------------------------------

USES: dict[str, Callable[[Any], Any]] = {
    "predict": lambda forest: forest.predict(X),
    "predict_proba": lambda forest: forest.predict_proba(X),
    "predict_log_proba": lambda forest: forest.predict_log_proba(X),
    "apply": lambda forest: forest.apply(X),
    "decision_path": lambda forest: forest.decision_path(X),
    "score": lambda forest: forest.score(X, Y),
    "estimators_": lambda forest: forest.estimators_,
    "feature_importances_": lambda forest: forest.feature_importances_,
    "to_sklearn": lambda forest: forest.to_sklearn(),
}


@EVERY_FOREST
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_unfitted(cls: Any, use: Callable[[Any], Any]) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(cls())


@EVERY_FOREST
def test_a_fit_that_fails_leaves_no_old_forest(cls: Any) -> None:
    forest = cls(3).fit(X, Y)
    with pytest.raises(ValueError):
        forest.fit(but(X, np.inf), Y)
    with pytest.raises(NotFittedError):
        forest.predict(X)


@EVERY_FOREST
@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (np.ones((2, 4)), "4 features.*expecting 3"),
        (np.ones((2, 2)), "2 features.*expecting 3"),
        (np.ones(3), "2D array"),
        (X[:0], "0 sample"),
        (but(X, np.inf), "infinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_prediction(cls: Any, method: str, bad_X: Any, message: str) -> None:
    forest = cls(3).fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(forest, method)(bad_X)


# --- progress ------------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(cls: Any, n_jobs: int, capfd: pytest.CaptureFixture[str]) -> None:
    forest = cls(6, verbose=1, n_jobs=n_jobs, warm_start=True).fit(X, Y)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "6/6 trees" in shown.err
    assert "s left" in shown.err
    assert "grew 6 trees in" in shown.err
    forest.set_params(n_estimators=10).fit(X, Y)
    assert "4/4 trees" in capfd.readouterr().err
    forest.set_params(verbose=0, warm_start=False).fit(X, Y)
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")


# --- Ctrl-C --------------------------------------------------------------------------------------

LONG_FIT = """
import signal
import sys
import time
import numpy as np
from hardwood import RobustForestClassifier
from sklearn.exceptions import NotFittedError

rng = np.random.default_rng(0)
X = rng.integers(0, 256, (int(sys.argv[1]), 40), dtype=np.uint8)
y = rng.integers(0, 2, len(X))  # nothing to learn: trees of as many leaves as there can be
forest = RobustForestClassifier(int(sys.argv[2]), criterion="gini", n_jobs=2, random_state=0)
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
print("fitting", flush=True)
try:
    forest.fit(X, y)
except KeyboardInterrupt:
    interrupted = time.monotonic()
    try:
        forest.predict(X[:1])
    except NotFittedError:
        print("interrupted", interrupted, flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a single process")
@pytest.mark.parametrize(("rows", "trees"), [(400_000, 500), (2000, 1_000_000)])
def test_interrupt(rows: int, trees: int) -> None:
    """In few large trees and in many small ones."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, str(rows), str(trees)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "fitting\n"
        time.sleep(1.5)
        sent = time.monotonic()  # the same clock in both processes
        process.send_signal(signal.SIGINT)
        word, _, when = process.communicate(timeout=60)[0].partition(" ")
    assert word == "interrupted"
    # A second is what we promise; the rest is for busy machines.
    assert float(when) - sent < 5
