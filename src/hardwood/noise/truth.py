"""The true label of a row, given its features and its observed label: Bayes' rule."""

from __future__ import annotations

import numpy as np

from hardwood.noise.checks import Array, Labels


def posterior(truth: Array, T: Array, labels: Labels) -> Array:
    """Return P(true = i | x, observed = j) = P(true = i | x) T[i, j] / Σ_k P(true = k | x) T[k, j].

    Parameters
    ----------
    truth : ndarray of shape (n_rows, n_classes)
        P(true | x).
    T : ndarray of shape (n_classes, n_classes)
        The noise matrix.
    labels : ndarray of int of shape (n_rows,)
        The observed labels, j.
    """
    joint = _joint(truth, T, labels)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def of_label(values: Array, labels: Labels) -> Array:
    """Return each row's value for its own label."""
    return np.asarray(values[np.arange(len(labels)), labels])


def _joint(truth: Array, T: Array, labels: Labels) -> Array:
    """Return values proportional to P(true = i, observed = j | x), with j each row's label."""
    joint = truth * T[:, labels].T
    # If T rules out the label for every class that is possible here, the label says nothing.
    impossible = ~joint.any(axis=1)
    joint[impossible] = truth[impossible]
    return np.asarray(joint)
