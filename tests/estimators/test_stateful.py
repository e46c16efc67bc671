"""Models in any state: fits, changed parameters, files, pickles, copies and interrupts in any order.

Hypothesis plays such sequences against a few lines that say what must hold after each step.
"""

from __future__ import annotations

import _thread
import copy
import pickle
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hardwood
from hardwood import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)

MODELS = [
    RobustTreeClassifier(random_state=0),
    RobustForestClassifier(4, random_state=0),
    RobustForestClassifier(3, oob_score=True, warm_start=True, random_state=0),
    RobustExtraTreesClassifier(3, warm_start=True, random_state=0),
    AdaptiveForestClassifier(6, oob_score=True, random_state=0),
    AdaptiveTreeClassifier(random_state=0),
    ANEForestClassifier(2, lam_grid=[0.0, 1.0], random_state=0),
]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(25, 3))


def tables() -> list[tuple[Any, Any, Any]]:
    """Rows, labels and weights: numbers, other classes, missing values and weights, text."""
    X = RNG.normal(size=(60, 3))
    y = (X[:, 0] + RNG.normal(size=60) / 2 > 0).astype(int)
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    names = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    return [
        (X, y, None),
        (holes, y, RNG.integers(0, 3, 60).astype(float)),
        (X.astype(np.float32), names, None),
    ]


TABLES = tables()
CHANGES: list[dict[str, Any]] = [
    {"criterion": "gini"},
    {"criterion": "ne", "criterion__lam": 0.3},
    {"max_depth": 2},
    {"max_depth": None},
    {"random_state": 1},
    {"class_weight": "balanced"},
    {"class_weight": None},
]
WRONG: list[dict[str, Any]] = [
    {"max_depth": -1},
    {"min_samples_leaf": "few"},
    {"class_weight": "unbalanced"},
]


def interrupting(y_true: Any, y_pred: Any) -> float:
    raise KeyboardInterrupt


