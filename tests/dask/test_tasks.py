"""Tasks of a fit: where they run, and how results are merged."""

from collections import Counter

import dask
import dask.array as da
import numpy as np

from hardwood.dask.blocks import check_blocks
from hardwood.dask.tasks import Tasks


def joined(parts):
    return "".join(parts)


def test_parts_are_merged_in_their_order(client):
    letters = [chr(ord("A") + i) for i in range(30)]
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in letters]
        assert tasks.gather(tasks.merged("join", joined, parts)) == "".join(letters)


def test_parts_of_a_home_are_merged_first(client):
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in "ABCDEF"]
        merged = tasks.merged("join", joined, parts, homes=[1, 2, 1, None, 2, None])
        assert tasks.gather(merged) == "ACBEDF"


def test_blocks_are_spread_evenly(client):
    with Tasks(client) as tasks:
        futures = tasks.blocks("part", np.zeros, [(n,) for n in range(1, 9)], spread=True)
        tasks.gather(futures)
        assert sorted(Counter(tasks.homes(futures)).values()) == [4, 4]


def test_blocks_that_workers_hold_are_known(client):
    X, y = da.zeros((20, 2), chunks=(5, 2)), da.zeros(20, chunks=5)
    assert not check_blocks(X, y).are_held
    assert check_blocks(*client.persist([X, y])).are_held
    block = dask.delayed(np.zeros)((5, 2))
    assert not check_blocks([block], [block]).are_held
    assert check_blocks([block.persist()], [block]).are_held
