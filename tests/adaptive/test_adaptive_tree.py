"""The adaptive tree: it chooses how to grow and how far to prune by held-out rows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Array, continuous, missing, noisy_labels, real_weights
from estimators_list import weights_are_no_copies
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import export_text
from sklearn.utils.estimator_checks import parametrize_with_checks
from trees import assert_same_tree

import hardwood
from hardwood import AdaptiveTreeClassifier, ANETreeClassifier, RobustTreeClassifier
from hardwood.adaptive.tree import _folds
from hardwood.criteria import NegativeExponential, resolve
from hardwood.datasets import load
from hardwood.noise import corrupt, uniform


def expected_failures(model: Any) -> dict[str, str]:
    """Copies of a row can be in different folds, so weights do not equal copies."""
    return weights_are_no_copies("the folds differ")


@parametrize_with_checks([AdaptiveTreeClassifier()], expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- against brute force -------------------------------------------------------------------------


def drawn_seed(random_state: int) -> int:
    return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))


def criterion_of(row: Any) -> Any:
    return NegativeExponential(lam=row.lam) if row.criterion == "ne" else resolve(row.criterion)


def grown(row: Any, X: Array, y: Array, weight: Array | None) -> RobustTreeClassifier:
    tree = RobustTreeClassifier(
        criterion=criterion_of(row), min_samples_leaf=row.min_samples_leaf, random_state=5
    )
    return tree.fit(X, y, weight)


def leaves_after_pruning(tree: Any, alpha: float) -> set[int]:
    """The leaves of the subtree with the least errors + alpha · leaves, the smaller of equals."""
    total = tree.weighted_n_node_samples[0]

    def best(node: int) -> tuple[float, set[int]]:
        errors = (1 - tree.value[node, 0].max()) * tree.weighted_n_node_samples[node] / total
        if tree.children_left[node] < 0:
            return errors + alpha, {node}
        below = [best(child[node]) for child in (tree.children_left, tree.children_right)]
        cost = sum(cost for cost, _ in below)
        if errors + alpha <= cost + 1e-12:
            return errors + alpha, {node}
        return cost, below[0][1] | below[1][1]

    return best(0)[1]


def predictions_after_pruning(tree: RobustTreeClassifier, alpha: float, X: Array) -> Array:
    """Walk to the leaves that remain."""
    leaves = sorted(leaves_after_pruning(tree.tree_, alpha))
    path = tree.decision_path(X)[:, leaves].toarray().astype(bool)
    assert_array_equal(path.sum(axis=1), 1)
    majority = tree.tree_.value[leaves, 0].argmax(axis=1)
    return tree.classes_[majority[path.argmax(axis=1)]]


@pytest.mark.parametrize("make", [continuous, real_weights])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scores_are_those_of_trees_grown_and_pruned_one_by_one(
    make: Any, n_classes: int, rng: np.random.Generator
) -> None:
    X, y, weight = make(n_classes, rng)
    if weight is not None:
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    model = AdaptiveTreeClassifier(random_state=5).fit(X, y, weight)
    folds = _folds(np.asarray(y, dtype=np.uint16), drawn_seed(5))
    assert len(folds) == 25
    weights = np.ones(len(y)) if weight is None else weight
    for row in list(model.adaptation_.itertuples())[::7]:
        right = total = n_leaves = 0.0
        for test in folds:
            part = ~test
            tree = grown(row, X[part], y[part], None if weight is None else weight[part])
            alpha = row.pruning / part.sum()
            predicted = predictions_after_pruning(tree, alpha, X[test])
            right += weights[test] @ (predicted == y[test])
            n_leaves += weights[test].sum() * len(leaves_after_pruning(tree.tree_, alpha))
            total += weights[test].sum()
        assert row.accuracy == pytest.approx(right / total)
        assert row.n_leaves == pytest.approx(n_leaves / total)
        n_effective = weights.sum() ** 2 / (weights**2).sum()
        error = np.sqrt(row.accuracy * (1 - row.accuracy) / n_effective)
        assert row.error == pytest.approx(error)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_tree_is_the_chosen_one_grown_from_all_rows(
    n_classes: int, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(400, 4))
    y = noisy_labels(X, n_classes, rng)
    model = AdaptiveTreeClassifier(random_state=5).fit(X, y)
    (row,) = model.adaptation_.query("chosen").itertuples()
    assert model.criterion_.name == row.criterion
    assert model.min_samples_leaf_ == row.min_samples_leaf
    assert model.pruning_ == row.pruning
    tree = grown(row, X, y, None)
    alpha = model.pruning_ / len(y)
    assert model.get_n_leaves() == len(leaves_after_pruning(tree.tree_, alpha))
    assert_array_equal(model.predict(X), predictions_after_pruning(tree, alpha, X))
    # Impurities and importances are those of the criterion that the tree was grown by.
    assert model.tree_.impurity[0] == tree.tree_.impurity[0]


def test_the_smallest_of_about_the_best_trees_is_chosen(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = noisy_labels(X, 2, rng)
    for seed in range(5):
        table = AdaptiveTreeClassifier(random_state=seed).fit(X, y).adaptation_
        leader = table.loc[table["accuracy"].idxmax()]
        close = table[table["accuracy"] >= leader["accuracy"] - 0.25 * leader["error"] - 1e-12]
        (chosen,) = np.flatnonzero(table["chosen"])
        assert chosen in close.index
        assert table["n_leaves"][chosen] == close["n_leaves"].min()


# --- held-out rows -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "n_folds"), [(2, 10), (5, 25), (600, 25), (1000, 15), (3000, 5), (15_000, 1)]
)
def test_small_tables_hold_out_more_often(n_rows: int, n_folds: int) -> None:
    assert len(_folds(np.zeros(n_rows, dtype=np.uint16), 0)) == n_folds


def test_folds_take_the_same_share_of_every_class(rng: np.random.Generator) -> None:
    labels = rng.choice(3, size=600, p=[0.1, 0.3, 0.6]).astype(np.uint16)
    folds = _folds(labels, seed=3)
    for first in range(0, 25, 5):
        assert_array_equal(np.sum(folds[first : first + 5], axis=0), 1)
    for held_out in folds:
        share = np.bincount(labels[held_out]) - np.bincount(labels) / 5
        assert np.all(np.abs(share) < 1)
    assert not np.array_equal(folds[0], folds[5])
    assert _folds(labels[:1], seed=3) == []


# --- noise ---------------------------------------------------------------------------------------


def test_it_is_more_accurate_than_any_lam_or_least_leaf() -> None:
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    y, _ = corrupt(y, uniform(10, 0.3), random_state=0)
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    others = [
        ANETreeClassifier(random_state=0),
        *(
            RobustTreeClassifier(criterion="gini", min_samples_leaf=m, random_state=0)
            for m in (1, 2, 5, 10, 20, 50)
        ),
    ]
    assert tree.score(X_test, y_test) > max(
        other.fit(X, y).score(X_test, y_test) for other in others
    )


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_a_few_leaves_say_it_all(rate: float) -> None:
    data = load("mushrooms")
    y, _ = corrupt(data.y_train, uniform(2, rate), random_state=0)
    tree = AdaptiveTreeClassifier(random_state=0).fit(data.X_train, y)
    assert tree.score(data.X_test, data.y_test) > 0.97
    assert tree.get_n_leaves() <= 15
    assert export_text(tree).count("class:") == tree.get_n_leaves()


def test_labels_that_are_all_noise_give_a_small_tree(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(600, 4)), rng.choice(2, size=600, p=[0.3, 0.7])
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert_array_equal(tree.predict(X), 1)


# --- weights -------------------------------------------------------------------------------------


def test_class_weights_are_weights_of_rows(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = noisy_labels(X, 3, rng)
    by_class = AdaptiveTreeClassifier(class_weight={0: 2, 1: 1, 2: 0.5}, random_state=0).fit(X, y)
    by_row = AdaptiveTreeClassifier(random_state=0).fit(X, y, np.array([2, 1, 0.5])[y])
    assert_same_tree(by_class, by_row)
    assert by_class.adaptation_.equals(by_row.adaptation_)


def test_balanced_weights_find_a_rare_class(rng: np.random.Generator) -> None:
    X = rng.normal(size=(2000, 3))
    y = ((X[:, 0] > 1.3) & (rng.random(2000) < 0.25)).astype(int)  # never the majority
    assert not AdaptiveTreeClassifier(random_state=0).fit(X, y).predict(X).any()
    balanced = AdaptiveTreeClassifier(class_weight="balanced", random_state=0).fit(X, y)
    assert np.mean(balanced.predict(X) == (X[:, 0] > 1.3)) > 0.95


def test_the_scale_of_the_weights_does_not_matter(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y, weight = noisy_labels(X, 2, rng), rng.exponential(size=300)
    one, other = (
        AdaptiveTreeClassifier(random_state=0).fit(X, y, scale * weight) for scale in (1.0, 1024.0)
    )
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert_allclose(one.adaptation_["accuracy"], other.adaptation_["accuracy"])


# --- limits --------------------------------------------------------------------------------------


def test_limits_hold_for_every_tree(rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 4))
    y = noisy_labels(X, 2, rng)
    shallow = AdaptiveTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert shallow.get_depth() <= 2
    assert shallow.adaptation_["n_leaves"].max() <= 4
    few = AdaptiveTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert few.adaptation_["n_leaves"].max() <= 3
    large = AdaptiveTreeClassifier(min_samples_leaf=40, random_state=0).fit(X, y)
    assert large.tree_.n_node_samples[large.tree_.children_left < 0].min() >= 40
    assert set(large.adaptation_["min_samples_leaf"]) == {1}  # 5 and 20 would change nothing
    assert large.adaptation_["n_leaves"].max() <= 500 / 40
    pruned = AdaptiveTreeClassifier(ccp_alpha=0.01, random_state=0).fit(X, y)
    assert pruned.adaptation_["n_leaves"].max() < 50


def test_monotonic_constraints_hold(rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 2))
    y = noisy_labels(X, 2, rng)
    tree = AdaptiveTreeClassifier(monotonic_cst=[1, 0], random_state=0).fit(X, y)
    grid = np.linspace(-3, 3, 200)
    for second in (-1.0, 0.0, 1.0):
        proba = tree.predict_proba(np.column_stack([grid, np.full(200, second)]))[:, 1]
        assert np.all(np.diff(proba) >= 0)


def test_optimal_leaves(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 4))
    y = noisy_labels(X, 3, rng)
    plain = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    optimal = clone(plain).set_params(leaf_prediction="optimal").fit(X, y)
    assert plain.adaptation_.equals(optimal.adaptation_)
    assert_array_equal(plain.predict(X), optimal.predict(X))


# --- hard data -----------------------------------------------------------------------------------


def test_one_row() -> None:
    tree = AdaptiveTreeClassifier(random_state=0).fit([[1.0]], ["only"])
    assert_array_equal(tree.predict([[5.0]]), ["only"])
    assert tree.adaptation_["accuracy"].isna().all()  # no row can be held out
    assert tree.adaptation_["chosen"].sum() == 1


def test_one_class(rng: np.random.Generator) -> None:
    tree = AdaptiveTreeClassifier(random_state=0).fit(np.arange(9.0)[:, np.newaxis], [3] * 9)
    assert_array_equal(tree.predict([[5.0]]), [3])
    assert tree.get_n_leaves() == 1
    assert tree.adaptation_["accuracy"].eq(1).all()
    X = rng.normal(size=(70, 2))
    weighted = AdaptiveTreeClassifier(random_state=0).fit(X, [3] * 70, rng.exponential(size=70))
    assert_allclose(weighted.adaptation_["accuracy"], 1)
    assert np.isfinite(weighted.adaptation_["error"]).all()


@pytest.mark.parametrize("per_class", [1, 2])
def test_one_or_two_rows_of_each_class(per_class: int) -> None:
    y = np.repeat(["a", "b", "c"], per_class)
    X = np.arange(float(len(y)))[:, np.newaxis]
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    assert_array_equal(tree.classes_, ["a", "b", "c"])
    assert tree.predict_proba(X).shape == (len(y), 3)
    assert tree.adaptation_["accuracy"].between(0, 1).all()


def test_missing_values(rng: np.random.Generator) -> None:
    X, y, _ = missing(3, rng)
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 0}, "'max_depth' parameter"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst has shape"),
        ({"class_weight": "heavy"}, "'class_weight' parameter"),
        ({"ccp_alpha": -1}, "'ccp_alpha' parameter"),
        ({"leaf_prediction": "best"}, "'leaf_prediction' parameter"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        AdaptiveTreeClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("name", ["criterion", "lam_grid", "validation_fraction", "refit"])
def test_there_is_nothing_to_tune(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        AdaptiveTreeClassifier(**{name: None})


def test_a_failed_fit_leaves_no_tree(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.fit(X, y[:-1])
    with pytest.raises(ValueError, match="not fitted"):
        _ = tree.adaptation_


# --- around it -----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_tree(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = noisy_labels(X, 3, rng)
    one, other = (AdaptiveTreeClassifier(random_state=7).fit(X, y) for _ in range(2))
    assert_same_tree(one, other)
    assert one.adaptation_.equals(other.adaptation_)
    drawn = AdaptiveTreeClassifier(random_state=np.random.RandomState(7)).fit(X, y)
    assert_same_tree(one, drawn)


def test_files_and_pickles(tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = noisy_labels(X, 3, rng)
    tree = AdaptiveTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    hardwood.save(tree, tmp_path / "tree.hw")
    for again in (hardwood.load(tmp_path / "tree.hw"), pickle.loads(pickle.dumps(tree))):
        assert isinstance(again, AdaptiveTreeClassifier)
        assert_same_tree(tree, again)
        assert tree.adaptation_.equals(again.adaptation_)
        assert repr(again.criterion_) == repr(tree.criterion_)
        assert again.min_samples_leaf_ == tree.min_samples_leaf_
        assert again.pruning_ == tree.pruning_
        assert again.get_params() == tree.get_params()
        assert_array_equal(again.fit(X, y).predict(X), tree.predict(X))


def test_adaptation_curve(rng: np.random.Generator) -> None:
    from matplotlib.figure import Figure

    from hardwood.plotting import adaptation_curve

    X = rng.normal(size=(300, 4))
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, noisy_labels(X, 2, rng))
    ax = adaptation_curve(tree, ax=Figure().subplots())
    table = tree.adaptation_
    first = table.query("criterion == 'gini' and min_samples_leaf == 1")
    assert_allclose(ax.lines[0].get_xdata(), first["n_leaves"])
    assert_allclose(ax.lines[0].get_ydata(), first["accuracy"])
    chosen = table.query("chosen")
    assert_allclose(ax.lines[-1].get_xydata(), chosen[["n_leaves", "accuracy"]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("gini", "gini, leaves of 5 rows or more", "gini, leaves of 20 rows or more"),
        *("entropy", "ne, λ = 0.5", "ne, λ = 1", "chosen"),
    ]
