"""``python -m lab`` and the paper's experiments."""

import shutil
import sqlite3
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hardwood import datasets
from lab import options
from lab.command import app
from lab.paper import load_spec, run
from lab.paper.compare import agreement, compare
from lab.store import Store

SMALL = ("--trees", "3", "--max-rows", "800")


def invoke(*arguments, code=0):
    result = CliRunner().invoke(
        app, list(map(str, arguments)), env={"COLUMNS": "200", "TERM": "dumb"}
    )
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def reproduce(*arguments, code=0):
    return invoke("reproduce", *arguments, code=code)


@pytest.fixture(scope="module")
def small_store(tmp_path_factory):
    """All of Mushrooms, with few rows and trees."""
    path = tmp_path_factory.mktemp("small") / "runs.sqlite"
    output = reproduce(
        "--datasets", "mushrooms", "--seeds", 1, "--store", path, "--jobs", 2, *SMALL
    )
    assert "112 runs completed, 0 completed earlier" in output
    return path


@pytest.fixture
def store(small_store, tmp_path):
    return shutil.copy(small_store, tmp_path / "runs.sqlite")


def test_a_run_goes_on_where_it_was(store):
    output = reproduce("--datasets", "mushrooms", "--seeds", 1, "--store", store, *SMALL)
    assert "0 runs completed, 112 completed earlier" in output
    more = ("--seeds", "2", "--models", "dt", "--noise", "0.1,cc1", "--noise", "0.3")
    output = reproduce(
        "--datasets", "mushrooms", *more, "--criteria", "CL", "--store", store, *SMALL
    )
    assert "3 runs completed, 3 completed earlier" in output
    assert "115 of" not in invoke("status", "--store", store)  # those are not the spec's own sizes


def test_tables(store, tmp_path):
    output = invoke("tables", "--store", store, "--output", tmp_path / "out", *SMALL)
    assert "of 112 cells are within the paper's mean" in output
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".md", ".tex", ".csv"}


def test_tables_from_exported_results(store, tmp_path):
    invoke("export", tmp_path / "r.csv", "--store", store)
    for name, results in (("one", store), ("two", tmp_path / "r.csv")):
        invoke("tables", "--store", results, "--output", tmp_path / name, *SMALL)
    tables = [(tmp_path / name / "paper-tables.csv").read_text() for name in ("one", "two")]
    assert tables[0] == tables[1]


def test_figures(store, tmp_path):
    invoke("figures", "--store", store, "--output", tmp_path / "out", *SMALL)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    stems = ("paper-dt-binary", "paper-rf-binary", "figure-1", "figure-8")
    assert names == {"squares.png", *(f"{s}.{kind}" for s in stems for kind in ("png", "svg"))}


def test_figures_need_matplotlib(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "hardwood[plot]" in invoke("figures", "--store", store, *SMALL, code=2)


def test_results_of_other_sizes_are_not_mixed_in(store, tmp_path):
    words = invoke("tables", "--store", store, "--output", tmp_path / "out", code=2)
    assert "has no results of the spec 'paper'" in words


def test_csv_seeds_a_store(store, tmp_path):
    assert "112 results" in invoke("export", tmp_path / "r.csv", "--store", store)
    new = tmp_path / "new.sqlite"
    assert "112 new results" in invoke("import", tmp_path / "r.csv", "--store", new)
    output = reproduce("--datasets", "mushrooms", "--seeds", 1, "--store", new, *SMALL)
    assert "0 runs completed, 112 completed earlier" in output


def test_a_page(tmp_path):
    path = tmp_path / "runs.sqlite"
    spec = load_spec("paper").narrowed(
        datasets=["mushrooms"], models=["dt"], criteria=["CL"], noise=["0.0"], seeds=1
    )
    with Store(path) as store:
        run(spec, store, jobs=1)
    invoke("report", tmp_path / "page.md", "--store", path)
    assert "| Mushrooms | 1 of 1 (100%) |" in (tmp_path / "page.md").read_text()
    assert "1 of 5,460 runs of the spec paper are completed" in invoke("status", "--store", path)


def test_pages_name_a_command_that_works():
    pages = typer.Typer()

    @pages.command("page")
    def page(context: typer.Context, own: bool = False, tidy: bool = True, trees: int = 1) -> None:
        print(options.command_line(context))

    typed = ["--own", "--no-tidy", "--trees", "3"]
    said = CliRunner().invoke(pages, typed).output
    assert said.split()[-len(typed) :] == typed


def test_a_spec_of_the_users(tmp_path, rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 1] > 0).astype(np.uint8)
    arrays = {"X_train": X, "y_train": y, "X_test": X, "y_test": y, "classes": np.array(["a", "b"])}
    np.savez(tmp_path / "mine.npz", **arrays)
    (tmp_path / "mine.toml").write_text(
        'models = ["dt", "et"]\ntrees = 2\n'
        '[tasks.binary]\ndatasets = ["mine.npz"]\nnoise = [0, 0.2]\n'
        '[[criteria]]\nname = "GCE"\ncriterion = "gce"\neach = { q = [0, 1] }\n'
    )
    path = tmp_path / "runs.sqlite"
    spec = ("--spec", tmp_path / "mine.toml", "--store", path)
    assert "8 runs completed" in reproduce(*spec, "--jobs", 1)
    assert "mine-tables.md" in invoke("tables", *spec, "--output", tmp_path)
    assert "mine.png" in invoke("figures", *spec, "--output", tmp_path)


