"""The adaptive forest as an estimator: scikit-learn's checks, hard data, bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Array, continuous, noisy_labels
from estimators_list import weights_are_no_copies
from forests import assert_same_forest, bags
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardwood import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    ANETreeClassifier,
    RobustForestClassifier,
)
from hardwood.adaptive import _candidates
from hardwood.adaptive._choice import Choice
from hardwood.adaptive._findings import LabelFindings
from hardwood.adaptive._settings import Cuts, Setting
from hardwood.datasets import load
from hardwood.noise import class_conditional, corrupt, uniform


def expected_failures(model: Any) -> dict[str, str]:
    """Weights set the probabilities of the draws, so they equal copies on average only."""
    return weights_are_no_copies("the draws differ")


@parametrize_with_checks(
    [
        AdaptiveForestClassifier(n_estimators=10),
        AdaptiveForestClassifier(n_estimators=5, full_data=False),
    ],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- the same for any number of threads ----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_do_not_matter(n_classes: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(1500, 5))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes - 1))
    noisy, _ = corrupt(y, uniform(n_classes, 0.3), random_state=0)
    forests = [
        AdaptiveForestClassifier(18, random_state=0, n_jobs=n_jobs).fit(X, noisy)
        for n_jobs in (1, 2, 5)
    ]
    for other in forests[1:]:
        assert_same_forest(forests[0], other)
        assert forests[0].adaptation_.equals(other.adaptation_)
        assert_array_equal(forests[0].predict_proba(X), other.predict_proba(X))
    assert_same_forest(forests[0], clone(forests[0]).fit(X, noisy))


# --- weights -------------------------------------------------------------------------------------


def test_rows_of_no_weight_take_no_part(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    weight = (rng.random(len(y)) < 0.8).astype(float)
    kept = weight > 0
    for model in (
        AdaptiveForestClassifier(18, random_state=0),
        AdaptiveTreeClassifier(random_state=0),
    ):
        one = clone(model).fit(X, y, weight)
        other = clone(model).fit(X[kept], y[kept], weight[kept])
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_scale_of_the_weights_does_not_matter(rng: np.random.Generator) -> None:
    X = rng.normal(size=(800, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.3), random_state=0)
    weight = rng.exponential(size=800)
    one, other = (
        AdaptiveForestClassifier(40, random_state=0).fit(X, y, scale * weight)
        for scale in (1.0, 1024.0)
    )
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


# --- hard data -----------------------------------------------------------------------------------


def test_twenty_rows(rng: np.random.Generator) -> None:
    X, y = load_iris(return_X_y=True)
    rows = rng.permutation(150)[:20]
    for model in (
        AdaptiveForestClassifier(40, random_state=0),
        AdaptiveTreeClassifier(random_state=0),
    ):
        assert model.fit(X[rows], y[rows]).score(X, y) > 0.8


def test_a_hundred_classes(rng: np.random.Generator) -> None:
    y = np.repeat(np.arange(100), 30)
    X = np.column_stack([y // 10, y % 10]) + rng.normal(scale=0.2, size=(3000, 2))
    noisy, _ = corrupt(y, uniform(100, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(40, random_state=0, n_jobs=2).fit(X, noisy)
    plain = RobustForestClassifier(20, criterion="gini", random_state=0).fit(X, noisy)
    assert forest.score(X, y) > plain.score(X, y)
    assert forest.score(X, y) > 0.9


def test_a_class_of_one_row(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    y[7] = "c"
    for model in (
        AdaptiveForestClassifier(30, random_state=0),
        ANEForestClassifier(15, random_state=0),
        AdaptiveTreeClassifier(random_state=0),
    ):
        model.fit(X, y)
        assert model.predict_proba(X).shape == (300, 3)
        assert model.score(X, y) > 0.9


def test_rows_without_votes(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    for n_trees in (1, 2, 3):
        forest = AdaptiveForestClassifier(n_trees, random_state=0).fit(X, y)
        assert np.isfinite(forest.adaptation_["score"]).all()
    # One row is always drawn.
    forest = AdaptiveForestClassifier(6, random_state=0).fit([[1.0]], ["only"])
    assert forest.adaptation_["score"].isna().all()
    assert forest.decision_reason_ == "no row is out of bag"


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_that_are_all_noise(n_classes: int, rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(600, 4)), rng.integers(0, n_classes, 600)
    forest = AdaptiveForestClassifier(40, random_state=1).fit(X, y)
    assert forest.decision_ == "plain"
    # It is not sure of anything.
    unseen = forest.predict_proba(rng.normal(size=(200, 4)))
    assert unseen.max(axis=1).mean() < 1 / n_classes + 0.25


def test_one_class() -> None:
    forest = AdaptiveForestClassifier(10, random_state=0).fit([[0.0], [1.0], [2.0]], [3, 3, 3])
    assert_array_equal(forest.predict([[5.0]]), [3])
    assert_array_equal(AdaptiveTreeClassifier().fit([[0.0], [1.0]], [3, 3]).predict([[5.0]]), [3])


# --- around it -----------------------------------------------------------------------------------


def test_pickles_and_conversions(rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    forest = AdaptiveForestClassifier(16, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    assert_array_equal(forest.predict_proba(X), again.predict_proba(X))
    assert forest.adaptation_.equals(again.adaptation_)
    assert_allclose(forest.to_sklearn().predict_proba(X), forest.predict_proba(X, noisy=True))
    tree = AdaptiveTreeClassifier(random_state=0).fit(X, y)
    assert_allclose(tree.to_sklearn().predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("decision", ["accuracy", "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_forest_can_be_exported(
    n_classes: int, decision: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X = rng.normal(size=(400, 4))
    y = noisy_labels(X, n_classes, rng)
    for T in (None, uniform(n_classes, 0.2)):
        forest = AdaptiveForestClassifier(
            16, noise_matrix=T, decision=decision, random_state=0
        ).fit(X, y)
        assert T is None or forest.decision_ == "corrected"
        votes = forest.predict_proba(X, noisy=True)
        assert_allclose(forest.to_sklearn().predict_proba(X), votes, atol=0.05)
        forest.to_onnx(tmp_path / "forest.onnx")
        session = runtime.InferenceSession(tmp_path / "forest.onnx")
        labels, proba = session.run(None, {"X": X})
        assert_allclose(proba, forest.predict_proba(X), atol=1e-4)
        assert np.mean(labels == forest.predict(X)) > 0.99  # single precision may break a tie


def test_a_balanced_decision_finds_rare_classes(rng: np.random.Generator) -> None:
    X = rng.normal(size=(2000, 4))
    rare = X[:, 0] + rng.normal(size=2000) > 2.3
    plain, balanced = (
        AdaptiveForestClassifier(40, decision=decision, random_state=0).fit(X[:1000], rare[:1000])
        for decision in ("accuracy", "balanced")
    )
    proba = balanced.predict_proba(X[1000:])
    assert_array_equal(plain.predict_proba(X[1000:]), proba)
    assert_array_equal(balanced.predict(X[1000:]), (proba / balanced.class_prior_).argmax(axis=1))
    recalls = [np.mean(model.predict(X[1000:])[rare[1000:]]) for model in (plain, balanced)]
    assert recalls[1] > recalls[0] + 0.2


@pytest.mark.parametrize(
    "scoring", ["accuracy", "balanced_accuracy", "log_loss", "roc_auc", "by hand"]
)
def test_settings_are_chosen_by_the_scoring(scoring: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 4))
    noisy, _ = corrupt((X[:, 0] > 0.8).astype(int), uniform(2, 0.2), random_state=0)
    y = np.array(["a", "b"])[noisy]
    seen = []

    def by_hand(labels: Array, proba: Array) -> float:
        seen.append((set(labels), proba.shape[1]))
        return float(np.mean(proba[:, 0] * (labels == "a")))

    forest = AdaptiveForestClassifier(
        20, scoring=by_hand if scoring == "by hand" else scoring, random_state=0
    ).fit(X, y)
    table = forest.adaptation_
    for _, of_forest in table.groupby(["splitter", "max_features"]):
        chosen = of_forest[of_forest["chosen"]]
        if scoring == "accuracy":
            assert (chosen["score"] == of_forest["score"].max()).all()
        if scoring == "log_loss":
            assert (chosen["log_loss"] == of_forest["log_loss"].min()).all()
    if scoring == "by hand":  # every setting, and every mixture of three
        assert seen == [({"a", "b"}, 2)] * (len(table) + 15)
    splitters = set(table["splitter"][table["chosen"]])
    assert forest.splitter_ == (splitters.pop() if len(splitters) == 1 else "mixed")


def test_the_splitter_can_be_told(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forests = {
        splitter: AdaptiveForestClassifier(12, splitter=splitter, random_state=0).fit(X, y)
        for splitter in ("auto", "best", "random")
    }
    for splitter in ("best", "random"):
        assert forests[splitter].splitter_ == splitter
        assert set(forests[splitter].adaptation_["splitter"]) == {splitter}
        assert len(forests[splitter].estimators_) == 12
    assert set(forests["auto"].adaptation_["splitter"]) == {"best", "random"}
    assert len(forests["auto"].estimators_) == 12


def test_large_tables_do_not_try_more_features(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rng.normal(size=(60, 9)), np.arange(60) % 2
    for few, numbers in ((60, {3, 6}), (59, {3})):
        monkeypatch.setattr("hardwood.adaptive._candidates._MOST_ROWS_FOR_TWICE", few)
        forest = AdaptiveForestClassifier(8, random_state=0).fit(X, y)
        assert set(forest.adaptation_["max_features"]) == numbers
    one = AdaptiveForestClassifier(8, random_state=0).fit(X[:, :1], y)  # there are no more
    assert set(one.adaptation_["max_features"]) == {1}


@pytest.mark.parametrize("n_estimators", [1, 2, 7, 20])
def test_n_estimators_is_the_number_of_trees(n_estimators: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(800, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(n_estimators, random_state=0).fit(X, y)
    assert len(forest.estimators_) == n_estimators
    # Trees grown from all rows have them all in their root.
    n_rows = [tree.tree_.n_node_samples[0] for tree in forest.estimators_]
    n_drawn = n_estimators - min(round(n_estimators * 800 / 3800 / 2), n_estimators // 2)
    assert max(n_rows[:n_drawn]) < 600
    assert n_rows[n_drawn:] == [800] * (n_estimators - n_drawn)


def test_clean_labels_are_learnt_from_all_rows_by_every_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = load_digits(return_X_y=True)
    clean = replace(LabelFindings.nothing(10), noise_rate=0.02)
    told = Choice([(Setting("plain", 1, Cuts("best", 8)), 1.0)], clean, None, False, "told", {})
    monkeypatch.setattr(_candidates, "choose", lambda *_, **__: told)
    forest = AdaptiveForestClassifier(60, random_state=0).fit(X, y)
    n_rows = [tree.tree_.n_node_samples[0] for tree in forest.estimators_]
    assert n_rows == [len(X)] * 60
    # They are numbered on from the trees that drew rows.
    n_drawn = 60 - round(60 * len(X) / (len(X) + 3000) / 2)
    others = RobustForestClassifier(
        60 + n_drawn, criterion="gini", bootstrap=False, random_state=0
    ).fit(X, y)
    assert_array_equal(forest.apply(X), others.apply(X)[:, n_drawn:])


def test_nothing_is_wrong_in_clean_mushrooms() -> None:
    data = load("mushrooms")
    forest = AdaptiveForestClassifier(20, random_state=0).fit(data.X_train, data.y_train)
    assert forest.noise_rate_ < 0.01
    assert forest.score(data.X_test, data.y_test) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"full_data": "yes"}, "'full_data' parameter"),
        ({"noise_matrix": uniform(3, 0.1)}, "each of the 2 classes"),
        ({"noise_matrix": [[0.5, 0.6], [0.2, 0.8]]}, "Each row of noise_matrix"),
        ({"noise_matrix": [0.5, 0.5]}, "noise_matrix must be a square matrix"),
        ({"noise_matrix": uniform(2, 0.5)}, "must be invertible"),
        ({"noise_matrix": uniform(2, 0.8)}, "must be invertible"),
        ({"noise_matrix": uniform(2, 0.1), "class_weight": "balanced"}, "give only one of them"),
        ({"class_weight": "balanced_subsample"}, "'class_weight' parameter"),
        ({"splitter": "worst"}, "'splitter' parameter"),
        ({"scoring": "f1"}, "'scoring' parameter"),
        ({"decision": "fair"}, "'decision' parameter"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        AdaptiveForestClassifier(4, **parameters).fit(X, y)


def curve(model: Any) -> Any:
    from matplotlib.figure import Figure

    from hardwood.plotting import adaptation_curve

    return adaptation_curve(model, ax=Figure().subplots())


def test_adaptation_curve(rng: np.random.Generator) -> None:
    X: Array = rng.normal(size=(600, 3))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(20, random_state=0).fit(X, y)
    ax = curve(forest)
    table = forest.adaptation_
    largest = table.loc[table["share"].idxmax()]
    is_shown = (table["splitter"] == largest["splitter"]) & (
        table["max_features"] == largest["max_features"]
    )
    stops = table[is_shown & (table["family"] == "stop")]
    assert_allclose(ax.lines[0].get_xdata(), stops["amount"])
    assert_allclose(ax.lines[0].get_ydata(), stops["accuracy"])
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "chosen"
    tree = ANETreeClassifier(random_state=0).fit(X, y)
    assert_allclose(curve(tree).lines[0].get_ydata(), tree.tuning_scores_["accuracy"])


# --- out-of-bag votes ----------------------------------------------------------------------------


@pytest.mark.parametrize("full_data", [False, True])
def test_out_of_bag_votes_are_those_of_trees_that_draw_rows(
    full_data: bool, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(800, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(28, full_data=full_data, oob_score=True, random_state=0)
    forest.fit(X, y)
    n_drawn = forest._n_drawn  # the others are grown again, or from all rows
    assert 14 <= n_drawn <= 24
    drawn = bags(RobustForestClassifier(n_drawn, random_state=0), X) > 0
    leaves = [tree.predict_proba(X) for tree in forest.estimators_[:n_drawn]]
    expected = [
        np.mean([leaves[t][i] for t in np.flatnonzero(~drawn[:, i])], axis=0) for i in range(60)
    ]
    assert_allclose(forest.oob_votes_[:60], expected)
    truth = forest.oob_decision_function_
    assert_array_equal(truth.argmax(axis=1), forest.oob_votes_.argmax(axis=1))
    assert truth.max(axis=1).mean() > forest.oob_votes_.max(axis=1).mean() + 0.1  # surer
    assert forest.oob_score_ == np.mean(forest.oob_votes_.argmax(axis=1) == y)
    assert not hasattr(forest.set_params(oob_score=False).fit(X, y), "oob_votes_")


def test_out_of_bag_votes_are_corrected_where_the_decision_is(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3000, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int), class_conditional([0.05, 0.45]), random_state=0)
    forest = AdaptiveForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert forest.decision_ == "corrected"
    clean = (X[:, 0] > 0).astype(int)
    corrected = np.mean(forest.oob_decision_function_.argmax(axis=1) == clean)
    assert corrected > np.mean(forest.oob_votes_.argmax(axis=1) == clean)


def test_rows_of_weight_zero_are_out_of_every_bag(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    weights = np.ones(len(y))
    weights[::7] = 0
    forest = AdaptiveForestClassifier(20, oob_score=True, full_data=False, random_state=0)
    forest.fit(X, y, weights)
    votes = np.mean(
        [tree.predict_proba(X[::7]) for tree in forest.estimators_[: forest._n_drawn]], axis=0
    )
    assert_allclose(forest.oob_votes_[::7], votes)
