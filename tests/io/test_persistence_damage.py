"""Damaged and hostile files: an error, or the model; no crash, no hang, no flood of memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hw_files
import numpy as np
import pytest
from cases import continuous
from hw_files import Parts, joined_model, put_together, saved, take_apart

import hardwood
from hardwood import RobustForestClassifier, RobustTreeClassifier

NODE = hw_files.NODE


@pytest.fixture(scope="module")
def file() -> bytes:
    X, y, _ = continuous(3, np.random.default_rng(0))
    return saved(RobustForestClassifier(3, max_depth=4, random_state=0).fit(X, y))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.hw"


def refused(file: bytes, path: Path, match: str) -> None:
    path.write_bytes(file)
    with pytest.raises(ValueError, match=match):
        hardwood.load(path)


@pytest.mark.parametrize("n_bytes", [0, 1, 8, 23, 24, 100])
def test_every_beginning_is_refused(n_bytes: int, file: bytes, path: Path) -> None:
    refused(file[:n_bytes], path, "is not a hardwood model")
    refused(file[: len(file) - n_bytes - 1], path, "is not a hardwood model")


# --- one by one: each check of the trees ---------------------------------------------------------


@pytest.fixture
def parts(file: bytes) -> Parts:
    return take_apart(file)


def array_of(parts: Parts, name: str, dtype: Any) -> Any:
    """The array of the trees with that name, to be written to."""
    number = parts.header["state"]["trees"]["object"][1][name]["array"]
    return np.frombuffer(parts.arrays[number], dtype=dtype)


def first_leaf(nodes: Any) -> int:
    return int(np.flatnonzero(nodes["feature"] == -1)[0])


def set_node(where: int | str, field: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        nodes = array_of(parts, "nodes", NODE)
        nodes[field][first_leaf(nodes) if where == "leaf" else where] = value

    return change


def set_in(name: str, dtype: str, index: Any, value: Any) -> Any:
    def change(parts: Parts) -> None:
        array_of(parts, name, dtype)[index] = value

    return change


def damages() -> Iterator[tuple[str, str, Any]]:
    yield "feature too large", "feature must be", set_node(0, "feature", 4)
    yield "feature negative", "feature must be", set_node(0, "feature", -2)
    yield "threshold NaN", "threshold must be", set_node(0, "threshold", np.nan)
    yield "right child outside", "right child must lie inside", set_node(0, "child", 2**31 - 1)
    yield "right child is the root", "depth-first order", set_node(0, "child", 0)
    yield "right child is the left", "depth-first order", set_node(0, "child", 1)
    yield "root is a leaf", "entries must follow|every node", set_node(0, "feature", -1)
    yield (
        "leaf is a split",
        "right child|depth-first|two children|entries",
        set_node("leaf", "feature", 0),
    )
    yield "no entries", "entries must follow", set_node("leaf", "child", 0)
    yield "too many entries", "entries must follow", set_node("leaf", "child", 2**32 - 1)
    yield "no rows", "must have rows", set_node("leaf", "threshold", 0.0)
    yield "label too large", "among the forest's|ascending", set_in("entry_label", "<u2", -1, 3)
    yield "labels all alike", "ascending order|among", set_in("entry_label", "<u2", slice(None), 2)
    yield "counts of zero", "count above zero", set_in("entry_count", "<u2", slice(None), 0)
    yield "first start", "start at 0", set_in("node_start", "<i8", 0, 1)
    yield "negative start", "start after", set_in("node_start", "<i8", 1, -5)
    yield "falling starts", "start after", set_in("node_start", "<i8", 2, 1)
    yield "last start", "end with the arrays|start after", set_in("node_start", "<i8", -1, 10**12)
    yield "entry starts", "entries|entry|start after", set_in("entry_start", "<i8", 1, 2)


@pytest.mark.parametrize(
    ("match", "change"),
    [pytest.param(match, change, id=name) for name, match, change in damages()],
)
def test_every_check_of_the_trees(match: str, change: Any, parts: Parts, path: Path) -> None:
    change(parts)
    refused(put_together(parts), path, match)


PLACE = np.dtype([("offset", "<u4"), ("first_word", "<u2"), ("n_words", "<u2")])


def set_place(field: str, value: int) -> Any:
    def change(parts: Parts) -> None:
        nodes = array_of(parts, "nodes", NODE)
        first = int(np.flatnonzero(nodes["feature"] >= 2**30)[0])
        array_of(parts, "nodes", PLACE)[field][2 * first] = value

    return change


def categories_of(parts: Parts) -> Any:
    return parts.header["state"]["categories"]["object"][1]


def set_categories(name: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        categories_of(parts)[name] = value

    return change


def forget_categories(parts: Parts) -> None:
    parts.header["state"]["categories"] = None


def set_columns(*columns: int) -> Any:
    def change(parts: Parts) -> None:
        number = categories_of(parts)["columns"]["array"]
        np.frombuffer(parts.arrays[number], dtype="<i8")[:] = columns

    return change


def damages_of_sets() -> Iterator[tuple[str, str, Any]]:
    yield "offset", "must follow", set_place("offset", 1)
    yield "huge offset", "must follow", set_place("offset", 2**32 - 1)
    yield "no words", "must follow", set_place("n_words", 0)
    yield "many words", "must follow|empty words|among those", set_place("n_words", 65535)
    yield "far words", "among those of its feature", set_place("first_word", 65535)
    yield "other column", "feature must be among", set_node(0, "feature", 2**30 + 3)
    yield "number column", "among those of its feature", set_columns(1, 2)
    yield "no bits", "empty words", set_in("set_words", "<u4", slice(None), 0)
    yield (
        "all bits",
        "among those of its feature",
        set_in("set_words", "<u4", slice(None), 2**32 - 1),
    )
    yield "set starts", "must follow|start after|some split", set_in("set_start", "<i8", 1, 0)
    yield "last set start", "end with|start after", set_in("set_start", "<i8", -1, 10**12)
    yield "no categories", "among those of its feature", forget_categories
    yield "more features", "those of 3 features", set_categories("n_features", 4)
    yield "huge features", "integer from 1|those of 3", set_categories("n_features", 2**30)
    yield "columns twice", "ascending order", set_columns(1, 1)
    yield "columns outside", "ascending order", set_columns(0, 7)
    yield "fewer values", "each with its categories", set_categories("values", [])
    yield "equal values", "different strings", set_categories("values", [["a", "a"], ["b"]])
    yield "odd values", "different strings", set_categories("values", [[None], ["b"]])
    yield "no lists", "different strings", set_categories("values", ["ab", 3])


def set_pairs(*values: int) -> Any:
    def change(parts: Parts) -> None:
        number = categories_of(parts)["pairs"]["array"]
        np.frombuffer(parts.arrays[number], dtype="<i8")[:4] = values

    return change


def forget_pairs(parts: Parts) -> None:
    del categories_of(parts)["pairs"]


def damages_of_pairs() -> Iterator[tuple[str, str, Any]]:
    wrong = "pairs of columns, with their numbers"
    yield "no pairs", "feature must be among", forget_pairs
    yield "no table", "pairs", set_categories("pairs", [[0, 2, 4, 4]])
    yield "no pair", "pairs", set_categories("pairs", None)
    yield "same column", wrong, set_pairs(0, 0, 4, 4)
    yield "descending", wrong, set_pairs(2, 0, 4, 4)
    yield "negative", wrong, set_pairs(-1, 2, 4, 4)
    yield "outside", wrong, set_pairs(0, 5, 4, 4)
    yield "columns twice", "pairs of different columns", set_pairs(0, 3, 4, 4)
    yield "far outside", wrong, set_pairs(0, 2**62, 4, 4)
    yield "other sizes", wrong, set_pairs(0, 2, 4, 5)
    yield "no category", wrong, set_pairs(0, 2, 4, 0)
    yield "many categories", wrong, set_pairs(0, 2, 2**62, 4)
    yield "fewer joint categories", "among those of its feature", set_pairs(0, 1, 4, 1)


@pytest.mark.parametrize(
    ("match", "change"),
    [pytest.param(match, change, id=name) for name, match, change in damages_of_pairs()],
)
def test_every_check_of_pairs(
    match: str, change: Any, path: Path, rng: np.random.Generator
) -> None:
    parts = take_apart(saved(joined_model(rng)))
    change(parts)
    refused(put_together(parts), path, match)


@pytest.mark.parametrize(
    ("match", "change"),
    [pytest.param(match, change, id=name) for name, match, change in damages_of_sets()],
)
def test_every_check_of_sets(match: str, change: Any, path: Path, rng: np.random.Generator) -> None:
    X = rng.integers(0, [40, 9, 5], (300, 3)).astype(float)
    y = np.isin(X[:, 0], [3, 20, 39]) ^ (rng.random(300) < 0.2)
    forest = RobustForestClassifier(
        3, categorical_features=[0, 2], max_features=None, max_depth=4, random_state=0
    )
    parts = take_apart(saved(forest.fit(X, y)))
    nodes = array_of(parts, "nodes", NODE)
    assert nodes["feature"][0] >= 2**30
    with np.errstate(all="ignore"):
        change(parts)
    refused(put_together(parts), path, match)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 1e308])
def test_counts_must_be_finite_and_not_negative(
    value: float, path: Path, rng: np.random.Generator
) -> None:
    X, y, _ = continuous(3, rng)
    weight = rng.exponential(size=len(y))
    parts = take_apart(saved(RobustTreeClassifier(max_depth=3).fit(X, y, weight)))
    counts = array_of(parts, "entry_count", "<f8")
    counts[:] = value
    refused(put_together(parts), path, "count|finite")


# --- the header ----------------------------------------------------------------------------------


def test_deeply_nested_headers(parts: Parts, path: Path) -> None:
    for depth in (40, 500):
        nested: Any = 1
        for _ in range(depth):
            nested = [nested]
        parts.header["state"]["parameters"]["dict"].append(["max_depth", nested])
        refused(put_together(parts), path, "is not a hardwood model")
    raw = b'{"class":' + b"[" * 10**6
    prefix = hw_files.PREFIX.pack(b"hardwood", 1, hw_files.zlib.crc32(raw), len(raw))
    refused(prefix + raw, path, "is not a hardwood model")


def test_an_array_is_used_once(parts: Parts, path: Path) -> None:
    fields = parts.header["state"]["trees"]["object"][1]
    fields["entry_start"] = fields["node_start"]
    refused(put_together(parts), path, "already used")


def test_too_many_objects(parts: Parts, path: Path) -> None:
    gini = {"object": ["criteria.Gini", {}]}
    parts.header["state"]["parameters"]["dict"].append(["max_depth", [gini] * 2000])
    refused(put_together(parts), path, "too many objects")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", -1),
        ("criterion", "gini2"),
        ("criterion", {"object": ["criteria.NegativeExponential", {"lam": 7}]}),
        ("criterion", {"object": ["criteria.NegativeExponential", {"mu": 7}]}),
        ("criterion", {"object": ["criteria.FromLoss", {"loss": "abc"}]}),
        ("random_state", {"random_state": ["MT19937", 1, 2, 3, 4]}),
        ("n_estimators", "many"),
        ("class_weight", {"object": ["criteria.Gini", {}]}),
    ],
    ids=str,
)
def test_parameters_are_checked(name: str, value: Any, parts: Parts, path: Path) -> None:
    parameters = dict(parts.header["state"]["parameters"]["dict"])
    parameters[name] = value
    parts.header["state"]["parameters"]["dict"] = [list(pair) for pair in parameters.items()]
    refused(put_together(parts), path, "is not a hardwood model")


# --- adaptive models -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adaptive_files() -> dict[str, bytes]:
    made = hw_files.adaptive_models(np.random.default_rng(0))
    return dict(zip(["tree", "ane", "plain", "two", "three"], map(saved, made), strict=True))


def fill(owner: str, name: str, index: Any, value: float) -> Any:
    """Change an array of a model, or of one of its parts."""

    def change(parts: Parts) -> None:
        fields = parts.header["state"]
        if owner != "model":
            fields = fields[owner]["object"][1]
        np.frombuffer(parts.arrays[fields[name]["array"]], dtype="<f8")[index] = value

    return change


def field(name: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        parts.header["state"][name] = value

    return change


def without_votes(parts: Parts) -> None:
    parts.header["state"].pop("oob_votes_", None)
    parts.header["state"]["_votes_again"] = []


def even(value: Any) -> Any:
    def change(parts: Parts) -> None:
        parts.header["state"]["_sharpening"]["object"][1]["even"] = value

    return change


A_TABLE = {"dict": [["lam", [1, 2]], ["accuracy", [1]]]}


@pytest.mark.parametrize(
    ("model", "match", "change"),
    [
        ("tree", "criterion of", field("criterion", "gini")),
        ("tree", "min_samples_leaf of", field("min_samples_leaf", 0)),
        ("tree", "pruning of", field("pruning", -1)),
        ("tree", "pruning of", field("pruning", {"float": "nan"})),
        ("tree", "adaptation of", field("adaptation", None)),
        ("ane", "lam of", field("lam", 1.5)),
        ("ane", "lam of", field("lam", {"float": "nan"})),
        ("ane", "columns of one length", field("tuning_scores", A_TABLE)),
        ("ane", "columns by name", field("tuning_scores", {"dict": [[1, [1]]]})),
        ("ane", "tuning_scores of", field("tuning_scores", None)),
        ("ane", "lam of", field("lam", -0.5)),
        ("ane", "tuning_scores of", field("tuning_scores", [])),
        ("plain", "_adaptation of", field("_adaptation", "none")),
        ("plain", "numbers and text", field("_adaptation", {"dict": [["family", 1]]})),
        ("plain", "numbers and text", field("_adaptation", {"dict": [["family", ["\ud800"]]]})),
        ("plain", "numbers and text", field("_adaptation", {"dict": [["family", [[]]]]})),
        ("plain", "columns by name", field("_adaptation", {"dict": [["\ud800", []]]})),
        ("plain", "noise_rate_ of", field("noise_rate_", "much")),
        ("plain", "decision_reason_ of", field("decision_reason_", 1)),
        ("plain", "noise_matrix_ of", field("noise_matrix_", [[1, 0], [0, 1]])),
        ("plain", "noise_matrix_ must hold", fill("model", "noise_matrix_", 0, np.nan)),
        ("plain", "noise_matrix_ must hold", fill("model", "noise_matrix_", 0, -0.1)),
        ("plain", "Each row of noise_matrix_", fill("model", "noise_matrix_", 0, 0.0)),
        ("plain", "oob_votes_ of", field("oob_votes_", [0.5])),
        ("plain", "_votes_again of .* stored with oob_votes_", without_votes),
        ("plain", "_unmixed of", field("_unmixed", 1)),
        ("plain", "_unmixed of", field("_unmixed", {"object": ["criteria.Gini", {}]})),
        ("plain", "_sharpening of", field("_sharpening", None)),
        ("plain", "decision_ of", field("decision_", "fair")),
        ("plain", "splitter_ of", field("splitter_", 1)),
        ("plain", "class_prior_ of", field("class_prior_", [0.5])),
        ("two", "positive numbers", fill("_sharpening", "exponents", 0, np.nan)),
        ("two", "positive numbers", fill("_sharpening", "exponents", 0, np.inf)),
        ("two", "positive numbers", fill("_sharpening", "exponents", slice(None), 0.0)),
        ("two", "finite", fill("_sharpening", "offsets", 0, np.nan)),
        ("two", "sum to 1", fill("_sharpening", "weights", 0, np.nan)),
        ("two", "sum to 1", fill("_sharpening", "weights", 0, -1.0)),
        ("two", "sum to 1", fill("_sharpening", "weights", slice(None), 1.0)),
        ("two", "above 0 and at most 1", even(0.0)),
        ("two", "above 0 and at most 1", even(1.5)),
        ("two", "even of", even("all")),
        ("three", "of probabilities", fill("_unmixed", "M", 0, np.nan)),
        ("three", "of probabilities", fill("_unmixed", "M", slice(None), 1e-308)),
        ("three", "of probabilities", fill("_unmixed", "M", slice(None), 1e308)),
        ("three", "inverted", fill("_unmixed", "M", slice(None), 1 / 3)),
    ],
)
def test_every_check_of_adaptive_models(
    model: str, match: str, change: Any, adaptive_files: dict[str, bytes], path: Path
) -> None:
    parts = take_apart(adaptive_files[model])
    change(parts)
    refused(put_together(parts), path, match)


@pytest.mark.parametrize("part", ["_unmixed", "_sharpening"])
def test_parts_must_be_for_the_models_classes(
    part: str, adaptive_files: dict[str, bytes], path: Path
) -> None:
    two, three = (take_apart(adaptive_files[name]) for name in ("two", "three"))
    name, fields = three.header["state"][part]["object"]
    # Its arrays, behind all the others.
    for field, value in fields.items():
        if isinstance(value, dict) and "array" in value:
            two.header["arrays"].append(three.header["arrays"][value["array"]])
            del two.header["arrays"][-1]["offset"]
            two.arrays.append(three.arrays[value["array"]])
            fields[field] = {"array": len(two.arrays) - 1}
    two.header["state"][part] = {"object": [name, fields]}
    refused(put_together(two), path, f"{part} of AdaptiveForestClassifier must be for 2")


def test_damage_is_reproducible(file: bytes) -> None:
    for damage in hw_files.SEEN_BY_CHECKSUMS + hw_files.WITH_RIGHT_CHECKSUMS:
        assert damage(file, random.Random(1)) == damage(file, random.Random(1))
