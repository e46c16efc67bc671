"""Tables in files: what is read, what is refused, what is written."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from own_tables import fruit, pd

from hardwood.tables import TableEncoder, TableError, read_table, write_table

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def read(content: str | bytes, path: Path, **options: Any) -> Any:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


# --- what is read --------------------------------------------------------------------------------


def test_types(path: Path) -> None:
    table = read(
        "whole,real,truth,day,text,mixed\n"
        "1,0.5,true,2020-02-01,a,1\n"
        "2,NA,False,2020-02-02,NULL,b\n"
        "3,1e3,,,c d,2\n",
        path,
    )
    assert [table[name].dtype.kind for name in ("whole", "real", "day")] == ["i", "f", "M"]
    assert table["real"].isna().tolist() == [False, True, False]
    assert table["truth"].tolist()[:2] == [True, False]
    assert table["day"].tolist()[0] == pd.Timestamp("2020-02-01")
    assert table["text"].isna().tolist() == [False, True, False]
    assert table["mixed"].tolist() == ["1", "b", "2"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter: str, path: Path) -> None:
    lines = ["a b,c", "1,x", '"2","y\nz"']
    table = read("\n".join(lines).replace(",", delimiter), path)
    assert list(table.columns) == ["a b", "c"]
    assert table.values.tolist() == [[1, "x"], [2, "y\nz"]]


def test_a_delimiter_inside_quotes_is_none(path: Path) -> None:
    assert list(read('"a;b;c",d\n1,2\n', path).columns) == ["a;b;c", "d"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_byte_order_marks(end: str, mark: bytes, path: Path) -> None:
    table = read(mark + f"größe,b{end}1,ü{end}".encode(), path)
    assert list(table.columns) == ["größe", "b"]
    assert table.values.tolist() == [[1, "ü"]]


def test_text_stays_as_it_is(path: Path) -> None:
    assert read("zip,n\n1067,1\n", path)["zip"].tolist() == [1067]
    assert read("zip,n\n1067,1\n", path, text=["zip", "other"])["zip"].tolist() == ["1067"]


@pytest.mark.parametrize("cell", ["01067", '"01067"', "00", "000012345678901234567890"])
@pytest.mark.parametrize("others", [[], ["7", "NA", "99084"]])
def test_codes_keep_their_zeros(cell: str, others: list[str], path: Path) -> None:
    lines = ["n,zip", *(f"{i},{each}" for i, each in enumerate([*others, cell]))]
    table = read("\n".join(lines), path)
    assert table["n"].dtype == "int64"
    assert table["zip"].tolist()[-1] == cell.strip('"')


@pytest.mark.parametrize("cells", [["01", "2.5"], ["-1", "02"], ["0", "0.05", "1"], ["0", "10"]])
def test_numbers_may_start_with_a_zero(cells: list[str], path: Path) -> None:
    assert read("\n".join(["a,b", *(f"x,{each}" for each in cells)]), path)["b"].tolist() == [
        float(each) for each in cells
    ]


def test_codes_across_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a block of the file ends, the zero is found."""
    path.write_text("a,zip\n1,5\n2,07\n3,9\n")
    for size in range(1, 12):
        monkeypatch.setattr("hardwood.tables.files._SCANNED", size)
        assert read_table(path)["zip"].tolist() == ["5", "07", "9"]


