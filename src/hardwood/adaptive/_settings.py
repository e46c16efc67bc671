"""How far a grown forest may trust its leaves, told by the rows out of its bags.

A fully grown tree holds every smaller tree inside it. Two families of those are read off its class
counts, with no second fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022). A row's label has no part in the votes of trees
that did not draw it, so that their accuracy on the labels, wrong as some are, ranks the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import _engine
from hardwood._compact import CompactForest
from hardwood._grow import TrainingSet

Array = NDArray[np.float64]
Predict = Callable[[Array], NDArray[Any]]

_SMALL_STOPS = (1, 3, 5, 8, 12, 20)
_STOPS = (32, 50, 80, 128, 200)  # and ten times these, and so on
_SHRINKAGES = (1, 3, 10, 30, 100, 300, 1000, 3000)

# More rows than this tell the settings apart no better than chance does, and take their time.
_MOST_ROWS = 200_000
_MOST_VOTES = 2**26  # single precision numbers kept at once: 256 MB
# Settings closer than so many standard errors of their difference are as good as one another.
_DOUBT = 0.5


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
    votes : ndarray of shape (n_rows, n_settings, n_classes)
        Sums of the trees' votes.
    n_votes : ndarray of shape (n_rows,)
        How many votes a row has, at least one.
    labels, weights : ndarray of shape (n_rows,)
        The rows' labels and weights.
    """

    settings: list[Setting]
    votes: NDArray[np.float32]
    n_votes: NDArray[np.int64]
    labels: NDArray[np.uint16]
    weights: Array

    def __len__(self) -> int:
        return len(self.labels)

    def scores(self, setting: int) -> Array:
        """Return the mean votes for each class."""
        votes = self.votes[:, setting].astype(np.float64)
        return np.asarray(votes / self.n_votes[:, np.newaxis])


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
    most = min(_MOST_ROWS, max(1, _MOST_VOTES // (len(tried) * forest.n_classes)))
    rows = np.arange(n_rows, dtype=np.uint32)
    if n_rows > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    votes, n_votes = _engine.oob_smoothed(
        *forest.arrays,
        data.X,
        data.weights,
        n_draws,
        seed,
        0,
        rows,
        stops,
        shrinkages,
        n_threads,
    )
    if not (seen := n_votes > 0).all():
        rows, votes, n_votes = rows[seen], votes[seen], n_votes[seen]
    weights = np.ones(len(rows)) if data.weights is None else data.weights[rows]
    return OutOfBag(tried, votes, n_votes, data.labels[rows], weights)


@dataclass(frozen=True)
class Scores:
    """How accurate each setting is out of bag.

    Attributes
    ----------
    accuracy, error : ndarray of shape (n_settings,)
        The accuracy and its standard error.
    score : ndarray of shape (n_settings,)
        What settings are compared by. Neighbours in a family differ little but by chance, so that
        each has a share in the others' accuracies: ¼, ½, ¼.
    best : int
        The setting chosen: of those that are as good as the best score, within half a standard
        error of the difference, the first, which smooths least.
    """

    accuracy: Array
    error: Array
    score: Array
    best: int


def evaluate(
    evidence: OutOfBag,
    predict: Predict,
    reward: Array,
) -> Scores:
    """Score every setting.

    A row has votes of the 37 % of the trees that did not draw it. So few ask for more smoothing
    than the whole forest does, which is why ties, within doubt, go to the setting that smooths
    less.

    Parameters
    ----------
    evidence : OutOfBag
        The votes.
    predict : callable
        From scores of shape (n_rows, n_classes) to predicted classes.
    reward : ndarray of shape (n_classes, n_classes)
        ``reward[observed, predicted]``: the identity for accuracy on the labels as they are, the
        inverse of the noise matrix for an unbiased estimate of the accuracy on true labels.
    """
    n_settings = len(evidence.settings)
    predicted = [
        predict(evidence.scores(setting)).astype(np.uint16) for setting in range(n_settings)
    ]
    means = [_mean(evidence, reward, classes) for classes in predicted]
    accuracy, error = (np.array(values) for values in zip(*means, strict=True))
    score = _with_neighbours(accuracy, evidence.settings)
    front = int(np.argmax(score))
    for best in range(n_settings):
        _, doubt = gain(evidence, reward, predicted[front], predicted[best])
        if score[front] - score[best] <= _DOUBT * doubt:
            break
    return Scores(accuracy, error, score, best)


def _with_neighbours(accuracy: Array, tried: list[Setting]) -> Array:
    shrinks = np.array([setting.family == "shrink" for setting in tried])
    score = accuracy.copy()
    for family in (~shrinks, shrinks):  # plain is to stop at nodes of fewer than one
        own = accuracy[family]
        around = np.concatenate([own[:1], own, own[-1:]])
        score[family] = (around[:-2] + 2 * own + around[2:]) / 4
    return score


def gain(
    evidence: OutOfBag, reward: Array, predicted: NDArray[Any], baseline: NDArray[Any]
) -> tuple[float, float]:
    """Return how much more reward one prediction has than another, and its standard error."""
    labels = evidence.labels
    return weighted_mean(reward[labels, predicted] - reward[labels, baseline], evidence.weights)


def _mean(evidence: OutOfBag, reward: Array, predicted: NDArray[Any]) -> tuple[float, float]:
    return weighted_mean(reward[evidence.labels, predicted], evidence.weights)


def weighted_mean(values: Array, weights: Array) -> tuple[float, float]:
    """Return Σ w v / Σ w and its standard error, √(Σ w² (v − mean)²) / Σ w."""
    total = weights.sum()
    mean = float(weights @ values / total)
    return mean, float(np.sqrt(np.square(weights * (values - mean)).sum()) / total)