def test_failures_are_shown_and_told_by_the_exit_code(tmp_path):
    np.savez(tmp_path / "bad.npz", X_train=np.zeros((3, 2)))
    (tmp_path / "bad.toml").write_text(
        '[tasks.binary]\ndatasets = ["mushrooms", "bad.npz"]\nnoise = [0]\n'
        '[[criteria]]\nname = "MSE"\ncriterion = "gini"\n'
    )
    path = tmp_path / "runs.sqlite"
    arguments = ("--spec", tmp_path / "bad.toml", "--store", path, "--jobs", 1)
    output = reproduce(*arguments, code=1)
    assert "Failed: bad binary, dt MSE, noise 0.0, seed 0: ValueError" in output
    assert "1 runs completed" in output
    assert "1 failed and will be retried next time" in output
    assert "Failed, to be retried: bad binary" in invoke(
        "status", "--spec", tmp_path / "bad.toml", "--store", path
    )
    assert "0 runs completed, 1 completed earlier, 1 failed" in reproduce(*arguments, code=1)


# --- mistakes, each with exit code 2 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--datasets", "iris"), "unknown data set 'iris'"),
        (("--criteria", "Gini"), "unknown criterion 'Gini'; the spec 'paper' has"),
        (("--noise", "0.7"), "unknown noise '0.7'"),
        (("--models", "svm"), "unknown model 'svm'"),
        (("--spec", "none.toml"), "Cannot read the spec 'none.toml'"),
        (("--seeds", "0"), "seeds"),
        (("--store", "none/runs.sqlite", "--datasets", "mushrooms"), "does not exist"),
    ],
)
def test_mistakes(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in reproduce(*arguments, code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tables", "--store", "none.sqlite"), "There is no store none.sqlite"),
        (("export", "out.csv", "--store", "none.sqlite"), "There is no store none.sqlite"),
        (("import", "none.csv"), "Cannot read none.csv"),
    ],
)
def test_mistakes_with_files(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in invoke(*arguments, code=2)


def test_a_data_set_that_is_not_here(tmp_path, monkeypatch):
    monkeypatch.setenv("HARDWOOD_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HARDWOOD_DOWNLOAD", raising=False)
    path = tmp_path / "runs.sqlite"
    assert "mnist was not found" in reproduce("--datasets", "mnist", "--store", path, code=2)
    output = reproduce(
        *("--models", "dt", "--criteria", "CL", "--noise", "0.3", "--seeds", "1"), "--store", path
    )
    assert "Left out because their files are missing: 20news, cifar10, covertype, mnist" in output
    assert "1 runs completed" in output
    assert "You need cifar10_vgg11.npz" in reproduce(
        "--spec", "pretrained", "--store", path, code=2
    )


def test_a_damaged_store(store):
    with open(store, "r+b") as file:
        file.write(b"\0" * 200)
    output = reproduce("--datasets", "mushrooms", "--store", store, code=2)
    assert "is not a store, or it is damaged" in output


def test_a_locked_store(store, monkeypatch):
    monkeypatch.setattr(Store.__init__, "__defaults__", (0.05,))
    other = sqlite3.connect(store)
    other.execute("BEGIN EXCLUSIVE")
    output = reproduce("--datasets", "mushrooms", "--store", store, code=2)
    other.close()
    assert "is locked by another program" in output


# --- the paper's numbers ----------------------------------------------------------------------------


def test_mushrooms_trees_agree_with_the_paper(tmp_path):
    spec = load_spec("paper").narrowed(datasets=["mushrooms"], models=["dt"], seeds=2)
    with Store(tmp_path / "runs.sqlite") as store:
        run(spec, store, jobs=2)
        cells = compare(spec, store.results())
    agreeing, compared = agreement(cell for cell in cells if cell.run.criterion != "Twoing")
    assert compared == 49
    assert agreeing >= 0.85 * compared


@pytest.mark.slow
def test_covertype_agrees_with_the_paper(tmp_path, data_home, monkeypatch):
    monkeypatch.setenv("HARDWOOD_DATA", str(data_home))
    assert datasets.find("covertype")
    spec = load_spec("paper").narrowed(
        datasets=["covertype"],
        models=["dt"],
        tasks=["binary"],
        criteria=["CL", "MSE", "CE", "Ranking", "ANE"],
        noise=["0.0", "0.3", "cc1"],
        seeds=1,
    )
    with Store(tmp_path / "runs.sqlite") as store:
        run(spec, store)
        agreeing, compared = agreement(compare(spec, store.results()))
    assert compared == 15
    assert agreeing >= 0.85 * compared
