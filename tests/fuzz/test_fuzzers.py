"""Fuzzers run for some seconds here, and all that they ever found is run again.

``pytest -m slow`` runs each for a minute and ``pytest -m soak`` all of them for an hour. They run in
processes of their own, so that a crash is a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import runner
from tests.fuzz.api import Api
from tests.fuzz.hw import Files
from tests.fuzz.interrupts import Interrupts
from tests.fuzz.report import Report
from tests.fuzz.tables import Tables

ROOT = Path(__file__).parents[2]
FUZZERS = {"api": Api, "hw": Files, "tables": Tables, "report": Report, "interrupts": Interrupts}
# Cases in a minute that show that a fuzzer works, and not how fast it is.
ENOUGH = {"api": 20, "hw": 20, "tables": 5, "report": 1, "interrupts": 1}
EVERY_FUZZER = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks"))
        if name == "interrupts"
        else name
        for name in FUZZERS
    ],
)
SOAK_SECONDS = float(os.environ.get("HARDWOOD_SOAK_SECONDS", "3600"))


def fuzz(name: str, seed: int, seconds: float, tmp_path: Path) -> int:
    """Fuzz from this seed on, and return how many cases there were."""
    log = tmp_path / "fuzz.log"
    module = f"tests.fuzz.{name}"
    options = ["--seed", str(seed), "--seconds", str(seconds), "--log", str(log)]
    run = subprocess.run(
        [sys.executable, "-m", module, *options], capture_output=True, text=True, cwd=ROOT
    )
    if run.returncode != 0:
        last = log.read_text().split()[-1]
        pytest.fail(f"python -m {module} --only {last}  (--keep {last})\n{run.stderr[-3000:]}")
    print(run.stdout)
    return int(run.stdout.split()[0])


@EVERY_FUZZER
def test_a_few_seconds(name: str, tmp_path: Path) -> None:
    assert fuzz(name, seed=0, seconds=2, tmp_path=tmp_path) > 0  # a busy machine may do few


@pytest.mark.slow
@EVERY_FUZZER
def test_a_minute(name: str, tmp_path: Path) -> None:
    assert fuzz(name, seed=10**6, seconds=60, tmp_path=tmp_path) > ENOUGH[name]


@pytest.mark.soak
@EVERY_FUZZER
def test_an_hour(name: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("HARDWOOD_TEST_SEED", "0"))
    seconds = SOAK_SECONDS / len(FUZZERS)
    assert fuzz(name, seed=10**7 * (seed + 1), seconds=seconds, tmp_path=tmp_path) > ENOUGH[name]


@EVERY_FUZZER
@pytest.mark.filterwarnings("ignore")
def test_what_was_found(name: str) -> None:
    fuzzer: Any = object.__new__(FUZZERS[name])  # no limit of memory here
    for path in runner.found(fuzzer):
        try:
            case = fuzzer.read(path.read_bytes())
        except Exception as error:  # a table of another version of pandas
            pytest.skip(f"{path.name} cannot be read here: {error}")
        fuzzer.run(case)


@EVERY_FUZZER
def test_cases_are_the_same_again(name: str) -> None:
    fuzzer: Any = object.__new__(FUZZERS[name])
    for seed in range(5):
        one, other = (fuzzer.write(fuzzer.draw(seed)) for _ in range(2))
        assert one == other
