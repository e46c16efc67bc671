"""Fuzz tables and decision files: ``python -m tests.fuzz.tables --seconds 60 --seed 1``.

Hostile cells that are written come back. Files of any bytes are read as a table or refused with a
`TableError`. The commands accept or refuse them with exit codes 0 and 2, never with a traceback, and
``hardwood apply`` changes the labels decided on and nothing else.
"""

from __future__ import annotations

import csv
import gzip
import io
import pickle
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from typer.testing import CliRunner

from hardwood.commands import app
from hardwood.tables import TableError, read_table, write_table
from hardwood.tables._values import MISSING
from tests.fuzz import runner

PIECES = [
    *(
        "a",
        "b",
        "yes",
        "no",
        "No",
        "01",
        "1",
        "1.5",
        "-3",
        "+4",
        "1e308",
        "1e999",
        "0x1F",
        "\u0663",
    ),
    *("=1+2", "-1+2", "@x", "+y", "'=1", "''", "'", '"', '""', "\r", "\n", "\r\n", "\t", " ", ""),
    *(",", ";", "|", "NA", "null", "NaN", "?", "true", "False", "2020-01-31", "31.12.2020"),
    *("2020-01-31T12:00:00Z", "9999-12-31", "0001-01-01", "\ufeff", "\u2028", "\u202e", "\x85"),
    *("\x00", "\x1a", "\x0b", "\U0001f344", "e\u0301", "\uff1d1", "<b>", "{{x}}", "#", "\\", "%s"),
    *("row", "label", "given", "decision", "x" * 300, "9" * 400, "18446744073709551616"),
]
LABELS = ["yes", "no", "No", "=a", "1", "01", "x\ry", 'q"q', "a,b", " ", "'=1"]
ENDINGS = [".csv", ".tsv", ".csv.gz", ".tab.gz", ".parquet"]


class Case(NamedTuple):
    """What is tried, and the file or files that it is tried with."""

    kind: str
    files: dict[str, bytes]
    options: dict[str, Any]


def text(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.choice([1, 1, 1, 2, 3, 6])))


def as_csv(lines: Sequence[Sequence[str]], rng: random.Random) -> bytes:
    """A file as some program would write it."""
    out = io.StringIO()
    csv.writer(
        out,
        delimiter=rng.choice(",,,;\t|"),
        lineterminator=rng.choice(["\n", "\n", "\r\n"]),
        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ).writerows(lines)
    return (rng.choice(["", "", "\ufeff"]) + out.getvalue()).encode("utf-8", "surrogatepass")


