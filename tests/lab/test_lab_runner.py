"""Runs spread over workers: each exactly once, whatever happens meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import joblib
import pytest

from lab.paper import load_spec, run
from lab.paper import runner as runner_module
from lab.paper.estimates import Estimates
from lab.paper.runner import _blocks
from lab.store import Store, StoreError

MEASURED = {"accuracy": 90.0, "leaves": 5.0, "seconds": 1.0, "n_train": 100}


def small(**narrower):
    numbers = {"seeds": 1, "trees": 3, "max_rows": 800}
    return load_spec("paper").narrowed(**{"datasets": ["mushrooms"], **numbers, **narrower})


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


class Log:
    """An observer that remembers."""

    def __init__(self):
        self.plan, self.started_runs, self.outcomes, self.skips = None, [], {}, {}

    def planned(self, *plan):
        self.plan = plan

    def started(self, run):
        self.started_runs.append(run)

    def ended(self, run, outcome, seconds_left):
        assert run not in self.outcomes
        self.outcomes[run] = outcome

    def skipped(self, run, reason, seconds_left):
        self.skips[run] = reason


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def performed(monkeypatch):
    """Stand in for the work, in this process: what was performed, and what should come of it."""
    calls = []

    def perform(run, source, threads):
        calls.append((run, threads))
        return MEASURED

    monkeypatch.setattr(runner_module, "perform", perform)
    return calls


def test_all_runs_are_done_and_a_second_time_none(store, log):
    spec = small(noise=["0.0", "0.3"], criteria=["MSE", "ANE", "CL"])
    summary = run(spec, store, jobs=2, observer=log)
    assert (summary.n_done, summary.n_before, summary.n_failed) == (12, 0, 0)
    assert log.plan[:2] == (12, 0)
    results = {result.run: result for result in store.results()}
    assert set(results) == set(spec.runs()) == set(log.outcomes) == set(log.started_runs)
    assert {result.threads for result in results.values() if result.run.model == "rf"} == {2}
    assert all("scikit-learn" in result.versions for result in results.values())
    again = run(spec, store, jobs=2)
    assert (again.n_done, again.n_before) == (0, 12)
    more = run(replace(spec, seeds=2), store, jobs=1)
    assert (more.n_done, more.n_before) == (12, 12)


def test_a_run_that_raises_stops_no_other_and_is_tried_again(store, log, monkeypatch, tmp_path):
    spec = small(models=["dt"], noise=["0.0"])

    def perform(run, source, threads):
        if run.criterion == "CL":
            raise MemoryError("no room")
        return MEASURED

    monkeypatch.setattr(runner_module, "perform", perform)
    summary = run(spec, store, jobs=1, observer=log)
    assert (summary.n_done, summary.n_failed) == (7, 1)
    (failed,) = store.failures().items()
    assert (failed[0].criterion, failed[1]) == ("CL", "MemoryError: no room")
    assert log.outcomes[failed[0]] == "MemoryError: no room"
    monkeypatch.undo()
    time.sleep(0.002)
    with Store(store.path) as next_time:
        assert run(spec, next_time, jobs=1).n_done == 1
        assert next_time.failures() == {}


def test_cheap_runs_come_first_and_all_their_seeds(performed, store):
    spec = load_spec("paper").narrowed(
        datasets=["mushrooms", "mnist", "covertype"], noise=["0.0", "0.3"], seeds=2
    )
    blocks = _blocks(spec.runs(), Estimates(spec.sources))
    names = [(block[0].dataset, block[0].task, block[0].model) for block in blocks]
    assert names[:2] == [("mushrooms", "binary", "dt"), ("mushrooms", "binary", "rf")]
    assert {name[0] for name in names[-2:]} == {"covertype"}
    assert {name[2] for name in names[-2:]} == {"rf"}
    for block in blocks:
        order = [(run.seed, run.noise) for run in block]
        assert order == sorted(order)
    assert Counter(run for block in blocks for run in block) == Counter(spec.runs())


def test_what_has_ended_tells_how_long_the_rest_takes():
    spec = small()
    runs = list(spec.runs())
    estimates = Estimates(spec.sources)
    before = estimates.seconds(runs[0])
    estimates.learn(runs[0], 10 * before)
    assert estimates.seconds(runs[0]) == pytest.approx(10 * before)
    assert estimates.seconds(runs[1]) / Estimates(spec.sources).seconds(runs[1]) == pytest.approx(
        10
    )


def test_a_slow_forest_gets_one_seed(performed, store, log, monkeypatch):
    def perform(run, source, threads):
        seconds = 31.0 if run.criterion == "CE" else 29.0
        return {**MEASURED, "seconds": seconds}

    monkeypatch.setattr(runner_module, "perform", perform)
    spec = small(criteria=["CE", "CL"], noise=["0.0"], seeds=3, slow_forest=30.0)
    summary = run(spec, store, jobs=1, observer=log)
    done = Counter((result.run.model, result.run.criterion) for result in store.results())
    assert done == {("dt", "CE"): 3, ("dt", "CL"): 3, ("rf", "CE"): 1, ("rf", "CL"): 3}
    assert summary.n_left_out == 2
    assert len(log.skips) == 2
    assert run(spec, store, jobs=1).n_done == 0


def test_forests_get_the_threads_and_trees_the_processes(performed, store):
    run(small(noise=["0.0"], criteria=["CE"]), store, jobs=3)
    # The trees were trained by other processes, which the stand-in does not see.
    assert [(run.model, threads) for run, threads in performed] == [("rf", 3)]
    assert len(store.results()) == 2


def test_what_another_process_has_is_left_to_it(performed, store, log):
    spec = small(noise=["0.0"], models=["rf"])
    first, *others = spec.runs()
    with Store(store.path) as another:
        another.claim(first)
        summary = run(spec, store, jobs=1, observer=log)
    assert (summary.n_done, summary.n_elsewhere) == (len(others), 1)
    assert log.skips == {first: "claimed by another process"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_store_that_fails_stops_the_runs_and_keeps_what_it_has(store, monkeypatch, jobs):
    spec = small(models=["dt"], noise=["0.0", "0.1"])
    claim, n_claimed = store.claim, 0

    def claim_some(run):
        nonlocal n_claimed
        n_claimed += 1
        if n_claimed > 6:
            raise StoreError("The disk is full.")
        return claim(run)

    monkeypatch.setattr(store, "claim", claim_some)
    with pytest.raises(StoreError, match="disk is full"):
        run(spec, store, jobs=jobs)
    assert len(store.results()) == 6
    assert store.claimed() == []


def test_a_result_that_cannot_be_stored_stops_the_runs(store, monkeypatch):
    spec = small(models=["dt"], noise=["0.0", "0.1"])
    finish = store.finish

    def finish_some(*arguments):
        if len(store.results()) == 4:
            raise StoreError("The disk is full.")
        return finish(*arguments)

    monkeypatch.setattr(store, "finish", finish_some)
    with pytest.raises(StoreError, match="disk is full"):
        run(spec, store, jobs=2)
    assert len(store.results()) == 4
    monkeypatch.undo()
    assert run(spec, store, jobs=2).n_done == 12


def test_threads_do_as_well_as_processes(store):
    spec = small(noise=["0.3"], criteria=["MSE"])
    with joblib.parallel_config("threading"):
        run(spec, store, jobs=2)
    assert len(store.results()) == 2


def test_dask_spreads_the_runs(tmp_path):
    distributed = pytest.importorskip("distributed")
    spec = small(noise=["0.3"], criteria=["MSE", "CL"])
    client = distributed.Client(processes=False, n_workers=1, dashboard_address=":0")
    with client, Store(tmp_path / "d.sqlite") as store, joblib.parallel_config("dask"):
        assert run(spec, store).n_done == 4
        assert {result.threads for result in store.results()} == {1}


def die_or_perform(run, source, threads):
    if run.criterion == "CL":
        os.kill(os.getpid(), signal.SIGKILL)
    return MEASURED


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_a_worker_that_dies_does_not_stop_the_others(store, monkeypatch):
    spec = small(models=["dt"], noise=["0.3"])
    monkeypatch.setattr(runner_module, "perform", die_or_perform)
    summary = run(spec, store, jobs=2)
    assert (summary.n_done, summary.n_failed) == (7, 1)
    failures = store.failures()
    assert [run.criterion for run in failures] == ["CL"]
    assert all("worker process died" in why for why in failures.values())
    monkeypatch.undo()
    time.sleep(0.002)
    with Store(store.path) as next_time:
        run(spec, next_time, jobs=2)
        assert len(next_time.results()) == 8


# --- the whole command, killed --------------------------------------------------------------------


def start(path, *arguments):
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "lab", "reproduce"),
            *("--datasets", "mushrooms", "--seeds", "2", "--trees", "3", "--max-rows", "1500"),
            *("--noise", "0.1,cc1", "--store", str(path), *arguments),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "400"},
    )


def ended(output):
    return [line.split("] ")[1].split(":")[0] for line in output.splitlines() if "seed" in line]


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_killed_in_the_middle_and_resumed_each_run_is_done_once(tmp_path):
    path = tmp_path / "runs.sqlite"
    n_runs = 2 * 2 * 8 * 2
    first = start(path, "--jobs", "2")
    lines = [first.stdout.readline() for _ in range(21)]
    first.send_signal(signal.SIGKILL)
    rest, _ = first.communicate()
    done_before = ended("".join(lines) + rest)
    assert 20 <= len(done_before) < n_runs
    with Store(path) as store:
        n_stored = len(store.results())
    assert n_stored >= len(done_before)

    # Two processes go on, side by side.
    others = [start(path, "--jobs", "1"), start(path, "--jobs", "1")]
    outputs = [process.communicate(timeout=120)[0] for process in others]
    assert [process.returncode for process in others] == [0, 0]
    done_after = [run for output in outputs for run in ended(output)]
    assert len(done_after) == len(set(done_after)) == n_runs - n_stored
    assert not set(done_before) & set(done_after)
    with Store(path) as store:
        assert len(store.results()) == n_runs
        assert store.claimed() == []
