"""The benchmark of forests, on a small scale."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from hardwood.commands import app
from lab.speed import figure, visits
from lab.speed.command import main
from lab.speed.peers import PEERS
from lab.speed.runner import Outcome, Plan, Task, run

SMALL = ["--datasets", "mushrooms", "--trees", "2", "--rounds", "1", "--threads", "1"]


def test_bench_writes_a_table_and_a_figure(tmp_path):
    page, results = tmp_path / "forest.md", tmp_path / "results.jsonl"
    small = [*SMALL, "--noise", "0.3", "--peers", "sklearn", "hardwood-gini"]
    outputs = ["--output", str(page), "--results", str(results)]
    result = CliRunner().invoke(app, ["bench", *small, *outputs])
    assert result.exit_code == 0, result.output
    assert "Mushrooms, 30 % noise" in result.output
    text = page.read_text(encoding="utf-8")
    for words in ("| scikit-learn |", "| hardwood, gini |", "(forest.png)", "hardwood bench"):
        assert words in text
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")
    # What was kept is not measured again, and makes the same page.
    kept = results.read_text(encoding="utf-8")
    main([*small, *outputs])
    assert results.read_text(encoding="utf-8") == kept
    assert page.read_text(encoding="utf-8") == text


def test_bench_has_help_of_its_own():
    result = CliRunner().invoke(app, ["bench", "--help"])
    assert result.exit_code == 0
    assert "--peers" in result.output


@pytest.mark.parametrize("bad", [["--noise", "1.5"], ["--trees", "0"], ["--peers", "nobody"]])
def test_bench_refuses_bad_arguments(bad):
    assert CliRunner().invoke(app, ["bench", *bad]).exit_code == 2


def test_a_peer_that_fails_or_takes_too_long_gets_its_reason():
    task = Task("mushrooms", 0.0)
    told = []
    plan = Plan([task], ["sklearn"], n_trees=2, n_threads=1, n_rounds=2, timeout=0.01)
    outcome = run(plan, tell=told.append)[task, "sklearn"]
    assert outcome == Outcome([], "stopped after 0.01 s")
    assert len(told) == 1  # not tried again
    plan = Plan([Task("nothing", 0.0)], ["sklearn"], 2, 1, 1, timeout=60)
    assert "nothing" in run(plan, tell=told.append)[plan.tasks[0], "sklearn"].failure


def test_the_figure_has_a_panel_per_data_set(tmp_path):
    tasks = [Task(name, rate) for name in ("mnist", "covertype") for rate in (0.0, 0.3)]
    plan = Plan(tasks, list(PEERS), 2, 1, n_rounds=1, timeout=1)
    outcomes = {(task, peer): Outcome([{"fit_wall": 1.0}]) for task in tasks for peer in PEERS}
    outcomes[tasks[0], "ydf"] = Outcome(failure="not today")
    figure.save(tmp_path / "figure.png", plan, outcomes)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_jobs_take_turns():
    plan = Plan([Task("mushrooms", 0.0)], list(PEERS)[:2], 2, 1, n_rounds=2, timeout=1)
    assert [(job.round, job.peer) for job in plan.jobs()] == [
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
    # Of 4 features 1 varies: one of two draws is it in half of the cases, else it is drawn later.
    assert visits._expected_among_drawn(np.array([1]), 4, 2) == pytest.approx([1.0])
    # 2 of 4 vary: 0, 1 or 2 of two draws with 1/6, 4/6, 1/6; the first goes on to one.
    assert visits._expected_among_drawn(np.array([2]), 4, 2) == pytest.approx([7 / 6])
    assert visits._expected_among_drawn(np.array([0, 4]), 4, 2) == pytest.approx([0, 2])
