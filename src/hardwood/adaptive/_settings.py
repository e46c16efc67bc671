"""How far a grown forest may trust its leaves, told by the rows out of its bags.

A fully grown tree holds every smaller tree inside it. Two families of those are read off its class
counts, with no second fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022). A row's label has no part in the votes of trees
that did not draw it, so that their accuracy on the labels, wrong as some are, ranks the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood import _engine
from hardwood._compact import CompactForest
from hardwood._grow import TrainingSet

Array = NDArray[np.float64]
Decide = Callable[[Array], NDArray[Any]]
"""From scores of shape (n_rows, n_classes) to predicted classes."""

_SMALL_STOPS = (1, 3, 5, 8, 12, 20)
_STOPS = (32, 50, 80, 128, 200)  # and ten times these, and so on
_SHRINKAGES = (1, 3, 10, 30, 100, 300, 1000, 3000)

# More rows than this tell the settings apart no better than chance does, and take their time.
_MOST_ROWS = 50_000
_MOST_VOTES = 2**26  # single precision numbers kept at once: 256 MB
_SHARES = (1, 4, 6, 4, 1)
# Settings closer than so many standard errors of their difference are as good as one another.
_DOUBT = 0.75


@dataclass(frozen=True)
class Setting:
    """How a forest is smoothed.

    Attributes
    ----------
    family : {"plain", "stop", "shrink"}
        Not at all; nodes of fewer than m rows are leaves; leaves are shrunk by h.
    amount : float
        m or h; 1 for a plain forest, which is what m = 1 is.
    """

    family: str
    amount: float

    def __str__(self) -> str:
        match self.family:
            case "stop":
                return f"stop at nodes of fewer than {self.amount:g} rows"
            case "shrink":
                return f"shrink leaves by {self.amount:g}"
            case _:
                return "plain"

    def applied(self, forest: CompactForest, n_threads: int, unit: float = 1.0) -> CompactForest:
        """Return the forest smoothed so; h is in rows that weigh `unit` each."""
        match self.family:
            case "stop":
                return forest.stopped(int(self.amount), n_threads)
            case "shrink":
                return forest.shrunk(self.amount * unit, n_threads)
            case _:
                return forest


PLAIN = Setting("plain", 1)


def settings(n_rows: int) -> list[Setting]:
    """Return the settings to choose among, plain first and each family from little to much.

    m goes up to half of the rows.
    """
    stops = list(_SMALL_STOPS)
    power = 1
    while _STOPS[0] * power <= n_rows / 2:
        stops += [m * power for m in _STOPS]
        power *= 10
    return [
        PLAIN,
        *(Setting("stop", m) for m in stops if 1 < m <= n_rows / 2),
        *(Setting("shrink", h) for h in _SHRINKAGES),
    ]


@dataclass(frozen=True)
class OutOfBag:
    """What the trees say of rows that they did not draw, by setting.

    Attributes
    ----------
    settings : list of Setting
        What was tried.
    halves : tuple of ndarray of shape (n_rows, n_settings, n_classes)
        Sums of the votes of the first half of the trees and of the second. One alone, of all
        trees, where no row has votes in both.
    n_votes : ndarray of shape (n_rows,)
        How many votes a row has in all, at least one.
    labels, weights : ndarray of shape (n_rows,)
        The rows' labels and weights.
    """

    settings: list[Setting]
    halves: tuple[NDArray[np.float32], ...]
    n_votes: NDArray[np.int64]
    labels: NDArray[np.uint16]
    weights: Array

    def __len__(self) -> int:
        return len(self.labels)

    def scores(self, setting: int) -> Array:
        """Return the whole forest's mean votes for each class."""
        votes = sum(half[:, setting].astype(np.float64) for half in self.halves)
        return np.asarray(votes / self.n_votes[:, np.newaxis])

    def predictions(self, decide: Decide | None = None) -> Predictions:
        """Return the classes predicted from all votes, and from each half of them.

        They are those of most votes, or what `decide` makes of scores.
        """
        parts = self.halves if len(self.halves) == 1 else (sum(self.halves), *self.halves)
        whole, *halves = (_predicted(votes, decide) for votes in parts)
        return Predictions(whole, halves or [whole])


def _predicted(votes: Any, decide: Decide | None) -> list[NDArray[Any]]:
    if decide is None:
        return list(votes.argmax(axis=2).T)
    predicted = []
    for setting in range(votes.shape[1]):
        of_setting = votes[:, setting].astype(np.float64)
        predicted.append(decide(of_setting / of_setting.sum(axis=1, keepdims=True)))
    return predicted


class Predictions(NamedTuple):
    """Classes predicted, [setting][row], by all trees, and [half][setting][row]."""

    whole: list[NDArray[Any]]
    halves: list[list[NDArray[Any]]]


