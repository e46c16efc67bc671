"""Bad input gets scikit-learn's usual exception, says what is wrong, and reaches no engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import continuous
from sklearn.exceptions import NotFittedError
from trees import assert_same_tree

from hardwood import RobustTreeClassifier

X = np.arange(24.0).reshape(8, 3)
Y = np.array([0, 1, 0, 1, 1, 1, 0, 0])


def but(array: Any, value: Any) -> Any:
    """The array with one entry replaced."""
    array = np.array(array, dtype=float)
    array.flat[5] = value
    return array


# --- fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (but(X, np.inf), "infinity"),
        (but(X, -np.inf), "infinity"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[:, 0], "2D array"),
        (X[None], "dim 3"),
        (np.float64(3), "2D array"),
        (X[:5], "inconsistent"),
        (X.astype(complex), "(?i)complex"),
        (np.full((8, 3), "red"), "(?i)str|text|numeric"),
        (np.array([["1", "red", 2.0]] * 8, object), "(?i)str|text|numeric"),
        ([[1, 2], [3]], "inhomogeneous|shape"),
        (np.array([[{}, 1.0]] * 8, object), "(?i)dict|number|numeric"),
        ([[10**400, 1.0]] * 8, "too large"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_features(bad_X: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        RobustTreeClassifier().fit(bad_X, Y)


def test_text_columns_that_are_no_categories() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": range(8), "colour": ["red", "blue"] * 4})
    with pytest.raises(ValueError, match=r"(?i)str|text|numeric"):
        RobustTreeClassifier(categorical_features=None).fit(frame, Y)


@pytest.mark.parametrize(
    ("bad_y", "message"),
    [
        (but(Y, np.nan), "NaN"),
        (but(Y, np.inf), "infinity"),
        (np.column_stack([Y, Y]), "(?i)multi-?output|1d|column"),
        (np.linspace(0, 1, 8), "(?i)continuous|unknown label type"),
        (Y[:0], "inconsistent|empty|0 sample"),
        (Y[:5], "inconsistent"),
        (3, "(?i)scalar|1d|array"),
        (np.array([0, "a", None, 1] * 2, object), "(?i)label|mixed|type|NaN|None"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_labels(bad_y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        RobustTreeClassifier().fit(X, bad_y)


def test_no_labels() -> None:
    with pytest.raises(ValueError, match="requires y"):
        RobustTreeClassifier().fit(X, None)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (but(np.ones(8), -1), "(?i)negative"),
        (np.zeros(8), "(?i)zero|positive"),
        (but(np.ones(8), np.nan), "NaN"),
        (but(np.ones(8), np.inf), "infinity"),
        (np.ones(5), "sample_weight"),
        (np.ones((8, 2)), "(?i)1d"),
        (["heavy"] * 8, "(?i)str|convert"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_weights(weight: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        RobustTreeClassifier().fit(X, Y, sample_weight=weight)


def test_weights_whose_sum_overflows() -> None:
    with pytest.raises(ValueError, match=r"(?i)sample_weight|infinity|large"):
        RobustTreeClassifier().fit(X, Y, np.full(8, 1e308))


BAD_PARAMETERS = [
    ("max_features", [0, -1, 0.0, 1.5, "all", "auto"]),
    ("max_depth", [0, -1, 2.5, "deep"]),
    ("min_samples_split", [1, 0, 0.0, 1.5, -2, None]),
    ("min_samples_leaf", [0, 0.0, 1.5, -2, None]),
    ("min_weight_fraction_leaf", [-0.1, 0.6, np.nan, None]),
    ("max_leaf_nodes", [1, 0, -3, 2.5]),
    ("min_impurity_decrease", [-0.1, np.nan, None, "little"]),
    ("ccp_alpha", [-0.1, np.nan, None]),
    ("splitter", ["worst", None, 3]),
    ("random_state", ["seed", -1, 1.5]),
    ("class_weight", ["balance", 3]),
    ("monotonic_cst", ["up", 1]),
]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS for value in values]
)
def test_parameters(name: str, value: Any) -> None:
    tree = RobustTreeClassifier(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of RobustTreeClassifier must be"):
        tree.fit(X, Y)
    with pytest.raises(NotFittedError):
        tree.predict(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
        ({"monotonic_cst": [1, 0, 2]}, "monotonic_cst"),
        ({"monotonic_cst": [1, 0, -1, 0]}, "monotonic_cst"),
        ({"class_weight": {5: 1.0}}, "(?i)class"),
        ({"class_weight": {0: -1.0}}, "(?i)negative|class_weight|positive"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, "(?i)zero|positive"),
    ],
    ids=str,
)
def test_parameters_that_do_not_suit_the_data(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RobustTreeClassifier(**parameters).fit(X, Y)


def test_monotonic_constraints_are_for_two_classes() -> None:
    with pytest.raises(ValueError, match=r"(?i)monotonic.*(multiclass|two classes|binary)"):
        RobustTreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, np.arange(8) % 3)


TOO_LARGE = """
import resource, time
import numpy as np
from hardwood import RobustTreeClassifier

