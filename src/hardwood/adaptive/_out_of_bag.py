"""The votes of trees on rows that they did not draw, which judge the settings.

Trees that did not draw a row have not seen its label, so their accuracy on the labels ranks the settings
even if some labels are wrong. This is done for several forests: best cuts, and random cuts, which chase
noise less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood.adaptive._judged import Judged
from hardwood.adaptive._settings import DRAWN, Cuts, Setting, settings
from hardwood.noise.checks import Array
from hardwood.noise.label_model import relative
from hardwood.noise.vote_likelihoods import vote_likelihoods

# More rows than this would only cost time: the settings hardly differ beyond chance.
_MOST_ROWS = 20_000
_FEW_ROWS = 2_000
_MOST_VOTES = 2**26  # single-precision numbers in memory at once: 256 MB
_SUMMED_AT_ONCE = 2**21  # 8 MB


@dataclass(frozen=True)
class OutOfBag:
    """The votes of trees on rows that they did not draw, for each setting.

    Attributes
    ----------
    settings : list of Setting
        The settings tried.
    halves : tuple of ndarray of shape (n_rows, n_settings, n_classes)
        Sums of the votes of the first half of the trees and of the second. A single array, of all
        trees, if no row has votes from both halves.
    n_votes : ndarray of shape (n_rows,)
        Total number of votes of each row, at least one.
    labels, weights : ndarray of shape (n_rows,)
        Labels and weights of the rows.
    """

    settings: list[Setting]
    halves: tuple[NDArray[np.float32], ...]
    n_votes: NDArray[np.int64]
    labels: NDArray[np.uint16]
    weights: Array

    def __len__(self) -> int:
        return len(self.labels)

    def places(self) -> dict[Cuts, NDArray[np.intp]]:
        """Return where the settings of each forest stand."""
        cuts = [setting.cuts for setting in self.settings]
        return {
            own: np.array([place for place, other in enumerate(cuts) if other == own])
            for own in dict.fromkeys(cuts)
        }

    def scores(self, setting: int = 0) -> Array:
        """Return the whole forest's mean votes for each class."""
        votes = sum(half[:, setting].astype(np.float64) for half in self.halves)
        return np.asarray(votes / self.n_votes[:, np.newaxis])

    def likelihoods(self, n_threads: int = 1) -> Array:
        """Return how likely each setting makes the labels, allowing for noise: logarithms."""
        n_rows, n_settings, n_classes = self.halves[0].shape
        at_once = max(1, _SUMMED_AT_ONCE // (n_rows * n_classes))
        return np.concatenate(
            [
                vote_likelihoods(
                    reduce(np.add, (half[:, start : start + at_once] for half in self.halves)),
                    self.n_votes,
                    self.labels,
                    self.weights,
                    n_threads,
                )
                for start in range(0, n_settings, at_once)
            ]
        )

    def likelihoods_of_halves(self, n_threads: int = 1) -> Array:
        """Return the mean of what each half of the trees says."""
        of_halves = [
            vote_likelihoods(half, _n_votes(half), self.labels, self.weights, n_threads)
            for half in self.halves
        ]
        return np.asarray(np.mean(of_halves, axis=0))

    def mixed(self, places: Sequence[int], shares: Array) -> OutOfBag:
        """Return the votes of a forest that has trees of several settings, in these shares."""
        weights = np.asarray(shares, dtype=np.float32)[:, np.newaxis]
        halves = tuple(
            np.add.reduce(half[:, places] * weights, axis=1, keepdims=True) for half in self.halves
        )
        return replace(
            self, settings=[self.settings[places[int(np.argmax(shares))]]], halves=halves
        )

    def mixtures(self, places: Sequence[int], tried: Array) -> OutOfBag:
        """Return the votes of several mixtures of the same settings, as if each were a setting."""
        shares = tried.astype(np.float32)
        halves = tuple(
            np.ascontiguousarray(np.einsum("rsk,ms->rmk", half[:, places], shares))
            for half in self.halves
        )
        return replace(self, settings=[self.settings[places[0]]] * len(tried), halves=halves)

    def predictions(self, n_threads: int = 1) -> list[NDArray[np.uint16]]:
        """Return the classes with most votes, [setting, row], by all trees and by each half."""
        first, last = self.halves[0], self.halves[-1]
        others = last if len(self.halves) == 2 else None
        return [
            _engine.leading_classes(first, others, n_threads),
            _engine.leading_classes(first, None, n_threads),
            _engine.leading_classes(last, None, n_threads),
        ]


def _n_votes(votes: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return how many trees voted on each row, as the votes of a tree add up to one."""
    number: NDArray[np.int64] = np.maximum(np.rint(votes[:, 0].sum(axis=1)), 1).astype(np.int64)
    return number


Votes = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Sums of votes, [row, setting, class], and how many trees voted on each row."""


@dataclass(frozen=True)
class Voting:
    """Lets forests that still grow vote on rows that their trees did not draw.

    Attributes
    ----------
    judged : Judged
        Where the rows are.
    rows : ndarray of uint32
        The rows to vote on.
    """

    judged: Judged
    rows: NDArray[np.uint32]

    @staticmethod
    def of(forests: dict[Cuts, CompactForest], judged: Judged, seed: int) -> Voting:
        """Choose the rows.

        A random sample of the rows is enough. A small one will do if the first forest, plain, gets all of
        it right, as there is little to choose. The votes must not cost more than growing did, which looks
        at `max_features` values of each drawn row in each of the log₂ n nodes on its path.
        """
        first_forest = next(iter(forests.values()))
        n_rows, n_classes = judged.n_rows, first_forest.n_classes
        width = len(forests) * len(settings(n_rows, n_classes)) * n_classes
        n_features = sum(cuts.max_features for cuts in forests)
        looked_at = DRAWN * n_rows * np.log2(n_rows + 1) * n_features
        affordable = max(_FEW_ROWS, int(looked_at / (width * (1 - DRAWN))))
        most = min(_MOST_ROWS, affordable, max(1, _MOST_VOTES // (2 * width)))
        rows = np.arange(n_rows, dtype=np.uint32)
        random = np.random.default_rng(seed)
        if n_rows > most:
            rows = np.sort(random.choice(rows, most, replace=False))
        judged.sample(rows)
        if len(rows) > _FEW_ROWS:
            few = np.sort(random.choice(rows, _FEW_ROWS, replace=False))
            if makes_no_error(first_forest, judged, few):
                rows = few
        return Voting(judged, rows)

    def votes(self, trees: CompactForest, first_tree: int) -> Votes:
        """Return the votes of trees, whose numbers start with this one, under every setting."""
        tried = settings(self.judged.n_rows, trees.n_classes)
        stops = np.array([s.amount for s in tried if s.family != "shrink"], dtype=np.uint32)
        shrinkages = np.array([s.amount for s in tried if s.family == "shrink"], dtype=np.float64)
        return self.judged.votes(trees, first_tree, self.rows, stops, shrinkages)

    def evidence(self, halves: dict[Cuts, tuple[Votes, Votes]]) -> OutOfBag:
        """Return the votes of several forests, given those of the halves of each.

        Forests whose trees have other numbers drew other rows. Each row gets as many votes of each
        forest as the first one has for it.
        """
        of_halves = [[both[half] for both in halves.values()] for half in (0, 1)]
        seen = np.all([n > 0 for half in of_halves for _, n in half], axis=0)
        if not seen.any():
            of_halves = [[(v + w, n + m) for (v, n), (w, m) in halves.values()]]
            seen = np.all([n > 0 for _, n in of_halves[0]], axis=0)
        votes = [_side_by_side(half, seen) for half in of_halves]
        n_votes = np.sum([half[0][1] for half in of_halves], axis=0)
        rows, judged = self.rows[seen], self.judged
        # Relative to these rows alone: one that outweighs all others is in every bag.
        weights = relative(judged.relative_weights(rows)) if len(rows) else np.empty(0)
        n_classes = votes[0].shape[2]
        return OutOfBag(
            [s for cuts in halves for s in settings(judged.n_rows, n_classes, cuts)],
            tuple(votes),
            n_votes[seen],
            judged.labels(rows),
            weights / weights.mean() if len(weights) else weights,
        )


def add_votes(halves: tuple[Votes, Votes], more: tuple[Votes, Votes]) -> None:
    """Add the votes of more trees of a forest to those of its halves, in place."""
    for (votes, n_votes), (more_votes, n_more) in zip(halves, more, strict=True):
        votes += more_votes
        n_votes += n_more


def _side_by_side(votes: list[Votes], rows: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the votes of several forests on some rows, scaled to the numbers of the first."""
    wanted = votes[0][1]
    joined = np.concatenate([v if rows.all() else v[rows] for v, _ in votes], axis=1)
    place = 0
    for of_forest, n_votes in votes:
        width = of_forest.shape[1]
        if not np.array_equal(n_votes, wanted):
            scale = (wanted[rows] / n_votes[rows]).astype(np.float32)
            joined[:, place : place + width] *= scale[:, np.newaxis, np.newaxis]
        place += width
    return joined


def makes_no_error(forest: CompactForest, judged: Judged, rows: NDArray[np.uint32]) -> bool:
    """Return whether a forest, plain, gets all of these rows right."""
    halves = (0, len(forest) // 2), (len(forest) // 2, len(forest))
    stops, shrinkages = np.array([1], dtype=np.uint32), np.array([], dtype=np.float64)

    def are_right(rows: NDArray[np.uint32]) -> bool:
        first, second = (
            judged.votes(forest.trees(*half), half[0], rows, stops, shrinkages)[0]
            for half in halves
        )
        votes = first + second
        return np.array_equal(votes[:, 0].argmax(axis=1), judged.labels(rows))

    return all(are_right(part) for part in (rows[::20].copy(), rows))  # stop at the first error


def few_rows(n_rows: int, seed: int, most: int) -> NDArray[np.uint32]:
    """Return a sample of so many rows, or all if there are fewer."""
    rows = np.arange(n_rows, dtype=np.uint32)
    if n_rows <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def is_easy(forest: CompactForest, judged: Judged, seed: int) -> bool:
    """Return whether a forest, plain, gets a small sample of the rows right."""
    rows = few_rows(judged.n_rows, seed, _FEW_ROWS)
    judged.sample(rows)
    return makes_no_error(forest, judged, rows)


def out_of_bag(
    forests: dict[Cuts, CompactForest], judged: Judged, seed: int, voting: Voting | None = None
) -> OutOfBag:
    """Let the trees vote, under every setting, on a sample of the rows that they did not draw."""
    voting = Voting.of(forests, judged, seed) if voting is None else voting
    n_trees = len(next(iter(forests.values())))
    first, second = (
        {cuts: voting.votes(forest.trees(*half), half[0]) for cuts, forest in forests.items()}
        for half in ((0, n_trees // 2), (n_trees // 2, n_trees))
    )
    return voting.evidence({cuts: (first[cuts], second[cuts]) for cuts in forests})
