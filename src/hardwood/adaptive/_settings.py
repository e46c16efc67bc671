"""How far a grown forest may trust its leaves, told by the rows out of its bags.

A fully grown tree holds every smaller tree inside it. Two families of those are read off its class
counts, with no second fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022). A row's label has no part in the votes of trees
that did not draw it, so that their accuracy on the labels, wrong as some are, ranks the settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet

Array = NDArray[np.float64]

_SMALL_STOPS = (1, 3, 5, 8, 12, 20)
_STOPS = (32, 50, 80, 128, 200)  # and ten times these, and so on
_SHRINKAGES = (1, 3, 10, 30, 100, 300, 1000, 3000)
# A shrunk leaf holds a number for each class: of more classes than these, forests would be large.
_MOST_CLASSES_SHRUNK = 32

# The share of the rows that a tree draws once or more.
DRAWN = 1 - np.exp(-1)
# More rows than this tell the settings apart no better than chance does, and take their time.
_MOST_ROWS = 30_000
_FEW_ROWS = 2_000
_MOST_VOTES = 2**26  # single precision numbers kept at once: 256 MB
_SHARES = tuple(np.float32(share / 16) for share in (1, 4, 6, 4, 1))
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


def settings(n_rows: int, n_classes: int) -> list[Setting]:
    """Return the settings to choose among, plain first and each family from little to much.

    m goes up to half of the rows. Forests of many classes are not shrunk.
    """
    stops = list(_SMALL_STOPS)
    power = 1
    while _STOPS[0] * power <= n_rows / 2:
        stops += [m * power for m in _STOPS]
        power *= 10
    return [
        PLAIN,
        *(Setting("stop", m) for m in stops if 1 < m <= n_rows / 2),
        *(Setting("shrink", h) for h in _SHRINKAGES if n_classes <= _MOST_CLASSES_SHRUNK),
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

    def distance(self, setting: int) -> float:
        """Return how far the votes are from the labels: Brier's score, mean of Σ (s − [y = k])²."""
        votes = sum(half[:, setting] for half in self.halves)
        scores = votes / self.n_votes[:, np.newaxis].astype(np.float32)
        of_label = scores[np.arange(len(self)), self.labels]
        squares = np.einsum("ik,ik->i", scores, scores) - 2 * of_label
        return float(1 + squares @ self.weights / self.weights.sum())

    def predictions(self, n_threads: int = 1) -> list[NDArray[np.uint16]]:
        """Return the classes of most votes, [setting, row], by all trees and by each half."""
        first, last = self.halves[0], self.halves[-1]
        others = last if len(self.halves) == 2 else None
        return [
            _engine.leading_classes(first, others, n_threads),
            _engine.leading_classes(first, None, n_threads),
            _engine.leading_classes(last, None, n_threads),
        ]


