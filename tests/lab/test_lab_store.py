"""The store: claims, results, CSV, and what goes wrong with files."""

import os
import sqlite3
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from lab import owners
from lab import store as store_module
from lab.paper import load_spec
from lab.store import Run, Store, StoreError, open_results, settings_json

RUN = next(load_spec("paper").runs())
MEASURED = {"accuracy": 91.25, "validation_accuracy": 70.5, "tuned": 0.25, "depth": 6}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def finish(store, run=RUN, measured=MEASURED):
    return store.finish(run, measured, threads=2, versions="hardwood 0")


# --- claims ---------------------------------------------------------------------------------------


def test_a_run_is_claimed_once_and_done_once(path):
    with Store(path) as store, Store(path) as another:
        assert store.claim(RUN)
        assert not store.claim(RUN)
        assert not another.claim(RUN)
        assert another.claim(replace(RUN, seed=1))
        assert finish(store)
        assert not store.claim(RUN)
        assert not another.claim(RUN)
        assert not finish(store)  # it is done
    with Store(path) as store:
        (result,) = store.results()
        assert (result.run, result.measured, result.threads) == (RUN, MEASURED, 2)
        assert store.claimed() == []  # what the other had was given up when it closed


def test_only_the_owner_finishes(path):
    with Store(path) as store, Store(path) as another:
        store.claim(RUN)
        assert not finish(another)
        assert not another.fail(RUN, "no")
        assert store.results() == []


def test_what_was_released_is_free(path):
    with Store(path) as store, Store(path) as another:
        store.claim(RUN)
        store.release()
        assert another.claim(RUN)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the heartbeat alone tells")
def test_a_dead_process_loses_its_claim_at_once(path):
    program = (
        "import os, sys\n"
        "from lab.paper import load_spec\n"
        "from lab.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "assert store.claim(next(load_spec('paper').runs()))\n"
        "print('claimed', flush=True)\n"
        "sys.stdin.read()\n"
        "os._exit(1)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process, Store(path) as store:
        assert process.stdout.read(7) == b"claimed"
        assert not store.claim(RUN)
        process.stdin.close()
        process.stdout.read()  # until its end; it stays a zombie, as nobody waits for it
        for _ in range(100):
            if claimed := store.claim(RUN):
                break
            time.sleep(0.05)
        assert claimed
        assert finish(store)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the heartbeat alone tells")
def test_a_process_that_got_a_dead_ones_number_is_not_taken_for_it(path):
    with Store(path) as dead, Store(path) as store:
        host, process, birth, token = dead.owner.rsplit(":", 3)
        dead.owner = f"{host}:{process}:{int(birth) - 1}:{token}"
        dead.claim(RUN)
        assert store.claim(RUN)


@pytest.mark.parametrize("host", ["another-machine", None])
def test_a_process_not_heard_for_long_loses_its_claim(path, host, monkeypatch):
    with Store(path) as lost, Store(path) as store:
        if host:
            lost.owner = f"{host}:1:0:x"
        lost.claim(RUN)
        assert not store.claim(RUN)
        monkeypatch.setattr(owners, "STALE_SECONDS", 0.0)  # as if that long had passed
        time.sleep(0.01)
        assert store.claim(RUN)
        assert not finish(lost)  # it was alive after all, but the run is no longer its own
        assert finish(store)


def test_the_heart_beats(path, monkeypatch):
    monkeypatch.setattr(store_module, "HEARTBEAT_SECONDS", 0.01)
    with Store(path) as store:
        store.claim(RUN)
        db = sqlite3.connect(path)
        (before,) = db.execute("SELECT heartbeat FROM runs").fetchone()
        with store.beating():
            time.sleep(0.3)
        (after,) = db.execute("SELECT heartbeat FROM runs").fetchone()
        db.close()
        assert after > before


def test_a_failed_run_is_tried_again_by_the_next_process_only(path):
    with Store(path) as store, Store(path) as another:
        store.claim(RUN)
        assert store.fail(RUN, "ValueError: no")
        assert store.failures() == {RUN: "ValueError: no"}
        assert not store.claim(RUN)
        assert not another.claim(RUN)
    time.sleep(0.002)
    with Store(path) as store:
        assert store.claim(RUN)
        assert finish(store)
        assert store.failures() == {}


def test_many_at_once_share_the_runs_out(path):
    runs = [replace(RUN, seed=seed) for seed in range(20)]
    Store(path).close()

    def work(_):
        with Store(path) as store:
            mine = [run for run in runs if store.claim(run)]
            return [run for run in mine if finish(store, run)]

    with ThreadPoolExecutor(4) as pool:
        done = [run for mine in pool.map(work, range(4)) for run in mine]
    assert sorted(done) == sorted(runs)


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_full_disk(path):
    with Store(path) as store:
        store.claim(RUN)
        finish(store)
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")  # as a full disk would
        runs = load_spec("paper").narrowed(datasets=["mushrooms"]).runs()
        with pytest.raises(StoreError, match=r"disk holding the store .* is full.*safe"):
            deque(map(store.claim, runs))
        assert [result.run for result in store.results()] == [RUN]
    with Store(path) as store:
        assert [result.run for result in store.results()] == [RUN]
        assert store.claim(replace(RUN, seed=1))


def test_a_locked_store(path):
    with Store(path, timeout=0.05) as store:
        store.claim(RUN)
        finish(store)
        other = sqlite3.connect(path)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.claim(replace(RUN, seed=1))
        with pytest.raises(StoreError, match="is locked by another program"):
            Store(path, timeout=0.05)
        other.rollback()
        other.close()
        assert store.claim(replace(RUN, seed=1))
        assert len(store.results()) == 1


def test_something_else_than_a_store(path):
    path.write_bytes(b"not a database at all" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"not a store, or it is damaged .*It was not changed"):
        Store(path)
    assert path.read_bytes() == before


def test_a_damaged_store(path):
    with Store(path) as store:
        for seed in range(20):
            store.claim(replace(RUN, seed=seed))
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 3] = b"\xff" * 8192
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Store(path)
    assert path.read_bytes() == bytes(content)