class AnyOrder(RuleBasedStateMachine):
    """A model, and what it must predict: None if it is not fitted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.hw"
        self.saved: Any = None
        warnings.simplefilter("ignore")

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(model=st.sampled_from(MODELS))
    def begin(self, model: Any) -> None:
        self.model = clone(model)
        self.expected: Any = None
        self.table: int | None = None  # that of the trees

    @property
    def is_warm(self) -> bool:
        return bool(getattr(self.model, "warm_start", False)) and self.expected is not None

    def remember(self, table: int) -> None:
        self.expected, self.table = self.model.predict_proba(ROWS), table

    # --- steps -----------------------------------------------------------------------------------

    @rule(table=st.integers(0, len(TABLES) - 1), n_more=st.integers(0, 2))
    def fit(self, table: int, n_more: int) -> None:
        before = len(self.model) if self.is_warm else None
        if before is not None:
            self.model.set_params(n_estimators=before + n_more)
            if not np.array_equal(np.unique(TABLES[table][1]), self.model.classes_):
                with pytest.raises(ValueError, match="warm_start requires the classes"):
                    self.model.fit(*TABLES[table])
                return  # as it was
        old_leaves = None if before is None else self.model.apply(ROWS)
        assert self.model.fit(*TABLES[table]) is self.model
        if before is not None:
            np.testing.assert_array_equal(self.model.apply(ROWS)[:, :before], old_leaves)
            assert len(self.model) == before + n_more
        else:
            again = clone(self.model).fit(*TABLES[table])
            np.testing.assert_array_equal(again.predict_proba(ROWS), self.model.predict_proba(ROWS))
        self.remember(table)

    @rule(change=st.sampled_from(CHANGES))
    def set_params(self, change: dict[str, Any]) -> None:
        names = self.model.get_params()
        if all(name.partition("__")[0] in names for name in change):
            self.model.set_params(**change)

    @rule(wrong=st.sampled_from(WRONG))
    def fit_that_fails(self, wrong: dict[str, Any]) -> None:
        (name,) = wrong
        before = self.model.get_params(deep=False)[name]
        was_warm = self.is_warm
        with pytest.raises(ValueError):
            self.model.set_params(**wrong).fit(*TABLES[0])
        self.model.set_params(**{name: before})
        if not was_warm:
            self.check_failed()

    @precondition(lambda self: "oob_score" in self.model.get_params(deep=False))
    @rule(table=st.integers(0, len(TABLES) - 1))
    def interrupt(self, table: int) -> None:
        if self.is_warm:
            return
        score = self.model.oob_score
        bootstrap = {"bootstrap": True} if hasattr(self.model, "bootstrap") else {}
        self.model.set_params(oob_score=interrupting, **bootstrap)
        with pytest.raises(KeyboardInterrupt):
            self.model.fit(*TABLES[table])
        self.model.set_params(oob_score=score)
        self.check_failed()

    def check_failed(self) -> None:
        """A fit that failed before it looked at the data may leave the old model; else none."""
        if not hasattr(self.model, "_compact"):
            self.expected = None

    @precondition(lambda self: self.expected is not None)
    @rule(memory_map=st.booleans())
    def save_and_load(self, memory_map: bool) -> None:
        hardwood.save(self.model, self.path)
        self.saved = self.expected
        parameters = repr(self.model.get_params())
        self.model = hardwood.load(self.path, memory_map=memory_map)
        assert repr(self.model.get_params()) == parameters

    @precondition(lambda self: self.expected is None)
    @rule()
    def save_what_is_not_fitted(self) -> None:
        with pytest.raises(NotFittedError):
            hardwood.save(self.model, self.path)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def load_an_old_file(self) -> None:
        """Nothing that happened since has changed it."""
        loaded = hardwood.load(self.path)
        np.testing.assert_array_equal(loaded.predict_proba(ROWS), self.saved)

    @rule(protocol=st.integers(2, pickle.HIGHEST_PROTOCOL))
    def pickle_it(self, protocol: int) -> None:
        self.model = pickle.loads(pickle.dumps(self.model, protocol))

    @rule(deep=st.booleans())
    def copy_it(self, deep: bool) -> None:
        self.model = copy.deepcopy(self.model) if deep else copy.copy(self.model)

    @rule()
    def clone_it(self) -> None:
        """A clone has the parameters, and is not fitted."""
        other = clone(self.model)
        assert repr(other.get_params()) == repr(self.model.get_params())
        with pytest.raises(NotFittedError):
            other.predict(ROWS)
        if self.expected is None:
            self.model = other

    # --- what holds ------------------------------------------------------------------------------

    @invariant()
    def predictions_are_those_of_the_last_fit(self) -> None:
        if not hasattr(self, "model"):
            return
        if self.expected is None:
            with pytest.raises(NotFittedError):
                self.model.predict_proba(ROWS)
            return
        np.testing.assert_array_equal(self.model.predict_proba(ROWS), self.expected)
        assert self.table is not None
        labels = TABLES[self.table][1]
        assert set(self.model.predict(ROWS)) <= set(labels)
        if hasattr(self.model, "estimators_"):
            assert self.model.apply(ROWS).shape == (len(ROWS), len(self.model))


def test_any_order() -> None:
    run_state_machine_as_test(AnyOrder, settings=settings(max_examples=25, stateful_step_count=15))


@pytest.mark.soak
def test_any_order_for_long() -> None:
    run_state_machine_as_test(
        AnyOrder,
        settings=settings(max_examples=3000, stateful_step_count=50, derandomize=False),
    )


# --- interrupts at any moment --------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_ctrl_c_at_any_moment(model: Any) -> None:
    """Afterwards the model is either not fitted, or fitted as without the interrupt."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    warnings.simplefilter("ignore")
    expected = clone(model).fit(X, y).predict_proba(ROWS_5)
    for milliseconds in (0, 1, 3, 10, 30, 60):
        fitted = clone(model)
        timer = threading.Timer(milliseconds / 1000, _thread.interrupt_main)
        try:
            timer.start()
            fitted.fit(X, y)
            timer.join()
            for _ in range(1000):  # the interrupt may still be on its way
                pass
        except KeyboardInterrupt:
            pass
        finally:
            timer.cancel()
        try:
            proba = fitted.predict_proba(ROWS_5)
        except NotFittedError:
            continue
        np.testing.assert_array_equal(proba, expected)


ROWS_5 = RNG.normal(size=(25, 5))
