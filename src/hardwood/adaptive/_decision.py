"""Whether the noise differs between the classes, so that the decision is to be corrected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardwood.adaptive._out_of_bag import OutOfBag
from hardwood.adaptive._scoring import gain, weighted_mean
from hardwood.noise.checks import Array
from hardwood.noise.correction import ConfidentLabels, Unmixed, confident_labels, mixing_matrix
from hardwood.noise.label_model import LabelModel
from hardwood.noise.matrices import can_be_undone

# An effect of this many standard errors is significant.
_ERRORS = 3.0
# The smallest effects worth a correction: difference in labels kept, and gain in accuracy.
_LEAST_ASYMMETRY = 0.05
_LEAST_GAIN = 0.002
# What is said: if classes keep more of their labels than this on average, few are wrong, and
# odds are not spelled out beyond this.
_HARDLY_NOISY, _MANY_TIMES = 0.8, 1000


def leading(scores: Array) -> NDArray[np.intp]:
    """Return the class with the highest score of each row."""
    predicted: NDArray[np.intp] = scores.argmax(axis=1)
    return predicted


# --- two classes ---------------------------------------------------------------------------------


def decision_of_two(model: LabelModel, T: Array | None) -> tuple[str, bool]:
    """Return why the decision is corrected or not, and whether it is."""
    if T is not None:
        return "the noise matrix is known", True
    kept = np.diag(model.T)
    if np.isneginf(model.asymmetry):  # the model did not consider it
        if kept.mean() > _HARDLY_NOISY:
            return "few labels look wrong, so a correction would change little", False
        return "labels this noisy do not tell which class is mislabelled more often", False
    times = np.exp(min(model.asymmetry, np.log(_MANY_TIMES)))
    more_than = "more than " if times >= _MANY_TIMES else ""
    odds = f"this makes the labels {more_than}{times:,.3g} times as likely as equal rates"
    if not model.is_asymmetric:
        return f"no clear evidence that noise rates differ: {odds}", False
    return (
        f"the noise rates differ: {odds}; the classes keep {kept[0]:.2f} and {kept[1]:.2f} of their "
        "labels"
    ), True


# --- more classes --------------------------------------------------------------------------------


def unmixing(evidence: OutOfBag, noise_matrix: Array | None) -> tuple[str, Unmixed | None]:
    """Return why to unmix the votes or not, and how. The evidence has a single setting."""
    labels, weights = evidence.labels, evidence.weights
    scores = evidence.scores()
    estimate, T = None, noise_matrix
    if T is None:
        estimate = confident_labels(scores, labels, weights)
        if estimate is None:
            return "too few confident rows to tell whether noise rates differ", None
        if doubt := _doubt(estimate):
            return doubt, None
        T = estimate.frequencies
    reward: Array = np.linalg.inv(T).astype(np.float64)
    plain = leading(scores)

    def gain_of(scores: Array) -> tuple[float, float]:
        """Return what it gains to unmix these scores, and its standard error."""
        M = mixing_matrix(scores, weights)
        if M is None:
            return 0.0, 0.0
        return gain(evidence, reward, leading(Unmixed(M).scores(scores)), plain)

    if estimate is not None:
        # Each half of the trees must gain from it, so that it does not hang on a few trees.
        for half in evidence.halves:
            votes = half[:, 0] / np.maximum(half[:, 0].sum(axis=1, keepdims=True), 1e-9)
            if (gained := gain_of(votes.astype(np.float64))[0]) <= 0:
                return f"a corrected decision would not gain accuracy ({gained:+.4f})", None
    M = mixing_matrix(scores, weights)
    if M is None:
        return "the votes on confident rows are too similar to tell the classes apart", None
    unmixed = Unmixed(M)
    predicted = leading(unmixed.scores(scores))
    if estimate is not None:
        accuracy, error = weighted_mean(reward[labels, predicted], weights)
        if _is_impossible(estimate, accuracy, error):
            return (
                f"by the labels of confident rows, {100 * accuracy:.1f} % of the predictions would "
                "be right: this mistakes overlap of the classes for noise"
            ), None
    gained, error = gain(evidence, reward, predicted, plain)
    if estimate is not None and gained <= max(_LEAST_GAIN, _ERRORS * error):
        return (
            f"a corrected decision would gain {gained:.4f} ± {error:.4f}, too little to be sure",
            None,
        )
    by = "known noise matrix" if estimate is None else "labels of confident rows"
    return f"by the {by}, this gains {gained:.4f} ± {error:.4f} in accuracy", unmixed


def _doubt(estimate: ConfidentLabels) -> str:
    """Return why the decision should not be corrected; empty if the noise is clearly asymmetric."""
    kept, error = estimate.kept, estimate.error
    low, high = int(kept.argmin()), int(kept.argmax())
    # If the share still rises with confidence, the class that seems to keep fewer labels may only
    # overlap with others.
    asymmetry = kept[high] - kept[low] - max(0.0, estimate.slope[low])
    its_error = float(np.hypot(error[high], error[low]))
    if asymmetry <= max(_LEAST_ASYMMETRY, _ERRORS * its_error):
        return (
            f"no clear evidence that noise rates differ: confident rows keep {kept[low]:.3f} to "
            f"{kept[high]:.3f} of the labels of their classes, ± {its_error:.3f}"
        )
    if not can_be_undone(estimate.frequencies):
        return "labels this noisy do not tell the classes apart"
    return ""


def _is_impossible(estimate: ConfidentLabels, accuracy: float, error: float) -> bool:
    """Return whether clearly more than 100 % of the predictions would be right.

    The accuracy is a mean of entries of T⁻¹. An error ε of T changes these by up to |T⁻¹| ε |T⁻¹|.
    """
    size = np.abs(np.linalg.inv(estimate.frequencies)).sum(axis=1).max()
    error = float(np.hypot(error, size * estimate.error.max()))
    return bool(accuracy - _ERRORS * error > 1)
