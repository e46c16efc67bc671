"""What once broke the library, by its public names and its commands alone.

docs/reliability.md says how each fails with the code of commit 2515e2d. The tests of each room go
further.
"""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import pytest
from command_runs import CliRunner, app, run
from own_tables import pd
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import hardwood
from hardwood import AdaptiveForestClassifier, RobustForestClassifier, RobustTreeClassifier
from hardwood.criteria import CustomImpurity
from hardwood.tables import read_table, write_table

POSIX = pytest.mark.skipif(os.name != "posix", reason="of POSIX")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
SMALL = ("--trees", "8", "--jobs", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table, a model of it, and nothing else."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=80).round(3)
    labels = np.where(x + rng.normal(size=80) > 0, "=1+2", "no")
    pd.DataFrame({"x": x, "z": rng.normal(size=80), "y": labels}).to_csv(
        tmp_path / "table.csv", index=False
    )
    code, _, err = run("train", tmp_path / "table.csv", "-l", "y", "-o", tmp_path / "m.hw", *SMALL)
    assert code == 0, err
    return tmp_path


def ends_within(seconds: float, script: str, *arguments: Any) -> str:
    """Run a script in a process of its own and return what it prints."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds_of(act: Callable[[], Any]) -> float:
    """Return the least processor time of three runs."""

    def once() -> float:
        begin = time.process_time()
        act()
        return time.process_time() - begin

    return min(once() for _ in range(3))


# --- files ---------------------------------------------------------------------------------------


@POSIX
def test_pipes_are_written_through(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    code, _, err = run("predict", folder / "m.hw", folder / "table.csv", "-o", pipe)
    assert code == 0, err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(10)
    assert read[0].startswith(b"prediction\n")


@LINUX
def test_devices_stay_devices(folder: Path) -> None:
    null = folder / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.open("rb").close()
    except OSError:
        pytest.skip("only root can make devices")
    assert run("predict", folder / "m.hw", folder / "table.csv", "-o", null)[0] == 0
    hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), null)
    assert stat.S_ISCHR(null.stat().st_mode)


@POSIX
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_input_and_output(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if name != "-" and not stat.S_ISLNK(os.lstat(name).st_mode):
        pytest.skip("/dev/stdout is not a link here")  # never let an error replace it
    table = Path("table.csv").read_bytes()
    done = CliRunner().invoke(app, ["predict", "m.hw", "-", "-o", "-"], input=table)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("prediction\n")
    if name != "-":
        by_name = CliRunner().invoke(app, ["predict", "m.hw", "table.csv", "-o", name])
        assert by_name.stdout_bytes == done.stdout_bytes
    assert not Path("-").exists()


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_cells_with_a_lone_carriage_return(ending: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": ["a\rb", "c", "d\r"], "n\rm": [1, 2, 3]})
    path = tmp_path / f"table.{ending}"
    write_table(table, path)
    separator = "," if ending == "csv" else "\t"
    with path.open(newline="") as file:
        again = pd.read_csv(io.StringIO(file.read()), sep=separator, engine="python")
    assert again.shape == (3, 2)
    assert again["text"].tolist() == table["text"].tolist()
    assert read_table(path).to_numpy().tolist() == table.to_numpy().tolist()


@POSIX
def test_the_mode_of_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "m.hw"
    path.touch(0o600)
    path.chmod(0o600)
    hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# --- models --------------------------------------------------------------------------------------


def test_impurities_in_single_precision() -> None:
    script = """
import numpy as np
from hardwood import RobustTreeClassifier
from hardwood.criteria import CustomImpurity
X = np.random.default_rng(0).normal(size=(200, 3))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
gini = CustomImpurity(lambda p: (1 - (p.astype("f4") ** 2).sum(axis=1)).astype("f4"))
print(RobustTreeClassifier(criterion=gini, random_state=0).fit(X, y).score(X, y))
"""
    assert float(ends_within(20, script)) > 0.95


def test_impurities_that_are_complex() -> None:
    tree = RobustTreeClassifier(criterion=CustomImpurity(lambda p: 1 - (p**2).sum(axis=1) + 0j))
    with pytest.raises(ValueError, match="real"):
        tree.fit([[0], [1], [2]], [0, 1, 1])


@pytest.mark.parametrize("unit", [2.0**120, 1e-300], ids=str)
def test_weights_of_any_unit(unit: float, rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0) ^ (rng.random(400) < 0.2)
    weight = rng.integers(1, 4, 400).astype(float)
    one, other = (
        AdaptiveForestClassifier(12, random_state=0).fit(X, y, weight * scale)
        for scale in (1.0, unit)
    )
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_estimators", [2**64, 2**31])
def test_more_trees_than_there_can_be(n_estimators: int) -> None:
    with pytest.raises(ValueError, match="n_estimators"):
        RobustForestClassifier(n_estimators).fit([[0], [1]], [0, 1])


def test_whole_numbers_above_2_53() -> None:
    """float64 would merge them, so they are refused."""
    X = np.array([[2**53], [2**53 + 1]] * 10, dtype=np.int64)
    y = X[:, 0] % 2
    with pytest.raises(ValueError, match=r"2\*\*53"):
        RobustTreeClassifier().fit(X, y)


def test_a_score_that_raises_leaves_no_forest(rng: np.random.Generator) -> None:
    def raising(y: Any, prediction: Any) -> float:
        raise ZeroDivisionError

    X = rng.normal(size=(60, 2))
    forest = RobustForestClassifier(20, oob_score=raising, random_state=0)
    with pytest.raises(ZeroDivisionError):
        forest.fit(X, X[:, 0] > 0)
    with pytest.raises(NotFittedError):
        check_is_fitted(forest)
    with pytest.raises(NotFittedError):
        forest.predict(X)


def test_a_hundred_thousand_columns_are_fitted(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3, 100_000))
    ours, theirs = (
        seconds_of(lambda cls=cls: cls(random_state=0).fit(X, [0, 1, 1]))  # type: ignore[misc]
        for cls in (RobustTreeClassifier, DecisionTreeClassifier)
    )
    assert ours < 20 * theirs


@pytest.mark.parametrize("kind", ["numbers", "dates"])
def test_many_columns_are_read(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Each column of dates copied the list of all columns."""
    path = tmp_path / "wide.csv"
    values = rng.normal(size=(5, 6_000)).round(3)
    if kind == "dates":
        values = np.datetime64("2020-01-01") + values.astype(int)
    names = [f"c{i}" for i in range(values.shape[1])]
    pd.DataFrame(values, columns=names).to_csv(path, index=False)
    assert seconds_of(lambda: read_table(path)) < 20 * seconds_of(lambda: pd.read_csv(path))


# --- hostile model files -------------------------------------------------------------------------


def model_file(header: bytes, data: bytes = b"") -> bytes:
    start = Struct("<8sIIQ").pack(b"hardwood", 1, zlib.crc32(header), len(header)) + header
    return start + bytes(-len(start) % 64) + data


LOAD = """
import sys
import hardwood, hardwood.losses, hardwood.tables
from pathlib import Path
def megabytes():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
before = megabytes()
try:
    hardwood.load(sys.argv[1])
except ValueError as error:
    print(megabytes() - before, error)
"""


@LINUX
def test_arrays_that_overlap(tmp_path: Path) -> None:
    """A file of 31 MB claimed 15,000 arrays of 30 MB, and each was read for its checksum."""
    path = tmp_path / "m.hw"
    data = bytes(30_000_000)
    array = {"dtype": "|u1", "shape": [len(data)], "offset": 0, "crc32": zlib.crc32(data)}
    content = {"protocol": 1, "class": "x", "state": {}, "arrays": [array] * 15_000}
    path.write_bytes(model_file(json.dumps(content, separators=(",", ":")).encode(), data))
    assert "overlaps with another" in ends_within(60, LOAD, path)


@LINUX
def test_headers_that_are_long(tmp_path: Path) -> None:
    """Python kept 50 bytes for each byte of the header."""
    path = tmp_path / "m.hw"
    nested = b"[" + b"[]," * 5_500_000 + b"[]]"
    state = b'{"class":"RobustTreeClassifier","state":{"x":' + nested + b'},"arrays":[]}'
    path.write_bytes(model_file(state))
    megabytes, message = ends_within(60, LOAD, path).split(maxsplit=1)
    assert float(megabytes) < 100
    assert "too long" in message


def test_headers_that_are_deep(tmp_path: Path) -> None:
    path = tmp_path / "m.hw"
    header = b'{"class":' + b"[" * 500 + b"]" * 500 + b',"state":{},"arrays":[]}'
    path.write_bytes(model_file(header))
    with pytest.raises(ValueError, match="nested"):
        hardwood.load(path)


# --- labels and audits ---------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [("01", "1"), ("No", "no")], ids=str)
def test_labels_are_what_is_written(pair: tuple[str, str], tmp_path: Path) -> None:
    data = tmp_path / "table.csv"
    lines = [f"{i * 7 % 11},{i % 2},{pair[i % 2]}" for i in range(60)]
    data.write_text("\n".join(["z,x,y", *lines]))
    code, out, err = run("train", data, "-l", "y", "-o", tmp_path / "m.hw", *SMALL, "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == sorted(pair)
    assert "look alike" in err


@LINUX
def test_long_class_names(tmp_path: Path) -> None:
    script = """
import resource, sys
import numpy as np, hardwood.audit
resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 3))
names = np.array(["a" * 200_000, "b" * 200_000], dtype=object)
y = names[(X[:, 0] + rng.normal(size=1000) / 2 > 0).astype(int)]
audit = hardwood.audit.LabelAudit(n_jobs=1, random_state=0).fit(X, y)
assert set(audit.issues_["given"]) == set(names)
audit.report(sys.argv[1], compare=False)
"""
    ends_within(60, script, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 10**6


def test_two_rows_cannot_tell(tmp_path: Path) -> None:
    data = tmp_path / "two.csv"
    data.write_text("a,b,y\n1,x,p\n2,z,q\n")
    code, out, _ = run("audit", data, "-l", "y", *SMALL, "--json", "--fail-above", "0")
    assert code == 0
    assert json.loads(out)["n_issues"] == 0
    code, out, _ = run("audit", data, "-l", "y", *SMALL)
    assert "too few rows" in out
    assert "100" not in out


# --- arguments and outputs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "option", ["--jobs=0", "--jobs=99999999999999999999", f"--trees={2**64}", f"--trees={2**31}"]
)
def test_numbers_out_of_range(option: str, folder: Path) -> None:
    code, _, err = run("audit", folder / "table.csv", "-l", "y", option)
    assert code == 2
    assert "Invalid value" in err


def test_one_file_for_two_outputs(folder: Path) -> None:
    page = folder / "page"
    outputs = ("--report", page, "--issues", page)
    assert run("audit", folder / "table.csv", "-l", "y", *SMALL, *outputs)[0] == 2
    assert not page.exists()


def test_predictions_do_not_run_in_a_spreadsheet(folder: Path) -> None:
    output = folder / "out.csv"
    arguments = ("predict", folder / "m.hw", folder / "table.csv", "-o", output)
    assert run(*arguments)[0] == 0
    assert "'=1+2" in set(pd.read_csv(output)["prediction"])
    assert "=1+2" in set(read_table(output)["prediction"])
    assert run(*arguments, "--raw")[0] == 0
    assert "=1+2" in set(pd.read_csv(output)["prediction"])
