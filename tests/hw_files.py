"""Files of `hardwood.save` taken apart, damaged, and put together again."""

from __future__ import annotations

import copy
import json
import random
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cases import noisy_labels

import hardwood
from hardwood import noise
from hardwood.criteria import FromLoss, GeneralizedCrossEntropy, NegativeExponential
from hardwood.losses import ZeroOne
from hardwood.plotting import export_text
from hardwood.tables import TableModel

PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64
NODE = np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("child", "<u4")])
MOST_MEMORY = 2**30


class Parts(NamedTuple):
    """A file's header, and its arrays as bytes."""

    header: dict[str, Any]
    arrays: list[bytearray]


def take_apart(file: bytes) -> Parts:
    _, _, _, length = PREFIX.unpack_from(file)
    header = json.loads(file[PREFIX.size : PREFIX.size + length])
    start = aligned(PREFIX.size + length)
    arrays = []
    for array in header["arrays"]:
        first = start + array["offset"]
        n_values = int(np.prod(array["shape"], dtype=np.int64))
        arrays.append(bytearray(file[first : first + n_values * np.dtype(array["dtype"]).itemsize]))
    return Parts(header, arrays)


def put_together(parts: Parts, *, protocol: int = 1, magic: bytes = b"hardwood") -> bytes:
    """A file whose checksums are right, whatever it holds."""
    data = bytearray()
    described = parts.header.get("arrays")
    for i, array in enumerate(parts.arrays):
        if isinstance(described, list) and i < len(described) and isinstance(described[i], dict):
            # Sizes may claim what they like; the checksum is that of what is claimed and there.
            described[i].setdefault("offset", len(data))
            described[i]["crc32"] = zlib.crc32(array)
        data += array + bytes(aligned(len(array)) - len(array))
    header = json.dumps(parts.header).encode()
    prefix = PREFIX.pack(magic, protocol, zlib.crc32(header), len(header))
    start = prefix + header
    return start + bytes(aligned(len(start)) - len(start)) + bytes(data)


def aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


# --- models --------------------------------------------------------------------------------------