def damaged(file: bytes, rng: random.Random) -> bytes:
    """A file with a few bytes changed, left out, or repeated; or compressed, and then that."""
    if rng.random() < 0.1:
        file = gzip.compress(file, mtime=0)
    for _ in range(rng.choice([0, 1, 1, 3])):
        place = rng.randrange(len(file) + 1)
        match rng.randrange(4):
            case 0:
                file = file[:place]
            case 1:
                file = file[:place] + text(rng).encode("utf-8", "surrogatepass") + file[place:]
            case 2:
                file = file[:place] + rng.randbytes(rng.randrange(1, 4)) + file[place + 1 :]
            case _:
                file = file[:place] + file[place // 2 :]
    return file


def table_of(rng: random.Random, n_rows: int) -> list[list[str]]:
    """A header with a column of labels, and rows that may be of another length."""
    n_columns = rng.randrange(1, 5)
    names = [text(rng) if rng.random() < 0.3 else f"x{i}" for i in range(n_columns)]
    labels = rng.sample(LABELS, rng.randrange(1, 4))
    own = [rng.choice([["1", "2", "3.5", ""], ["u", "v", "w"], PIECES]) for _ in names]
    rows = [[*(rng.choice(cells) for cells in own), rng.choice(labels)] for _ in range(n_rows)]
    if rng.random() < 0.05:
        rows[rng.randrange(n_rows)].append(text(rng))
    return [[*names, "label"], *rows]


def draw_round_trip(rng: random.Random) -> Case:
    n_columns, n_rows = rng.randrange(1, 5), rng.randrange(1, 8)
    names = list(dict.fromkeys(text(rng) for _ in range(n_columns)))
    cells = {name: [text(rng) for _ in range(n_rows)] for name in names}
    options = {"cells": cells, "ending": rng.choice(ENDINGS), "raw": rng.random() < 0.3}
    return Case("round trip", {}, options)


def draw_bytes(rng: random.Random) -> Case:
    if rng.random() < 0.3:
        frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
        out = io.BytesIO()
        frame.to_parquet(out)
        return Case("any bytes", {"table.csv": damaged(out.getvalue(), rng)}, {})
    if rng.random() < 0.5:
        pieces = "".join(rng.choice([*PIECES, ",", "\n"]) for _ in range(rng.randrange(60)))
        return Case("any bytes", {"table.csv": pieces.encode("utf-8", "surrogatepass")}, {})
    return Case("any bytes", {"table.csv": damaged(as_csv(table_of(rng, 6), rng), rng)}, {})


def draw_decisions(rng: random.Random) -> Case:
    table = table_of(rng, rng.randrange(2, 12))
    names = ["row", "id", "given", "decision", "label", "time"]
    if rng.random() < 0.2:
        names = rng.sample([*names, "x"], rng.randrange(1, 7))
    lines = [names]
    for _ in range(rng.randrange(0, 8)):
        row = rng.randrange(len(table) - 1)
        right = {"row": str(row), "given": table[row + 1][-1], "decision": "other"}
        right["label"] = rng.choice([table[rng.randrange(len(table) - 1) + 1][-1], ""])
        line = [right.get(name, "") for name in names]
        if rng.random() < 0.05:
            line[rng.randrange(len(line))] = text(rng)
        lines.append(line)
    files = {"table.csv": as_csv(table, rng), "decisions.csv": as_csv(lines, rng)}
    if rng.random() < 0.3:
        name = rng.choice(list(files))
        files[name] = damaged(files[name], rng)
    options = {"output": "out" + rng.choice(ENDINGS), "changes": rng.random() < 0.3}
    return Case("decisions", files, options)


def draw_commands(rng: random.Random) -> Case:
    table = as_csv(table_of(rng, rng.randrange(2, 40)), rng)
    return Case("commands", {"table.csv": damaged(table, rng)}, {})


class Tables:
    """Tables, decision files, and the commands that read them."""

    name = "tables"

    def draw(self, seed: int) -> Case:
        rng = random.Random(seed)
        kinds: list[Callable[[random.Random], Case]] = [
            draw_round_trip,
            draw_bytes,
            draw_decisions,
            draw_commands,
        ]
        return rng.choices(kinds, [4, 4, 4, 1])[0](rng)

    def run(self, case: Case) -> str:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in case.files.items():
                (folder / file).write_bytes(content)
            return RUN[case.kind](folder, **case.options)

    def write(self, case: Case) -> bytes:
        return pickle.dumps(tuple(case))

    def read(self, file: bytes) -> Case:
        return Case(*pickle.loads(file))


def run_round_trip(folder: Path, cells: dict[str, list[str]], ending: str, raw: bool) -> str:
    """What is written is what is read, by us; and by others but for the quotes of formulas."""
    path = folder / f"table{ending}"
    frame = pd.DataFrame(cells)
    try:
        write_table(frame, path, raw=raw)
        back = read_table(path, text=list(cells))
    except TableError:
        # Files with NUL are not taken for text, and an empty line is no name of a column.
        allowed = any("\0" in each for each in (*cells, *chain(*cells.values())))
        if not allowed and any(name.strip() for name in cells):
            raise
        return "refused"
    if raw:
        assert back.shape == frame.shape
        return "read"
    expected = [[None if cell in MISSING else cell for cell in row] for row in frame.values]
    found = [
        [None if cell != cell or cell is None else cell for cell in row] for row in back.values
    ]
    if ending == ".parquet":
        expected = frame.values.tolist()
    assert list(back.columns) == list(frame.columns), (list(back.columns), list(frame.columns))
    assert found == expected, (found, expected)
    if ending == ".csv":
        other = pd.read_csv(path, dtype=str, keep_default_na=False, skip_blank_lines=False)
        assert other.shape == frame.shape
    return "read"


def run_bytes(folder: Path) -> str:
    try:
        table = read_table(folder / "table.csv")
    except TableError as error:
        if "table.csv" not in str(error):
            raise
        return "refused"
    assert len(table) > 0
    assert table.columns.is_unique
    return "read"


def run_command(*arguments: str | Path) -> bool:
    """Return whether a command accepts its input. It must not end in any other way."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exit_code not in (0, 2):
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        raise RuntimeError(f"exit code {result.exit_code}: {result.output}")
    assert "Traceback" not in result.output
    return result.exit_code == 0


def run_decisions(folder: Path, output: str, changes: bool) -> str:
    table, out = folder / "table.csv", folder / output
    before = table.read_bytes()
    more = ["--changes", "former"] if changes else []
    decisions = folder / "decisions.csv"
    given = ("--decisions", decisions, "--label", "label", "-o", out)
    accepted = run_command("apply", table, *given, *more)
    assert table.read_bytes() == before
    assert {path.name for path in folder.iterdir()} == {
        *(table.name, decisions.name),
        *([output] if accepted else []),
    }
    if not accepted:
        return "refused"
    old, new = (read_table(path, text=["label"]) for path in (table, out))
    assert len(old) == len(new)
    kept = [name for name in old.columns if name != "label"]
    same = old[kept].astype(str).fillna("") == new[kept].astype(str).fillna("")
    if table.read_bytes()[:4] != b"PAR1" and output.endswith((".csv", ".csv.gz")):
        assert same.to_numpy().all()
    decided = read_table(decisions, text=["label", "row"]) if decisions.stat().st_size else None
    changed = old["label"].fillna("") != new["label"].fillna("")
    rows = set() if decided is None else set(pd.to_numeric(decided["row"]).astype(int))
    assert set(changed.to_numpy().nonzero()[0]) <= rows
    return "applied"


def run_commands(folder: Path) -> str:
    table, model = folder / "table.csv", folder / "model.hw"
    options = ["--label", "label", "--jobs", "1"]
    run_command("audit", table, *options, "--trees", "5", "--issues", folder / "issues.csv")
    if not run_command("train", table, "-o", model, "--trees", "3", *options):
        assert not model.exists()
        return "refused"
    assert run_command("predict", model, table, "-o", folder / "out.csv")
    assert len(read_table(folder / "out.csv")) == len(read_table(table))
    return "trained"


RUN: dict[str, Callable[..., str]] = {
    "round trip": run_round_trip,
    "any bytes": run_bytes,
    "decisions": run_decisions,
    "commands": run_commands,
}

if __name__ == "__main__":
    runner.main(Tables())
