"""Tasks of a fit: where they run, and how results are merged."""

from types import SimpleNamespace

import pytest
from distributed import get_worker

from hardwood.dask.tasks import Tasks, _moves


def joined(parts):
    return "".join(parts)


def test_parts_are_merged_in_their_order(client):
    letters = [chr(ord("A") + i) for i in range(30)]
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in letters]
        assert tasks.gather(tasks.merged("join", joined, parts)) == "".join(letters)


def test_parts_of_a_home_are_merged_first(client):
    one, two = client.nthreads()
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in "ABCDEF"]
        merged = tasks.merged("join", joined, parts, homes=[one, two, one, None, two, None])
        assert tasks.gather(merged) == "ACBEDF"


def worker_of_task():
    return get_worker().address


def test_tasks_run_at_home_as_long_as_it_lives(client):
    workers = list(client.nthreads())
    gone = "tcp://127.0.0.1:1"
    with Tasks(client) as tasks:
        homes = [*workers, *workers[::-1], gone]
        started = [tasks.start(tasks.later("where", worker_of_task, home=home)) for home in homes]
        found = tasks.gather(started)
    assert found[:-1] == homes[:-1]
    assert found[-1] in workers


def test_workers_that_restart_are_waited_for():
    found = [{}, {}, {"one": 2}]
    client = SimpleNamespace(nthreads=lambda: found.pop(0), wait_for_workers=lambda _: None)
    assert Tasks(client).threads() == {"one": 2}
    assert not found


def test_results_are_spread_over_workers(client):
    first, _ = client.nthreads()
    sizes = [0, 1000, 2000, 3000, 4000]
    with Tasks(client) as tasks:
        made = [tasks.run("make", bytes, size, workers=[first]) for size in sizes]
        spread = tasks.spread(made, sizes)
        homes = tasks.homes(spread)
        assert [len(part) for part in tasks.gather(spread)] == sizes
    here = sum(size for size, home in zip(sizes, homes, strict=True) if home == first)
    assert 4000 <= here <= 6000


def test_results_that_fail_are_not_waited_for(client):
    with pytest.raises(ValueError, match="negative count"), Tasks(client) as tasks:
        tasks.gather(tasks.spread([tasks.run("make", bytes, -1), tasks.run("make", bytes)], [1, 1]))


def test_the_fullest_worker_gives_its_smallest_results():
    threads = {"a": 1, "b": 1, "c": 2}
    assert _moves(["a", "b", "c", "c"], [10, 10, 10, 10], threads, 0) == {}
    assert _moves(["a"] * 4, [10, 10, 10, 10], threads, 0) == {0: "c", 1: "b", 2: "c"}
    assert _moves(["a", "a", "a"], [0, 0, 7], threads, 0) == {2: "c"}
    assert _moves(["a", "gone", None, "b"], [10, 10, 10, 10], {"a": 1, "b": 1}, 0) == {}
    assert _moves(["a"] * 4, [10, 10, 10, 10], threads, 30) == {0: "c"}
    assert _moves([], [], {}, 0) == {}
