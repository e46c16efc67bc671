"""Growing trees where every worker can hold the codes of all rows."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import as_completed, get_worker
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import Growth, TrainingSet, grow
from hardwood.criteria import EngineCriterion
from hardwood.dask.tables import Codes, Table
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import CodedBlock, DistributedSet, Shape


def grow_replicated(
    data: DistributedSet,
    growth: Growth,
    seed: int,
    tasks: Tasks,
    *,
    n_trees: int,
    n_draws: int,
    balance_draws: bool,
    first_tree: int = 0,
    progress: Callable[[int], None] | None,
) -> CompactForest:
    """Grow a forest: each worker gets all codes from the others, and a share of the trees."""
    workers = sorted(tasks.threads())
    n_parts = max(1, min(n_trees, len(workers)))
    bounds = [n_trees * part // n_parts for part in range(n_parts + 1)]
    about = tasks.send((data.classes, data.criterion, data.category_columns, data.tables))
    parts = [
        tasks.run(
            "grow",
            _grow_part,
            growth,
            about,
            seed,
            (first_tree + first, last - first, n_draws, balance_draws),
            data.blocks,
            workers=[workers[part]],
            allow_other_workers=True,  # where it dies
        )
        for part, (first, last) in enumerate(pairwise(bounds))
    ]
    trees = {}
    for done, future in enumerate(as_completed(parts), start=1):
        trees[future.key] = tasks.gather(future)  # raises here what a worker raised
        if progress is not None:
            progress(bounds[done])
    return CompactForest.joined([trees[part.key] for part in parts])


def _grow_part(
    growth: Growth,
    about: tuple[NDArray[Any], EngineCriterion, tuple[int, ...], list[Table]],
    seed: int,
    trees: tuple[int, int, int, bool],
    blocks: Sequence[CodedBlock],
) -> CompactForest:
    classes, criterion, category_columns, tables = about
    first_tree, n_trees, n_draws, balance_draws = trees
    n_threads = get_worker().state.nthreads
    labels = np.concatenate([block.labels for block in blocks])
    weights = [block.weights for block in blocks if block.weights is not None]
    groups = [block.groups for block in blocks if block.groups is not None]
    joined = Codes.joined([block.codes for block in blocks])
    codes = _engine.join_codes(tables, joined.columns, len(labels), n_threads)
    data = TrainingSet(
        Shape((len(labels), len(tables))),
        labels,
        np.concatenate(weights) if weights else None,
        classes,
        criterion,
        None,
        np.concatenate(groups) if groups else None,
        category_columns,
    )
    return grow(
        growth,
        data,
        seed,
        first_tree=first_tree,
        n_trees=n_trees,
        n_draws=n_draws,
        balance_draws=balance_draws,
        n_threads=n_threads,
        codes=codes,
    )