def out_of_bag(
    forest: CompactForest,
    data: TrainingSet,
    n_draws: int,
    seed: int,
    n_threads: int,
) -> OutOfBag:
    """Let the trees vote, under every setting, on the rows that they did not draw.

    Of many rows a random part is enough.
    """
    tried = settings(len(data.X))
    stops = np.array([s.amount for s in tried if s.family != "shrink"], dtype=np.uint32)
    shrinkages = np.array([s.amount for s in tried if s.family == "shrink"], dtype=np.float64)
    n_rows = len(data.X)
    most = min(_MOST_ROWS, max(1, _MOST_VOTES // (2 * len(tried) * forest.n_classes)))
    rows = np.arange(n_rows, dtype=np.uint32)
    if n_rows > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    middle = len(forest) // 2
    votes, n_votes = [], []
    for first, last in ((0, middle), (middle, len(forest))):
        of_half, n_of_half = _engine.oob_smoothed(
            *forest.trees(first, last).arrays,
            data.X,
            data.weights,
            n_draws,
            seed,
            first,
            rows,
            stops,
            shrinkages,
            n_threads,
        )
        votes.append(of_half)
        n_votes.append(n_of_half)
    seen = (n_votes[0] > 0) & (n_votes[1] > 0)
    if not seen.any():
        seen = n_votes[0] + n_votes[1] > 0
        votes = [votes[0] + votes[1]]
    rows = rows[seen]
    return OutOfBag(
        tried,
        tuple(half if seen.all() else half[seen] for half in votes),
        (n_votes[0] + n_votes[1])[seen],
        data.labels[rows],
        np.ones(len(rows)) if data.weights is None else data.weights[rows],
    )


@dataclass(frozen=True)
class Scores:
    """How accurate each setting is out of bag.

    Attributes
    ----------
    accuracy, error : ndarray of shape (n_settings,)
        The accuracy of all trees out of bag, and its standard error.
    score : ndarray of shape (n_settings,)
        What settings are compared by, see `evaluate`.
    best : int
        The setting chosen.
    """

    accuracy: Array
    error: Array
    score: Array
    best: int


def evaluate(evidence: OutOfBag, predictions: Predictions, reward: Array, n_trees: int) -> Scores:
    """Score every setting and choose one.

    A row has votes of the 37 % of the trees that did not draw it, and few votes ask for more
    smoothing than many. What a forest lacks falls as 1/trees: from n/2 votes to n it gained
    whole − half, and from n to N it will gain (whole − half) (1 − n/N). That is added.

    Neighbours in a family differ little but by chance, so that each has a share in the others'
    scores: 1, 4, 6, 4, 1 of 16. Of the settings that are then as good as the best, within ¾ of the
    standard error of the difference, the first is taken, which smooths least. One that is behind
    in accuracy, by more than the front-runner owes to the second half of its trees, and by more
    than chance, cannot be the best: so far no extrapolation carries.

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predictions : Predictions
        What they make of the rows.
    reward : ndarray of shape (n_classes, n_classes)
        ``reward[observed, predicted]``: the identity for accuracy on the labels as they are, the
        inverse of the noise matrix for an unbiased estimate of the accuracy on true labels.
    n_trees : int
        N, how many trees will vote.
    """
    labels, weights = evidence.labels, evidence.weights
    whole = reward[labels, np.array(predictions.whole)]
    half = np.mean([reward[labels, np.array(each)] for each in predictions.halves], axis=0)
    accuracy, error = weighted_mean(whole, weights)
    to_come = max(0.0, 1 - evidence.n_votes.mean() / n_trees)
    expected = _with_neighbours(whole + to_come * (whole - half), evidence.settings)
    score, _ = weighted_mean(expected, weights)
    front = int(np.argmax(accuracy))
    owed = max(0.0, accuracy[front] - weighted_mean(half[front], weights)[0])
    near = accuracy[front] - accuracy <= owed + error[front]
    front = int(np.argmax(np.where(near, score, -np.inf)))
    behind, doubt = weighted_mean(expected[front] - expected, weights)
    return Scores(accuracy, error, score, int(np.argmax(behind <= _DOUBT * doubt)))


def _with_neighbours(values: Array, tried: list[Setting]) -> Array:
    shrinks = np.array([setting.family == "shrink" for setting in tried])
    shared = values.copy()
    for family in (~shrinks, shrinks):  # plain is to stop at nodes of fewer than one
        if not (n := int(family.sum())):
            continue
        padded = np.pad(values[family], [(2, 2), (0, 0)], mode="symmetric")
        shared[family] = sum(share * padded[i : i + n] for i, share in enumerate(_SHARES)) / 16
    return shared


def gain(
    evidence: OutOfBag, reward: Array, predicted: NDArray[Any], baseline: NDArray[Any]
) -> tuple[float, float]:
    """Return how much more reward one prediction has than another, and its standard error."""
    labels = evidence.labels
    return weighted_mean(reward[labels, predicted] - reward[labels, baseline], evidence.weights)


def weighted_mean(values: Array, weights: Array) -> tuple[Any, Any]:
    """Return Σ w v / Σ w along the last axis and its standard error, √(Σ w² (v − mean)²) / Σ w."""
    total = weights.sum()
    mean = values @ weights / total
    return mean, np.sqrt(np.square(values - mean[..., np.newaxis]) @ np.square(weights)) / total
