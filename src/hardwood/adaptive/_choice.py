"""What an adaptive forest decides after it has grown: how to smooth, and how to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.adaptive._settings import (
    PLAIN,
    OutOfBag,
    Scores,
    Setting,
    evaluate,
    gain,
    gain_to_come,
    weighted_mean,
)
from hardwood.noise.estimate import (
    Correction,
    NoiseEstimate,
    Recalibrated,
    Unmixed,
    best_cut,
    estimate_noise,
    mixing_matrix,
    noise_rate,
)

Array = NDArray[np.float64]

# So many standard errors are beyond doubt.
_ERRORS = 3.0
# What is worth a correction, in shares of labels kept and in accuracy.
_LEAST_ASYMMETRY = 0.05
_LEAST_GAIN = 0.002


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    setting : Setting
        How to smooth.
    correction : Correction or None
        What turns scores into probabilities of the true classes; None if the decision is plain.
    reason : str
        Why the decision is corrected, or not.
    noise_matrix : ndarray or None
        T, given or estimated; None where it could not be told.
    noise_rate : float
        The share of wrong labels that T tells; NaN where it could not.
    adaptation : dict
        The columns of the estimator's ``adaptation_``.
    """

    setting: Setting
    correction: Correction | None
    reason: str
    noise_matrix: Array | None
    noise_rate: float
    adaptation: dict[str, Any]


def choose(
    evidence: OutOfBag,
    noise_matrix: Array | None,
    may_correct: bool,
    n_trees: int,
    n_threads: int = 1,
) -> Choice:
    """Choose how to smooth and how to decide.

    Parameters
    ----------
    evidence : OutOfBag
        Votes out of bag.
    noise_matrix : ndarray or None
        A T that is known; it is then used as it is.
    may_correct : bool
        Whether an estimated T may move the decision.
    n_trees : int
        How many trees will vote.
    n_threads : int, default=1
        How many threads count the votes.
    """
    n_classes = evidence.halves[0].shape[2]
    if len(evidence) == 0:
        return _nothing_learnt(evidence, None, noise_matrix, "no row is out of bag")
    labels, weights = evidence.labels, evidence.weights
    predictions = evidence.predictions(n_threads)
    to_come = gain_to_come(evidence, predictions, n_trees)
    plain = evaluate(evidence, predictions[0], np.eye(n_classes), to_come)
    best = plain.best
    scores = evidence.scores(best)
    learnt, error = _association(scores, labels, weights)
    if n_classes > 1 and learnt <= _ERRORS * error:
        why = (
            f"out of bag, a label's score is {learnt:.4f} ± {error:.4f} above what it would be by "
            "chance"
        )
        return _nothing_learnt(evidence, plain, noise_matrix, why)
    estimate = None
    T = noise_matrix
    if T is None and n_classes > 1:
        estimate = estimate_noise(scores, labels, weights)
        T = None if estimate is None else estimate.matrix
    rate = float("nan") if T is None else noise_rate(T, labels, weights)

    def stay_plain(reason: str) -> Choice:
        setting = evidence.settings[best]
        table = _table(evidence, plain, None, best, str(setting))
        return Choice(setting, None, reason, T, rate, table)

    if T is None:
        return stay_plain("too few confident rows to tell the noise matrix")
    if estimate is not None:
        doubt = "class_weight moves the decision" if not may_correct else _doubt(estimate)
        if doubt:
            return stay_plain(doubt)
    reward: Array = np.linalg.inv(T).astype(np.float64)
    corrector = _Corrector(labels, weights, T)

    def gain_of(correction: Correction, setting: int) -> tuple[float, float]:
        corrected = _argmax(correction.probabilities(evidence.scores(setting)))
        return gain(evidence, reward, corrected, predictions[0][best])

    if estimate is not None:  # a look at one setting saves one at all where nothing is to gain
        at_hand = corrector.fitted(scores)
        if at_hand is not None and (gained := gain_of(at_hand, best)[0]) <= 0:
            return stay_plain(f"a corrected decision would gain nothing: {gained:.4f}")
    predicted = [corrector.predict(evidence.scores(s)) for s in range(len(evidence.settings))]
    corrected = evaluate(evidence, np.array(predicted), reward, to_come)
    chosen = corrected.best
    correction = corrector.fitted(evidence.scores(chosen))
    if correction is None:
        return stay_plain("the classes' confident scores are too alike to be unmixed")
    if estimate is not None and _is_impossible(estimate, corrected, chosen):
        return stay_plain(
            f"the estimated noise matrix would make {100 * corrected.accuracy[chosen]:.1f} % of the "
            "predictions right: it takes overlap of the classes for noise"
        )
    gained, error = gain_of(correction, chosen)
    if estimate is not None and gained <= max(_LEAST_GAIN, _ERRORS * error):
        return stay_plain(
            f"a corrected decision would gain {gained:.4f} ± {error:.4f}, too little to be sure of"
        )
    known = "known" if estimate is None else "estimated"
    setting = evidence.settings[chosen]
    return Choice(
        setting,
        correction,
        f"by the {known} noise matrix it gains {gained:.4f} ± {error:.4f} in accuracy",
        T,
        rate,
        _table(evidence, plain, corrected, chosen, f"{setting}, with a corrected decision"),
    )


