"""The same seed gives the same model, in every process and on every instruction set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import NAMES, Maker, many_rows_few_values, many_rows_many_values, missing, real_weights
from threadpoolctl import threadpool_limits
from trees import digest

from hardwood import RobustTreeClassifier
from hardwood._core import _engine

MAKERS: list[Maker] = [real_weights, missing, many_rows_few_values, many_rows_many_values]


def digests() -> dict[str, str]:
    """A hash of the model for every criterion and data set."""
    result = {}
    for maker in MAKERS:
        for criterion in NAMES:
            for n_classes in (2,) if criterion == "ranking" else (2, 5):
                X, y, weight = maker(n_classes, np.random.default_rng(0))
                tree = RobustTreeClassifier(criterion=criterion, random_state=7).fit(X, y, weight)
                result[f"{maker.__name__}-{criterion}-{n_classes}"] = digest(tree)
    return result | digests_of_sets()


def digests_of_sets() -> dict[str, str]:
    """The same for trees that split by categories."""
    result = {}
    for maker in (real_weights, missing, many_rows_few_values):
        for n_classes in (2, 5):
            for splitter in ("best", "random"):
                X, y, weight = maker(n_classes, np.random.default_rng(0))
                tree = RobustTreeClassifier(
                    categorical_features=[0, 1], splitter=splitter, category_smoothing=3.0
                )
                tree.set_params(random_state=7).fit(X, y, weight)
                assert tree._compact.has_sets
                result[f"{maker.__name__}-sets-{splitter}-{n_classes}"] = digest(tree)
    return result


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


def test_the_same_seed_gives_the_same_model(here: dict[str, str]) -> None:
    assert digests() == here


def test_models_differ(here: dict[str, str]) -> None:
    """The hashes see what they should: no two of these models are alike, but one pair of aliases."""
    assert len(set(here.values())) >= len(here) - len(MAKERS)


def test_every_machine_has_the_baseline() -> None:
    assert "baseline" in _engine.isa_available()


@pytest.mark.parametrize("isa", _engine.isa_available())
def test_every_instruction_set_gives_the_same_model(isa: str, here: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"HARDWOOD_ISA": isa, "PYTHONPATH": path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    there = json.loads(run.stdout)
    assert [name for name in here if there[name] != here[name]] == []


def path() -> str:
    return os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])


if __name__ == "__main__":
    print(json.dumps(digests()))


@pytest.mark.parametrize("criterion", ["gini", "ne", "credal"])
def test_a_large_tree_is_the_same_on_any_number_of_threads(criterion: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 50, size=(12_000, 12))
    y = (X[:, 0] // 10 + rng.integers(0, 2, size=len(X))) % 3
    X[:, 1] = X[:, 1] > 46  # mostly one value
    trees = []
    for limit in (1, 4):
        with threadpool_limits(limit, user_api="openmp"):
            trees.append(RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y))
    assert digest(trees[0]) == digest(trees[1])
