"""How good each setting is, by out-of-bag rows, and which of them each forest gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.adaptive._out_of_bag import OutOfBag
from hardwood.adaptive._settings import Cuts, Setting
from hardwood.noise.checks import Array

# The weights of a setting and of its neighbours.
_SHARES = tuple(np.float32(share / 16) for share in (1, 4, 6, 4, 1))
# Settings whose accuracy differs by less than this many standard errors are considered equally good.
_DOUBT = 1.0
# A setting that predicts one class for more than this share of the rows is left out, unless the label of
# that class is the most frequent one by this many standard errors.
_NEARLY_ALL, _AHEAD = 0.9, 1.0


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
    as_good : ndarray of bool of shape (n_settings,)
        Which settings count as equally good as the best of their forest.
    """

    accuracy: Array
    error: Array
    score: Array
    best: dict[Cuts, int]
    as_good: NDArray[np.bool_]


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
    best, as_good = {}, np.zeros(len(accuracy), dtype=np.bool_)
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
        as_good[places[equals]] = True
        best[cuts] = int(places[np.argmax(np.where(equals, likelihoods[places], -np.inf))])
    return Scores(accuracy, error, score, best, as_good)


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
