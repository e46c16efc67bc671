"""How far a grown forest may trust its leaves, told by the rows out of its bags.

A fully grown tree holds every smaller tree inside it. Two families of those are read off its class
counts, with no second fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022). A row's label has no part in the votes of trees
that did not draw it, so that their accuracy on the labels, wrong as some are, ranks the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    def half_scores(self, setting: int) -> Iterator[Array]:
        """Yield the votes of each half, up to a factor for each row."""
        for half in self.halves:
            votes = half[:, setting].astype(np.float64)
            yield votes / votes.sum(axis=1, keepdims=True)


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
    whole, half : ndarray of shape (n_settings,)
        Accuracy of all trees, and the mean of the accuracies of both halves of them.
    error : ndarray of shape (n_settings,)
        Standard error of `whole`.
    families : list of ndarray
        The places of the settings of each family, from little to much.
    """

    whole: Array
    half: Array
    error: Array
    families: list[NDArray[np.intp]]

    @property
    def extrapolated(self) -> Array:
        """Accuracy to expect of more trees: a row has out-of-bag votes from 37 % of them alone.

        What a forest lacks falls as 1/trees, so that all further trees together gain what the
        second half of these did: whole + (whole − half). Neighbours in a family differ little but
        by chance, so that each has a share in the others' scores: ¼, ½, ¼.
        """
        extrapolated = np.minimum(2 * self.whole - self.half, max(1.0, self.whole.max()))
        for family in self.families:
            own = extrapolated[family]
            around = np.concatenate([own[:1], own, own[-1:]])
            extrapolated[family] = (around[:-2] + 2 * own + around[2:]) / 4
        return extrapolated

    @property
    def best(self) -> int:
        """The setting of the best score; of equals the first, which smooths less.

        One that is behind by more than the front-runner itself owes to the second half of its
        trees, and by more than chance, has no say: so far no extrapolation carries.
        """
        front = int(np.argmax(self.whole))
        behind = self.whole[front] - self.whole
        near = behind <= max(0.0, self.whole[front] - self.half[front]) + self.error[front]
        return int(np.argmax(np.where(near, self.extrapolated, -np.inf)))


def evaluate(
    evidence: OutOfBag,
    predict: Predict,
    reward: Array,
) -> Scores:
    """Score every setting.

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
    whole, half, error = [], [], []
    for setting in range(len(evidence.settings)):
        accuracy, its_error = _mean(evidence, reward, predict(evidence.scores(setting)))
        whole.append(accuracy)
        error.append(its_error)
        if len(evidence.halves) == 1:
            half.append(accuracy)
            continue
        of_halves = [
            _mean(evidence, reward, predict(scores))[0] for scores in evidence.half_scores(setting)
        ]
        half.append(float(np.mean(of_halves)))
    shrinks = np.array([setting.family == "shrink" for setting in evidence.settings])
    families = [np.flatnonzero(~shrinks), np.flatnonzero(shrinks)]  # plain is to stop at nodes of 1
    return Scores(np.array(whole), np.array(half), np.array(error), families)


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
