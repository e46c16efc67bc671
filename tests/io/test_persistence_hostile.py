"""Files made to take long or to fill the memory are refused, or cost no more than their size."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hw_files
import numpy as np
import pytest
from hw_files import ALIGNMENT, PREFIX, Parts, aligned, put_together, saved, take_apart

import hardwood
from hardwood import RobustForestClassifier, RobustTreeClassifier

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def file() -> bytes:
    return saved(RobustForestClassifier(3, max_depth=3, random_state=0).fit(X, Y))


@pytest.fixture
def parts(file: bytes) -> Parts:
    return take_apart(file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.hw"


def with_header(header: bytes, data: bytes = b"") -> bytes:
    start = PREFIX.pack(b"hardwood", 1, zlib.crc32(header), len(header)) + header
    return start + bytes(aligned(len(start)) - len(start)) + data


def refused(file: bytes, path: Path, match: str) -> None:
    path.write_bytes(file)
    with pytest.raises(ValueError, match=match):
        hardwood.load(path)


# --- the header ----------------------------------------------------------------------------------


def test_a_header_has_a_megabyte_at_most(path: Path) -> None:
    refused(with_header(b'{"class":"' + b"a" * 2**20 + b'"}'), path, "header is too long")
    refused(with_header(b" " * 2**20), path, "not a hardwood model")  # read, and not JSON


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [101, 10**5])
def test_nesting(bracket: bytes, depth: int, path: Path) -> None:
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(10**6)  # a parser that recursed would now overflow the stack
        refused(with_header(bracket * depth), path, "nested too deeply")
    finally:
        sys.setrecursionlimit(limit)


def test_brackets_in_strings_do_not_nest(parts: Parts, path: Path) -> None:
    parts.header["versions"]["python"] = '["\\' * 300
    path.write_bytes(put_together(parts))
    assert hardwood.load(path).n_estimators == 3


def test_long_numbers(path: Path) -> None:
    refused(with_header(b'{"class":' + b"9" * 10**6 + b"}"), path, "too many digits")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks(constant: str, path: Path) -> None:
    refused(with_header(f'{{"class":{constant}}}'.encode()), path, "which JSON does not know")


def test_parameters_that_would_make_the_header_too_long(path: Path) -> None:
    tree = RobustTreeClassifier(class_weight=dict.fromkeys(range(10**5), 1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="maximum is 1048576"):
        hardwood.save(tree, path)
    assert not path.exists()


def test_many_categories_are_no_part_of_the_header(path: Path, rng: np.random.Generator) -> None:
    values = np.array([f"{'category ' * 10}{i}" if i % 2 else i for i in range(20_000)], object)
    column = rng.permutation(values)[:, np.newaxis]
    tree = RobustTreeClassifier(categorical_features=[0], max_depth=3, random_state=0)
    tree.fit(column, rng.integers(0, 2, len(column)))
    hardwood.save(tree, path)
    again = hardwood.load(path)
    np.testing.assert_array_equal(again.predict_proba(column), tree.predict_proba(column))
    assert again.categories_[0].tolist() == tree.categories_[0].tolist()


# --- arrays --------------------------------------------------------------------------------------


def test_arrays_may_not_overlap(parts: Parts, path: Path) -> None:
    for array, other in zip(parts.header["arrays"][1:], parts.header["arrays"], strict=False):
        array["offset"] = other["offset"]
    refused(hw_files.with_own_checksums(put_together(parts)), path, "overlaps with another")


def test_arrays_may_not_overlap_in_part(path: Path) -> None:
    data = bytes(10 * ALIGNMENT)
    described = [
        {
            "dtype": "|u1",
            "shape": [2 * ALIGNMENT + 1],
            "offset": offset,
            "crc32": zlib.crc32(data[: 2 * ALIGNMENT + 1]),
        }
        for offset in (4 * ALIGNMENT, 0, 2 * ALIGNMENT)
    ]
    header = json.dumps({"class": "x", "state": {}, "arrays": described}).encode()
    refused(with_header(header, data), path, "array 2 overlaps")


def test_arrays_in_any_order_without_overlap(parts: Parts, path: Path) -> None:
    """Files of other writers may lay out arrays as they like, empty ones anywhere."""
    order = list(range(len(parts.arrays)))[::-1]
    offset = 0
    data = bytearray()
    for i in order:
        parts.header["arrays"][i]["offset"] = offset
        data += parts.arrays[i] + bytes(aligned(len(parts.arrays[i])) - len(parts.arrays[i]))
        offset = len(data)
    path.write_bytes(with_header(json.dumps(parts.header).encode(), bytes(data)))
    assert hardwood.load(path).n_estimators == 3


def test_too_many_strings(parts: Parts, path: Path) -> None:
    n = 2**20 + 1
    parts.header["arrays"] += [
        {"dtype": "|u1", "shape": [0]},
        {"dtype": "<i8", "shape": [n]},
    ]
    parts.arrays.extend([bytearray(), bytearray(8 * n)])
    i = len(parts.arrays) - 2
    parts.header["state"]["feature_names"] = {"strings": [i, i + 1]}
    refused(put_together(parts), path, "more than 1048576 strings")


# --- time and memory -----------------------------------------------------------------------------

LOADER = """
import os, re, sys, time
import hardwood, hardwood.losses, hardwood.tables
def megabytes():
    # Of this process alone; getrusage would start from what the one before it used.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
