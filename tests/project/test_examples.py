"""The examples run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


@pytest.mark.slow  # the site runs them, too
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_without_a_display(path, tmp_path):
    finished = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", str(path)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert not list(tmp_path.iterdir())


def test_shap_is_not_needed(tmp_path):
    """Where SHAP is missing, its example says so."""
    blocker = tmp_path / "shap.py"
    blocker.write_text("raise ImportError('not here')\n", encoding="utf-8")
    path = next(path for path in EXAMPLES if path.stem == "plot_shap")
    finished = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "pip install shap" in finished.stdout
