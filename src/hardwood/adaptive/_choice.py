"""What an adaptive forest chooses once it has grown: how to smooth, how to mix, and how to decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from hardwood.adaptive._decision import decision_of_two, leading, unmixing
from hardwood.adaptive._findings import LabelFindings
from hardwood.adaptive._mixing import likely_shares, mixtures, shares_to_expect
from hardwood.adaptive._out_of_bag import OutOfBag
from hardwood.adaptive._scoring import Scores, evaluate, gain_to_come, weighted_mean
from hardwood.adaptive._settings import Setting
from hardwood.noise.checks import Array
from hardwood.noise.correction import Unmixed
from hardwood.noise.label_model import LabelModel, fit_label_model

Scoring = str | Callable[[NDArray[Any], Array], float]
SCORINGS = ("auto", "accuracy", "balanced_accuracy", "log_loss", "roc_auc")


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
    likelihood : float
        How likely the best setting makes the labels.
    """

    parts: list[tuple[Setting, float]]
    labels: LabelFindings
    unmixed: Unmixed | None
    is_corrected: bool
    reason: str
    adaptation: dict[str, Any]
    likelihood: float = -np.inf


@dataclass(frozen=True)
class Terms:
    """On what terms settings are chosen, and the decision.

    Attributes
    ----------
    n_trees : int
        Number of trees in the final model.
    noise_matrix : ndarray or None
        T, if it is known.
    may_correct : bool
        Whether an estimated T may change the decision.
    scoring : str or callable
        What settings are compared by.
    classes : ndarray or None
        The classes, for a callable.
    n_threads : int
        Number of threads.
    """

    n_trees: int
    noise_matrix: Array | None = None
    may_correct: bool = True
    scoring: Scoring = "auto"
    classes: NDArray[Any] | None = None
    n_threads: int = 1

    @property
    def is_likelihood(self) -> bool:
        """Whether mixtures are compared by how likely they make the labels."""
        return self.scoring in ("auto", "log_loss")


@dataclass(frozen=True)
class Picked:
    """A setting for each forest, and their shares.

    Attributes
    ----------
    evidence : OutOfBag
        The out-of-bag votes.
    places : list of int
        Which settings.
    shares : ndarray
        Their shares of the trees.
    scores : Scores
        How good all settings are.
    likelihoods : ndarray
        How likely all settings make the labels.
    """

    evidence: OutOfBag
    places: list[int]
    shares: Array
    scores: Scores
    likelihoods: Array

    def as_they_are(self) -> Picked:
        """Return the same, but without smoothing where this counts as equally good."""
        plain = {
            self.evidence.settings[p].cuts: p
            for p in np.flatnonzero(self.scores.as_good).tolist()
            if self.evidence.settings[p].family == "plain"
        }
        places = [plain.get(self.evidence.settings[p].cuts, p) for p in self.places]
        return replace(self, places=places)

    @property
    def is_plain(self) -> bool:
        """Whether no forest with a share is smoothed."""
        return all(setting.family == "plain" for setting, _ in self.parts)

    @property
    def parts(self) -> list[tuple[Setting, float]]:
        """The settings that have a share of the trees, and these shares."""
        return [
            (self.evidence.settings[place], float(share))
            for place, share in zip(self.places, self.shares, strict=True)
            if share > 0
        ]


def choose(evidence: OutOfBag, terms: Terms) -> Choice:
    """Choose how to smooth each forest, how to mix them, and how to decide."""
    return nothing_chosen(evidence) if len(evidence) == 0 else decide(pick(evidence, terms), terms)


def nothing_chosen(evidence: OutOfBag) -> Choice:
    """Return the choice if no row is out of bag."""
    plain = evidence.settings[0]
    tried = len(evidence.settings)
    unknown = np.full(tried, np.nan)
    table = _table(evidence.settings, dict.fromkeys(_MEASURED, unknown), {plain: 1.0})
    found = LabelFindings.nothing(evidence.halves[0].shape[2])
    return Choice([(plain, 1.0)], found, None, False, "no row is out of bag", table)