def load(path):
    before, begin = megabytes(), time.process_time()
    try:
        hardwood.load(path, memory_map=False)
        outcome = "loaded"
    except ValueError as error:
        outcome = "refused"
    print(outcome, time.process_time() - begin, megabytes() - before, flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        load(line.rstrip())
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print("failed", flush=True)
"""


@pytest.fixture(scope="module")
def loader() -> Iterator[subprocess.Popen[str]]:
    """A process that loads each file in a fork of its own, and says how much that took."""
    command = [sys.executable, "-c", LOADER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


LARGE = 50_000_000  # bytes
# What a load may take beside its share: a header of a megabyte has many small objects.
ALLOWANCE = 100  # megabytes


def long_text(parts: Parts) -> Parts:
    text = bytes(LARGE // 2 - 3) + "é".encode()
    ends = np.linspace(0, len(text), 2**20).astype("<i8")
    return with_strings(parts, text, ends)


def short_texts(parts: Parts) -> Parts:
    return with_strings(parts, b"ab" * 2**20, np.arange(2, 2**21 + 1, 2, dtype="<i8"))


def with_strings(parts: Parts, text: bytes, ends: Any) -> Parts:
    parts.header["arrays"] += [
        {"dtype": "|u1", "shape": [len(text)]},
        {"dtype": "<i8", "shape": [len(ends)]},
    ]
    parts.arrays.extend([bytearray(text), bytearray(ends.tobytes())])
    i = len(parts.arrays) - 2
    parts.header["state"]["feature_names"] = {"strings": [i, i + 1]}
    return parts


def wide_names(parts: Parts) -> Parts:
    """Class names with room for 6 million characters each."""
    width = LARGE // 8
    points = np.zeros((2, width), dtype="<u4")
    points[1, 0] = 65
    parts.header["arrays"].append({"dtype": "<u4", "shape": [2, width]})
    parts.arrays.append(bytearray(points.tobytes()))
    parts.header["state"]["classes"] = {"characters": len(parts.arrays) - 1}
    return parts


def one_array_many_times(parts: Parts) -> Parts:
    array = {"dtype": "|u1", "shape": [LARGE], "offset": 0, "crc32": zlib.crc32(bytes(LARGE))}
    parts.header["arrays"] = [array] * 5_000
    parts.arrays[:] = [bytearray(LARGE)]
    return parts


def text_with_one_wide_character(parts: Parts) -> Parts:
    """Python keeps every character of such a string in four bytes."""
    text = b"a" * LARGE + "\U0001f344".encode()
    return with_strings(parts, text, np.array([len(text)], dtype="<i8"))


def many_constraints(parts: Parts) -> Parts:
    return with_array(parts, "monotonic_cst", np.zeros(LARGE, dtype="i1"))


def with_array(parts: Parts, name: str, array: Any) -> Parts:
    """Another array of the trees."""
    fields = parts.header["state"]["trees"]["object"][1]
    fields[name] = {"array": len(parts.arrays)}
    parts.header["arrays"].append({"dtype": array.dtype.str, "shape": list(array.shape)})
    parts.arrays.append(bytearray(array.tobytes()))
    return parts


def keys_with_one_hash(parts: Parts) -> Parts:
    """A dictionary compares each with all others."""
    keys = [[i * (2**61 - 1), 0] for i in range(30_000)]
    parts.header["state"]["parameters"]["dict"] += keys
    return parts


def with_categories(parts: Parts, texts: list[str]) -> Parts:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(each) for each in encoded], dtype="<i8")
    parts = with_strings(parts, b"".join(encoded), ends)
    strings = parts.header["state"].pop("feature_names")
    columns = {"array": len(parts.arrays)}
    parts.header["arrays"].append({"dtype": "<i8", "shape": [1]})
    parts.arrays.append(bytearray(8))
    fields = {"n_features": 3, "columns": columns, "values": [{"dict": [["json", strings]]}]}
    parts.header["state"]["categories"] = {"object": ["Categories", fields]}
    return parts


def categories_with_one_hash(parts: Parts) -> Parts:
    return with_categories(parts, [str(i * (2**61 - 1)) for i in range(65_535)])


def categories_that_are_large_lists(parts: Parts) -> Parts:
    return with_categories(parts, ["[" + "[]," * 300_000 + "[]]"] * (2**24 // 900_003))


def large_matrix_to_invert(parts: Parts) -> Parts:
    n = 2000
    M = np.full((n, n), 0.1 / (n - 1))
    np.fill_diagonal(M, 0.9)
    parts.header["state"]["_unmixed"] = {"object": ["Unmixed", {"M": {"array": len(parts.arrays)}}]}
    parts.header["arrays"].append({"dtype": "<f8", "shape": [n, n]})
    parts.arrays.append(bytearray(M.tobytes()))
    return parts


def many_small_values(parts: Parts) -> Parts:
    parts.header["state"]["feature_names"] = [[]] * 200_000
    return parts


def deep_tree(parts: Parts) -> Parts:
    """A tree that is a chain of a million splits."""
    n_splits = LARGE // 40
    nodes = np.zeros(2 * n_splits + 1, dtype=hw_files.NODE)
    splits, leaves = slice(0, n_splits), slice(n_splits, None)
    nodes["child"][splits] = 2 * n_splits - np.arange(n_splits)
    nodes["feature"][leaves] = -1
    rows = np.ones(n_splits + 1, dtype="<u4")
    entries = np.arange(n_splits + 1, dtype="<u4")
    nodes["threshold"][leaves] = np.column_stack([rows, entries]).astype("<u4").view("<f8")[:, 0]
    nodes["child"][leaves] = 1
    put = {
        "nodes": nodes.view(np.uint8).reshape(-1, 16),
        "entry_label": np.zeros(n_splits + 1, dtype="<u2"),
        "entry_count": np.ones(n_splits + 1, dtype="<u2"),
        "node_start": np.array([0, len(nodes)], dtype="<i8"),
        "entry_start": np.array([0, n_splits + 1], dtype="<i8"),
        "set_start": np.zeros(2, dtype="<i8"),
    }
    fields = parts.header["state"]["trees"]["object"][1]
    for name, array in put.items():
        number = fields[name]["array"]
        parts.header["arrays"][number]["shape"] = list(array.shape)
        parts.header["arrays"][number]["dtype"] = array.dtype.str
        parts.arrays[number][:] = array.tobytes()
    for array in parts.header["arrays"]:
        del array["offset"]
    return parts


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says how much memory was used")
@pytest.mark.parametrize(
    "make",
    [
        long_text,
        short_texts,
        text_with_one_wide_character,
        wide_names,
        one_array_many_times,
        many_constraints,
        keys_with_one_hash,
        categories_with_one_hash,
        categories_that_are_large_lists,
        large_matrix_to_invert,
        many_small_values,
        deep_tree,
    ],
)
def test_time_and_memory_are_in_proportion_to_the_size(
    make: Any, parts: Parts, path: Path, loader: subprocess.Popen[str]
) -> None:
    path.write_bytes(put_together(make(parts)))
    assert loader.stdin is not None
    assert loader.stdout is not None
    at_most = threading.Timer(120, loader.kill)
    at_most.start()
    loader.stdin.write(f"{path}\n")
    loader.stdin.flush()
    said = loader.stdout.readline().split()
    at_most.cancel()
    assert len(said) == 3, said
    _, seconds, megabytes = said
    size = path.stat().st_size / 1e6
    assert float(megabytes) < 1.2 * size + ALLOWANCE
    assert float(seconds) < 2 * size / 100 + 4  # 4 for slow machines
