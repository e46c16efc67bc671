"""Every reason to refuse a model file, one by one; docs/reliability.md says how this is measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hw_files
import numpy as np
import pytest
from hw_files import Parts, put_together, take_apart

import hardwood
from hardwood import RobustForestClassifier, RobustTreeClassifier
from hardwood._core.compact import _constraints
from hardwood._io.storing import Decoder, Encoder, Stored, storable
from hardwood.criteria import EngineCriterion, FromLoss, Gini
from hardwood.noise.correction import Unmixed

# --- the trees: the engine's own tests -----------------------------------------------------------

CPP = Path(__file__).parents[2] / "cpp"
VALIDATOR = (CPP / "include" / "hardwood" / "validate.hpp").read_text(encoding="utf-8")
ENGINE_TESTS = (CPP / "tests" / "test_validate.cpp").read_text(encoding="utf-8")
REASONS = re.findall(r'require\([^;]*?,\s*"([^"]+)"\);', VALIDATOR)


def test_all_reasons_of_the_engine_are_found() -> None:
    n_definitions = 1
    assert len(REASONS) == len(re.findall(r"\brequire\(", VALIDATOR)) - n_definitions


@pytest.mark.parametrize("reason", REASONS)
def test_the_engine_has_a_test_of(reason: str) -> None:
    words = re.findall(r'"([^"\n]+)"', ENGINE_TESTS)
    assert any(each in reason for each in words)


# --- the file ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file() -> bytes:
    return hw_files.saved(RobustTreeClassifier(random_state=0).fit([[0], [1]], [0, 1]))


@pytest.fixture
def parts(file: bytes) -> Parts:
    return take_apart(file)


def refused(file: bytes, tmp_path: Path, match: str) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(file)
    with pytest.raises(ValueError, match=match):
        hardwood.load(path)


def test_damage_to_the_header_and_to_an_array(file: bytes, tmp_path: Path) -> None:
    length = hw_files.PREFIX.unpack_from(file)[-1]
    first = hw_files.aligned(hw_files.PREFIX.size + length)
    for place, match in ((30, "its header is damaged"), (first, r"array \d+ is damaged")):
        damaged = bytearray(file)
        damaged[place] ^= 1
        refused(bytes(damaged), tmp_path, match)


@pytest.mark.parametrize("key", ["class", "state", "arrays"])
def test_incomplete_headers(key: str, parts: Parts, tmp_path: Path) -> None:
    del parts.header[key]
    refused(put_together(parts), tmp_path, "its header is incomplete")


def test_a_header_that_is_no_object(parts: Parts, tmp_path: Path) -> None:
    header = b"[]"
    prefix = hw_files.PREFIX.pack(b"hardwood", 1, hw_files.zlib.crc32(header), len(header))
    refused(prefix + header, tmp_path, "its header is incomplete")


def test_no_list_of_arrays(parts: Parts, tmp_path: Path) -> None:
    parts.header["arrays"] = {}
    refused(put_together(parts), tmp_path, "no list of arrays")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dtype", "|O"),
        ("dtype", 1),
        ("shape", 1),
        ("shape", [1] * 9),
        ("shape", [-1]),
        ("shape", [True]),
        ("shape", [2**62]),
        ("offset", -64),
        ("offset", 1),
        ("offset", "0"),
    ],
)
def test_descriptions_of_arrays(key: str, value: Any, parts: Parts, tmp_path: Path) -> None:
    parts.header["arrays"][0][key] = value
    refused(put_together(parts), tmp_path, "the description of array 0 is invalid")


def test_an_array_that_ends_after_the_file(parts: Parts, tmp_path: Path) -> None:
    parts.header["arrays"][-1]["offset"] += 2**20
    refused(put_together(parts), tmp_path, "ends after the end of the file")


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"a": 1, "b": 2}, "no known kind"),
        (b"", "no known kind"),
        ({"code": "x"}, "unknown kind 'code'"),
        ({"float": "1"}, "invalid number"),
        ({"tuple": 1}, "malformed"),
        ({"dict": [[1]]}, "malformed"),
        ({"dict": [[[], 1]]}, "invalid key"),
        ({"dict": [[2**64, 1]]}, "invalid key"),
        ({"array": "0"}, "other than its index"),
        ({"array": True}, "other than its index"),
        ({"array": 1}, "missing or already used"),
        ({"object": ["nothing", {}]}, "unknown class 'nothing'"),
        ({"object": [1, {}]}, "unknown class 1"),
        ({"object": ["criteria.Gini", []]}, "malformed"),
    ],
    ids=str,
)
def test_values_that_nobody_wrote(value: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Decoder([np.zeros(1)]).decode(value)


@pytest.mark.parametrize(
    ("points", "match"),
    [
        (np.zeros((1, 1), "<u2"), "wrong type"),
        (np.zeros((), "<u4"), "wrong type"),
        (np.zeros((1, 0), "<u4"), "wrong type"),
        (np.array([[0x110000]], "<u4"), "invalid character"),
    ],
    ids=["type", "scalar", "no room", "above Unicode"],
)
def test_characters(points: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Decoder([points]).decode({"characters": 0})


TEXT = np.frombuffer(b"abc", dtype=np.uint8)


@pytest.mark.parametrize(
    ("text", "ends", "match"),
    [
        (TEXT.astype("u2"), [3], "wrong type"),
        (TEXT, [3.0], "wrong type"),
        (TEXT.reshape(3, 1), [3], "wrong type"),
        (TEXT, [[3]], "wrong type"),
        (TEXT, [2, 1, 3], "end positions"),
        (TEXT, [-1, 3], "end positions"),
        (TEXT, [2], "end positions"),
        (TEXT, [], "end positions"),
        (TEXT[:0], [1], "end positions"),
        (np.frombuffer(b"\xff", dtype=np.uint8), [1], "codec"),
    ],
)
def test_strings(text: Any, ends: list[Any], match: str) -> None:
    arrays = [text, np.array(ends) if ends else np.empty(0, dtype=np.int64)]
    with pytest.raises(ValueError, match=match):
        Decoder(arrays).decode({"strings": [0, 1]})


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, "PCG64"), (1, None), (2, 625), (2, -1), (2, "0"), (3, 2), (4, "0")],
)
def test_random_states(place: int, value: Any) -> None:
    encoder = Encoder()
    state = encoder.encode(np.random.RandomState(0))
    state["random_state"][place] = value
    with pytest.raises(ValueError, match="invalid random state"):
        Decoder(encoder.arrays).decode(state)


STORED = Stored(
    "thing",
    {
        "n": 5,
        "x": 0.5,
        "yes": True,
        "array": np.zeros((2, 3)),
        "half": np.array(["\ud800"], object),
    },
)


@pytest.mark.parametrize(
    ("get", "match"),
    [
        (lambda s: s["y"], "y of thing is missing"),
        (lambda s: s.integer("n", 0, 4), "an integer from 0 to 4"),
        (lambda s: s.integer("yes", 0, 4), "an integer from 0 to 4"),
        (lambda s: s.integer("x", 0, 4), "of type int"),
        (lambda s: s.number("yes"), "a finite number"),
        (lambda s: Stored("thing", {"n": 10**400}).number("n"), "a finite number"),
        (lambda s: Stored("thing", {"n": np.nan}).number("n"), "a finite number"),
        (lambda s: s.array("n", "f8", (None,)), "of type ndarray"),
        (lambda s: s.array("array", "u2 f4", (2, 3)), "an array of u2 or f4"),
        (lambda s: s.array("array", "f8", (2, 4)), r"of shape \(2, 4\)"),
        (lambda s: s.array("array", "f8", (None,)), r"of shape \(None,\)"),
        (lambda s: s.texts("half", (None,)), "without lone surrogates"),
    ],
)
def test_getters(get: Callable[[Stored], Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        get(STORED)


# --- what is not written -------------------------------------------------------------------------


def test_what_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="keys must be numbers or strings"):
        Encoder().encode({(1, 2): 3}, "x")
    with pytest.raises(TypeError, match="an array of complex128"):
        Encoder().encode(np.zeros(1, complex), "x")
    with pytest.raises(ValueError, match=r"x cannot be stored: .* more than 1048576 strings"):
        Encoder().encode(np.full(2**20 + 1, "", dtype=object), "x")
    with pytest.raises(ValueError, match=r"x cannot be stored: .* more than 16777216 bytes"):
        Encoder().encode(np.array(["a" * 2**22, "\U0001f344"], dtype=object), "x")
    for key in (2**64, -(2**64)):
        with pytest.raises(ValueError, match=rf"x cannot be stored: the key {key} is larger"):
            Encoder().encode({key: 1}, "x")
        tree = RobustTreeClassifier(categorical_features=[0])
        tree.fit(np.array([[key], ["a"]], dtype=object), [0, 1])
        with pytest.raises(ValueError, match=rf"the category {key} cannot be stored"):
            hardwood.save(tree, "never.hw")
    with pytest.raises(ValueError, match="more than 4194304 monotonic constraints"):
        _constraints(range(2**22 + 1))
    with pytest.raises(ValueError, match="already the stored name"):
        storable("criteria.Gini")(type("Other", (), {}))
    assert Decoder([]).decode(Encoder().encode(np.True_)) is True
    monkeypatch.setattr("sys.byteorder", "big")
    with pytest.raises(NotImplementedError, match="little-endian"):
        hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), "never.hw")


# --- objects -------------------------------------------------------------------------------------


def refuses(cls: Any, values: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        cls._from_stored(Stored(cls.__name__, values))


@pytest.fixture(scope="module")
def forest() -> RobustForestClassifier:
    X = np.arange(60).reshape(20, 3) % 7
    return RobustForestClassifier(2, categorical_features=[0], random_state=0).fit(X, X[:, 0] > 3)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"parameters": {"n_trees": 3}}, r"has no parameters \['n_trees'\]"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": 4}, "categories of .* those of 4 features"),
        ({"classes": np.array([1, 0])}, "in ascending order"),
        ({"classes": np.array([0, 1, 2])}, "the classes of the trees"),
        ({"feature_names": np.array(["a"], object)}, "feature_names"),
        ({"max_features": 4}, "max_features"),
        ({"seed": -1}, "seed"),
        ({"trees": None}, "trees of"),
        ({"categories": 1}, "categories of"),
    ],
    ids=str,
)
def test_forests(change: dict[str, Any], match: str, forest: RobustForestClassifier) -> None:
    refuses(RobustForestClassifier, forest._to_stored() | change, match)


def test_a_tree_of_two_trees(forest: RobustForestClassifier) -> None:
    parameters = {"criterion": "gini"}
    values = forest._to_stored() | {"parameters": parameters}
    refuses(RobustTreeClassifier, values, "one tree")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"monotonic_cst": np.zeros(2**22 + 1, dtype="i1")}, "monotonic constraints"),
        ({"weight_unit": 0.0}, "above 0"),
        ({"leaf_prediction": "best"}, "'distribution' or 'optimal'"),
        ({"criterion": Gini()}, "criterion of"),
        ({"n_classes": 0}, "n_classes"),
    ],
    ids=str,
)
def test_compact_forests(change: dict[str, Any], match: str, forest: Any) -> None:
    refuses(type(forest._compact), forest._compact._to_stored() | change, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"columns": np.array([0, 1])}, "each with its categories"),
        ({"columns": np.array([3])}, "each with its categories"),
        ({"columns": np.array([0, 0]), "values": [[1], [2]]}, "each with its categories"),
        ({"values": [[None]]}, "different strings or numbers"),
        ({"values": [["a", "a"]]}, "different strings or numbers"),
        ({"values": [list(range(65536))]}, "not too many"),
        ({"values": [np.arange(65536)]}, "not too many"),
        ({"values": [np.zeros((1, 1))]}, "not too many"),
        ({"values": [{"json": np.array(["[]"], object)}]}, "different strings or numbers"),
        ({"values": [{"json": np.array(["1" * 2**20 + "1"], object)}]}, "strings or numbers"),
        ({"values": [{"json": np.array([1])}]}, "strings or numbers"),
        ({"values": [{"json": None}]}, "strings or numbers"),
        ({"values": [{"code": "1"}]}, "strings or numbers"),
        ({"values": [[2**64]]}, "strings or numbers"),
    ],
)
def test_categories(change: dict[str, Any], match: str, forest: Any) -> None:
    refuses(type(forest._categories), forest._categories._to_stored() | change, match)


class OwnLoss:
    """A loss that the engine does not know."""

    def impurity(self, p: Any) -> Any:
        return np.minimum(p, 1 - p)


def test_matrices_of_too_many_classes() -> None:
    refuses(Unmixed, {"M": np.eye(1001)}, "at most 1000 classes")


def test_criteria() -> None:
    refuses(Gini, {"lam": 1}, "has no parameters")
    refuses(EngineCriterion, {"name": "custom_impurity", "parameters": np.empty(0)}, "one of")
    refuses(EngineCriterion, {"name": "gini", "parameters": np.zeros(1)}, "of shape")
    refuses(FromLoss, {"loss": OwnLoss()}, "a loss that the engine knows")


@pytest.fixture(scope="module")
def model() -> Any:
    return hw_files.table_model(np.random.default_rng(0))[0]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"parameters": {}}, "those of a TableEncoder"),
        ({"name": lambda v: np.repeat(v[:1], len(v))}, "different for each column"),
        ({"kind": lambda v: v + 100}, "one of"),
        (
            {"kind": lambda v: v * 0 + hardwood.tables.encoder.KINDS.index("unused")},
            "not all unused",
        ),
        ({"n_categories": lambda v: v - 10**6}, "the number of categories"),
        ({"n_categories": lambda v: v + 10**6}, "the number of categories"),
        ({"n_categories": lambda v: v * 0}, "as many as n_categories says"),
        ({"category": lambda v: np.repeat(v[:1], len(v))}, "different within each column"),
        ({"format": lambda v: v + "x"}, "a known format"),
        ({"note": None}, "note of"),
    ],
)
def test_encoders(change: dict[str, Any], match: str, model: Any) -> None:
    values = model.encoder_._to_stored()
    changed = {name: new(values[name]) if callable(new) else new for name, new in change.items()}
    refuses(type(model.encoder_), values | changed, match)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("drop", "number", "a list of strings"),
        ("missing", [1], "a list of strings"),
        ("max_categories", 2.5, "an integer"),
    ],
)
def test_parameters_of_encoders(name: str, value: Any, match: str, model: Any) -> None:
    values = model.encoder_._to_stored()
    refuses(
        type(model.encoder_), values | {"parameters": values["parameters"] | {name: value}}, match
    )


def test_table_models(model: Any, forest: RobustForestClassifier) -> None:
    values = model._to_stored()
    refuses(type(model), values | {"forest": forest}, "fitted with the columns of the encoder")
    names = model.encoder_.get_feature_names_out()
    other = RobustForestClassifier(1).fit(np.eye(2, len(names)), [0, 1])
    other.feature_names_in_ = np.array(names, dtype=object)
    refuses(type(model), values | {"forest": other}, "fitted with the categories of the encoder")
    texts = [column.kind == "text" for column in model.encoder_.columns_ if column.is_used]
    other = RobustForestClassifier(1, categorical_features=texts)
    other.fit(np.eye(2, len(names)), np.array(["a", "\ud800"], dtype=object))
    other.feature_names_in_ = np.array(names, dtype=object)
    refuses(type(model), values | {"forest": other}, "classes that can be stored")
    refuses(type(model), values | {"label": 1}, "label of")