# Nothing of this size may be made, only refused: 4 GB would be the smallest copy.
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for shape in [(2**31, 1), (2**33, 2), (1, 2**31), (3, 2**33)]:
    X = np.broadcast_to(np.float32(0), shape)
    y = np.broadcast_to(np.int8(0), shape[:1])
    start = time.monotonic()
    try:
        RobustTreeClassifier().fit(X, y)
    except ValueError as error:
        assert str(max(shape)) in str(error).replace(",", "").replace("_", ""), error
        assert time.monotonic() - start < 2, shape
        print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory to be safe")
def test_arrays_too_large_for_the_engine() -> None:
    run = subprocess.run(
        [sys.executable, "-c", TOO_LARGE], capture_output=True, text=True, timeout=120
    )
    assert run.stdout.split() == ["refused"] * 4, run.stdout + run.stderr


# --- use -----------------------------------------------------------------------------------------


USES: dict[str, Callable[[RobustTreeClassifier], Any]] = {
    "predict": lambda tree: tree.predict(X),
    "predict_proba": lambda tree: tree.predict_proba(X),
    "predict_log_proba": lambda tree: tree.predict_log_proba(X),
    "apply": lambda tree: tree.apply(X),
    "decision_path": lambda tree: tree.decision_path(X),
    "score": lambda tree: tree.score(X, Y),
    "get_depth": lambda tree: tree.get_depth(),
    "get_n_leaves": lambda tree: tree.get_n_leaves(),
    "feature_importances_": lambda tree: tree.feature_importances_,
    "to_sklearn": lambda tree: tree.to_sklearn(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_unfitted(use: Callable[[RobustTreeClassifier], Any]) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(RobustTreeClassifier())


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (np.ones((2, 4)), "4 features.*expecting 3"),
        (np.ones((2, 2)), "2 features.*expecting 3"),
        (np.ones(3), "2D array"),
        (np.ones((1, 1, 3)), "dim 3"),
        (X[:0], "0 sample"),
        (but(X, np.inf), "infinity"),
        (np.full((2, 3), "red"), "(?i)str|text|numeric"),
        ([[0, 1, -(10**400)]], "too large"),
        (pd.DataFrame([[0, 1, 10**400]], dtype=object), "Column 2 .* too large"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_prediction(method: str, bad_X: Any, message: str) -> None:
    tree = RobustTreeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        getattr(tree, method)(bad_X)


# --- unusual layouts, which work -----------------------------------------------------------------


def read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "fortran": np.asfortranarray,
    "read_only": read_only,
    "strided": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2, ::3],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "big_endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1"])
def test_layouts(layout: Callable[[Any], Any], dtype: str, rng: np.random.Generator) -> None:
    plain, y, _ = continuous(2, rng)
    plain = (plain * 20 + 120).clip(0, 250).astype(dtype)
    weight = rng.integers(1, 3, len(y)).astype(float)
    reference = RobustTreeClassifier(random_state=0).fit(plain, y, weight)
    odd = layout(plain)
    tree = RobustTreeClassifier(random_state=0).fit(
        odd, read_only(np.repeat(y, 2))[::2], read_only(np.repeat(weight, 3))[::3]
    )
    assert_same_tree(tree, reference)
    np.testing.assert_array_equal(tree.predict_proba(odd), reference.predict_proba(plain))


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4"])
def test_frames_of_the_other_byte_order(dtype: str) -> None:
    values = np.random.default_rng(0).normal(scale=9, size=(50, 3)).astype(dtype)
    labels = values[:, 0] > 0
    native = values.astype(np.dtype(dtype).newbyteorder("="))
    tree = RobustTreeClassifier(random_state=0).fit(pd.DataFrame(values), labels)
    same = RobustTreeClassifier(random_state=0).fit(pd.DataFrame(native), labels)
    np.testing.assert_array_equal(
        tree.predict_proba(pd.DataFrame(values)), same.predict_proba(pd.DataFrame(native))
    )
