"""The entry point of the command line."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import typer
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


# --- signals -------------------------------------------------------------------------------------


def in_a_destructor(number: int) -> None:
    class Last:
        def __del__(self) -> None:
            signal.raise_signal(number)

    Last()  # Python ignores what it raises


def in_an_import(number: int) -> None:
    try:
        signal.raise_signal(number)
    except BaseException:
        raise ImportError("the library could not be imported") from None


def in_plain_code(number: int) -> None:
    signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", [in_plain_code, in_a_destructor, in_an_import])
def test_signals_end_a_command_quietly(
    place: Callable[[int], None],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    app = typer.Typer()

    @app.command()
    def command() -> None:
        place(number)
        for _ in range(1000):
            time.sleep(0.01)

    monkeypatch.setattr("hardwood.commands.app", app)
    monkeypatch.setattr(sys, "argv", ["hardwood"])
    before = signal.getsignal(number), sys.unraisablehook
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 128 + number
    assert "Traceback" not in capfd.readouterr().err
    assert (signal.getsignal(number), sys.unraisablehook) == before


def test_other_errors_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("hardwood.commands.app", failing)
    with pytest.raises(ZeroDivisionError):
        cli.main()


@pytest.mark.parametrize("module", ["hardwood", "hardwood.cli"])
def test_python_runs_the_command(module: str) -> None:
    ran = subprocess.run([sys.executable, "-m", module, "train"], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "Missing argument" in ran.stderr
