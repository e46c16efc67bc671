"""Memory that cannot be had, full disks, short writes, interrupted calls: nothing is lost or left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_tables import fruit

import hardwood
from hardwood import RobustForestClassifier
from hardwood.tables import write_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")

OLD = b"what was there before"
LABEL = ("--label", "ripe", "--drop", "name", "--drop", "number")
SMALL = ("--trees", "8", "--jobs", "1")


@pytest.fixture
def forest(rng: np.random.Generator) -> RobustForestClassifier:
    X = rng.normal(size=(3000, 3))
    return RobustForestClassifier(20, random_state=0).fit(X, rng.integers(0, 2, 3000))


# --- full disks ----------------------------------------------------------------------------------

# Python ignores SIGXFSZ, so a write above the limit is short, and the next one fails.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from hardwood.cli import main
main()
"""
COMMANDS = {
    "train": ("train", "table.csv", *LABEL, "-o", "out.hw", *SMALL),
    "predict": ("predict", "model.hw", "table.csv", "-o", "out.csv", "--proba", "--keep"),
    "predict parquet": ("predict", "model.hw", "table.csv", "-o", "out.parquet", "--proba"),
    "audit": ("audit", "table.csv", *LABEL, *SMALL, "--issues", "out.csv"),
    "report": ("audit", "table.csv", *LABEL, *SMALL, "--report", "out.html", "--no-compare"),
    "apply": ("apply", "table.csv", "-l", "ripe", "--decisions", "made.csv", "-o", "out.csv"),
    "demo": ("demo", "--output", "out.png"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from command_runs import run

    folder = tmp_path_factory.mktemp("inputs")
    fruit(150, np.random.default_rng(0)).to_csv(folder / "table.csv", index=False)
    (folder / "made.csv").write_text("row,label\n0,yes\n5,no\n")
    code, _, err = run("train", folder / "table.csv", *LABEL, "-o", folder / "model.hw", *SMALL)
    assert code == 0, err
    return folder


@pytest.mark.parametrize(
    "command",
    [
        each if each == "predict" else pytest.param(each, marks=pytest.mark.slow)
        for each in COMMANDS
    ],
)
def test_a_full_disk(command: str, inputs: Path, tmp_path: Path) -> None:
    arguments = COMMANDS[command]
    (output,) = [each for each in arguments if each.startswith("out.")]
    for each in inputs.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / output).write_bytes(OLD)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "100", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "hardwood-test", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full(
    forest: RobustForestClassifier, small_disk: Path, rng: np.random.Generator
) -> None:
    path = small_disk / "model.hw"
    path.write_bytes(OLD)
    with pytest.raises(OSError, match="No space left"):
        hardwood.save(forest, path)
    with pytest.raises(OSError, match="No space left"):
        write_table(fruit(3000, rng), small_disk / "table.csv")
    assert path.read_bytes() == OLD
    assert os.listdir(small_disk) == ["model.hw"]


def test_a_device_that_is_full(forest: RobustForestClassifier) -> None:
    with pytest.raises(OSError, match="No space left"):
        hardwood.save(forest, "/dev/full")


# --- short writes and interrupted calls ----------------------------------------------------------


def test_short_writes_and_interrupted_calls(forest: RobustForestClassifier, tmp_path: Path) -> None:
    """A slow pipe takes little at a time, and a timer interrupts each call again and again."""
    whole, pipe = tmp_path / "model.hw", tmp_path / "pipe"
    hardwood.save(forest, whole)
    os.mkfifo(pipe)
    read = bytearray()

    def slow() -> None:
        with open(pipe, "rb", buffering=0) as file:
            while part := file.read(50_000):
                read.extend(part)
                while n_signals < 10:  # the pipe is full meanwhile
                    time.sleep(0.001)

    reader = threading.Thread(target=slow, daemon=True)
    n_signals = 0

    def count(number: int, frame: Any) -> None:
        nonlocal n_signals
        n_signals += 1

    before = signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        reader.start()
        hardwood.save(forest, pipe)
        hardwood.save(forest, whole)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    reader.join(20)
    assert len(read) > 2**17  # a pipe holds half of it
    assert bytes(read) == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["model.hw", "pipe"]


# --- memory --------------------------------------------------------------------------------------

WITHOUT_MEMORY = """
import os, sys
import numpy as np, hardwood
import _testcapi
folder, kind = sys.argv[1:]
os.chdir(folder)
forest = hardwood.RobustForestClassifier(3, random_state=0).fit([[0], [1], [2]], [0, 1, 1])
hardwood.save(forest, "model.hw")
new = open("model.hw", "rb").read()
hardwood.load("model.hw")
outcomes = {"failed": 0, "done": 0}
n, in_a_row = 0, 0
while in_a_row < 100 // STEP + 3:  # some failures are tolerated: go on well past the last
    with open("model.hw", "wb") as file:
        file.write(b"old" if kind == "save" else new)
    try:
        _testcapi.set_nomemory(n, n + 1)
        if kind == "save":
            hardwood.save(forest, "model.hw")
        else:
            hardwood.load("model.hw", memory_map=False)
        _testcapi.remove_mem_hooks()
        in_a_row += 1
        outcomes["done"] += 1
        right = (new,)
    except (MemoryError, RuntimeError, SystemError) as error:
        _testcapi.remove_mem_hooks()
        # Python's buffered files, NumPy's indexing and its sums say so in their own way.
        known = ("can't allocate", "error return without exception set", "without setting an exc")
        assert isinstance(error, MemoryError) or any(each in str(error) for each in known), error
        in_a_row = 0
        outcomes["failed"] += 1
        right = (b"old", new)
    with open("model.hw", "rb") as file:
        assert file.read() in right, n
    assert os.listdir() == ["model.hw"], (n, os.listdir())
    n += STEP
print(outcomes["failed"], n)
"""


@pytest.mark.parametrize("kind", ["save", "load"])
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_allocations_that_fail(kind: str, step: int, tmp_path: Path) -> None:
    """The n-th allocation of Python fails, for every n, or for every seventh."""
    pytest.importorskip("_testcapi")
    script = WITHOUT_MEMORY.replace("STEP", str(step))
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), kind],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    n_failed, n = map(int, done.stdout.split())
    assert n_failed > 20
    assert n > 500, "it must not end before the engine is called"


OUT_OF_MEMORY = """
import resource, sys
import numpy as np, hardwood, hardwood.audit
X = np.random.default_rng(0).normal(size=(200_000, 8))
y = np.arange(200_000) % 3
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + 4_000_000, used + 4_000_000))
model = hardwood.RobustForestClassifier(5, n_jobs=1, random_state=0)
try: model.fit(X, y)
except MemoryError: print("refused", hasattr(model, "classes_"))
"""


def test_a_fit_without_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "refused False\n", done.stderr