def _argmax(scores: Array) -> NDArray[np.intp]:
    predicted: NDArray[np.intp] = scores.argmax(axis=1)
    return predicted


def _association(scores: Array, labels: NDArray[Any], weights: Array) -> tuple[float, float]:
    """Return how much scores know of the labels, and its standard error.

    The mean of s[y] − Σ π[k] s[k], with π the labels' frequencies: what a row's own label is
    scored above a label drawn at random.
    """
    frequencies = np.bincount(labels, weights=weights, minlength=scores.shape[1]) / weights.sum()
    above = scores[np.arange(len(labels)), labels] - scores @ frequencies
    return weighted_mean(above, weights)


def _doubt(estimate: NoiseEstimate) -> str:
    """Return why the noise may be symmetric after all; empty if it is not."""
    kept, error = np.diag(estimate.matrix), np.diag(estimate.error)
    low, high = int(kept.argmin()), int(kept.argmax())
    # Two classes: T00 − T11 = T10 − T01. Where the share still rises with confidence, the class
    # that seems to keep less may but overlap with others.
    asymmetry = kept[high] - kept[low] - max(0.0, estimate.slope[low])
    its_error = float(np.hypot(error[high], error[low]))
    if asymmetry > max(_LEAST_ASYMMETRY, _ERRORS * its_error):
        return ""
    return (
        f"the confident rows keep {kept[low]:.3f} to {kept[high]:.3f} of their classes' labels, "
        f"± {its_error:.3f}: not asymmetric beyond doubt"
    )


def _is_impossible(estimate: NoiseEstimate, corrected: Scores, setting: int) -> bool:
    """Return whether more than all predictions would be right, beyond doubt.

    The accuracy is a mean of T⁻¹'s entries: an error ε of T changes these by up to |T⁻¹| ε |T⁻¹|.
    """
    size = np.abs(np.linalg.inv(estimate.matrix)).sum(axis=1).max()
    error = np.hypot(corrected.error[setting], size * np.diag(estimate.error).max())
    return bool(corrected.accuracy[setting] - _ERRORS * error > 1)


class _Corrector:
    """Corrected decisions for the scores of any setting."""

    def __init__(self, labels: NDArray[Any], weights: Array, T: Array) -> None:
        self._labels, self._weights, self._T = labels, weights, T

    def predict(self, scores: Array) -> NDArray[Any]:
        """Return the classes predicted; without a correction where none is to be had."""
        if len(self._T) == 2:
            level = (self._T[0, 1] + self._T[1, 1]) / 2
            cut = best_cut(scores[:, 1], self._labels, self._weights, level)
            return (scores[:, 1] > cut).astype(np.intp)
        M = mixing_matrix(scores, self._weights)
        return _argmax(scores if M is None else Unmixed(M).probabilities(scores))

    def fitted(self, scores: Array) -> Correction | None:
        """Return the correction for a forest of such scores."""
        if len(self._T) == 2:
            return Recalibrated.of(scores, self._labels, self._weights, self._T)
        M = mixing_matrix(scores, self._weights)
        return None if M is None else Unmixed(M)


def _nothing_learnt(
    evidence: OutOfBag, plain: Scores | None, noise_matrix: Array | None, why: str
) -> Choice:
    note = f"plain, as nothing can be learnt: {why}"
    table = _table(evidence, plain, None, 0, note)
    return Choice(PLAIN, None, f"nothing can be learnt: {why}", noise_matrix, float("nan"), table)


def _table(
    evidence: OutOfBag, plain: Scores | None, corrected: Scores | None, chosen: int, note: str
) -> dict[str, Any]:
    n_settings = len(evidence.settings)
    unknown = np.full(n_settings, np.nan)
    return {
        "family": [setting.family for setting in evidence.settings],
        "amount": [setting.amount for setting in evidence.settings],
        "accuracy": unknown if plain is None else plain.accuracy,
        "error": unknown if plain is None else plain.error,
        "score": unknown if plain is None else plain.score,
        "corrected_score": unknown if corrected is None else corrected.score,
        "chosen": [place == chosen for place in range(n_settings)],
        "note": [note if place == chosen else "" for place in range(n_settings)],
    }