def pick(evidence: OutOfBag, terms: Terms, looks_ahead: bool = False) -> Picked:
    """Choose how to smooth each forest, and how to mix them.

    Parameters
    ----------
    evidence : OutOfBag
        The out-of-bag votes.
    terms : Terms
        On what terms.
    looks_ahead : bool, default=False
        Whether mixtures are compared by what is expected of them with as many trees as the final model.
    """
    likelihoods = evidence.likelihoods(terms.n_threads)
    predictions = evidence.predictions(terms.n_threads)
    to_come = gain_to_come(evidence, predictions, terms.n_trees)
    scores = evaluate(evidence, predictions[0], to_come, likelihoods)
    if terms.is_likelihood:
        places = list(scores.best.values())
        if terms.scoring == "log_loss":
            places = [int(p[np.argmax(likelihoods[p])]) for p in evidence.places().values()]
        if looks_ahead:
            shares = shares_to_expect(evidence, places, terms.n_trees, terms.n_threads)
        else:
            shares = likely_shares(evidence, places)
    else:
        places, shares = _best_by(terms.scoring, evidence, scores, predictions[0], terms.classes)
    return Picked(evidence, places, shares, scores, likelihoods)


def decide(picked: Picked, terms: Terms, before: Picked | None = None) -> Choice:
    """Choose how to decide between the classes, given the settings.

    Parameters
    ----------
    picked : Picked
        The settings.
    terms : Terms
        On what terms.
    before : Picked, optional
        What was picked when more forests were tried; told of those that grew no further.
    """
    mixed = picked.evidence.mixed(picked.places, picked.shares)
    n_classes, T, may_correct = mixed.halves[0].shape[2], terms.noise_matrix, terms.may_correct
    unmixed, is_corrected = None, False
    model = _model(mixed, mixed.scores(), T, may_correct)
    if n_classes == 1:
        reason = "there is only one class"
    elif not may_correct and T is None:
        reason = "class_weight already changes the decision"
    elif n_classes == 2:
        reason, is_corrected = decision_of_two(model, T)
    else:
        reason, unmixed = unmixing(mixed, T)
        if unmixed is not None:
            is_corrected = True
            model = _model(mixed, unmixed.scores(mixed.scores()), T, True)
    votes = mixed.scores()
    scores_of_labels = votes if unmixed is None else unmixed.scores(votes)
    found = LabelFindings.by(model, scores_of_labels, mixed.labels, mixed.weights)
    if not may_correct and T is None:
        found = found.without_class_weights(
            votes, mixed.labels, mixed.weights, float(mixed.n_votes.mean())
        )
    likelihood = float(picked.likelihoods.max())
    told = _told(picked, before)
    return Choice(picked.parts, found, unmixed, is_corrected, reason, told, likelihood)


def _model(evidence: OutOfBag, scores: Array, T: Array | None, may_differ: bool) -> LabelModel:
    return fit_label_model(
        scores,
        evidence.labels,
        evidence.weights,
        n_votes=float(evidence.n_votes.mean()),
        T=T,
        may_differ=may_differ,
    )


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
        return score_of(votes, leading(votes))

    tried = mixtures(len(places))
    return places, tried[int(np.argmax([score_mixed(shares) for shares in tried]))]


def _roc_auc(scores: Array, labels: NDArray[Any], weights: Array) -> float:
    """Return the mean over the classes of the area under the curve of one against the others."""
    present = np.unique(labels)
    if len(present) < 2:
        return 0.0
    areas = [roc_auc_score(labels == k, scores[:, k], sample_weight=weights) for k in present]
    return float(np.mean(areas))


# --- what is told of it --------------------------------------------------------------------------

_MEASURED = ("accuracy", "error", "score", "log_loss")


def _told(picked: Picked, before: Picked | None) -> dict[str, Any]:
    """Return the columns of ``adaptation_``."""
    first = picked if before is None else before
    tried = first.evidence.settings
    values = dict(zip(tried, _measured(first), strict=True))
    values |= dict(zip(picked.evidence.settings, _measured(picked), strict=True))
    measured = np.array([values[setting] for setting in tried])
    return _table(tried, dict(zip(_MEASURED, measured.T, strict=True)), dict(picked.parts))


def _measured(picked: Picked) -> list[tuple[float, ...]]:
    scores, log_loss = picked.scores, -picked.likelihoods / max(len(picked.evidence), 1)
    return list(zip(scores.accuracy, scores.error, scores.score, log_loss, strict=True))


def _table(
    tried: list[Setting], measured: dict[str, Array], shares: dict[Setting, float]
) -> dict[str, Any]:
    return {
        "splitter": [setting.cuts.splitter for setting in tried],
        "max_features": [setting.cuts.max_features for setting in tried],
        "family": [setting.family for setting in tried],
        "amount": [setting.amount for setting in tried],
        **measured,
        "share": [shares.get(setting, 0.0) for setting in tried],
        "chosen": [setting in shares for setting in tried],
        "note": [str(setting) if setting in shares else "" for setting in tried],
    }
