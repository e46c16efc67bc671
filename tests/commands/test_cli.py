"""The entry point of the command line."""

import json
import sys

import pytest
from command_runs import run

from hardwood import cli
from hardwood.commands import app

COMMANDS = ["demo", "train", "predict", "audit", "apply", "info"]


def test_the_commands_have_examples() -> None:
    assert [command.callback.__name__ for command in app.registered_commands] == COMMANDS
    for command in COMMANDS:
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"Example: hardwood {command} " in out


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_main_says_how_to_install_what_is_missing(module, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith((module, "hardwood.commands"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert "hardwood[cli]" in str(stop.value.code)


def test_main_runs_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hardwood", "info", "--json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert "versions" in json.loads(capsys.readouterr().out)
