"""Interrupt every command at random moments: ``python -m tests.fuzz.interrupts --seconds 60``.

Each command writes over existing files. SIGINT, SIGTERM or SIGKILL comes at a random moment. After it
every output is the old file or the complete new one, inputs are what they were, and only SIGKILL may
leave an unfinished file behind. A command that is told to end does so within ten seconds, without a
traceback.

Commands run in forks of a process that has imported everything: starting Python takes longer than
most of them, and is not what we test.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' helpers

from own_tables import fruit

from hardwood import cli, commands
from tests.fuzz import runner

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
OPTIONS = ["--label", "ripe", "--drop", "name", "--drop", "number", "--jobs", "1"]
# What each command is called with, and what it writes.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "train": (["train", "table.csv", "-o", "new.hw", "--trees", "8", *OPTIONS], ["new.hw"]),
    "predict": (
        ["predict", "model.hw", "table.csv", "-o", "out.csv", "--drop", "name", "--drop", "number"],
        ["out.csv"],
    ),
    "predict gz": (
        ["predict", "model.hw", "table.csv", "-o", "out.tsv.gz", "--proba", "--keep"],
        ["out.tsv.gz"],
    ),
    "audit": (
        [
            *("audit", "table.csv", "--trees", "8", *OPTIONS),
            *("--report", "report.html", "--issues", "issues.csv"),
        ],
        ["report.html", "issues.csv"],
    ),
    "apply": (
        [
            "apply",
            "table.csv",
            "--label",
            "ripe",
            "--decisions",
            "decisions.csv",
            "-o",
            "fixed.csv",
        ],
        ["fixed.csv"],
    ),
    "info": (["info"], []),
    "demo": (
        ["demo", "--output", "demo.png", "--report", "demo.html", "--table", "demo.csv"],
        ["demo.png", "demo.html", "demo.csv"],
    ),
}
assert commands.app  # imported before the forks
WEIGHTS = [30, 10, 10, 30, 18, 1, 1]  # a demo takes seconds
OLD = b"what was there before"


class Case(NamedTuple):
    """A command, the signal, and when it comes, as a share of the time that the command takes."""

    command: str
    signal: int
    moment: float


class Interrupts:
    """Commands that are interrupted."""

    name = "interrupts"

    def draw(self, seed: int) -> Case:
        rng = random.Random(seed)
        command = rng.choices(list(COMMANDS), WEIGHTS)[0]
        return Case(command, int(rng.choice(SIGNALS)), rng.random())

    def run(self, case: Case) -> str:
        complete, seconds = self._expected(case.command)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            arguments = self._prepare(case.command, folder)
            before = {path.name: path.read_bytes() for path in folder.iterdir()}
            child = forked(arguments, folder)
            time.sleep(case.moment * seconds)
            os.kill(child, case.signal)
            code = ended(child)
            after = {path.name: path.read_bytes() for path in folder.iterdir()}
            said = after.pop("said.txt", b"").decode()
        assert "Traceback" not in said, said
        assert code in (0, 128 + case.signal, -case.signal), (code, said)
        if case.signal == signal.SIGKILL:
            after = {key: file for key, file in after.items() if not key.endswith(".tmp")}
        assert after.keys() == before.keys(), after.keys() ^ before.keys()
        for key, file in after.items():
            assert file in (before[key], complete.get(key)), f"{key} is neither old nor new"
        return "ended before" if code == 0 else signal.Signals(case.signal).name

    def _prepare(self, command: str, folder: Path) -> list[str]:
        """Fill a folder with the inputs, and with old files in the places of the outputs."""
        for path in self._inputs.iterdir():
            shutil.copy(path, folder)
        arguments, outputs = COMMANDS[command]
        for output in outputs:
            (folder / output).write_bytes(OLD)
        return arguments

    def _expected(self, command: str) -> tuple[dict[str, bytes], float]:
        """Return what a command writes if it is left alone, and how long it takes now."""
        if command not in self._known:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                begin = time.monotonic()
                child = forked(self._prepare(command, folder), folder)
                code = ended(child, 120)
                seconds = time.monotonic() - begin
                files = {path.name: path.read_bytes() for path in folder.iterdir()}
                assert code == 0, files["said.txt"].decode()
                assert all(files[output] != OLD for output in COMMANDS[command][1])
                self._known[command] = files, seconds
        return self._known[command]

    @cached_property
    def _known(self) -> dict[str, tuple[dict[str, bytes], float]]:
        return {}

    @cached_property
    def _inputs(self) -> Path:
        folder = Path(tempfile.mkdtemp())
        table = fruit(150, np.random.default_rng(0))
        table.to_csv(folder / "table.csv", index=False)
        decisions = {"row": [0, 5, 9], "label": ["yes", "no", "yes"]}
        pd.DataFrame(decisions).to_csv(folder / "decisions.csv", index=False)
        child = forked(["train", "table.csv", "-o", "model.hw", "--trees", "8", *OPTIONS], folder)
        assert ended(child, 60) == 0, (folder / "said.txt").read_text()
        (folder / "said.txt").unlink()
        return folder

    def write(self, case: Case) -> bytes:
        return pickle.dumps(tuple(case))

    def read(self, file: bytes) -> Case:
        return Case(*pickle.loads(file))


def forked(arguments: list[str], folder: Path) -> int:
    """Run a command in a fork, in a folder, and return the number of the process."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.chdir(folder)
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["hardwood", *arguments]
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
    except SystemExit:  # SIGTERM after the command itself
        code = 143
    except KeyboardInterrupt:  # before or after the command itself
        code = 130
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(child: int, most_seconds: float = runner.MOST_SECONDS) -> int:
    """Wait for a process and return its exit code; below zero, the signal that ended it."""
    begin = time.monotonic()
    while time.monotonic() - begin < most_seconds:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise RuntimeError(f"the command did not end within {most_seconds} s")


if __name__ == "__main__":
    runner.main(Interrupts())