def out_of_bag(
    forest: CompactForest,
    data: TrainingSet,
    n_draws: int,
    seed: int,
    max_features: int,
    n_threads: int,
) -> OutOfBag:
    """Let the trees vote, under every setting, on the rows that they did not draw.

    Of many rows a random part is enough, and a few where the forest as it is gets all of these
    right: there is little to choose. Nor are more numbers added up than growing looked at values:
    `max_features` of a row that was drawn, in each of the log₂ n nodes on its way down.
    """
    tried = settings(len(data.X), forest.n_classes)
    stops = np.array([s.amount for s in tried if s.family != "shrink"], dtype=np.uint32)
    shrinkages = np.array([s.amount for s in tried if s.family == "shrink"], dtype=np.float64)
    middle = len(forest) // 2

    def vote(
        rows: NDArray[np.uint32], stops: NDArray[np.uint32], shrinkages: Array
    ) -> list[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Return the votes of each half of the trees, and how many they are."""
        return [
            forest.trees(first, last).oob_smoothed(
                data.X,
                data.weights,
                n_draws,
                seed,
                first_tree=first,
                rows=rows,
                stops=stops,
                shrinkages=shrinkages,
                n_threads=n_threads,
            )
            for first, last in ((0, middle), (middle, len(forest)))
        ]

    def are_right(rows: NDArray[np.uint32]) -> bool:
        (first, _), (second, _) = vote(rows, stops[:1], shrinkages[:0])
        return np.array_equal((first + second)[:, 0].argmax(axis=1), data.labels[rows])

    n_rows = len(data.X)
    width = len(tried) * forest.n_classes
    looked_at = DRAWN * n_rows * np.log2(n_rows + 1) * max_features
    affordable = max(_FEW_ROWS, int(looked_at / (width * (1 - DRAWN))))
    most = min(_MOST_ROWS, affordable, max(1, _MOST_VOTES // (2 * width)))
    rows = np.arange(n_rows, dtype=np.uint32)
    random = np.random.default_rng(seed)
    if n_rows > most:
        rows = np.sort(random.choice(rows, most, replace=False))
    if len(rows) > _FEW_ROWS:
        few = np.sort(random.choice(rows, _FEW_ROWS, replace=False))
        if all(are_right(part) for part in (few[::20].copy(), few)):  # one wrong is enough
            rows = few
    (first, n_first), (second, n_second) = vote(rows, stops, shrinkages)
    votes, n_votes = [first, second], [n_first, n_second]
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
        What settings are compared by: accuracies with what is to come, shared among neighbours.
    best : int
        The setting chosen.
    """

    accuracy: Array
    error: Array
    score: Array
    best: int


def gain_to_come(
    evidence: OutOfBag, predictions: list[NDArray[np.uint16]], n_trees: int
) -> NDArray[np.float32]:
    """Return how much more accurate the forest will be than it is out of bag, [setting, row].

    A row has votes of the 37 % of the trees that did not draw it, and few votes ask for more
    smoothing than many. What a forest lacks falls as 1/trees: from n/2 votes to n it gained
    whole − half, and from n to N it will gain (whole − half) (1 − n/N).

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predictions : list of ndarray
        By all trees and by each half.
    n_trees : int
        N, how many trees will vote.
    """
    whole, first, second = ((part == evidence.labels).view(np.int8) for part in predictions)
    share = max(0.0, 1 - evidence.n_votes.mean() / n_trees)
    return np.asarray(np.float32(share / 2) * (2 * whole - first - second))


def evaluate(
    evidence: OutOfBag, predicted: NDArray[Any], reward: Array, to_come: NDArray[np.float32]
) -> Scores:
    """Score every setting and choose one.

    Neighbours in a family differ little but by chance, so that each has a share in the others'
    scores: 1, 4, 6, 4, 1 of 16. Of the settings that are then as good as the best, within ¾ of the
    standard error of the difference, the one is taken whose votes are nearest to the labels (by
    Brier's score, which varies less from row to row than accuracy does), and of equals the first,
    which smooths least. One that is behind in accuracy, by more than the front-runner has to come,
    and by more than chance, cannot be the best: so far no extrapolation carries.

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predicted : ndarray of shape (n_settings, n_rows)
        The classes they predict.
    reward : ndarray of shape (n_classes, n_classes)
        ``reward[observed, predicted]``: the identity for accuracy on the labels as they are, the
        inverse of the noise matrix for an unbiased estimate of the accuracy on true labels.
    to_come : ndarray of shape (n_settings, n_rows)
        What more trees will add to it, from `gain_to_come`.
    """
    weights = evidence.weights.astype(np.float32)
    rewards = reward.astype(np.float32)[evidence.labels, predicted]
    accuracy, error = weighted_mean(rewards, weights)
    expected = _with_neighbours(rewards + to_come, evidence.settings)
    score, _ = weighted_mean(expected, weights)
    front = int(np.argmax(accuracy))
    owed = max(0.0, weighted_mean(to_come[front], weights)[0])
    near = accuracy[front] - accuracy <= owed + error[front]
    front = int(np.argmax(np.where(near, score, -np.inf)))
    behind, doubt = weighted_mean(expected[front] - expected, weights)
    # As if they differed in one row more, so that no single row tells them apart in accuracy.
    doubt = np.hypot(doubt, weights.mean() / weights.sum())
    equals = np.flatnonzero(behind <= _DOUBT * doubt).tolist()
    best = equals[0]
    if len(equals) > 1 and accuracy[best] < 1:  # and not all right
        best = min(equals, key=evidence.distance)
    return Scores(accuracy, error, score, best)


def _with_neighbours(values: NDArray[np.float32], tried: list[Setting]) -> NDArray[np.float32]:
    shrinks = np.array([setting.family == "shrink" for setting in tried])
    shared = values.copy()
    for family in (~shrinks, shrinks):  # plain is to stop at nodes of fewer than one
        if not (n := int(family.sum())):
            continue
        padded = np.pad(values[family], [(2, 2), (0, 0)], mode="symmetric")
        shared[family] = sum(share * padded[i : i + n] for i, share in enumerate(_SHARES))
    return shared


def gain(
    evidence: OutOfBag, reward: Array, predicted: NDArray[Any], baseline: NDArray[Any]
) -> tuple[float, float]:
    """Return how much more reward one prediction has than another, and its standard error."""
    labels = evidence.labels
    return weighted_mean(reward[labels, predicted] - reward[labels, baseline], evidence.weights)


def weighted_mean(values: NDArray[Any], weights: NDArray[Any]) -> tuple[Any, Any]:
    """Return Σ w v / Σ w along the last axis and its standard error, √(Σ w² (v − mean)²) / Σ w."""
    weights = weights.astype(np.float64)
    total = weights.sum()
    mean = np.einsum("...i,i", values, weights) / total
    squares = np.einsum("...i,...i,i", values, values, np.square(weights))
    crossed = np.einsum("...i,i", values, np.square(weights))
    # Σ w² (v − mean)² without another array of that size
    spread = squares - 2 * mean * crossed + mean**2 * np.square(weights).sum()
    return mean, np.sqrt(np.maximum(spread, 0)) / total
