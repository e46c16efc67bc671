"""What a leaf predicts at its best: the prediction of smallest risk for the criterion's loss.

Theorem 3 and the proofs of Theorems 1 and 6: conservative losses predict the majority class alone,
the squared error and the cross entropy the class proportions p themselves, the generalised cross
entropy p^{1/(1−q)} normalised, and the negative exponential the majority class or p, whichever
has the smaller risk. All of them give nothing to classes of proportion zero.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.criteria import Criterion, EngineCriterion

_NO_LOSS = {
    "twoing": "scores splits and is not the impurity of a loss",
    "credal": "scores splits and is not the impurity of a loss",
    "ranking": "scores splits and is not the impurity of a loss",
    "custom": "knows an impurity, but not the loss behind it",
    "tabulated": "knows the impurity, but no class distribution that attains it",
}


def check_optimal(for_engine: EngineCriterion, criterion: Criterion) -> None:
    """Raise a ValueError if leaves have no optimal prediction by this criterion."""
    if for_engine.name in _NO_LOSS:
        raise ValueError(
            f"leaf_prediction='optimal' cannot be used with criterion={criterion!r}, which "
            f"{_NO_LOSS[for_engine.name]}. Use leaf_prediction='distribution'."
        )


def optimal_votes(criterion: EngineCriterion, counts: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """Return what leaves predict optimally, up to a factor for each leaf.

    Parameters
    ----------
    criterion : EngineCriterion
        One that `check_optimal` lets pass.
    counts : ndarray of shape (n_leaves, m)
        The counts, or proportions, of m classes in ascending order. All others are zero.
    n_classes : int
        Number of all classes.

    Returns
    -------
    votes : ndarray of shape (n_leaves, m)
        Numbers in proportion to the predictions, and `counts` as they are where a leaf predicts
        its proportions.
    """
    parameter = criterion.parameter
    match criterion.name:
        case "misclassification":
            return _majority(counts)
        case "gce" if parameter >= 1:
            return _majority(counts)
        case "gce" if parameter > 0:
            # The largest taken out, as powers can underflow: q near 1.
            relative = counts / counts.max(axis=1, keepdims=True)
            powers: NDArray[np.float64] = relative ** (1 / (1 - parameter))
            return powers
        case "ne" if parameter > 0:
            certain = _risk_of_majority(counts) <= parameter * _root_risk(counts, n_classes)
            return np.where(certain[:, np.newaxis], _majority(counts), counts)
        case _:  # Gini, entropy, and the square root of Gini, the limit of "ne"
            return counts


def _majority(counts: NDArray[Any]) -> NDArray[Any]:
    """Keep the largest count of each row, the first of equals, and make the others zero."""
    major = counts.argmax(axis=1)[:, np.newaxis]
    return np.where(np.arange(counts.shape[1]) == major, counts, np.zeros_like(counts))


def _risk_of_majority(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return n − max nₖ."""
    risk: NDArray[np.float64] = counts.sum(axis=1, dtype=np.float64) - counts.max(axis=1)
    return risk


def _root_risk(counts: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return √((n² − Σ nₖ²)(K − 1)/K)."""
    n_k = counts.astype(np.float64)
    n = n_k.sum(axis=1, keepdims=True)
    root: NDArray[np.float64] = np.sqrt((n_k * (n - n_k)).sum(axis=1) * (1 - 1 / n_classes))
    return root
