"""What an adaptive forest chooses once it has grown: how to smooth, and how to decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from hardwood.adaptive._settings import (
    OutOfBag,
    Scores,
    Setting,
    evaluate,
    gain,
    gain_to_come,
    weighted_mean,
)
from hardwood.noise.checks import Array
from hardwood.noise.correction import ConfidentLabels, Unmixed, confident_labels, mixing_matrix
from hardwood.noise.label_model import LabelModel, Sharpening, fit_label_model
from hardwood.noise.matrices import can_be_undone

Scoring = str | Callable[[NDArray[Any], Array], float]
SCORINGS = ("auto", "accuracy", "balanced_accuracy", "log_loss", "roc_auc")

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
        How to split and to smooth.
    labels : LabelFindings
        What the labels say about their noise.
    unmixed : Unmixed or None
        Unmixes the scores of more than two classes, if the decision is corrected.
    is_corrected : bool
        Whether the most probable true class can be another one than the most probable label.
    reason : str
        Why the decision is corrected, or not.
    adaptation : dict
        The columns of the estimator's ``adaptation_``.
    """

    setting: Setting
    labels: LabelFindings
    unmixed: Unmixed | None
    is_corrected: bool
    reason: str
    adaptation: dict[str, Any]


@dataclass(frozen=True)
class LabelFindings:
    """What the labels say about their noise, given out-of-bag votes.

    Attributes
    ----------
    sharpening : Sharpening
        Turns votes into probabilities of the true classes.
    noise_matrix : ndarray or None
        T. None if no row is out of bag.
    noise_rate : float
        The expected share of wrong labels.
    class_prior : ndarray of shape (n_classes,)
        The expected shares of the true classes.
    """

    sharpening: Sharpening
    noise_matrix: Array | None
    noise_rate: float
    class_prior: Array

    @staticmethod
    def of(
        scores: Array,
        labels: NDArray[Any],
        weights: Array | None,
        n_votes: float,
        T: Array | None,
        may_differ: bool,
    ) -> LabelFindings:
        """Fit a model of the labels to the scores, which are mean votes or unmixed ones."""
        model = fit_label_model(
            scores, labels, weights, n_votes=n_votes, T=T, may_differ=may_differ
        )
        return LabelFindings.by(model, scores, labels, weights)

    @staticmethod
    def by(
        model: LabelModel, scores: Array, labels: NDArray[Any], weights: Array | None
    ) -> LabelFindings:
        """Return what a model says about the labels."""
        posterior = model.posterior(scores, labels.astype(np.intp))
        prior = np.average(posterior, axis=0, weights=weights)
        rate = model.noise_rate(scores, labels.astype(np.intp), weights)
        return LabelFindings(model.sharpening, model.T, rate, prior)

    def without_class_weights(
        self, scores: Array, labels: NDArray[Any], weights: Array, n_votes: float
    ) -> LabelFindings:
        """Estimate the noise as if the classes had their own shares of the rows.

        Class weights change the shares of the classes in the rows that trees draw, and the votes
        with them. Votes that favour a rare class would look like noise.
        """
        n_classes = scores.shape[1]
        drawn = np.bincount(labels, weights=weights, minlength=n_classes) / weights.sum()
        own = np.bincount(labels, minlength=n_classes) / len(labels)
        change = own / np.maximum(drawn, np.finfo(np.float64).tiny)
        scores = scores * change
        scores = scores / np.maximum(scores.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        found = LabelFindings.of(scores, labels, weights * change[labels], n_votes, None, False)
        return replace(self, noise_matrix=found.noise_matrix, noise_rate=found.noise_rate)

    @staticmethod
    def nothing(n_classes: int) -> LabelFindings:
        """Return what is said without votes: they would be taken as they are."""
        as_it_is = Sharpening(np.ones(1), np.zeros((1, n_classes)), np.ones(1), 1e-12)
        even = np.full(n_classes, 1 / n_classes)
        return LabelFindings(as_it_is, None, float("nan"), even)


def choose(
    evidence: OutOfBag,
    noise_matrix: Array | None,
    may_correct: bool,
    n_trees: int,
    n_threads: int = 1,
    scoring: Scoring = "auto",
    classes: NDArray[Any] | None = None,
) -> Choice:
    """Choose how to split, how to smooth and how to decide.

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
    scoring : str or callable, default="auto"
        What settings are compared by.
    classes : ndarray, optional
        The classes, for a callable.
    """
    n_classes = evidence.halves[0].shape[2]
    if len(evidence) == 0:
        reason = "no row is out of bag"
        table = _table(evidence, None, None, None, 0, reason)
        nothing = LabelFindings.nothing(n_classes)
        return Choice(evidence.settings[0], nothing, None, False, reason, table)
    likelihoods = evidence.likelihoods()
    predictions = evidence.predictions(n_threads)
    to_come = gain_to_come(evidence, predictions, n_trees)
    identity = np.eye(n_classes)
    scores = evaluate(evidence, predictions[0], identity, to_come, likelihoods)
    best = scores.best
    if scoring != "auto":
        best = _best_by(scoring, evidence, scores, predictions[0], likelihoods, classes)
    model = _model(evidence, evidence.scores(best), noise_matrix, may_correct)

    def choice(
        place: int,
        model: LabelModel,
        reason: str,
        unmixed: Unmixed | None = None,
        is_corrected: bool = False,
        corrected: Scores | None = None,
    ) -> Choice:
        votes = evidence.scores(place)
        scores_of_labels = votes if unmixed is None else unmixed.scores(votes)
        found = LabelFindings.by(model, scores_of_labels, evidence.labels, evidence.weights)
        if not may_correct and noise_matrix is None:
            found = found.without_class_weights(
                votes, evidence.labels, evidence.weights, float(evidence.n_votes.mean())
            )
        setting = evidence.settings[place]
        note = f"{setting}, with a corrected decision" if is_corrected else str(setting)
        table = _table(evidence, scores, likelihoods, corrected, place, note)
        return Choice(setting, found, unmixed, is_corrected, reason, table)

    if n_classes == 1:
        return choice(best, model, "there is only one class")
    if not may_correct and noise_matrix is None:
        return choice(best, model, "class_weight already changes the decision")
    if n_classes == 2:
        return choice(best, model, *_decision_of_two(evidence, best, model, noise_matrix))
    unmixing = _unmixing(evidence, predictions, best, to_come, likelihoods, noise_matrix)
    if isinstance(unmixing, str):
        return choice(best, model, unmixing)
    place, unmixed, corrected, reason = unmixing
    model = _model(evidence, unmixed.scores(evidence.scores(place)), noise_matrix, True)
    return choice(place, model, reason, unmixed, True, corrected)


def _model(evidence: OutOfBag, scores: Array, T: Array | None, may_differ: bool) -> LabelModel:
    return fit_label_model(
        scores,
        evidence.labels,
        evidence.weights,
        n_votes=float(evidence.n_votes.mean()),
        T=T,
        may_differ=may_differ,
    )


def _argmax(scores: Array) -> NDArray[np.intp]:
    predicted: NDArray[np.intp] = scores.argmax(axis=1)
    return predicted


def _best_by(
    scoring: Scoring,
    evidence: OutOfBag,
    scores: Scores,
    predicted: NDArray[np.uint16],
    likelihoods: Array,
    classes: NDArray[Any] | None,
) -> int:
    """Return the setting with the highest score of the user's choice."""
    labels, weights = evidence.labels, evidence.weights
    places = range(len(evidence.settings))
    if scoring == "accuracy":
        return int(np.argmax(scores.score))
    if scoring == "log_loss":
        return int(np.argmax(likelihoods))
    if scoring == "balanced_accuracy":
        in_class = np.bincount(labels, weights=weights)
        balanced = weights / in_class[labels]
        return int(np.argmax(weighted_mean((predicted == labels).astype(np.float32), balanced)[0]))
    if scoring == "roc_auc":
        return max(places, key=lambda place: _roc_auc(evidence.scores(place), labels, weights))
    if not callable(scoring):
        raise ValueError(f"scoring must be one of {', '.join(SCORINGS)} or a callable.")
    y = labels if classes is None else classes[labels]
    return max(places, key=lambda place: float(scoring(y, evidence.scores(place))))


def _roc_auc(scores: Array, labels: NDArray[Any], weights: Array) -> float:
    """Return the mean over the classes of the area under the curve of one against the others."""
    present = np.unique(labels)
    if len(present) < 2:
        return 0.0
    areas = [roc_auc_score(labels == k, scores[:, k], sample_weight=weights) for k in present]
    return float(np.mean(areas))


# --- two classes ---------------------------------------------------------------------------------


def _decision_of_two(
    evidence: OutOfBag, best: int, model: LabelModel, T: Array | None
) -> tuple[str, None, bool]:
    """Return why the decision is corrected or not, and whether it is."""
    if T is not None:
        return "the noise matrix is known", None, True
    odds = f"the labels are e^{model.asymmetry:.1f} times as likely if the noise rates differ"
    if not model.is_asymmetric:
        return f"{odds}: no clear evidence of asymmetry", None, False
    kept = np.diag(model.T)
    return f"{odds}; the classes keep {kept[0]:.2f} and {kept[1]:.2f} of their labels", None, True


# --- more classes --------------------------------------------------------------------------------


def _unmixing(
    evidence: OutOfBag,
    predictions: list[NDArray[np.uint16]],
    best: int,
    to_come: NDArray[np.float32],
    likelihoods: Array,
    noise_matrix: Array | None,
) -> tuple[int, Unmixed, Scores, str] | str:
    """Return the setting to unmix, how, its scores and why; or why not to unmix."""
    labels, weights = evidence.labels, evidence.weights
    estimate, T = None, noise_matrix
    if T is None:
        estimate = confident_labels(evidence.scores(best), labels, weights)
        if estimate is None:
            return "too few confident rows to tell whether noise rates differ"
        if doubt := _doubt(estimate):
            return doubt
        T = estimate.frequencies
    reward: Array = np.linalg.inv(T).astype(np.float64)

    def unmixed_at(scores: Array) -> Unmixed | None:
        M = mixing_matrix(scores, weights)
        return None if M is None else Unmixed(M)

    def gain_of(unmixed: Unmixed, scores: Array) -> tuple[float, float]:
        return gain(evidence, reward, _argmax(unmixed.scores(scores)), predictions[0][best])

    if estimate is not None:
        # Each half of the trees must gain from it, so that it does not hang on a few trees. This
        # also saves a look at all settings if there is nothing to gain.
        for half in evidence.halves:
            scores = half[:, best] / np.maximum(half[:, best].sum(axis=1, keepdims=True), 1e-9)
            at_hand = unmixed_at(scores.astype(np.float64))
            if at_hand is None or (gained := gain_of(at_hand, scores)[0]) <= 0:
                gained = 0.0 if at_hand is None else gained
                return f"a corrected decision would gain {gained:.4f}, which is nothing"
    predicted = []
    for place in range(len(evidence.settings)):
        scores = evidence.scores(place)
        at_place = unmixed_at(scores)
        predicted.append(_argmax(scores if at_place is None else at_place.scores(scores)))
    corrected = evaluate(evidence, np.array(predicted), reward, to_come, likelihoods)
    chosen = corrected.best
    unmixed = unmixed_at(evidence.scores(chosen))
    if unmixed is None:
        return "the confident scores of the classes are too similar to be unmixed"
    if estimate is not None and _is_impossible(estimate, corrected, chosen):
        return (
            f"by the labels of confident rows, {100 * corrected.accuracy[chosen]:.1f} % of the "
            "predictions would be right: this mistakes overlap of the classes for noise"
        )
    gained, error = gain_of(unmixed, evidence.scores(chosen))
    if estimate is not None and gained <= max(_LEAST_GAIN, _ERRORS * error):
        return f"a corrected decision would gain {gained:.4f} ± {error:.4f}, too little to be sure"
    by = "known noise matrix" if estimate is None else "labels of confident rows"
    reason = f"by the {by}, this gains {gained:.4f} ± {error:.4f} in accuracy"
    return chosen, unmixed, corrected, reason


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


def _table(
    evidence: OutOfBag,
    scores: Scores | None,
    likelihoods: Array | None,
    corrected: Scores | None,
    chosen: int,
    note: str,
) -> dict[str, Any]:
    n_settings = len(evidence.settings)
    unknown = np.full(n_settings, np.nan)
    n_rows = max(len(evidence), 1)
    return {
        "splitter": [setting.splitter for setting in evidence.settings],
        "family": [setting.family for setting in evidence.settings],
        "amount": [setting.amount for setting in evidence.settings],
        "accuracy": unknown if scores is None else scores.accuracy,
        "error": unknown if scores is None else scores.error,
        "score": unknown if scores is None else scores.score,
        "log_loss": unknown if likelihoods is None else -likelihoods / n_rows,
        "corrected_score": unknown if corrected is None else corrected.score,
        "chosen": [place == chosen for place in range(n_settings)],
        "note": [note if place == chosen else "" for place in range(n_settings)],
    }
