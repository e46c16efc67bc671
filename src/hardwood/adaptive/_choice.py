"""What an adaptive forest chooses once it has grown: how to smooth, and how to decide."""

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
from hardwood.noise.checks import Array
from hardwood.noise.correction import (
    ConfidentLabels,
    Correction,
    Recalibrated,
    Unmixed,
    best_cut,
    confident_labels,
    mixing_matrix,
)
from hardwood.noise.estimation import Noise, estimated_noise
from hardwood.noise.matrices import can_be_undone

# An effect of this many standard errors is significant.
_ERRORS = 3.0
# The smallest effects worth a correction: difference in labels kept, and gain in accuracy.
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
        Turns scores into probabilities of the true classes. None if the decision is plain.
    reason : str
        Why the decision is corrected, or not.
    noise : Noise or None
        T, given or estimated, and the share of wrong labels. None if it could not be estimated.
    adaptation : dict
        The columns of the estimator's ``adaptation_``.
    """

    setting: Setting
    correction: Correction | None
    reason: str
    noise: Noise | None
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
        The out-of-bag votes.
    noise_matrix : ndarray or None
        T, if it is known.
    may_correct : bool
        Whether an estimated T may change the decision.
    n_trees : int
        Number of trees in the final model.
    n_threads : int, default=1
        Number of threads.
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
        why = f"out of bag, labels score only {learnt:.4f} ± {error:.4f} above chance"
        return _nothing_learnt(evidence, plain, noise_matrix, why)
    estimate = None
    if noise_matrix is None and n_classes > 1:
        estimate = confident_labels(scores, labels, weights)
    T = noise_matrix if estimate is None else estimate.frequencies

    def stay_plain(reason: str) -> Choice:
        setting = evidence.settings[best]
        table = _table(evidence, plain, None, best, str(setting))
        noise = None if T is None else _noise(evidence, best, noise_matrix)
        return Choice(setting, None, reason, noise, table)

    if T is None:
        return stay_plain("too few confident rows to estimate the noise matrix")
    if estimate is not None:
        doubt = _doubt(estimate) if may_correct else "class_weight already changes the decision"
        if doubt:
            return stay_plain(doubt)
    reward: Array = np.linalg.inv(T).astype(np.float64)
    corrector = _Corrector(labels, weights, T)

    def gain_of(correction: Correction, setting: int) -> tuple[float, float]:
        corrected = _argmax(correction.probabilities(evidence.scores(setting)))
        return gain(evidence, reward, corrected, predictions[0][best])

    if (
        estimate is not None
    ):  # a look at one setting saves a look at all if there is nothing to gain
        at_hand = corrector.fitted(scores)
        if at_hand is not None and (gained := gain_of(at_hand, best)[0]) <= 0:
            return stay_plain(f"a corrected decision would gain {gained:.4f}, which is nothing")
    predicted = [corrector.predict(evidence.scores(s)) for s in range(len(evidence.settings))]
    corrected = evaluate(evidence, np.array(predicted), reward, to_come)
    chosen = corrected.best
    correction = corrector.fitted(evidence.scores(chosen))
    if correction is None:
        return stay_plain("the confident scores of the classes are too similar to be unmixed")
    if estimate is not None and _is_impossible(estimate, corrected, chosen):
        return stay_plain(
            f"by the labels of confident rows, {100 * corrected.accuracy[chosen]:.1f} % of the "
            "predictions would be right: this mistakes overlap of the classes for noise"
        )
    gained, error = gain_of(correction, chosen)
    if estimate is not None and gained <= max(_LEAST_GAIN, _ERRORS * error):
        return stay_plain(
            f"a corrected decision would gain {gained:.4f} ± {error:.4f}, too little to be sure"
        )
    by = "known noise matrix" if estimate is None else "labels of confident rows"
    setting = evidence.settings[chosen]
    return Choice(
        setting,
        correction,
        f"by the {by}, this gains {gained:.4f} ± {error:.4f} in accuracy",
        _noise(evidence, chosen, noise_matrix),
        _table(evidence, plain, corrected, chosen, f"{setting}, with a corrected decision"),
    )


def _argmax(scores: Array) -> NDArray[np.intp]:
    predicted: NDArray[np.intp] = scores.argmax(axis=1)
    return predicted


def _association(scores: Array, labels: NDArray[Any], weights: Array) -> tuple[float, float]:
    """Return how much the scores know about the labels, with its standard error.

    This is the mean of s[y] − Σ π[k] s[k], with π the frequencies of the labels: how much higher
    a row's own label scores than a random one.
    """
    frequencies = np.bincount(labels, weights=weights, minlength=scores.shape[1]) / weights.sum()
    above = scores[np.arange(len(labels)), labels] - scores @ frequencies
    return weighted_mean(above, weights)


def _noise(evidence: OutOfBag, setting: int, T: Array | None) -> Noise:
    labels = evidence.labels.astype(np.intp)
    return estimated_noise(evidence.scores(setting), labels, evidence.weights, T)


def _doubt(estimate: ConfidentLabels) -> str:
    """Return why the decision should not be corrected; empty if the noise is clearly asymmetric."""
    kept, error = estimate.kept, estimate.error
    low, high = int(kept.argmin()), int(kept.argmax())
    # For two classes, T00 − T11 = T10 − T01. If the share still rises with confidence, the class
    # that seems to keep fewer labels may only overlap with others.
    asymmetry = kept[high] - kept[low] - max(0.0, estimate.slope[low])
    its_error = float(np.hypot(error[high], error[low]))
    if asymmetry <= max(_LEAST_ASYMMETRY, _ERRORS * its_error):
        return (
            f"confident rows keep {kept[low]:.3f} to {kept[high]:.3f} of the labels of their "
            f"classes, ± {its_error:.3f}: no clear evidence of asymmetry"
        )
    if not can_be_undone(estimate.frequencies):
        return "labels this noisy do not tell the classes apart"
    return ""


def _is_impossible(estimate: ConfidentLabels, corrected: Scores, setting: int) -> bool:
    """Return whether clearly more than 100 % of the predictions would be right.

    The accuracy is a mean of entries of T⁻¹. An error ε of T changes these by up to |T⁻¹| ε |T⁻¹|.
    """
    size = np.abs(np.linalg.inv(estimate.frequencies)).sum(axis=1).max()
    error = np.hypot(corrected.error[setting], size * estimate.error.max())
    return bool(corrected.accuracy[setting] - _ERRORS * error > 1)


class _Corrector:
    """Corrected decisions from the scores of any setting."""

    def __init__(self, labels: NDArray[Any], weights: Array, T: Array) -> None:
        self._labels, self._weights, self._T = labels, weights, T

    def predict(self, scores: Array) -> NDArray[Any]:
        """Return the predicted classes, uncorrected if no correction is available."""
        if len(self._T) == 2:
            level = (self._T[0, 1] + self._T[1, 1]) / 2
            cut = best_cut(scores[:, 1], self._labels, self._weights, level)
            return (scores[:, 1] > cut).astype(np.intp)
        M = mixing_matrix(scores, self._weights)
        return _argmax(scores if M is None else Unmixed(M).probabilities(scores))

    def fitted(self, scores: Array) -> Correction | None:
        """Return the correction for a forest with such scores, or None."""
        if len(self._T) == 2:
            return Recalibrated.of(scores, self._labels, self._weights, self._T)
        M = mixing_matrix(scores, self._weights)
        return None if M is None else Unmixed(M)


def _nothing_learnt(
    evidence: OutOfBag, plain: Scores | None, noise_matrix: Array | None, why: str
) -> Choice:
    reason = f"nothing can be learnt: {why}"
    noise = None if noise_matrix is None else Noise(noise_matrix, float("nan"))
    table = _table(evidence, plain, None, 0, f"plain, as {reason}")
    return Choice(PLAIN, None, reason, noise, table)


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