def test_missing_values_are_those_of_pandas(path: Path) -> None:
    markers = [
        *(
            "",
            "#N/A",
            "#N/A N/A",
            "#NA",
            "-1.#IND",
            "-1.#QNAN",
            "-NaN",
            "-nan",
            "1.#IND",
            "1.#QNAN",
        ),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
    lines = ["a,b", *(f'x,"{each}"' for each in markers), "y,none"]
    assert read("\n".join(lines), path)["b"].isna().tolist() == [True] * len(markers) + [False]


def test_an_empty_line_of_one_column_is_a_missing_value(path: Path) -> None:
    assert read("a\n1\n\n3\n", path)["a"].isna().tolist() == [False, True, False]


def test_a_type_that_shows_late(path: Path) -> None:
    lines = ["a,b", *(f"{i},1" for i in range(300_000)), "x,2"]
    table = read("\n".join(lines), path)
    assert table["a"].tolist()[-1] == "x"
    assert len(table) == 300_001


@pytest.mark.parametrize("cell", ["2020-01-01", "a", "1"])
def test_wide_tables_take_time_in_proportion(cell: str, path: Path) -> None:
    """Four times the columns take about four times as long, and not sixteen times."""

    def seconds(n_columns: int) -> float:
        names = ",".join(f"c{i}" for i in range(n_columns))
        path.write_text(f"{names}\n" + ",".join([cell] * n_columns) + "\n")
        before = time.process_time()
        read_table(path)
        return time.process_time() - before

    assert min(seconds(6_000) for _ in range(2)) < 9 * min(seconds(1_500) for _ in range(3))


def test_wide_tables(path: Path) -> None:
    names = [f"a column with the number {i:,}".replace(",", "") for i in range(8_000)]
    table = read(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n", path)
    assert list(table.columns) == names


def test_days_far_away(path: Path) -> None:
    table = read("day,b\n9999-12-31,1\n0001-01-01,2\n", path)
    assert_array_equal(TableEncoder().fit_transform(table)["day"], [2932896, -719162])


def test_compressed(path: Path) -> None:
    path = path.with_name("any name")
    assert read(gzip.compress(b"a,b\n1,x\n"), path).values.tolist() == [[1, "x"]]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet", "t.PQ"])
def test_what_is_written_can_be_read(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    table = fruit(50, rng)
    write_table(table.set_index(table.index + 7), tmp_path / name)
    again = read_table(tmp_path / name)
    assert list(again.columns) == list(table.columns)
    assert again["hue"].fillna("").tolist() == table["hue"].fillna("").tolist()
    np.testing.assert_array_equal(again["size"], table["size"])
    assert again["picked"].tolist() == table["picked"].tolist()
    assert os.listdir(tmp_path) == [name]


def test_an_index_in_parquet(path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="key"))
    frame.to_parquet(path)
    assert set(read_table(path).columns) == {"a", "key"}
    frame.rename_axis(None).sample(frac=1, random_state=1).to_parquet(path)
    assert set(read_table(path).columns) == {"a"}


# --- hostile cells -------------------------------------------------------------------------------

HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\r\n\t\"',;|= +-@'"), st.characters(exclude_categories=["Cs", "Cc"])
    ),
    max_size=6,
)
SEVERAL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def as_texts(table: Any) -> list[list[str]]:
    return [table.columns.tolist(), *table.fillna("").astype(str).values.tolist()]


@SEVERAL
@given(
    cells=st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=8),
    names=st.tuples(HOSTILE, HOSTILE),
    ending=st.sampled_from([".csv", ".tsv"]),
)
def test_hostile_cells_come_back(
    cells: list[tuple[str, str]], names: tuple[str, str], ending: str, tmp_path: Path
) -> None:
    """In pandas, in Python's reader and in ours. Numbers among them stay numbers."""
    table = pd.DataFrame(
        {f"a{names[0]}": [a for a, _ in cells], f"b{names[1]}": [f"x{b}" for _, b in cells]}
    ).assign(n=0.5)
    path = tmp_path / f"table{ending}"
    write_table(table, path, raw=True)
    expected = as_texts(table)
    separator = "," if ending == ".csv" else "\t"
    again = pd.read_csv(path, sep=separator, keep_default_na=False, dtype=str)
    assert as_texts(again) == expected
    with open(path, encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter=separator)) == expected
    write_table(table, path)
    ours = read_table(path, text=list(table.columns[:2]))
    missing = ["NA", "NaN", "nan", "None"]
    if not any(cell in missing for row in expected for cell in row):
        assert as_texts(ours) == expected


def test_a_carriage_return_is_quoted(path: Path) -> None:
    table = pd.DataFrame({"a": ["x\ry", "z"], "n": [1, 2]})
    write_table(table, path)
    assert path.read_bytes() == b'"a","n"\n"x\ry",1\n"z",2\n'
    assert pd.read_csv(path)["a"].tolist() == ["x\ry", "z"]
    write_table(pd.DataFrame({"a\rb": [1.5]}), path)
    assert read_table(path).columns.tolist() == ["a\rb"]


