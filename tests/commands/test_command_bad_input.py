"""Tables that cannot be used: a clear message, code 2, and no file touched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import run
from own_tables import fruit, pd

from hardwood.tables import write_table

BOTH = pytest.mark.parametrize("command", ["train", "audit"])


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    return fruit(60, rng)


class Place:
    """A folder with the output of an earlier run."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data.csv"
        self.output = folder / "output"
        self.output.write_text("what was there\n")

    def refuses(self, command: str, match: str, *options: Any, label: str = "ripe") -> None:
        before = set(os.listdir(self.output.parent))
        output = "-o" if command == "train" else "--issues"
        code, out, err = run(command, self.data, "--label", label, output, self.output, *options)
        assert code == 2, err
        assert out == ""
        assert err.startswith("Error: ")
        assert match in err
        assert len(err.splitlines()) == 1  # no traceback, and nothing else
        assert self.output.read_text() == "what was there\n"
        assert set(os.listdir(self.output.parent)) == before


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@BOTH
@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "data.csv: No such file or directory"),
        (b"", "is empty"),
        (b"a,ripe\n", "has no rows"),
        (b"a,ripe\n1,yes\n2\n", "Row #3: Expected 2 columns, got 1"),
        (b"a,ripe\n1,yes\n2,no,3\n", "Row #3: Expected 2 columns, got 3"),
        (b"\x00\x01\x02\xff" * 99, "is neither UTF-8 text nor Parquet"),
        (b"PK\x03\x04", "Save the table as CSV"),
        (b"PAR1", "cannot be read"),
        (b"a,a,ripe\n1,2,yes\n", "more than one column named 'a'"),
    ],
    ids=str,
)
def test_files(command: str, content: bytes | None, match: str, place: Place) -> None:
    if content is not None:
        place.data.write_bytes(content)
    place.refuses(command, match)


@BOTH
def test_a_directory(command: str, place: Place) -> None:
    place.data.mkdir()
    place.refuses(command, "is a directory, not a file")


@BOTH
def test_no_permission(
    command: str, place: Place, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(table, place.data)

    def forbid(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    # To root, who may run this, nothing is forbidden.
    monkeypatch.setattr("hardwood.tables.source.open", forbid, raising=False)
    place.refuses(command, "data.csv: Permission denied")


@BOTH
@pytest.mark.parametrize(
    ("label", "match"),
    [
        ("Ripe", "label: there is no column 'Ripe'. Did you mean 'ripe'?"),
        ("rype", "Did you mean 'ripe'?"),
        ("weight", "there is no column 'weight'. The columns are 'number', 'hue', 'size'"),
        ("size", "is missing in "),
        ("name", "60 different values in 60 rows"),
        ("planet", "has only one class, 'earth'. Two are required"),
        ("picked", "must contain text or whole numbers"),
        ("share", "contains fractions"),
        ("gappy", "Label column 'gappy' is missing in 20 of 60 rows, first in the 1st row"),
    ],
)
def test_labels(command: str, label: str, match: str, place: Place, table: Any) -> None:
    gappy = [None, "a", "b"] * 20
    write_table(table.assign(share=np.arange(60) / 8, gappy=gappy), place.data)
    place.refuses(command, match, label=label)


@BOTH
def test_ten_thousand_classes(command: str, place: Place) -> None:
    table = pd.DataFrame({"x": range(10_000), "y": [f"v{i}" for i in range(10_000)]})
    write_table(table, place.data)
    place.refuses(command, "has 10,000 different values in 10,000 rows", label="y")


@BOTH
def test_mixed_types(command: str, place: Place, table: Any) -> None:
    sizes = table["size"].fillna(0).astype(str)
    sizes[[4, 9]] = ["?", "large"]
    write_table(table.assign(size=sizes), place.data)
    place.refuses(command, "numbers, but also '?', 'large' (in 2 of 60 rows, first in the 5th row)")


@BOTH
def test_infinity(command: str, place: Place, table: Any) -> None:
    write_table(table.assign(size=[np.inf, *range(59)]), place.data)
    place.refuses(command, "'size' contains an infinite number, first in the 1st")


@BOTH
@pytest.mark.parametrize("option", ["--drop", "--use", "--category"])
def test_options_that_name_no_column(command: str, option: str, place: Place, table: Any) -> None:
    write_table(table, place.data)
    place.refuses(command, f"{option[2:]}: there is no column 'hues'", option, "hues")


@BOTH
def test_nothing_to_learn_from(command: str, place: Place) -> None:
    write_table(pd.DataFrame({"x": [1, 1], "ripe": ["a", "b"]}), place.data)
    place.refuses(command, "The table has no usable columns: 'x' left out")


def test_outputs(place: Place, table: Any, tmp_path: Path) -> None:
    write_table(table, place.data)
    train = ("train", place.data, "-l", "ripe", "-o")
    for output, match in [
        (tmp_path, "is a directory. Give the name of a file"),
        (tmp_path / "none" / "model.hw", "does not exist"),
        (place.data, "is the input. Choose another name"),
    ]:
        code, out, err = run(*train, output)
        assert (code, out) == (2, "")
        assert match in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "data.csv"],
        ["train", "data.csv", "--label", "y", "-o", "m.hw", "--trees", "0"],
        ["train", "data.csv", "--label", "y", "-o", "m.hw", "--trees", "many"],
        ["predict", "m.hw"],
        ["audit", "data.csv", "--label", "y", "--fail-above", "2"],
        ["nothing"],
    ],
    ids=" ".join,
)
def test_usage(arguments: list[str]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "Usage:" in err
