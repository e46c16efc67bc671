"""Threads of Python that fit, predict and save at once, with a GIL or without one.

docs/reliability.md says on which free-threaded Python we ran this.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood
from hardwood import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood._core import _engine, impurity_table
from hardwood.criteria import CustomImpurity, FromLoss
from hardwood.losses import ZeroOne

N_THREADS = 8
Make = Callable[[], Any]


def gini(p: Any) -> Any:
    return 1 - (p**2).sum(axis=1)


MAKERS: list[Make] = [
    lambda: RobustTreeClassifier(random_state=0),
    lambda: RobustForestClassifier(40, oob_score=True, n_jobs=2, random_state=0),
    lambda: RobustExtraTreesClassifier(6, criterion="entropy", random_state=0),
    lambda: RobustForestClassifier(4, criterion=CustomImpurity(gini), n_jobs=2, random_state=0),
    lambda: RobustTreeClassifier(criterion=FromLoss(ZeroOne()), random_state=0),
    lambda: AdaptiveForestClassifier(12, random_state=0),
    lambda: AdaptiveTreeClassifier(random_state=0),
    lambda: RobustForestClassifier(4, categorical_features=[0], random_state=0),
]


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    """With a GIL, threads change places a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What work(0), work(1), … return in threads that start together."""
    barrier = threading.Barrier(N_THREADS)

    def start(number: int) -> Any:
        barrier.wait(60)
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(start, range(N_THREADS)))


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.integers(0, 12, (250, 5)).astype(float)
    return X, (X[:, 0] + rng.normal(size=250) > 6).astype(int) + (X[:, 1] > 9)


def test_the_engine_needs_no_gil() -> None:
    """Importing a module that does would have switched the GIL on."""
    assert _engine.isa()
    if hasattr(sys, "_is_gil_enabled") and "t" in sys.abiflags:
        assert not sys._is_gil_enabled()


def test_fits_at_once(data: tuple[Any, Any], tmp_path: Path) -> None:
    """Each thread gets the model that it gets alone, and saves and loads it."""
    X, y = data
    alone = [make().fit(X, y).predict_proba(X) for make in MAKERS]

    def work(number: int) -> list[Any]:
        found = []
        for i in range(len(MAKERS)):
            make = MAKERS[(i + number) % len(MAKERS)]
            model = make().fit(X, y)
            proba = model.predict_proba(X)
            if isinstance(getattr(model, "criterion", None), CustomImpurity):
                again = model
            else:
                path = tmp_path / f"{number}.hw"
                hardwood.save(model, path)
                again = hardwood.load(path)
            np.testing.assert_array_equal(again.predict_proba(X), proba)
            found.append(proba)
        return found

    for number, found in enumerate(at_once(work)):
        for i, proba in enumerate(found):
            np.testing.assert_array_equal(proba, alone[(i + number) % len(MAKERS)])


def test_one_model_in_all_threads(data: tuple[Any, Any]) -> None:
    """What a model makes on demand may be made by any thread first."""
    X, y = data
    for make in MAKERS:
        model = make().fit(X, y)
        one = make().fit(X, y)

        def use(number: int, model: Any = model) -> tuple[Any, ...]:
            tree = getattr(model, "estimators_", [model])[0]
            return (
                model.predict_proba(X),
                model.apply(X),
                model.feature_importances_,
                tree.get_depth(),
                tree._children[0],
            )

        expected = use(0, one)
        for found in at_once(use):
            for value, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(value, right)


def test_tables_of_impurities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of recent fits are kept, and the oldest makes room, whichever thread comes first."""
    monkeypatch.setattr(impurity_table, "_recent", {})
    monkeypatch.setattr(impurity_table, "_MOST_RECENT", 2)

    def work(number: int) -> int:
        for i in range(6):
            scale = 1.0 + number + i
            impurity_table.tabulate(lambda p, scale=scale: scale * p * (1 - p), np.empty(0), "own")
        return number

    assert at_once(work) == list(range(N_THREADS))
    assert len(impurity_table._recent) == 2


AT_EXIT = """
import threading, time
import hardwood
fitted = threading.Event()
def serve():
    model = hardwood.RobustForestClassifier(3).fit([[0], [1], [2]], [0, 1, 1])
    fitted.set()
    time.sleep(100)
threading.Thread(target=serve, daemon=True).start()
fitted.wait(60)
"""


def test_a_daemon_thread_with_a_model_ends_quietly() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
