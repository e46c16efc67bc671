"""The same seed gives the same forest, however many threads, fits, workers or processes grow it."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from cases import NAMES, Data, Maker, many_rows_few_values, missing, real_weights
from forests import EVERY_FOREST, FORESTS, assert_same_forest, forest_digest
from joblib.parallel import ThreadingBackend
from numpy.testing import assert_array_equal
from sklearn.base import clone

from hardwood import RobustForestClassifier
from hardwood._core import _engine, spread

# A processor of these has fewer threads than some tests ask for, which must not matter.
OPTIONS: dict[str, dict[str, Any]] = {
    "bootstrap": {"bootstrap": True, "oob_score": True},
    "all rows": {"bootstrap": False},
    "best first": {"bootstrap": True, "max_leaf_nodes": 9},
    "some draws": {"bootstrap": True, "max_samples": 0.4},
    "balanced": {"bootstrap": True, "class_weight": "balanced_subsample"},
    "pruned": {"bootstrap": True, "ccp_alpha": 0.003},
}
EVERY_OPTION = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
pytestmark = [
    pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores"),
    pytest.mark.filterwarnings("ignore:class_weight preset"),
]


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return many_rows_few_values(3, rng)


def assert_same_model(one: Any, other: Any, X: Any) -> None:
    assert_same_forest(one, other)
    for method in ("predict_proba", "apply", "predict"):
        assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    if hasattr(one, "oob_score_"):
        assert_array_equal(one.oob_decision_function_, other.oob_decision_function_)


# --- threads and fits ----------------------------------------------------------------------------


@EVERY_FOREST
@EVERY_OPTION
def test_every_number_of_threads(cls: Any, options: dict[str, Any], data: Data) -> None:
    one = cls(7, n_jobs=1, random_state=0, **options).fit(data.X, data.y)
    for n_jobs in (2, 5, -1, None):
        other = cls(7, n_jobs=n_jobs, random_state=0, **options).fit(data.X, data.y)
        assert_same_model(one, other, data.X)


def test_one_large_tree_on_every_number_of_threads(data: Data) -> None:
    one, *others = (
        RobustForestClassifier(1, n_jobs=n_jobs, random_state=0).fit(data.X, data.y)
        for n_jobs in (1, 2, 5)
    )
    for other in others:
        assert_same_model(one, other, data.X)


@EVERY_FOREST
@EVERY_OPTION
@pytest.mark.parametrize("n_first", [1, 4])
def test_warm_start_in_two_halves(
    cls: Any, options: dict[str, Any], n_first: int, data: Data
) -> None:
    whole = cls(8, random_state=0, **options).fit(data.X, data.y)
    halves = cls(n_first, random_state=0, warm_start=True, **options).fit(data.X, data.y)
    halves.set_params(n_estimators=8).fit(data.X, data.y)
    assert_same_model(halves, whole, data.X)


@EVERY_FOREST
def test_warm_start_without_a_seed_goes_on_from_its_own(cls: Any, data: Data) -> None:
    forest = cls(2, warm_start=True, random_state=None).fit(data.X, data.y)
    forest.set_params(n_estimators=4).fit(data.X, data.y)
    assert len({tree.apply(data.X).tobytes() for tree in forest.estimators_}) == 4


@EVERY_FOREST
def test_a_forest_starts_with_a_smaller_one(cls: Any, data: Data) -> None:
    """Tree i is the same in forests of every size."""
    small, large = (cls(n, random_state=0).fit(data.X, data.y) for n in (3, 6))
    assert_array_equal(small.apply(data.X), large.apply(data.X)[:, :3])


# --- instruction sets ----------------------------------------------------------------------------


def digests() -> dict[str, str]:
    """A hash of the model for every forest, criterion and data set."""
    result = {}
    makers: list[Maker] = [real_weights, missing, many_rows_few_values]
    for maker in makers:
        for criterion in NAMES:
            X, y, weight = maker(2 if criterion == "ranking" else 5, np.random.default_rng(0))
            for cls in FORESTS:
                forest = cls(3, criterion=criterion, n_jobs=2, random_state=7).fit(X, y, weight)
                name = f"{maker.__name__}-{criterion}-{cls.__name__}"
                result[name] = forest_digest(forest, X)
    return result


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


def test_forests_differ(here: dict[str, str]) -> None:
    """The hashes see what they should."""
    assert len(set(here.values())) == len(here)


@pytest.mark.parametrize("isa", [isa for isa in _engine.isa_available() if isa != _engine.isa()])
def test_every_instruction_set_gives_the_same_forest(isa: str, here: dict[str, str]) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"HARDWOOD_ISA": isa, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    there = json.loads(run.stdout)
    assert [name for name in here if there[name] != here[name]] == []


# --- joblib's backends ---------------------------------------------------------------------------


class ElsewhereBackend(ThreadingBackend):  # type: ignore[misc]
    """Threads that pass for other machines."""


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Of each call that grows trees, the first tree and the number of them."""
    calls: list[tuple[int, int]] = []
    grow = spread.grow

    def spy(*arguments: Any, first_tree: int, n_trees: int, **options: Any) -> Any:
        calls.append((first_tree, n_trees))
        return grow(*arguments, first_tree=first_tree, n_trees=n_trees, **options)

    monkeypatch.setattr(spread, "grow", spy)
    return calls


