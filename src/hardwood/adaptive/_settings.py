"""How a forest splits and how far it can trust its leaves, judged by out-of-bag rows.

A fully grown tree contains every smaller tree. Two families of smaller trees follow from its class
counts, without another fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022). Trees that did not draw a row have not seen its
label, so their accuracy on the labels ranks the settings even if some labels are wrong. This is done
for several forests: best cuts, and random cuts, which chase noise less. The forests are then mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood.adaptive._judged import Judged
from hardwood.noise.checks import Array
from hardwood.noise.label_model import relative
from hardwood.noise.vote_likelihoods import vote_likelihoods

_SMALL_STOPS = (1, 3, 5, 8, 12, 20)
_STOPS = (32, 50, 80, 128, 200)  # and ten times these, and so on
_SHRINKAGES = (1, 3, 10, 30, 100, 300, 1000, 3000)
# A shrunk leaf stores a number for each class, so with more classes forests would become large.
_MOST_CLASSES_SHRUNK = 32

# The share of the rows that a tree draws at least once.
DRAWN = 1 - np.exp(-1)
# More rows than this would only cost time: the settings hardly differ beyond chance.
_MOST_ROWS = 30_000
_FEW_ROWS = 2_000
_MOST_VOTES = 2**26  # single-precision numbers in memory at once: 256 MB
_SHARES = tuple(np.float32(share / 16) for share in (1, 4, 6, 4, 1))
# Settings whose accuracy differs by less than this many standard errors are considered equally good.
_DOUBT = 1.0
# A setting that predicts one class for more than this share of the rows is left out, unless the label of
# that class is the most frequent one by this many standard errors.
_NEARLY_ALL, _AHEAD = 0.9, 1.0
# Forests are mixed in shares that are multiples of this fraction, and those below the least are left out.
_STEPS_OF_SHARES = 4
_LEAST_SHARE = 0.02


class Cuts(NamedTuple):
    """How a forest cuts: at the best threshold of a feature or a random one, of how many features."""

    splitter: str = "best"
    max_features: int = 1

    def __str__(self) -> str:
        features = "feature" if self.max_features == 1 else "features"
        return f"{self.splitter} cuts of {self.max_features} {features}"


_BEST = Cuts()


@dataclass(frozen=True)
class Setting:
    """How a forest is smoothed.

    Attributes
    ----------
    family : {"plain", "stop", "shrink"}
        No smoothing; nodes of fewer than m rows become leaves; leaves are shrunk by h.
    amount : float
        m or h. A plain forest has the amount 1, as stopping with m = 1 changes nothing.
    cuts : Cuts
        How the trees cut.
    """

    family: str
    amount: float
    cuts: Cuts = _BEST

    def __str__(self) -> str:
        match self.family:
            case "stop":
                what = f"stop at nodes of fewer than {self.amount:g} rows"
            case "shrink":
                what = f"shrink leaves by {self.amount:g}"
            case _:
                what = "plain"
        return f"{self.cuts}, {what}"

    def applied(self, forest: CompactForest, n_threads: int, unit: float = 1.0) -> CompactForest:
        """Return the smoothed forest. h counts rows of weight `unit`."""
        match self.family:
            case "stop":
                return forest.stopped(int(self.amount), n_threads)
            case "shrink":
                return forest.shrunk(self.amount * unit, n_threads)
            case _:
                return forest


def settings(n_rows: int, n_classes: int, cuts: Cuts = _BEST) -> list[Setting]:
    """Return the settings to choose from: plain first, then each family by increasing amount.

    m goes up to half of the rows. Forests with many classes are not shrunk.
    """
    stops = list(_SMALL_STOPS)
    power = 1
    while _STOPS[0] * power <= n_rows / 2:
        stops += [m * power for m in _STOPS]
        power *= 10
    shrinkages = _SHRINKAGES if n_classes <= _MOST_CLASSES_SHRUNK else ()
    return [
        Setting("plain", 1, cuts),
        *(Setting("stop", m, cuts) for m in stops if 1 < m <= n_rows / 2),
        *(Setting("shrink", h, cuts) for h in shrinkages),
    ]


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
        votes = self.halves[0] if len(self.halves) == 1 else self.halves[0] + self.halves[1]
        return vote_likelihoods(votes, self.n_votes, self.labels, self.weights, n_threads)

    def mixed(self, places: Sequence[int], shares: Array) -> OutOfBag:
        """Return the votes of a forest that has trees of several settings, in these shares."""
        weights = np.asarray(shares, dtype=np.float32)[:, np.newaxis]
        halves = tuple(
            np.add.reduce(half[:, places] * weights, axis=1, keepdims=True) for half in self.halves
        )
        return replace(
            self, settings=[self.settings[places[int(np.argmax(shares))]]], halves=halves
        )

    def predictions(self, n_threads: int = 1) -> list[NDArray[np.uint16]]:
        """Return the classes with most votes, [setting, row], by all trees and by each half."""
        first, last = self.halves[0], self.halves[-1]
        others = last if len(self.halves) == 2 else None
        return [
            _engine.leading_classes(first, others, n_threads),
            _engine.leading_classes(first, None, n_threads),
            _engine.leading_classes(last, None, n_threads),
        ]


def out_of_bag(forests: dict[Cuts, CompactForest], judged: Judged, seed: int) -> OutOfBag:
    """Let the trees vote, under every setting, on the rows that they did not draw.

    A random sample of the rows is enough. A small one will do if the plain forest gets all of it
    right, as there is little to choose. The votes must not cost more than growing did, which looks
    at `max_features` values of each drawn row in each of the log₂ n nodes on its path.

    Trees of different forests draw the same rows.
    """
    first_forest = next(iter(forests.values()))
    n_rows, n_classes, n_trees = judged.n_rows, first_forest.n_classes, len(first_forest)
    tried = settings(n_rows, n_classes)
    stops = np.array([s.amount for s in tried if s.family != "shrink"], dtype=np.uint32)
    shrinkages = np.array([s.amount for s in tried if s.family == "shrink"], dtype=np.float64)

    def vote(
        forest: CompactForest,
        half: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32] = stops,
        shrinkages: Array = shrinkages,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the votes of a half of the trees, and their numbers."""
        first, last = ((0, n_trees // 2), (n_trees // 2, n_trees))[half]
        return judged.votes(forest.trees(first, last), first, rows, stops, shrinkages)

    def are_right(rows: NDArray[np.uint32]) -> bool:
        first, second = (
            vote(first_forest, half, rows, stops[:1], shrinkages[:0])[0] for half in (0, 1)
        )
        votes = first + second
        return np.array_equal(votes[:, 0].argmax(axis=1), judged.labels(rows))

    width = len(forests) * len(tried) * n_classes
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
        if all(are_right(part) for part in (few[::20].copy(), few)):  # stop at the first error
            rows = few
    votes, n_votes = [], []
    for half in (0, 1):
        of_forests = [vote(forest, half, rows) for forest in forests.values()]
        votes.append(np.concatenate([votes for votes, _ in of_forests], axis=1))
        n_votes.append(of_forests[0][1])
    seen = (n_votes[0] > 0) & (n_votes[1] > 0)
    if not seen.any():
        seen = n_votes[0] + n_votes[1] > 0
        votes = [votes[0] + votes[1]]
    rows = rows[seen]
    # Relative to these rows alone: one that outweighs all others is in every bag.
    weights = relative(judged.relative_weights(rows)) if len(rows) else np.empty(0)
    return OutOfBag(
        [s for cuts in forests for s in settings(n_rows, n_classes, cuts)],
        tuple(half if seen.all() else half[seen] for half in votes),
        (n_votes[0] + n_votes[1])[seen],
        judged.labels(rows),
        weights / weights.mean() if len(weights) else weights,
    )


@dataclass(frozen=True)
class Scores:
    """The out-of-bag accuracy of each setting.

    Attributes
    ----------
    accuracy, error : ndarray of shape (n_settings,)
        The out-of-bag accuracy of all trees, and its standard error.
    score : ndarray of shape (n_settings,)
        What settings are compared by: the accuracy, plus the gain to come from more votes,
        averaged with the neighbouring settings.
    best : dict of Cuts to int
        The chosen setting of each forest.
    """

    accuracy: Array
    error: Array
    score: Array
    best: dict[Cuts, int]


def gain_to_come(
    evidence: OutOfBag, predictions: list[NDArray[np.uint16]], n_trees: int
) -> NDArray[np.float32]:
    """Return how much more accurate the forest will be than it is out of bag, [setting, row].

    Only the 37 % of the trees that did not draw a row vote on it, and few votes need more
    smoothing than many. The loss of a finite forest falls as 1/trees: from n/2 votes to n, the
    accuracy gained whole − half, so from n to N it will gain (whole − half) (1 − n/N).

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predictions : list of ndarray
        The predictions of all trees and of each half.
    n_trees : int
        N, the number of trees in the final model.
    """
    whole, first, second = ((part == evidence.labels).view(np.int8) for part in predictions)
    share = max(0.0, 1 - evidence.n_votes.mean() / n_trees)
    return np.asarray(np.float32(share / 2) * (2 * whole - first - second))


def evaluate(
    evidence: OutOfBag,
    predicted: NDArray[Any],
    to_come: NDArray[np.float32],
    likelihoods: Array,
    doubt: float = _DOUBT,
) -> Scores:
    """Score every setting by its accuracy on the observed labels, and choose one for each forest.

    Neighbouring settings of a family differ mostly by chance, so their scores are averaged with
    weights 1, 4, 6, 4, 1. Settings within one standard error of the best count as equally good.
    Among these, the one that makes the labels most likely wins: this says more about small tables
    than accuracy does. A setting is ruled out as the best if its accuracy is behind by more than
    chance and more than the leader's gain to come: extrapolation does not carry that far. So is one
    that predicts hardly anything but one class, though its label is not clearly the most frequent.

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predicted : ndarray of shape (n_settings, n_rows)
        The predicted classes.
    to_come : ndarray of shape (n_settings, n_rows)
        The gain expected from more trees, from `gain_to_come`.
    likelihoods : ndarray of shape (n_settings,)
        How likely the settings make the labels.
    doubt : float, default=1
        How many standard errors count as equally good.
    """
    weights = evidence.weights
    is_right = (predicted == evidence.labels).astype(np.float32)
    accuracy, error = weighted_mean(is_right, weights)
    expected = _with_neighbours(is_right + to_come, evidence.settings)
    score, _ = weighted_mean(expected, weights)
    by_chance = _decide_by_chance(evidence, predicted)
    best = {}
    for cuts, places in evidence.places().items():
        if not by_chance[places].all():
            places = places[~by_chance[places]]
        front = places[int(np.argmax(accuracy[places]))]
        owed = max(0.0, weighted_mean(to_come[front], weights)[0])
        near = accuracy[front] - accuracy[places] <= owed + error[front]
        front = places[int(np.argmax(np.where(near, score[places], -np.inf)))]
        behind, its_error = weighted_mean(expected[front] - expected[places], weights)
        # As if they differed in one more row, so that no single row decides.
        its_error = np.hypot(its_error, weights.mean() / weights.sum())
        equals = behind <= doubt * its_error
        best[cuts] = int(places[np.argmax(np.where(equals, likelihoods[places], -np.inf))])
    return Scores(accuracy, error, score, best)


def _decide_by_chance(evidence: OutOfBag, predicted: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which settings predict one class for nearly all rows though its label is hardly ahead.

    In a small table with much noise, chance can make such a setting look best.
    """
    labels, n_classes = evidence.labels, evidence.halves[0].shape[2]
    count = np.bincount(labels, weights=evidence.weights, minlength=n_classes)
    if n_classes == 1:
        return np.zeros(len(predicted), dtype=np.bool_)
    second, first = np.sort(count / count.sum())[-2:]
    error = np.sqrt((first + second - (first - second) ** 2) / len(labels))
    if first - second > _AHEAD * error:
        return np.zeros(len(predicted), dtype=np.bool_)
    most = np.array([np.bincount(of_rows, minlength=n_classes).max() for of_rows in predicted])
    return np.asarray(most > _NEARLY_ALL * len(labels))


def mixtures(n_forests: int) -> Array:
    """Return all ways to mix forests in shares that are multiples of a quarter.

    Examples
    --------
    >>> from hardwood.adaptive._settings import mixtures
    >>> mixtures(2).tolist()
    [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]
    """
    steps = range(_STEPS_OF_SHARES + 1)
    counts = [c for c in product(steps, repeat=n_forests) if sum(c) == _STEPS_OF_SHARES]
    return np.array(counts) / _STEPS_OF_SHARES


def likely_shares(evidence: OutOfBag, places: Sequence[int]) -> Array:
    """Return the shares in which to mix the forests with these settings.

    They are the mean over all mixtures, weighted by how likely these make the labels. If the labels
    do not tell which forest is better, this is about an even mixture. Small shares are left out.
    """
    tried = mixtures(len(places))
    if len(tried) == 1:
        return np.ones(1)
    likelihoods = [float(evidence.mixed(places, shares).likelihoods()[0]) for shares in tried]
    weights = np.exp(np.array(likelihoods) - max(likelihoods))
    shares = weights @ tried / weights.sum()
    shares = np.where(shares < _LEAST_SHARE, 0, shares)
    return np.asarray(shares / shares.sum())


def apportioned(shares: Array, n_trees: int) -> NDArray[np.intp]:
    """Return numbers of trees in these shares that add up, by the largest remainders.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.adaptive._settings import apportioned
    >>> apportioned(np.array([0.5, 0.3, 0.2]), 5).tolist()
    [3, 1, 1]
    """
    exact = shares * n_trees
    numbers = np.floor(exact + 1e-9).astype(np.intp)
    largest = np.argsort(numbers - exact, kind="stable")
    numbers[largest[: n_trees - numbers.sum()]] += 1
    return numbers


def _with_neighbours(values: NDArray[np.float32], tried: list[Setting]) -> NDArray[np.float32]:
    # Plain belongs to the stops, with m = 1.
    families = [(s.cuts, s.family == "shrink") for s in tried]
    shared = values.copy()
    for name in dict.fromkeys(families):
        family = np.array([name == other for other in families])
        n = int(family.sum())
        padded = np.pad(values[family], [(2, 2), (0, 0)], mode="symmetric")
        shared[family] = sum(share * padded[i : i + n] for i, share in enumerate(_SHARES))
    return shared


def gain(
    evidence: OutOfBag, reward: Array, predicted: NDArray[Any], baseline: NDArray[Any]
) -> tuple[float, float]:
    """Return the difference in mean reward between two predictions, and its standard error."""
    labels = evidence.labels
    return weighted_mean(reward[labels, predicted] - reward[labels, baseline], evidence.weights)


def weighted_mean(values: NDArray[Any], weights: NDArray[Any]) -> tuple[Any, Any]:
    """Return Σ w v / Σ w along the last axis, and its standard error √(Σ w² (v − mean)²) / Σ w."""
    weights = weights.astype(np.float64)
    total = weights.sum()
    mean = np.einsum("...i,i", values, weights) / total
    squares = np.einsum("...i,...i,i", values, values, np.square(weights))
    crossed = np.einsum("...i,i", values, np.square(weights))
    # Σ w² (v − mean)², without another array of this size
    spread = squares - 2 * mean * crossed + mean**2 * np.square(weights).sum()
    return mean, np.sqrt(np.maximum(spread, 0)) / total
