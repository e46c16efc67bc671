"""The forest of an audit, and its votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.adaptive import AdaptiveForestClassifier, _again
from hardwood.adaptive._settings import DRAWN
from hardwood.noise.checks import Array, Labels, proba_from_votes

# Only 37 % of the trees vote on a row, and the audit rests on these votes. Trees of small tables cost little, so
# there are up to three times as many: no more than 200 trees cost in a table of 10,000 rows.
_TREES, _MOST_TIMES = 200, 3.0


def n_trees_of(n_rows: int) -> int:
    """Return the number of trees of an audit.

    In small tables, up to a quarter of all trees are grown again; they come on top.

    Examples
    --------
    >>> from hardwood.audit.voting import n_trees_of
    >>> [n_trees_of(n_rows) for n_rows in (100, 5_000, 10_000, 20_000)]
    [800, 533, 267, 200]
    """
    if n_rows > _again.MOST_ROWS:
        return _TREES
    times = min(_again.MOST_ROWS / max(n_rows, 1), _MOST_TIMES)
    return round(times * _TREES / (1 - _again.SHARE))


def default_forest(n_trees: int) -> AdaptiveForestClassifier:
    """Return the forest of an audit.

    Trees grown from all rows have no out-of-bag votes. Settings are compared by how likely they make
    the labels: the audit needs probabilities, not predictions.
    """
    return AdaptiveForestClassifier(n_trees, full_data=False, scoring="log_loss")


def votes_of(estimator: Any, classes: Any, labels: Labels) -> Array:
    """Return out-of-bag probabilities of the observed labels."""
    votes = getattr(estimator, "oob_votes_", None)
    votes = estimator.oob_decision_function_ if votes is None else votes
    return _as_proba(estimator, votes, classes, labels)


def votes_again_of(estimator: Any, classes: Any, labels: Labels) -> Array | None:
    """Return the same by the trees that were grown again, if there are any."""
    votes = getattr(estimator, "_votes_again", None)
    return None if votes is None else _as_proba(estimator, votes, classes, labels)


def _as_proba(estimator: Any, votes: Any, classes: Any, labels: Labels) -> Array:
    if np.ndim(votes) != 2 or not np.array_equal(estimator.classes_, classes):
        raise ValueError(
            "estimator was fitted on other classes than those of y. Pass the labels that it was "
            "fitted on, or an estimator that is not fitted."
        )
    proba = proba_from_votes(votes, labels, classes)
    unmixed = getattr(estimator, "_unmixed", None)
    return proba if unmixed is None else unmixed.scores(proba)


def is_given(estimator: Any) -> bool:
    """Return whether a forest is used as it is, because it was already fitted."""
    return hasattr(estimator, "oob_decision_function_") and not is_weighted(estimator)


def is_weighted(estimator: Any) -> bool:
    """Return whether a forest weights the classes."""
    return getattr(estimator, "class_weight", None) is not None


def known_about_votes(estimator: Any) -> dict[str, Any]:
    """Return what is known about a forest's votes, as keywords of `fit_label_model`."""
    if isinstance(estimator, AdaptiveForestClassifier):
        return {"n_votes": estimator.oob_n_votes_, "T": estimator.noise_matrix}
    return {"n_votes": (1 - DRAWN) * estimator.n_estimators}
