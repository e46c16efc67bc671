"""Running the commands, for the tests."""

from __future__ import annotations

import json
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


def run_well(*arguments: Any) -> str:
    """Run a command that ends well and has nothing to remark, and return what it prints."""
    code, out, err = run(*arguments)
    assert code == 0, err
    assert err == ""
    return out


def facts(*arguments: Any) -> dict[str, Any]:
    """Run a command for its JSON, which is all that it prints."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    loaded: dict[str, Any] = json.loads(run_well(*arguments, "--json"), parse_constant=refuse)
    return loaded