@EVERY_FOREST
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing", "sequential"])
def test_on_this_machine_the_engine_has_its_own_threads(
    cls: Any, backend: str, data: Data, parts: list[tuple[int, int]]
) -> None:
    forest = cls(7, random_state=0).fit(data.X, data.y)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        other = clone(forest).fit(data.X, data.y)
        assert_same_model(forest, other, data.X)
    assert parts == [(0, 7)] * 2


@EVERY_FOREST
@EVERY_OPTION
def test_workers_elsewhere_share_the_trees(
    cls: Any, options: dict[str, Any], data: Data, parts: list[tuple[int, int]]
) -> None:
    forest = cls(7, random_state=0, **options).fit(data.X, data.y)
    joblib.register_parallel_backend("elsewhere", ElsewhereBackend)
    del parts[:]
    with joblib.parallel_config(backend="elsewhere", n_jobs=3):
        other = clone(forest).fit(data.X, data.y)
        assert_same_model(forest, other, data.X)
        grown = [first + i for first, n in parts for i in range(n)]
        assert len(parts) == 3
        assert sorted(grown) == list(range(7))
        halves = clone(forest).set_params(n_estimators=2, warm_start=True).fit(data.X, data.y)
        halves.set_params(n_estimators=7).fit(data.X, data.y)
    assert_same_model(forest, halves, data.X)


@pytest.fixture
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("dask.distributed")
    with distributed.Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as client:
        yield client


@pytest.mark.filterwarnings("default")  # dask's own
@EVERY_FOREST
def test_dask(cls: Any, dask_client: Any, data: Data, parts: list[tuple[int, int]]) -> None:
    forest = cls(7, bootstrap=True, oob_score=True, random_state=0).fit(data.X, data.y)
    del parts[:]
    with joblib.parallel_config(backend="dask"):
        other = clone(forest).fit(data.X, data.y)
    assert_same_model(forest, other, data.X)


# --- processes -----------------------------------------------------------------------------------


def test_inside_outer_jobs(data: Data) -> None:
    forest = RobustForestClassifier(5, n_jobs=2, random_state=0).fit(data.X, data.y)
    others = joblib.Parallel(n_jobs=2)(
        joblib.delayed(clone(forest).fit)(data.X, data.y) for _ in range(3)
    )
    for other in others:
        assert_same_model(forest, other, data.X)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork(data: Data) -> None:
    """The parent's threads are gone in the child, which must not wait for them."""
    forest = RobustForestClassifier(5, n_jobs=2, random_state=0).fit(data.X, data.y)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        fits = [pool.submit(clone(forest).fit, data.X, data.y) for _ in range(2)]
        votes = pool.submit(forest.predict_proba, data.X).result(timeout=60)
        others = [fit.result(timeout=60) for fit in fits]
    assert_array_equal(votes, forest.predict_proba(data.X))
    for other in others:
        assert_same_model(forest, other, data.X)


if __name__ == "__main__":
    print(json.dumps(digests()))
