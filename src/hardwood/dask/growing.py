"""Growing trees in the way that suits the workers' memory."""

from collections.abc import Callable

from hardwood._core.compact import CompactForest
from hardwood._core.grow import Growth
from hardwood.dask.distribute import check_distributable, grow_distributed
from hardwood.dask.placement import Placement, choose_placement
from hardwood.dask.replicate import grow_replicated
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import DistributedSet


def suitable_placement(
    asked: str,
    data: DistributedSet,
    tasks: Tasks,
    growth: Growth,
    *n_draws: int,
    balance_draws: bool = False,
) -> Placement:
    """Return the way to grow that was asked for, or one that fits the workers' memory.

    Raise if rows are to stay where they are and such trees cannot be grown so. `n_draws` are the
    numbers of draws of all trees that will be grown.
    """
    placement = choose_placement(asked, data, tasks.client)
    if placement.name == "replicate":
        return placement
    found = [check_distributable(data, growth, n, balance_draws) for n in n_draws]
    problem = next((each for each in found if each is not None), None)
    if problem is None:
        return placement
    if asked == "distribute":
        raise ValueError(problem)
    return placement.replicated(problem)


def grow_placed(
    placement: Placement,
    data: DistributedSet,
    growth: Growth,
    seed: int,
    tasks: Tasks,
    *,
    n_trees: int,
    n_draws: int,
    first_tree: int = 0,
    balance_draws: bool = False,
    progress: Callable[[int], None] | None,
) -> CompactForest:
    """Grow trees. Tree i is the same whichever call grows it."""
    if placement.name == "distribute":
        return grow_distributed(
            data,
            growth,
            seed,
            tasks,
            n_trees=n_trees,
            n_draws=n_draws,
            subtree_rows=placement.subtree_rows,
            count_bytes=placement.count_bytes,
            shelf_bytes=placement.shelf_bytes,
            first_tree=first_tree,
            progress=progress,
        )
    return grow_replicated(
        data,
        growth,
        seed,
        tasks,
        n_trees=n_trees,
        n_draws=n_draws,
        balance_draws=balance_draws,
        first_tree=first_tree,
        progress=progress,
    )
