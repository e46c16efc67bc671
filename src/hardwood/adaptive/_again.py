"""Trees grown again, from rows that are drawn the more often the more likely their label is right.

The out-of-bag votes of a first forest say how likely each label is right. A tree that draws rows by these
probabilities sees fewer wrong labels. On its own it would be too sure of what the first forest believed,
so only a share of the trees is grown again. They are smoothed as the first ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardwood._core.grow import TrainingSet
from hardwood.adaptive._findings import LabelFindings
from hardwood.adaptive._parts import Part
from hardwood.noise import truth
from hardwood.noise.checks import Array, proba_from_votes
from hardwood.noise.correction import Unmixed

# The largest share of the trees that are grown again. It is reached at this noise rate.
SHARE, _MUCH_NOISE = 0.25, 0.2
# Larger tables are not grown again, which would be costly.
MOST_ROWS = 10_000
# Every row can be drawn, even if its label is surely wrong.
_LEAST = 0.001


def n_trees(n_estimators: int, noise_rate: float) -> int:
    """Return how many of the trees are grown again: the fewer, the fewer labels seem to be wrong.

    Examples
    --------
    >>> from hardwood.adaptive import _again
    >>> [_again.n_trees(200, rate) for rate in (0, 0.1, 0.2, 0.4)]
    [0, 25, 50, 50]
    """
    return int(SHARE * min(1.0, noise_rate / _MUCH_NOISE) * n_estimators)


def rightness(
    votes: Array, labels: NDArray[np.intp], found: LabelFindings, unmixed: Unmixed | None
) -> Array:
    """Return the probability that each label is right, given mean out-of-bag votes on its row."""
    assert found.noise_matrix is not None
    scores = votes if unmixed is None else unmixed.scores(votes)
    of_classes = truth.posterior(found.sharpening.probabilities(scores), found.noise_matrix, labels)
    return np.asarray(np.maximum(truth.of_label(of_classes, labels), _LEAST))


def mean_votes(
    parts: list[Part],
    data: TrainingSet,
    n_draws: int,
    seed: int,
    first_tree: int,
    n_threads: int,
) -> Array:
    """Return the mean votes on rows that the trees did not draw.

    A row that all trees drew gets the frequencies of the labels.

    Parameters
    ----------
    parts : list of (Setting, CompactForest)
        The trees, before they are smoothed, in the order of their numbers.
    data : TrainingSet
        What they were grown from, with the weights by which rows were drawn.
    n_draws, seed : int
        How many rows, or groups, each tree drew, and the seed of the forest.
    first_tree : int
        The number of the first tree.
    n_threads : int
        Number of threads.
    """
    total = np.zeros((data.n_rows, len(data.classes)))
    for setting, trees in parts:
        is_shrunk = setting.family == "shrink"
        votes, _ = trees.oob_smoothed(
            data.X,
            data.weights,
            n_draws,
            seed,
            first_tree=first_tree,
            rows=np.arange(data.n_rows, dtype=np.uint32),
            stops=np.array([] if is_shrunk else [setting.amount], dtype=np.uint32),
            shrinkages=np.array([setting.amount] if is_shrunk else [], dtype=np.float64),
            n_threads=n_threads,
            groups=data.groups,
        )
        total += votes[:, 0]
        first_tree += len(trees)
    return proba_from_votes(total, data.labels.astype(np.intp), data.classes)
