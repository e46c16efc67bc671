"""What an adaptive forest chooses once it has grown: how to smooth, how to mix, and how to decide."""

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
    likely_shares,
    mixtures,
    weighted_mean,
)
from hardwood.noise.checks import Array
from hardwood.noise.correction import ConfidentLabels, Unmixed, confident_labels, mixing_matrix
from hardwood.noise.label_model import LabelModel, fit_label_model
from hardwood.noise.matrices import can_be_undone
from hardwood.noise.sharpening import Sharpening

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
    parts : list of (Setting, float)
        How to cut and to smooth, and in which shares of the trees.
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

    parts: list[tuple[Setting, float]]
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
    """Choose how to smooth each forest, how to mix them, and how to decide.

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
        nothing = LabelFindings.nothing(n_classes)
        table = _table(evidence, None, None, {0: 1.0})
        return Choice([(evidence.settings[0], 1.0)], nothing, None, False, reason, table)
    likelihoods = evidence.likelihoods(n_threads)
    predictions = evidence.predictions(n_threads)
    to_come = gain_to_come(evidence, predictions, n_trees)
    scores = evaluate(evidence, predictions[0], to_come, likelihoods)
    if scoring in ("auto", "log_loss"):
        places = list(scores.best.values())
        if scoring == "log_loss":
            places = [int(p[np.argmax(likelihoods[p])]) for p in evidence.places().values()]
        shares = likely_shares(evidence, places)
    else:
        places, shares = _best_by(scoring, evidence, scores, predictions[0], classes)
    mixed = evidence.mixed(places, shares)
    unmixed, is_corrected = None, False
    model = _model(mixed, mixed.scores(), noise_matrix, may_correct)
    if n_classes == 1:
        reason = "there is only one class"
    elif not may_correct and noise_matrix is None:
        reason = "class_weight already changes the decision"
    elif n_classes == 2:
        reason, is_corrected = _decision_of_two(model, noise_matrix)
    else:
        reason, unmixed = _unmixing(mixed, noise_matrix)
        if unmixed is not None:
            is_corrected = True
            model = _model(mixed, unmixed.scores(mixed.scores()), noise_matrix, True)
    votes = mixed.scores()
    scores_of_labels = votes if unmixed is None else unmixed.scores(votes)
    found = LabelFindings.by(model, scores_of_labels, mixed.labels, mixed.weights)
    if not may_correct and noise_matrix is None:
        found = found.without_class_weights(
            votes, mixed.labels, mixed.weights, float(mixed.n_votes.mean())
        )
    kept = {place: float(share) for place, share in zip(places, shares, strict=True) if share > 0}
    return Choice(
        [(evidence.settings[place], share) for place, share in kept.items()],
        found,
        unmixed,
        is_corrected,
        reason,
        _table(evidence, scores, likelihoods, kept),
    )


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
    classes: NDArray[Any] | None,
) -> tuple[list[int], Array]:
    """Return the settings, one for each forest, and the shares with the highest score of the user's."""
    labels, weights = evidence.labels, evidence.weights
    y = labels if classes is None else classes[labels]

    def score_of(votes: Array, predicted: NDArray[Any]) -> float:
        if callable(scoring):
            return float(scoring(y, votes))
        if scoring == "roc_auc":
            return _roc_auc(votes, labels, weights)
        in_class = np.bincount(labels, weights=weights)
        per_row = weights if scoring == "accuracy" else weights / in_class[labels]
        return float(weighted_mean(predicted == labels, per_row)[0])

    def score_at(place: int) -> float:
        if scoring == "accuracy":  # with the gain to come, and averaged with its neighbours
            return float(scores.score[place])
        return score_of(evidence.scores(place), predicted[place])

    places = [max(of.tolist(), key=score_at) for of in evidence.places().values()]

    def score_mixed(shares: Array) -> float:
        votes = evidence.mixed(places, shares).scores()
        return score_of(votes, _argmax(votes))

    tried = mixtures(len(places))
    return places, tried[int(np.argmax([score_mixed(shares) for shares in tried]))]


def _roc_auc(scores: Array, labels: NDArray[Any], weights: Array) -> float:
    """Return the mean over the classes of the area under the curve of one against the others."""
    present = np.unique(labels)
    if len(present) < 2:
        return 0.0
    areas = [roc_auc_score(labels == k, scores[:, k], sample_weight=weights) for k in present]
    return float(np.mean(areas))


# --- two classes ---------------------------------------------------------------------------------


def _decision_of_two(model: LabelModel, T: Array | None) -> tuple[str, bool]:
    """Return why the decision is corrected or not, and whether it is."""
    if T is not None:
        return "the noise matrix is known", True
    odds = f"this makes the labels e^{model.asymmetry:.1f} times as likely as equal rates"
    if not model.is_asymmetric:
        return f"no clear evidence that noise rates differ: {odds}", False
    kept = np.diag(model.T)
    return (
        f"the noise rates differ: {odds}; the classes keep {kept[0]:.2f} and {kept[1]:.2f} of their "
        "labels"
    ), True


# --- more classes --------------------------------------------------------------------------------


def _unmixing(evidence: OutOfBag, noise_matrix: Array | None) -> tuple[str, Unmixed | None]:
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
    plain = _argmax(scores)

    def gain_of(scores: Array) -> tuple[float, float]:
        """Return what it gains to unmix these scores, and its standard error."""
        M = mixing_matrix(scores, weights)
        if M is None:
            return 0.0, 0.0
        return gain(evidence, reward, _argmax(Unmixed(M).scores(scores)), plain)

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
    predicted = _argmax(unmixed.scores(scores))
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


def _table(
    evidence: OutOfBag, scores: Scores | None, likelihoods: Array | None, shares: dict[int, float]
) -> dict[str, Any]:
    tried = evidence.settings
    unknown = np.full(len(tried), np.nan)
    return {
        "splitter": [setting.cuts.splitter for setting in tried],
        "max_features": [setting.cuts.max_features for setting in tried],
        "family": [setting.family for setting in tried],
        "amount": [setting.amount for setting in tried],
        "accuracy": unknown if scores is None else scores.accuracy,
        "error": unknown if scores is None else scores.error,
        "score": unknown if scores is None else scores.score,
        "log_loss": unknown if likelihoods is None else -likelihoods / max(len(evidence), 1),
        "share": [shares.get(place, 0.0) for place in range(len(tried))],
        "chosen": [place in shares for place in range(len(tried))],
        "note": [str(s) if place in shares else "" for place, s in enumerate(tried)],
    }
