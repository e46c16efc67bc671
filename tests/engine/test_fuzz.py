"""A few minutes of fuzzing, in processes of their own so that a crash is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("HARDWOOD_FUZZ_SECONDS", "60"))


def fuzz(tmp_path: Path, seed: int, seconds: float) -> int:
    """Fuzz from this seed on, and return how many models were fitted."""
    log = tmp_path / "fuzz.log"
    script = Path(__file__).parents[1] / "fuzz.py"
    options = ["--seed", str(seed), "--seconds", str(seconds), "--log", str(log)]
    run = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True)
    last = log.read_text().split()[-1]
    assert run.returncode == 0, f"python {script} --only {last}\n{run.stderr}"
    return int(run.stdout.split()[2])


def test_a_few_seconds(tmp_path: Path) -> None:
    assert fuzz(tmp_path, seed=0, seconds=4) > 20


@pytest.mark.slow
@pytest.mark.parametrize("start", [10**6, 2 * 10**6])
def test_a_few_minutes(start: int, tmp_path: Path) -> None:
    assert fuzz(tmp_path, seed=start, seconds=SECONDS) > 100
