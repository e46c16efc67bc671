"""Running the commands, for the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from hardwood.commands import app


class Run(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments: Any) -> Run:
    """Run a command inside this process."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def run_well(*arguments: Any, remarks: Sequence[str] = ()) -> str:
    """Run a command that ends well, and return what it prints.

    It has nothing to remark but one note for each of `remarks`, which begins with this text.
    """
    code, out, err = run(*arguments)
    assert code == 0, err
    for line, remark in zip(err.splitlines(), remarks, strict=True):
        assert line.startswith(f"Note: {remark}")
    return out


def facts(*arguments: Any, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """Run a command for its JSON, which is all that it prints."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    loaded: dict[str, Any] = json.loads(
        run_well(*arguments, "--json", remarks=remarks), parse_constant=refuse
    )
    return loaded
