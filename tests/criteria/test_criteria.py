"""The criterion objects, their names, their ranges, and which of them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import CRITERIA, NAMES, SMALL, Maker, distinct, name_of, ties
from sklearn.base import clone
from trees import assert_same_splits, assert_same_tree

from hardwood import RobustTreeClassifier
from hardwood.criteria import (
    Credal,
    Entropy,
    GeneralizedCrossEntropy,
    Gini,
    Misclassification,
    NegativeExponential,
    Ranking,
    SqrtGini,
    Twoing,
)

BY_NAME = {
    "gini": Gini(),
    "mse": Gini(),
    "entropy": Entropy(),
    "ce": Entropy(),
    "log_loss": Entropy(),
    "misclassification": Misclassification(),
    "conservative": Misclassification(),
    "sqrt_gini": SqrtGini(),
    "ne": NegativeExponential(lam=0.5),
    "gce": GeneralizedCrossEntropy(q=0.7),
    "twoing": Twoing(),
    "credal": Credal(s=1.0),
    "ranking": Ranking(),
}


def fit(criterion: Any, maker: Maker, n_classes: int, seed: int = 0) -> RobustTreeClassifier:
    X, y, weight = maker(n_classes, np.random.default_rng([seed, n_classes]))
    return RobustTreeClassifier(criterion=criterion, random_state=seed).fit(X, y, weight)


# --- names and objects ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_stands_for_the_object_with_its_defaults(name: str) -> None:
    assert_same_tree(fit(name, ties, 2), fit(BY_NAME[name], ties, 2))


def test_the_default_is_the_negative_exponential() -> None:
    assert RobustTreeClassifier().criterion == "ne"


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_objects_are_parameters(criterion: Any) -> None:
    copy = clone(criterion)
    assert copy is not criterion
    assert copy.get_params() == criterion.get_params()
    assert type(criterion)(**criterion.get_params()).get_params() == criterion.get_params()


@pytest.mark.parametrize(
    ("criterion", "parameter"),
    [(NegativeExponential(), "lam"), (GeneralizedCrossEntropy(), "q"), (Credal(), "s")],
    ids=str,
)
def test_parameters_can_be_set(criterion: Any, parameter: str) -> None:
    criterion = clone(criterion)
    assert list(criterion.get_params()) == [parameter]
    assert criterion.set_params(**{parameter: 0.25}) is criterion
    assert getattr(criterion, parameter) == 0.25
    tree = RobustTreeClassifier(criterion=criterion)
    tree.set_params(**{f"criterion__{parameter}": 0.75})
    assert criterion.get_params() == {parameter: 0.75}


def test_repr_shows_the_class_and_what_was_set() -> None:
    assert repr(Gini()) == "Gini()"
    assert "NegativeExponential(lam=0.25" in repr(NegativeExponential(lam=0.25))
    assert "0.25" in repr(RobustTreeClassifier(criterion=NegativeExponential(lam=0.25)))


def test_fit_leaves_the_criterion_as_it_was() -> None:
    criterion = NegativeExponential(lam=0.25)
    tree = fit(criterion, ties, 2)
    assert tree.criterion is criterion
    assert criterion.get_params() == {"lam": 0.25}


# --- wrong ones ----------------------------------------------------------------------------------


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="criterion") as error:
        fit("ginny", ties, 2)
    assert [name for name in NAMES if name not in str(error.value)] == []


@pytest.mark.parametrize("criterion", [None, 3, Gini, {}], ids=str)
def test_what_is_no_criterion(criterion: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="criterion"):
        fit(criterion, ties, 2)


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (NegativeExponential, -0.1, r"lam.*0.*1.*-0\.1"),
        (NegativeExponential, 1.1, r"lam.*0.*1.*1\.1"),
        (NegativeExponential, float("nan"), "lam.*nan"),
        (NegativeExponential, "much", "lam.*much"),
        (NegativeExponential, None, "lam.*None"),
        (GeneralizedCrossEntropy, -0.5, r"q.*0.*-0\.5"),
        (GeneralizedCrossEntropy, float("nan"), "q.*nan"),
        (GeneralizedCrossEntropy, float("inf"), "q.*inf"),
        (Credal, 0.0, r"s.*0.*0\.0"),
        (Credal, -1, "s.*0.*-1"),
        (Credal, float("inf"), "s.*inf"),
    ],
)
def test_a_wrong_parameter_says_which_range_is_right(cls: Any, value: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        fit(cls(value), ties, 2)


@pytest.mark.parametrize("criterion", ["ranking", Ranking()], ids=str)
@pytest.mark.parametrize("n_classes", [3, 7])
def test_ranking_is_for_two_classes(criterion: Any, n_classes: int) -> None:
    with pytest.raises(ValueError, match=r"(?i)ranking.*(two|2|binary)"):
        fit(criterion, ties, n_classes)


# --- which are the same --------------------------------------------------------------------------

SAME = [
    (NegativeExponential(lam=0.0), SqrtGini()),
    (NegativeExponential(lam=1.0), Misclassification()),
    (GeneralizedCrossEntropy(q=0.0), Entropy()),
    (GeneralizedCrossEntropy(q=1.0), Misclassification()),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_limits_of_a_parameter(
    one: Any, other: Any, n_classes: int, maker: Maker, seed: int
) -> None:
    assert_same_tree(fit(one, maker, n_classes, seed), fit(other, maker, n_classes, seed))


@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_generalized_cross_entropy_above_one_is_misclassification_over_q(maker: Maker) -> None:
    one = fit(GeneralizedCrossEntropy(q=2.0), maker, 3)
    other = fit(Misclassification(), maker, 3)
    assert_same_tree(one, other, but=("impurity",))
    np.testing.assert_allclose(one.tree_.impurity, other.tree_.impurity / 2)


@pytest.mark.parametrize("q", [1e-6, 1e-9, 1e-12, 1e-300])
def test_generalized_cross_entropy_of_a_small_q_is_nearly_entropy(q: float) -> None:
    """(1 - ||p||)/q is a difference of nearly equal numbers, which must not drown in rounding."""
    X, y, _ = distinct(3, np.random.default_rng(0))
    one, other = (
        RobustTreeClassifier(criterion=criterion, min_samples_leaf=60, random_state=0).fit(X, y)
        for criterion in (GeneralizedCrossEntropy(q=q), Entropy())
    )
    assert_same_splits(one, other)
    np.testing.assert_allclose(one.tree_.impurity, other.tree_.impurity, rtol=1e-5)


def test_twoing_of_two_classes_is_gini() -> None:
    """Its gain is half of Gini's; only how rounding breaks ties could differ, and here is none."""
    X, y, _ = distinct(2, np.random.default_rng(0))
    twoing, gini = (
        RobustTreeClassifier(criterion=name, min_samples_leaf=50, random_state=0).fit(X, y)
        for name in ("twoing", "gini")
    )
    assert gini.get_n_leaves() > 8
    assert_same_splits(twoing, gini)


def test_other_criteria_differ() -> None:
    """A guard for the tests above: dispatch that fell back to one criterion would pass them."""
    different = [Gini(), Entropy(), Misclassification(), NegativeExponential(lam=0.25), Credal()]
    trees = [fit(criterion, distinct, 3) for criterion in different]
    assert len({tree.get_n_leaves() for tree in trees}) == len(trees)


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_one_row_or_one_class(criterion: Any) -> None:
    for X, y in (([[1.0]], ["a"]), (np.arange(9.0).reshape(-1, 1), ["a"] * 9)):
        tree = RobustTreeClassifier(criterion=criterion).fit(X, y)
        assert tree.get_n_leaves() == 1
        assert tree.predict([[5.0]]).tolist() == ["a"]
