"""Workers that die, and fits that are stopped."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from clusters import (
    PARTITIONS,
    array_of,
    assert_nothing_left,
    assert_same_trees,
    make_cluster,
    noisy_table,
)
from distributed import Client

from hardwood import RobustForestClassifier
from hardwood.dask import DaskRobustForestClassifier
from hardwood.dask.tasks import Tasks


def kill_later(client, delay, killed):
    """Kill a worker in a while; its nanny starts another."""

    def kill():
        time.sleep(delay)
        pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        killed.append(time.monotonic())

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["replicate", "distribute"])
@pytest.mark.usefixtures("small_subtrees")
def test_a_worker_that_dies_loses_nothing_but_its_tasks(placement):
    X, y, weights = noisy_table(40_000)
    sizes = PARTITIONS["seven"](40_000)
    # Enough trees that a fit takes longer than the worker lives.
    n_trees = {"replicate": 200, "distribute": 40}[placement]
    params = {"n_estimators": n_trees, "random_state": 0, "criterion": "gini"}
    local = RobustForestClassifier(**params).fit(X, y, weights)
    delays = np.random.default_rng(5).uniform(0.1, 1.5, 3)
    with make_cluster(2) as cluster, Client(cluster) as client:
        dask_data = [array_of(values, sizes) for values in (X, y, weights)]
        for delay in delays:
            killed = []
            thread = kill_later(client, delay, killed)
            forest = DaskRobustForestClassifier(placement=placement, **params).fit(*dask_data)
            ended = time.monotonic()
            thread.join()
            assert killed[0] < ended, "the fit was over before the worker died"
            assert_same_trees(forest.to_local(), local)
            client.wait_for_workers(2)


def test_a_client_whose_heartbeat_has_just_emptied_its_list_of_workers(client, monkeypatch):
    X, y, _ = noisy_table(300)

    async def later(**_):
        pass

    monkeypatch.setattr(client, "_update_scheduler_info", later)
    monkeypatch.setattr(client, "_scheduler_identity", {"workers": {}})
    params = {"n_estimators": 3, "random_state": 0}
    forest = DaskRobustForestClassifier(placement="replicate", **params)
    forest.fit(array_of(X, [150, 150]), array_of(y, [150, 150]))
    assert_same_trees(forest.to_local(), RobustForestClassifier(**params).fit(X, y))


@pytest.mark.usefixtures("small_subtrees")
def test_an_interrupted_fit_leaves_nothing(client, monkeypatch):
    X, y, _ = noisy_table(9000)
    sizes = PARTITIONS["three"](9000)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardwood.dask.distribute.grow_subtrees", interrupt)
    forest = DaskRobustForestClassifier(n_estimators=2, placement="distribute")
    with pytest.raises(KeyboardInterrupt):
        forest.fit(array_of(X, sizes), array_of(y, sizes))
    assert not hasattr(forest, "_compact")
    assert_nothing_left(client)


def test_an_interrupted_fit_leaves_no_tasks_that_wait_for_others(client, monkeypatch):
    X, y, _ = noisy_table(3000)
    sizes = PARTITIONS["seven"](3000)
    start = Tasks.start

    def interrupt(self, task):
        start(self, task)
        raise KeyboardInterrupt

    monkeypatch.setattr(Tasks, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        DaskRobustForestClassifier().fit(array_of(X, sizes), array_of(y, sizes))
    assert_nothing_left(client)
    assert client.submit(sum, [1, 2]).result() == 3


def test_an_error_on_a_worker_reaches_the_user_and_leaves_nothing(client):
    X, y, _ = noisy_table(100)
    X[70, 0] = np.inf
    sizes = PARTITIONS["three"](100)
    with pytest.raises(ValueError, match="infinity"):
        DaskRobustForestClassifier(n_estimators=2).fit(array_of(X, sizes), array_of(y, sizes))
    assert_nothing_left(client)


@pytest.mark.usefixtures("small_subtrees")
def test_a_closed_client_leaves_nothing(client, monkeypatch):
    X, y, _ = noisy_table(9000)
    sizes = PARTITIONS["three"](9000)
    other = Client(client.scheduler.address, set_as_default=False)

    def close(*_, **__):
        other.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("hardwood.dask.distribute.grow_subtrees", close)
    forest = DaskRobustForestClassifier(n_estimators=2, placement="distribute", client=other)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(array_of(X, sizes), array_of(y, sizes))
    assert_nothing_left(client)
