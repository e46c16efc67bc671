"""What workers hold while a forest grows where the rows are."""

from types import SimpleNamespace

import numpy as np
import pytest
from clusters import array_of

from hardwood import RobustForestClassifier
from hardwood.dask import DaskRobustForestClassifier, distribute
from hardwood.dask.shelves import Shelf, fill_shelves
from lab.benchmarks import dask as benchmark


def table_of_bytes(n_rows, n_columns=40):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (n_rows, n_columns), dtype=np.uint8)
    return X, (X[:, 0] + rng.integers(0, 50, n_rows) > 120).astype(int)


@pytest.mark.usefixtures("small_subtrees")
def test_each_worker_has_its_share_of_the_blocks(client, monkeypatch):
    X, y = table_of_bytes(40_000)
    shelves = []

    def spy(*args):
        filled = fill_shelves(*args)
        shelves.append([(shelf.home, shelf.numbers) for shelf in filled])
        return filled

    monkeypatch.setattr(distribute, "fill_shelves", spy)
    sizes = [2500] * 16
    forest = DaskRobustForestClassifier(2, placement="distribute", random_state=0)
    forest.fit(array_of(X, sizes), array_of(y, sizes))
    for some in shelves:
        assert sorted(number for _, numbers in some for number in numbers) == list(range(16))
        assert [len(numbers) for _, numbers in some] == [8, 8]
        assert len({home for home, _ in some}) == 2


def test_a_task_looks_at_as_many_blocks_as_another_worker_could_fetch():
    table = (np.zeros(3), np.zeros(3), False, False)
    data = SimpleNamespace(  # 500 bytes a block
        blocks=list(range(10)), n_rows_of=[100] * 10, tables=[table] * 5
    )
    tasks = SimpleNamespace(
        threads=lambda: {"one": 1, "two": 2},
        homes=lambda _: ["one"] * 5 + ["two"] * 4 + [None],
    )

    def filled(most_bytes, for_threads=True):
        draws = [f"draws {i}" for i in range(10)]
        shelves = fill_shelves(data, draws, tasks, most_bytes, for_threads)
        return [(shelf.home, shelf.numbers) for shelf in shelves]

    assert filled(10_000) == [
        ("one", [0, 1, 2, 3, 4]),
        ("two", [5, 6]),
        ("two", [7, 8]),
        (None, [9]),
    ]
    assert filled(1100)[:3] == [("one", [0, 1]), ("one", [2, 3]), ("one", [4])]
    assert [numbers for _, numbers in filled(10_000, False)] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8],
        [9],
    ]
    assert [numbers for _, numbers in filled(1)] == [[i] for i in range(10)]
    assert Shelf("one", [3], ["block"], ["draws"]).held == ([3], ["block"], ["draws"])


@pytest.mark.slow
def test_workers_with_little_memory_do_not_exceed_it(tmp_path):
    """Two workers with their idle memory and twice their share of the codes, which is 450 MB."""
    table = benchmark._table("bytes", 7_500_000, 120, 64, tmp_path)
    forest = RobustForestClassifier(1, max_depth=12, random_state=0)
    (line,) = benchmark._limited(table, forest, ["auto"], [2], 64, 1.0)  # compares the forests
    found = dict(zip(benchmark.LIMITED, line, strict=True))
    assert found["grown"] == "distribute"
    assert int(found["limit (MB)"]) - int(found["idle (MB)"]) in range(899, 902)
    assert int(found["peak (MB)"]) < int(found["limit (MB)"])
