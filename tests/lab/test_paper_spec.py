"""Specs: the packaged ones, specs of your own, and the messages about mistakes."""

import json

import numpy as np
import pytest

from hardwood import RobustForestClassifier, RobustTreeClassifier
from lab.paper import SpecError, load_spec
from lab.paper.compare import paper_results
from lab.paper.spec import packaged_specs

SMALL = """
[tasks.binary]
datasets = ["mushrooms"]
noise = [0.0, 0.3]

[[criteria]]
name = "MSE"
criterion = "gini"
"""


@pytest.fixture
def write(tmp_path):
    def write_spec(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_spec


def test_the_papers_grid_has_every_cell_of_its_tables_and_no_other():
    cells = {
        (run.model, run.task, run.dataset, run.criterion, run.noise)
        for run in load_spec("paper").cells()
    }
    assert cells == set(paper_results())


def test_the_papers_protocol():
    spec = load_spec("paper")
    assert (spec.seeds, spec.trees, spec.models) == (5, 100, ("dt", "rf"))
    settings = {run.criterion: json.loads(run.settings) for run in spec.cells()}
    assert settings["ANE"]["criterion"] == {
        "criterion": "ne",
        "parameters": {},
        "tune": {"lam": [0, 0.25, 0.5, 0.75, 1]},
        "holdout": 0.2,
    }
    assert settings["GCE"]["criterion"]["parameters"] == {"q": 0.7}
    assert settings["Credal"]["criterion"]["parameters"] == {"s": 1}
    assert spec.noise["cc1"]["rates"] == [0.1, 0.3]
    assert spec.noise["cc2"]["rates"] == [0.2, 0.4]
    assert (spec.noise["cc"]["low"], spec.noise["cc"]["high"]) == (0.5, 0.9)


def test_a_spec_is_checked_without_fitting_a_model(monkeypatch):
    for estimator in (RobustTreeClassifier, RobustForestClassifier):
        monkeypatch.setattr(estimator, "fit", None)  # a call would be a TypeError, not a SpecError
    assert load_spec("paper").models == ("dt", "rf")


@pytest.mark.parametrize("name", packaged_specs())
def test_packaged_specs_can_be_read(name):
    runs = list(load_spec(name).runs())
    assert len(set(runs)) == len(runs) > 0


def test_a_user_adds_a_data_set_and_a_criterion(write, tmp_path):
    np.savez(tmp_path / "mine.npz", X_train=np.zeros((2, 1)))
    spec = load_spec(
        write("""
seeds = 2
models = ["dt", "rf"]
trees = 7

[tasks.multiclass]
datasets = ["mushrooms", "mine.npz"]
noise = [0.1, "pairs"]

[noise]
pairs = { kind = "pair_flip", rate = 0.2 }

[[criteria]]
name = "GCE, large leaves"
criterion = "gce"
q = 0.5
min_samples_leaf = 20
""")
    )
    runs = list(spec.runs())
    assert len(runs) == 2 * 2 * 2 * 2
    assert spec.sources["mine"].path == str(tmp_path / "mine.npz")
    run = runs[-1]
    assert (run.dataset, run.model, run.noise, run.seed, run.trees) == ("mine", "rf", "pairs", 1, 7)
    assert json.loads(run.settings) == {
        "criterion": {"criterion": "gce", "parameters": {"q": 0.5, "min_samples_leaf": 20}},
        "noise": {"kind": "pair_flip", "rate": 0.2},
    }


def test_each_value_of_a_swept_parameter_is_a_criterion(write):
    spec = load_spec(write(SMALL + "each = { min_samples_leaf = [1, 10] }"))
    assert [entry.name for entry in spec.criteria] == [
        "MSE, min_samples_leaf=1",
        "MSE, min_samples_leaf=10",
    ]
    assert spec.swept == "min_samples_leaf"
    assert len(spec.narrowed(criteria=["MSE"]).criteria) == 2


def test_a_name_that_means_something_else_is_another_run(write):
    text = SMALL.replace('"gini"', '"gce"')
    first = list(load_spec(write(text + "q = 1")).runs())
    same = list(load_spec(write(text + "q = 1.0")).runs())
    other = list(load_spec(write(text + "q = 0.9")).runs())
    assert first == same
    assert not set(first) & set(other)


def test_criteria_of_two_classes_stay_out_of_multiclass_tasks(write):
    text = SMALL.replace("binary", "multiclass") + '[[criteria]]\nname = "R"\ncriterion = "ranking"'
    assert {run.criterion for run in load_spec(write(text)).runs()} == {"MSE"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("mushrooms", "mushroms"), "unknown data set 'mushroms'; name one of mnist"),
        (('"gini"', '"ginni"'), "'MSE' has an unknown criterion 'ginni'; choose one of ce"),
        (('"gini"', '"gce"\nq = -1'), "'q' parameter of GeneralizedCrossEntropy must be"),
        (('"gini"', '"gini"\nleaf = 3'), "leaf"),
        (('"gini"', '"ne"\ntune = { lam = [0, 2] }\nholdout = 0.2'), "lam"),
        (('"gini"', '"ne"\ntune = { lam = [0, 1] }'), "holdout of 'MSE'"),
        (('"gini"', '"ne"\nholdout = 1.0'), "holdout of 'MSE'"),
        (('name = "MSE"', ""), "needs a name"),
        (("0.3", "1.3"), "a noise rate must be at least 0 and below 1, got 1.3"),
        (("0.3", '"cc7"'), "noise 'cc7' is neither a rate nor defined"),
        (("[[criteria]]", '[noise]\nx = { kind = "pink" }\n[[criteria]]'), "needs a kind"),
        (
            ("[[criteria]]", '[noise]\nx = { kind = "uniform", r = 1 }\n[[criteria]]'),
            "unknown r in",
        ),
        (("[tasks.binary]", "[tasks.ternary]"), "unknown task 'ternary'"),
        (("[tasks.binary]", "seeds = 0\n[tasks.binary]"), "seeds must be an integer ≥ 1"),
        (("[tasks.binary]", 'models = ["svm"]\n[tasks.binary]'), "unknown model 'svm'"),
        (("[tasks.binary]", "colour = 1\n[tasks.binary]"), "unknown colour in the spec"),
        (("[[criteria]]", "[criteria"), "is not a TOML file"),
        (("[[criteria]]\nname = ", "# "), "criteria is missing"),
    ],
)
def test_mistakes_are_named(write, change, words):
    with pytest.raises(SpecError) as error:
        load_spec(write(SMALL.replace(*change)))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('first_classes = ["a"]', "datasets.mushrooms needs a path"),
        ('file = "a.npz"', "unknown file in datasets.mushrooms"),
        ('dataset = "x"\nfeatures = "x.npy"', "unknown data set 'x'"),
    ],
)
def test_mistakes_in_a_data_sets_table(write, table, words):
    with pytest.raises(SpecError, match=words):
        load_spec(write(f"{SMALL}\n[datasets.mushrooms]\n{table}"))


def test_a_missing_file_is_named():
    with pytest.raises(SpecError, match=r"'none.toml' .*one of paper"):
        load_spec("none.toml")


@pytest.mark.parametrize("what", ["datasets", "tasks", "models", "criteria", "noise"])
def test_narrowing_to_something_unknown(what):
    with pytest.raises(SpecError, match=r"unknown .* 'x'"):
        load_spec("paper").narrowed(**{what: ["x"]})


def test_noise_rates_are_numbers_however_written():
    spec = load_spec("paper")
    assert spec.narrowed(noise=["0"]).tasks["binary"].noise == ("0.0",)
    assert spec.narrowed(noise=["0.30"]).tasks["binary"].noise == ("0.3",)