def models(rng: np.random.Generator) -> list[Any]:
    """Small models that use all that a file can hold."""
    X = rng.normal(size=(120, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = noisy_labels(X, 3, rng)
    two = (y > 0).astype(int)
    names = np.array(["ant", "bee", "cat"])
    warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
    plain = [
        hardwood.RobustTreeClassifier(criterion="gini", random_state=0).fit(X, names[two]),
        hardwood.RobustForestClassifier(
            4, criterion=NegativeExponential(lam=0.2), oob_score=True, random_state=0
        ).fit(X, y),
        hardwood.RobustForestClassifier(
            3, criterion="entropy", monotonic_cst=[1, 0, -1, 0], random_state=0
        ).fit(X, two.astype(bool)),
        hardwood.RobustExtraTreesClassifier(
            3,
            criterion=GeneralizedCrossEntropy(q=0.4),
            leaf_prediction="optimal",
            class_weight={"ant": 0.5, "bee": 1, "cat": 2.5},
            random_state=np.random.RandomState(0),
        ).fit(X, names.astype(object)[y]),
        hardwood.RobustTreeClassifier(criterion=FromLoss(ZeroOne()), random_state=0).fit(
            X, 2.0 * y
        ),
    ]
    return plain + adaptive_models(rng) + category_models(rng)


def category_models(rng: np.random.Generator) -> list[Any]:
    """Models with categories that are texts, numbers, or both."""
    X = rng.integers(0, [40, 3, 7, 9], (200, 4)).astype(object)
    y = (np.isin(X[:, 0], [1, 5, 33]) | (X[:, 2] == 4)).astype(int)
    X[:, 0] = np.where(X[:, 0] > 30, X[:, 0], [f"c{i}" for i in X[:, 0]])
    X[:, 2] = [f"d{i}" for i in X[:, 2]]
    options = {"categorical_features": [0, 1, 2], "random_state": 0}
    return [
        hardwood.RobustTreeClassifier(criterion="gini", **options).fit(X, y),
        hardwood.RobustForestClassifier(3, oob_score=True, **options).fit(X, y),
        hardwood.AdaptiveForestClassifier(20, **options).fit(X, y),
        joined_model(rng),
    ]


def joined_model(rng: np.random.Generator) -> Any:
    """A forest that sees four of its columns joined in pairs."""
    X = rng.integers(0, [4, 3, 4, 4, 4], (800, 5))
    y = ((X[:, 0] + X[:, 2]) % 4 < 2) & ((X[:, 3] + X[:, 4]) % 4 < 3) ^ (rng.random(800) < 0.1)
    options = {"categorical_features": [0, 2, 3, 4], "max_depth": 6, "random_state": 0}
    forest = hardwood.AdaptiveForestClassifier(12, **options).fit(X, y)
    assert forest.joined_features_ == [(0, 2), (3, 4)]
    return forest


def adaptive_models(rng: np.random.Generator) -> list[Any]:
    """A tree, and forests whose decision is plain, corrected for two classes and for three."""
    X = rng.normal(size=(400, 4))
    y = noisy_labels(X, 3, rng)
    two = (y > 0).astype(int)
    names = np.array(["ant", "bee", "cat"])
    forest = hardwood.AdaptiveForestClassifier
    return [
        hardwood.AdaptiveTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y),
        hardwood.ANEForestClassifier(3, lam_grid=[0, 0.5], max_depth=5, random_state=0).fit(X, two),
        forest(25, oob_score=True, max_depth=3, full_data=False, random_state=0).fit(X, names[y]),
        forest(16, noise_matrix=noise.uniform(2, 0.2), max_depth=4, random_state=0).fit(X, two),
        forest(16, noise_matrix=noise.uniform(3, 0.2), max_depth=4, random_state=0).fit(X, y),
    ]


def table_model(rng: np.random.Generator) -> tuple[Any, Any]:
    """A model of a table with text, dates and missing values, and a table to predict."""
    from own_tables import fruit

    table = fruit(300, rng)
    model = TableModel(50, drop=["number", "name", "planet"], missing=["?"], random_state=0)
    model.fit(table.drop(columns="ripe"), table["ripe"])
    return model, fruit(30, rng)


def saved(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.hw"
        hardwood.save(model, path)
        return path.read_bytes()


# --- damage that checksums see -------------------------------------------------------------------


def flip_bits(file: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(file)
    for _ in range(rng.choice([1, 1, 2, 8])):
        damaged[rng.randrange(len(file))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def truncate(file: bytes, rng: random.Random) -> bytes:
    return file[: rng.choice([rng.randrange(len(file)), rng.randrange(100), len(file) - 1])]


def overwrite(file: bytes, rng: random.Random) -> bytes:
    first = rng.randrange(len(file))
    length = min(rng.randrange(1, 200), len(file) - first)
    fill = rng.choice([bytes(length), b"\xff" * length, rng.randbytes(length)])
    return file[:first] + fill + file[first + length :]


def claim_a_long_header(file: bytes, rng: random.Random) -> bytes:
    magic, protocol, checksum, _ = PREFIX.unpack_from(file)
    length = rng.choice([0, 1, len(file), 2**24, 2**31, 2**32, 2**63, 2**64 - 1])
    return PREFIX.pack(magic, protocol, checksum, length) + file[PREFIX.size :]


def move_blocks(file: bytes, rng: random.Random) -> bytes:
    first, middle, last = sorted(rng.randrange(len(file)) for _ in range(3))
    return file[:first] + file[middle:last] + file[first:middle] + file[last:]


# --- damage with the right checksums -------------------------------------------------------------

NASTY_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 16, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**40),
    *(2**62, 2**63, 2**64, 10**40, -(2**31), -(2**63), 0.5, -0.5, 1e308, 1e-308, "", "gini", "nan"),
    *("optimal", "RobustForestClassifier", "CompactForest", "<f8", "|O", "<u2", "V100000000"),
    *([], [[]], {}, {"array": 0}, {"array": 10**9}, {"array": -1}, {"array": True}, {"tuple": 1}),
    *({"dict": [[[], 1]]}, {"dict": [[1, 2]]}, {"float": "nan"}, {"float": "inf"}, {"strings": []}),
    *({"object": ["os.system", {}]}, {"object": ["CompactForest", {}]}, {"object": [[], {}]}),
    *({"characters": 0}, {"strings": [0, 1]}, {"random_state": ["MT19937", {"array": 0}, 9, 0, 0]}),
    *({"object": ["criteria.Gini", {}]}, {"object": ["criteria.FromLoss", {"loss": "x"}]}),
    *(
        {"object": ["losses.NegativeExponential", {"lam": -1}]},
        {"object": ["criteria.Gini", {"x": 1}]},
    ),
    *(
        {"object": ["Unmixed", {"M": {"array": 0}}]},
        {"object": ["Sharpening", {"exponents": [], "offsets": [], "weights": [], "even": 1}]},
    ),
    *([2**32, 2**32], [2**20, 2**20, 2**20], [0], [-1], [1] * 40, {"pickle": "x"}, "\ud800"),
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a header, with every key or index in it."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            found.append((value, key))
            found += places(value[key])
    return found


def change_header(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        where = places(parts.header)
        container, key = rng.choice(where)
        match rng.randrange(5):
            case 0:
                del container[key]
            case 1:
                other, other_key = rng.choice(where)
                container[key], other[other_key] = (
                    copy.deepcopy(other[other_key]),
                    copy.deepcopy(container[key]),
                )
            case 2 if isinstance(container[key], int | float):
                container[key] += rng.choice([-1, 1, 64, -64])
            case _:
                container[key] = copy.deepcopy(rng.choice(NASTY_VALUES))
    return put_together(parts)


def swap_arrays(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    i, j = rng.randrange(len(parts.arrays)), rng.randrange(len(parts.arrays))
    described = parts.header["arrays"]
    match rng.randrange(3):
        case 0:  # contents and descriptions
            described[i], described[j] = described[j], described[i]
        case 1:  # where each is
            described[i]["offset"], described[j]["offset"] = (
                described[j]["offset"],
                described[i]["offset"],
            )
        case _:  # what each is
            for key in ("dtype", "shape"):
                described[i][key], described[j][key] = described[j][key], described[i][key]
    return with_own_checksums(put_together(parts))


def claim_huge_sizes(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    array = rng.choice(parts.header["arrays"])
    if array["shape"]:
        sizes = [2**16, 2**31, 2**32 + 1, 2**40, 2**61, 2**63, 2**64, array["shape"][0] * 2]
        array["shape"][rng.randrange(len(array["shape"]))] = rng.choice(sizes)
    if rng.random() < 0.3:
        array["offset"] = rng.choice([2**20, 2**31, 2**62, 2**64, -64]) // 64 * 64
    return with_own_checksums(put_together(parts))


def change_array(file: bytes, rng: random.Random) -> bytes:
    """Words of an array replaced by ones that an index, a start or a count must not be."""
    parts = take_apart(file)
    i = rng.choice([i for i, array in enumerate(parts.arrays) if array])
    array = parts.arrays[i]
    for _ in range(rng.choice([1, 1, 2, 5])):
        size = rng.choice([1, 2, 4, 4, 8])
        if len(array) < size:
            continue
        at = rng.randrange(len(array) // size) * size
        old = int.from_bytes(array[at : at + size], "little")
        new = rng.choice(
            [
                *(old + 1, old - 1, old ^ 1 << rng.randrange(8 * size), len(array) // 16),
                *(0, 1, -1, 0xFFFF, 2**31 - 1, 2**31, 2**63 - 1),
                *(0x7FF8 << 48, 0x7FF0 << 48, 0xFFF0 << 48),  # NaN, ∞ and −∞
            ]
        )
        array[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    return put_together(parts)


def resize_array(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    i = rng.randrange(len(parts.arrays))
    shape = parts.header["arrays"][i]["shape"]
    if shape and shape[0]:
        size = len(parts.arrays[i]) // shape[0]
        shape[0] = rng.randrange(shape[0] + 1)
        del parts.arrays[i][shape[0] * size :]
    for array in parts.header["arrays"]:
        del array["offset"]  # put_together lays them out anew
    return put_together(parts)


def overlap_arrays(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    array, other = rng.choice(parts.header["arrays"]), rng.choice(parts.header["arrays"])
    array["offset"] = max(0, other["offset"] + ALIGNMENT * rng.choice([0, 0, 1, -1]))
    return with_own_checksums(put_together(parts))


def nest_header(file: bytes, rng: random.Random) -> bytes:
    parts = take_apart(file)
    nested: Any = rng.choice([1, {}, [], "]"])
    for _ in range(rng.choice([3, 20, 40, 90, 200])):
        nested = rng.choice([[nested], {"tuple": [nested]}, {"dict": [["a", nested]]}])
    container, key = rng.choice(places(parts.header))
    container[key] = nested
    return put_together(parts)


def with_own_checksums(file: bytes) -> bytes:
    """Make each array's checksum that of the bytes its description points to."""
    parts = take_apart_header(file)
    header, start = parts
    for array in header["arrays"]:
        n_values = int(np.prod(array["shape"], dtype=object))
        first = start + array["offset"]
        last = first + n_values * np.dtype(array["dtype"]).itemsize
        if first >= 0 and last <= len(file):
            array["crc32"] = zlib.crc32(file[first:last])
    data = file[start:]
    raw = json.dumps(header).encode()
    begin = PREFIX.pack(b"hardwood", 1, zlib.crc32(raw), len(raw)) + raw
    return begin + bytes(aligned(len(begin)) - len(begin)) + data


def take_apart_header(file: bytes) -> tuple[dict[str, Any], int]:
    _, _, _, length = PREFIX.unpack_from(file)
    header = json.loads(file[PREFIX.size : PREFIX.size + length])
    return header, aligned(PREFIX.size + length)


Damage = Callable[[bytes, random.Random], bytes]
SEEN_BY_CHECKSUMS: list[Damage] = [
    flip_bits,
    truncate,
    overwrite,
    claim_a_long_header,
    move_blocks,
]
WITH_RIGHT_CHECKSUMS: list[Damage] = [
    change_header,
    change_array,
    swap_arrays,
    claim_huge_sizes,
    resize_array,
    overlap_arrays,
    nest_header,
]


# --- use ---------------------------------------------------------------------------------


def use(model: Any, rng: np.random.Generator) -> None:
    """All of the predictor, on rows of the width the model claims if that is a sensible one."""
    if isinstance(model, TableModel):
        use_table(model, rng)
        model = model.forest_
    if not hasattr(model, "predict_proba"):
        return  # a criterion on its own can be stored as well
    if model.n_features_in_ > 100:
        return
    model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else None
    X = rng.normal(size=(50, model.n_features_in_)) * 10
    X[rng.random(X.shape) < 0.2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are missing
        proba = model.predict_proba(X)
        assert proba.shape == (50, len(model.classes_))
        assert np.all(proba >= 0), proba
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert set(model.predict(X)) <= set(model.classes_)
        model.apply(X)
        of_numbers = model.without_categories().predict_proba(np.abs(X).round())
        np.testing.assert_allclose(of_numbers.sum(axis=1), 1)
        tree = model.estimators_[0] if hasattr(model, "estimators_") else model
        export_text(tree, max_depth=3)
        model.feature_importances_  # noqa: B018
        for table in ("adaptation_", "tuning_scores_"):
            getattr(model, table, None)


def use_table(model: TableModel, rng: np.random.Generator) -> None:
    import pandas as pd

    values = {
        "number": lambda: rng.normal(size=20),
        "date": lambda: pd.to_datetime(rng.integers(0, 10**9, 20), unit="s"),
        "text": lambda: rng.choice(["red", "blue", "", "another"], 20),
        "unused": lambda: np.zeros(20),
        "id": lambda: np.arange(20),
    }
    table = pd.DataFrame({column.name: values[column.kind]() for column in model.columns_})
    proba = model.predict_proba(table)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert set(model.predict(table)) <= set(model.classes_)


MEMORY = Path("/proc/self/statm")  # Linux has it
CAN_LIMIT_MEMORY = MEMORY.exists()


def limit_memory() -> None:
    """Let this process use a gigabyte more than now."""
    import resource  # POSIX has it

    in_use = int(MEMORY.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MOST_MEMORY,) * 2)