def test_a_database_of_another_program(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE runs (x)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        Store(path)


def test_a_store_of_a_later_version(path):
    Store(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="is a store of version 99"):
        Store(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match=r"folder .*none does not exist"):
        Store(tmp_path / "none" / "runs.sqlite")


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_a_store_that_may_not_be_written(path):
    Store(path).close()
    path.chmod(0o400)
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        Store(path)


# --- CSV ------------------------------------------------------------------------------------------


def filled(path):
    with Store(path) as store:
        for seed in (1, 0):
            run = replace(RUN, seed=seed)
            store.claim(run)
            finish(store, run, {**MEASURED, "validation_accuracy": None, "tuned": None})
        store.claim(replace(RUN, seed=2))
        store.fail(replace(RUN, seed=2), "no")
        return store.results()


def test_csv_there_and_back(path, tmp_path):
    results = filled(path)
    file = tmp_path / "results.csv"
    with Store(path) as store:
        assert store.export_csv(file) == 2  # what failed is no result
    with Store(tmp_path / "new.sqlite") as store:
        store.claim(replace(RUN, seed=1))  # begun here, but done elsewhere
        assert store.import_csv(file) == 2
        assert store.import_csv(file) == 0
        assert store.results() == results
        assert not store.claim(RUN)
        assert not finish(store, replace(RUN, seed=1))
        store.export_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == file.read_text()


def test_an_import_leaves_what_is_done(path, tmp_path):
    filled(path)
    file = tmp_path / "results.csv"
    with Store(path) as store:
        store.export_csv(file)
    file.write_text(file.read_text().replace("91.25", "11.11"))
    with Store(path) as store:
        assert store.import_csv(file) == 0
        assert {result.accuracy for result in store.results()} == {91.25}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("dataset,", "data,"), "its header must start with dataset,task"),
        (("91.25", "much"), "line 2: accuracy is 'much'"),
        ((",hardwood", ',"hardwood'), "not a file of exported results"),
        (("mnist,", "mnist,more,"), "line 2 has 17 fields instead of 16"),
    ],
)
def test_a_wrong_csv_changes_nothing(path, tmp_path, change, words):
    filled(path)
    file = tmp_path / "results.csv"
    with Store(path) as store:
        store.export_csv(file)
    file.write_text(file.read_text().replace(*change))
    with Store(tmp_path / "new.sqlite") as store:
        with pytest.raises(StoreError, match=words):
            store.import_csv(file)
        assert store.results() == []


def test_csv_files_that_cannot_be_read_or_written(path, tmp_path):
    with Store(path) as store:
        with pytest.raises(StoreError, match="Cannot read"):
            store.import_csv(tmp_path / "none.csv")
        with pytest.raises(StoreError, match="Cannot write"):
            store.export_csv(tmp_path / "none" / "results.csv")


def test_measures_of_any_kind_go_through_csv(path, tmp_path):
    measured = {"rates": {"a": [0.5, 1]}, "note": "stopped, after 3 s", "seconds": 2.5}
    with Store(path) as store:
        for seed, taken in enumerate((measured, {"seconds": 1.5, "failure": "yes"})):
            store.claim(replace(RUN, seed=seed))
            finish(store, replace(RUN, seed=seed), taken)
        store.export_csv(tmp_path / "results.csv")
    with open_results(tmp_path / "results.csv") as store:
        found = [result.measured for result in store.results()]
    assert found == [
        {**measured, "failure": None},
        {"rates": None, "note": None, "seconds": 1.5, "failure": "yes"},
    ]


def test_results_of_the_runs_asked_for_come_in_their_order(path):
    runs = [replace(RUN, seed=seed) for seed in (2, 0, 1)]
    with Store(path) as store:
        for run in runs[:2]:
            store.claim(run)
            finish(store, run)
        assert [result.run for result in store.results(runs)] == runs[:2]


def test_equal_settings_are_equal_texts():
    assert settings_json({"b": 1.0, "a": (0.5, 2.0)}) == settings_json({"a": [0.5, 2], "b": 1})
    assert str(replace(RUN, criterion="")) == str(
        Run(*("mnist", "binary", "dt", "", "0.0"), 0, 1, 0, "")
    )
