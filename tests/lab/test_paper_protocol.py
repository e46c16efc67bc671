"""One run: the paper's protocol, compared with the same steps by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hardwood import RobustForestClassifier, RobustTreeClassifier, datasets
from hardwood.criteria import NegativeExponential
from lab.paper import load_spec
from lab.paper.protocol import make_model, perform
from lab.paper.spec import Source
from lab.store import Run


def paper_run(criterion="MSE", model="dt", noise="0.3", seed=0, dataset="mushrooms", trees=None):
    spec = load_spec("paper").narrowed(
        datasets=[dataset], criteria=[criterion], models=[model], noise=[noise], trees=trees
    )
    return replace(next(spec.runs()), seed=seed)


@pytest.fixture
def training_labels(monkeypatch):
    """The rows and labels that each model was trained on."""
    seen = []
    for estimator in (RobustTreeClassifier, RobustForestClassifier):

        def fit(self, X, y, *rest, original=estimator.fit):
            seen.append((np.array(X), np.array(y)))
            return original(self, X, y, *rest)

        monkeypatch.setattr(estimator, "fit", fit)
    return seen


MUSHROOMS = Source("mushrooms", dataset="mushrooms")


def test_the_forests_draw_no_bootstrap_and_look_at_the_root_of_the_features():
    forest = make_model("rf", {"criterion": "gini", "parameters": {}}, {}, 100, 3, 2)
    assert (forest.bootstrap, forest.max_features, forest.n_estimators) == (False, "sqrt", 100)
    assert (forest.random_state, forest.n_jobs) == (3, 2)


def test_all_criteria_and_models_see_the_same_noisy_labels(training_labels):
    for criterion, model in (("MSE", "dt"), ("CL", "dt"), ("CE", "rf")):
        perform(paper_run(criterion, model, trees=1), MUSHROOMS)
    labels = [y for _, y in training_labels]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])
    perform(paper_run(seed=1), MUSHROOMS)
    assert (training_labels[-1][1] != labels[0]).any()


def test_the_first_listed_class_gets_the_smaller_rate(training_labels):
    perform(paper_run(noise="cc1"), MUSHROOMS)
    y = datasets.load("mushrooms", "binary").y_train
    flipped = training_labels[0][1] != y
    # Poisonous is label 0; the tolerance is five standard deviations.
    assert flipped[y == 0].mean() == pytest.approx(0.1, abs=0.03)
    assert flipped[y == 1].mean() == pytest.approx(0.3, abs=0.04)


def test_tuning_keeps_the_best_on_the_noisy_rows_held_out_and_does_not_refit(training_labels):
    outcome = perform(paper_run("ANE", noise="0.2"), MUSHROOMS)
    data = datasets.load("mushrooms", "binary")
    assert [len(y) for _, y in training_labels] == [round(0.8 * len(data.y_train))] * 5
    X, y = training_labels[0]

    # The held-out rows are those that no model saw: find them by their counts.
    perform(paper_run("MSE", noise="0.2"), MUSHROOMS)
    X_all, y_all = training_labels[-1]
    rows_all, counts_all = np.unique(np.column_stack([X_all, y_all]), axis=0, return_counts=True)
    rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    left = dict(zip(map(bytes, rows_all), counts_all, strict=True))
    for row, count in zip(map(bytes, rows), counts, strict=True):
        left[row] -= count
    held_out = np.repeat(rows_all, [left[bytes(row)] for row in rows_all], axis=0)
    assert len(held_out) == len(y_all) - len(y)

    scores, tests = [], []
    for lam in (0, 0.25, 0.5, 0.75, 1):
        tree = RobustTreeClassifier(criterion=NegativeExponential(lam=lam), random_state=0)
        tree.fit(X, y)
        scores.append(100 * tree.score(held_out[:, :-1], held_out[:, -1]))
        tests.append(100 * tree.score(data.X_test, data.y_test))
    best = int(np.argmax(scores))
    assert outcome["tuned"] == (0, 0.25, 0.5, 0.75, 1)[best]
    assert outcome["validation_accuracy"] == pytest.approx(scores[best])
    assert outcome["accuracy"] == pytest.approx(tests[best])


def test_what_is_measured_of_a_tree(training_labels):
    outcome = perform(paper_run("CL", noise="0.1"), MUSHROOMS)
    X, y = training_labels[0]
    tree = RobustTreeClassifier(criterion="misclassification", random_state=0).fit(X, y)
    assert outcome["leaves"] == tree.get_n_leaves()
    assert outcome["depth"] == tree.get_depth()
    assert outcome["n_train"] == len(y) == 6499
    assert outcome["seconds"] > 0
    assert outcome["tuned"] is outcome["validation_accuracy"] is None


def test_a_forest_is_the_same_for_any_number_of_threads():
    run = replace(paper_run("CE", "rf", trees=5), max_rows=1000)
    alone, together = perform(run, MUSHROOMS, threads=1), perform(run, MUSHROOMS, threads=2)
    assert {**alone, "seconds": 0} == {**together, "seconds": 0}
    assert alone["n_train"] == 1000


def test_extremely_randomised_trees():
    run = replace(paper_run("MSE", "et", "0.0", trees=5), max_rows=1000)
    assert perform(run, MUSHROOMS)["accuracy"] > 95


@pytest.fixture
def three_classes(tmp_path, rng):
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(np.uint8)
    path = tmp_path / "three.npz"
    classes = np.array(["low", "middle", "high"])
    np.savez(
        path, X_train=X[:200], y_train=y[:200], X_test=X[200:], y_test=y[200:], classes=classes
    )
    return str(path)


def custom_run(task="multiclass", **noise):
    settings = {
        "criterion": {"criterion": "gini", "parameters": {}},
        "noise": noise or {"kind": "uniform", "rate": 0},
    }
    return Run("three", task, "dt", "MSE", "n", 0, 1, 0, json.dumps(settings))


def test_a_file_of_the_users(three_classes):
    assert perform(custom_run(), Source("three", path=three_classes))["accuracy"] > 90


def test_its_binary_task(three_classes, training_labels):
    perform(custom_run("binary"), Source("three", path=three_classes, first_classes=("high",)))
    X, y = training_labels[0]
    np.testing.assert_array_equal(y, X[:, 0] < 0.5)  # label 0 is the first group


@pytest.mark.parametrize(
    ("first_classes", "words"),
    [((), "needs first_classes"), (("tall",), "first_classes of three are")],
)
def test_its_binary_task_needs_to_be_told(three_classes, first_classes, words):
    source = Source("three", path=three_classes, first_classes=first_classes)
    with pytest.raises(ValueError, match=words):
        perform(custom_run("binary"), source)


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "pair_flip", "rate": 0.2},
        {"kind": "mahalanobis", "low": 0.5, "high": 0.9},
        {"kind": "instance_dependent", "rate": 0.2},
    ],
)
def test_every_kind_of_noise(three_classes, training_labels, noise):
    perform(custom_run(), Source("three", path=three_classes))
    perform(custom_run(**noise), Source("three", path=three_classes))
    (_, clean), (_, noisy) = training_labels
    assert 0.05 < np.mean(clean != noisy) < 0.5


def test_features_of_a_pre_trained_network(tmp_path, rng):
    data = datasets.load("mushrooms")
    y = np.concatenate([data.y_train, data.y_test])
    features = rng.normal(size=(len(y), 3))
    features[:, 1] += 100 * y
    np.save(tmp_path / "features.npy", features)
    source = Source("m", dataset="mushrooms", features=str(tmp_path / "features.npy"))
    outcome = perform(custom_run(), source)
    assert (outcome["accuracy"], outcome["leaves"]) == (100, 2)