def test_formulas_are_escaped(path: Path) -> None:
    texts = ["=1+2", "+a", "-a", "@a", "\ta", "\ra", "-5", "+1.5e3", "'=1", "'a", "a=1", "＝1"]
    table = pd.DataFrame({"=name": texts, "n": -1.5})
    write_table(table, path)
    written = pd.read_csv(path)
    assert written.columns.tolist() == ["'=name", "n"]
    assert written["'=name"].tolist() == [
        "'=1+2", "'+a", "'-a", "'@a", "'\ta", "'\ra", "-5", "+1.5e3", "''=1", "'a", "a=1", "'＝1",
    ]  # fmt: skip
    assert written["n"].tolist() == [-1.5] * len(texts)
    pd.testing.assert_frame_equal(read_table(path).astype(table.dtypes), table)
    write_table(table, path, raw=True)
    assert pd.read_csv(path)["=name"].tolist() == texts
    write_table(table, path.with_suffix(".parquet"))
    assert pd.read_parquet(path.with_suffix(".parquet"))["=name"].tolist() == texts


# --- streams -------------------------------------------------------------------------------------


class Standard(io.TextIOWrapper):
    """A standard stream in memory."""

    def __init__(self, content: bytes = b"") -> None:
        self.raw_bytes = io.BytesIO(content)
        super().__init__(self.raw_bytes, "utf-8")


def test_the_standard_input_and_output(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(gzip.compress(b"a,b\n1,x\n")))
    table = read_table("-")
    assert table.values.tolist() == [[1, "x"]]
    out = Standard()
    monkeypatch.setattr(sys, "stdout", out)
    write_table(table, "-")
    monkeypatch.undo()
    assert out.raw_bytes.getvalue() == b"a,b\n1,x\n"
    assert not Path("-").exists()


def test_an_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard())
    with pytest.raises(TableError, match=r"^The standard input is empty"):
        read_table("-")


@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
def test_a_pipe_is_read(path: Path) -> None:
    import threading

    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("a,b\n1,x\n"), daemon=True)
    writer.start()
    assert read_table(path).values.tolist() == [[1, "x"]]
    writer.join(timeout=10)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "has no rows, only a header with 2 columns"),
        (b"a,b", "cannot be read|has no rows"),
        (b"a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1"),
        (b"a,b\n1,2\n3,4,5\n", "Row #3: Expected 2 columns, got 3"),
        (b"a,b\n1,2,3\n", "Expected 2 columns, got 3"),
        (b"sep=;\na;b\n1;2\n", "first line, 'sep=;', tells spreadsheets the delimiter. Remove it"),
        (b'\xef\xbb\xbf"SEP=,"\r\na,b\r\n1,2\r\n', "tells spreadsheets the delimiter"),
        (b"a,a,b\n1,2,3\n", "more than one column named 'a'"),
        ("a,b\n1,é\n".encode("latin-1"), r"not encoded in UTF-8 \(column 'b'\)"),
        ("é,b\n1,2\n".encode("latin-1"), "neither UTF-8 text nor Parquet"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "neither UTF-8 text nor Parquet"),
        (bytes(range(256)) * 10, "neither UTF-8 text nor Parquet"),
        (b"PK\x03\x04 a spreadsheet", "Save the table as CSV"),
        (b"PAR1 and nothing else", "cannot be read"),
        (b"\x1f\x8bno gzip at all", "cannot be read"),
        (gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:40], "cannot be read"),
    ],
)
def test_files_without_a_table(content: bytes, match: str, path: Path) -> None:
    with pytest.raises(TableError, match=match) as error:
        read(content, path)
    assert str(path) in str(error.value)


def test_a_directory_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


def test_truncated_parquet(path: Path, rng: np.random.Generator) -> None:
    fruit(50, rng).to_parquet(path)
    content = path.read_bytes()
    for n_bytes in (4, 100, len(content) // 2, len(content) - 1):
        with pytest.raises(TableError, match="cannot be read"):
            read(content[:n_bytes], path)


def test_a_write_that_fails_leaves_the_old_file(
    path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = fruit(50, rng)
    write_table(table, path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_table(table.head(3), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
