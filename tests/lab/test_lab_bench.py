"""The benchmarks, on a small scale."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from hardwood import datasets
from lab import options
from lab.benchmarks import accuracy, audit, forest, review_page, scaling, visits
from lab.benchmarks.forest import Grid, Outcome, Task
from lab.benchmarks.peers import PEERS
from lab.command import app
from lab.store import Result, Run, Store

SMALL = ("--datasets", "mushrooms", "--trees", "2", "--rounds", "1", "--threads", "1")


def bench(*arguments, code=0):
    result = CliRunner().invoke(
        app, ["bench", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"}
    )
    assert result.exit_code == code, result.output
    return result.output


def stored(path):
    with Store(path) as store:
        return store.results()


# --- forests --------------------------------------------------------------------------------------


def test_forest_writes_a_table_and_a_figure(tmp_path):
    page, store = tmp_path / "forest.md", tmp_path / "forest.sqlite"
    arguments = ("forest", *SMALL, "--noise", "0.3", "--peers", "sklearn,hardwood-gini")
    outputs = ("--output", page, "--store", store)
    assert "Mushrooms, 30 % noise" in bench(*arguments, *outputs)
    text = page.read_text(encoding="utf-8")
    assert "| scikit-learn |" in text
    assert "| hardwood, gini |" in text
    assert "(forest.png)" in text
    assert (
        "`python -m lab bench forest --datasets mushrooms --noise 0.3 --trees 2 --rounds 1 --threads 1 "
        f"--peers sklearn,hardwood-gini --output {page}`"
    ) in text
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")
    # Stored measurements are not repeated, and give the same page.
    kept = stored(store)
    assert len(kept) == 2
    assert "0 runs completed, 2 completed earlier" in bench(*arguments, *outputs)
    assert stored(store) == kept
    assert page.read_text(encoding="utf-8") == text


def test_forests_from_the_datas_own_dtype_are_runs_of_their_own():
    task = Task("mushrooms", 0.0)
    grid = Grid([task], ["sklearn", "hardwood-gini"], 2, 1, n_rounds=1)
    own = replace(grid, own_dtype=True)
    assert set(grid.runs()).isdisjoint(own.runs())
    outcomes = forest.measure(own, timeout=60)
    assert all(outcomes[task, peer].median("accuracy") > 90 for peer in own.peers)
    assert "the data as they are" in forest.page(own, outcomes, "", "", "Forests")
    assert "the data as they are" not in forest.page(grid, outcomes, "", "", "Forests")


def test_forest_has_help_of_its_own():
    assert "--peers" in bench("forest", "--help")


@pytest.mark.parametrize(
    "bad",
    [("--noise", "1.5"), ("--noise", "x"), ("--trees", "0"), ("--peers", "nobody")],
)
def test_forest_refuses_bad_arguments(bad):
    assert bad[0] in bench("forest", *bad, code=2)


def test_a_peer_that_fails_or_takes_too_long_gets_its_reason(capsys):
    grid = Grid([Task("mushrooms", 0.0)], ["sklearn"], n_trees=2, n_threads=1, n_rounds=2)
    outcome = forest.measure(grid, timeout=0.01)[grid.tasks[0], "sklearn"]
    assert outcome == Outcome([], "stopped after 0.01 s")
    output = capsys.readouterr().out
    assert "1 runs completed, 0 completed earlier, 1 left out" in output  # it is not tried again
    nothing = replace(grid, tasks=[Task("nothing", 0.0)], n_rounds=1)
    assert "nothing" in forest.measure(nothing, timeout=60)[nothing.tasks[0], "sklearn"].failure


def test_the_figure_has_a_panel_per_data_set():
    tasks = [Task(name, rate) for name in ("mnist", "covertype") for rate in (0.0, 0.3)]
    grid = Grid(tasks, list(PEERS), 2, 1, n_rounds=1)
    outcomes = {(task, peer): Outcome([{"fit_wall": 1.0}]) for task in tasks for peer in PEERS}
    outcomes[tasks[0], "ydf"] = Outcome(failure="not today")
    figure = forest.draw(grid, outcomes)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["MNIST", "Covertype"]
    assert "not measured" in {text.get_text() for text in figure.axes[0].texts}


def test_peers_take_turns():
    grid = Grid([Task("mushrooms", 0.0)], list(PEERS)[:2], 2, 1, n_rounds=2)
    assert [(run.seed, run.model) for run in grid.runs()] == [
        (round, peer) for round in range(2) for peer in list(PEERS)[:2]
    ]


def test_varying_features_are_counted_by_node(rng):
    X = rng.integers(3, size=(60, 8)).astype(np.float32)
    y = rng.integers(2, size=60)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    counted = visits._varying_features(tree.tree_, X, tree.apply(X))
    path = tree.decision_path(X).toarray().astype(bool)
    assert counted.tolist() == [
        int(np.count_nonzero(np.ptp(X[path[:, node]], axis=0))) for node in range(path.shape[1])
    ]


def test_expected_features_among_drawn():
    # 1 of 4 features varies: it is one of the two drawn in half of the cases, else it comes later.
    assert visits._expected_among_drawn(np.array([1]), 4, 2) == pytest.approx([1.0])
    # 2 of 4 vary: 0, 1 or 2 of two draws with 1/6, 4/6, 1/6; the first case goes on to one.
    assert visits._expected_among_drawn(np.array([2]), 4, 2) == pytest.approx([7 / 6])
    assert visits._expected_among_drawn(np.array([0, 4]), 4, 2) == pytest.approx([0, 2])


# --- the others -----------------------------------------------------------------------------------


def test_tree(tmp_path):
    page = tmp_path / "tree.md"
    bench("tree", "--datasets", "mushrooms", "--rounds", 1, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert "| mushrooms, 30% | hardwood, ne |" in text
    assert "python -m lab bench tree --datasets mushrooms --rounds 1" in text


def test_scaling(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "N_ROWS", 400)
    monkeypatch.setattr(scaling, "N_FEATURES", (4, 16))
    monkeypatch.setattr(scaling, "N_CLASSES", (2, 5))
    page = tmp_path / "scaling.md"
    small = ("--trees", 1, "--rounds", 1, "--threads", 1)
    assert "Features" in bench("scaling", "--parts", "features,classes", *small, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert "## Features" in text
    assert "## Classes" in text
    assert (tmp_path / "scaling.png").exists()
    assert "--parts" in bench("scaling", "--parts", "colours", code=2)


def test_accuracy_resumes(tmp_path):
    store, page = tmp_path / "a.sqlite", tmp_path / "accuracy.md"
    arguments = (
        *("accuracy", "--datasets", "mushrooms", "--noise", "0.3,cc1", "--peer-noise", "0.3"),
        *("--methods", "hardwood,sklearn", "--trees", 3, "--threads", 1, "--store", store),
    )
    assert "11 runs completed" in bench(*arguments, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert "| Mushrooms | 0.3 | 99.29 | 99.29 |" in text
    assert "Compared with scikit-learn: better" in text
    start, end = options.BY_HAND, options.END_BY_HAND
    by_hand = f"{start}\n\nOf two versions.\n\n| seeds |\n\n{end}"
    assert f"{start}\n\n{end}\n\n## How" in text
    page.write_text(text.replace(f"{start}\n\n{end}", by_hand), encoding="utf-8")
    bench(*arguments, "--output", page)
    assert f"points.\n\n{by_hand}\n\n## How" in page.read_text(encoding="utf-8")
    page.write_text(start, encoding="utf-8")
    assert "is missing" in bench(*arguments, "--output", page, code=2)
    assert "0 runs completed, 11 completed earlier" in bench(*arguments)
    ours = [result for result in stored(store) if result.run.model == "hardwood"]
    assert [result.run.seed for result in ours] == 2 * list(range(5))
    assert all(0 <= result.measured["noise_rate"] < 1 for result in ours)


def test_large_training_sets_are_cut_for_the_other_libraries():
    runs = accuracy.plan_runs(["covertype"], ["binary"], ["0.3"], [], ["hardwood", "sklearn"], 2, 9)
    assert [(run.model, run.max_rows, run.seed) for run in runs] == [
        ("hardwood", 0, 0),
        ("hardwood", 0, 1),
        ("hardwood", accuracy.CUT_TO, 0),
        ("sklearn", accuracy.CUT_TO, 0),
    ]


def test_audit_page():
    measured = {
        "hardwood": {
            **{"rows": 100, "flipped": 0.3, "average_precision": 90.0, "seconds": 1.0},
            **{"matrix_error": 0.01, "rate": 0.31, "interval": [0.29, 0.35]},
            "detectors": dict.fromkeys(audit.DETECTORS, 88.0),
        },
        "cleanlab": {
            "average_precision": dict.fromkeys(audit.CLEANLAB_SCORES, 85.0),
            **{"seconds": 4.0, "matrix_error": 0.02, "rate": 0.2},
        },
        "retraining": {
            **{"as it is": 90.0, "drop": 91.5, "relabel": 90.0, "weight": 90.0},
            "cleaned": {"drop": True, "relabel": False, "weight": False},
        },
    }
    runs = audit.plan_runs(["mushrooms"], ["binary"], list(audit.METHODS), 0, 1000)
    rows = audit.rows_of([Result(run, measured[run.model], 1, "", "") for run in runs])
    assert len(rows) == 6
    text = audit.page(rows, "", "command")
    assert "in 6 of 6 settings, and +5.0 points on average" in text
    assert "| Mushrooms, binary | uniform 0.3 | 90.00 | +1.50 | unchanged | unchanged |" in text
    assert len(audit.draw(rows).axes[0].get_yticklabels()) == 6


def test_audit_measures_wrong_labels():
    run = next(audit.plan_runs(["mushrooms"], ["binary"], ["hardwood"], 0, 400))
    measured = audit.perform(run, 1)
    assert measured["rows"] == 400
    assert measured["flipped"] == pytest.approx(0.1, abs=0.06)
    assert measured["average_precision"] > 50
    assert set(measured["detectors"]) == set(audit.DETECTORS)


def write_small_table(folder, rng):
    (folder / "balanced").mkdir()
    X = rng.integers(9, size=(60, 2))
    lines = ["a,b,class", *(f"{a},{b},{a > b}" for a, b in X)]
    with gzip.open(folder / "balanced" / "small.csv.gz", "wt") as file:
        file.write("\n".join(lines))


def test_seeds(tmp_path, rng):
    write_small_table(tmp_path, rng)
    small = ("--folder", tmp_path, "--tables", "small", "--noise", "0", "--trees", 40)
    (row,) = [line for line in bench("seeds", *small, "--seeds", 3).splitlines() if "| 0 |" in line]
    assert row.startswith("| balanced | small | 0 | plain | 3 of 3 |")
    assert row.endswith("| 3 of 3 |")
    assert "--noise" in bench("seeds", "--folder", tmp_path, "--noise", "none", code=2)


def test_the_cost_of_categories(tmp_path, rng):
    (tmp_path / "mixed").mkdir()
    X = rng.integers(4, size=(80, 2))
    lines = ["a,b,class", *(f"{a},word {b},{a > b}" for a, b in X)]
    with gzip.open(tmp_path / "mixed" / "words.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    small = ("--folder", tmp_path, "--trees", 2, "--seeds", 1)
    page = bench("categories", "--cost", *small)
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| words")]
    assert [row[:3] for row in rows[:4]] == [
        ["| words", "0", model] for model in ("tree", "forest", "extra trees", "adaptive forest")
    ]
    assert len(rows) == 12
    assert all(float(row[5].strip(" |")) > 0 for row in rows)


def test_adaptive_tree(tmp_path, rng):
    large = bench("adaptive-tree", "--datasets", "mushrooms", "--noise", "0.3", "--rows", 300)
    assert "| mushrooms | 0.3 |" in large
    write_small_table(tmp_path, rng)
    small = bench("adaptive-tree", "--folder", tmp_path, "--noise", "0,pairs", "--seeds", 1)
    rows = [line.split(" | ")[:2] for line in small.splitlines() if line.startswith("| ")][2:]
    assert rows == [
        *(["| balanced", kind] for kind in ("0", "pairs", "mean")),
        ["| all", "mean"],
    ]
    assert "--half" in bench("adaptive-tree", "--folder", tmp_path, "--half", "none", code=2)


def test_adaptive_cost(tmp_path, rng):
    small = ("--noise", "0.1", "--trees", 2, "--rounds", 1, "--threads", 1)
    page = bench("adaptive-cost", "--datasets", "mushrooms", *small)
    assert "| mushrooms, 10 % noise |" in page
    write_small_table(tmp_path, rng)
    page = bench("adaptive-cost", "--folder", tmp_path, "--tables", "small", *small)
    assert "| small, 10 % noise |" in page


def test_dask():
    pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    small = ("--rows", 3000, "--partitions", 3, "--trees", 2, "--subtree-rows", 500)
    page = bench("dask", "--tables", "synthetic", "--placements", "distribute", *small)
    assert "| synthetic, 3,000 rows | locally, 2 threads | – |" in page
    assert "| synthetic, 3,000 rows | distribute | 2 |" in page
    assert "--tables" in bench("dask", "--tables", "iris", code=2)


def test_a_data_set_that_is_not_here(tmp_path, monkeypatch):
    monkeypatch.setenv("HARDWOOD_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HARDWOOD_DOWNLOAD", raising=False)
    assert datasets.find("mnist") is None
    assert "mnist was not found" in bench("tree", "--datasets", "mnist", code=2)
    assert "--datasets" in bench("tree", "--datasets", "iris", code=2)


@pytest.mark.parametrize("name", ["custom-impurity", "persistence"])
def test_the_rest_has_help(name):
    assert "--rounds" in bench(name, "--help")


# --- reviews --------------------------------------------------------------------------------------


def test_a_review_is_simulated_and_written(tmp_path):
    pytest.importorskip("cleanlab")
    arguments = ("review", "--families", "large", "--datasets", "mushrooms", "--noise", "0.2")
    page = tmp_path / "review.md"
    bench(*arguments, "--max-rows", "120", "--store", tmp_path / "r.sqlite", "--output", page)
    (result,) = stored(tmp_path / "r.sqlite")
    found = result.measured
    assert found["rows"] == 120
    assert found["wrong"] <= found["needed"]["random"] + 2
    assert sum(line[0] for line in found["reliability"]) == 120
    assert len(found["trained"]["batches"]) == 5
    text = page.read_text("utf-8")
    assert "| Mushrooms | uniform 20 % | 120 |" in text
    assert (tmp_path / "review.png").exists()
    assert bench(*arguments, "--max-rows", "120", "--no-run", "--store", tmp_path / "r.sqlite")


def test_a_setting_of_reviews_is_a_mean_over_seeds():
    def result(table, seed, ours, theirs):
        needed = {"batches": ours, "ranks": ours, "cleanlab": theirs, "random": 100.0}
        run = Run(table, "balanced", "review", "", "0.1", seed, 100, 1000, "{}")
        return Result(run, {"rows": 100, "wrong": 10, "needed": needed}, 1, "", {})

    results = [result("a", 0, 30, 20), result("a", 1, 30, 60), result("b", 0, 11, 10)]
    results.append(result("b", 1, 11, 10))
    assert [review_page.saved(s) for s in review_page.by_setting(results)] == [0.75, 1.1]
    assert review_page.error_of(results[:2]) == pytest.approx(15 / 40)
    lines = review_page.rows_table(results).splitlines()
    assert lines[-1].endswith("| 2 | 20.5 | 20.5 | 25.0 | 100.0 | 0.93 | 1.10 | 1 |")
    assert "| b | uniform 10 % | 100 | 11 | 10 | 1.10 ± 0.00 |" in review_page.worst_table(results)
    assert "on average over 2 settings. In 1 of them" in review_page.summary(results)
    assert "2 seeds" in review_page.order_section(results)
