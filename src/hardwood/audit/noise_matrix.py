"""Which classes are mislabelled as which: the noise matrix of labels."""

from __future__ import annotations

from typing import Any

from hardwood.audit._checks import Array, check_labels, check_proba
from hardwood.noise.model import fit_noise_model


def estimate_noise_matrix(y: Any, proba: Any, *, classes: Any = None) -> Array:
    """Estimate the noise matrix of labels from out-of-sample probabilities of any classifier.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels, some of them wrong.
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of the labels by a classifier that learnt from such labels, but not from the
        row's own: out of bag, or by cross-validation. Columns are in the order of the classes.
    classes : array-like of shape (n_classes,), default=None
        The classes; None for the sorted labels of `y`.

    Returns
    -------
    T : ndarray of shape (n_classes, n_classes)
        ``T[i, j]`` is the probability that a label of true class i is observed as j. Rows sum
        to 1.

    See Also
    --------
    LabelAudit : Brings the classifier too.

    Notes
    -----
    With s a row's probabilities, the true class is taken to have probabilities in proportion to
    ``s_i^a exp(b_i)``, and T turns them into those of the observed label. a, b and T maximise the
    likelihood of the labels. Classes that no classifier can tell apart look like classes that are
    mistaken for each other: where classes overlap, T is too noisy.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_predict
    >>> from hardwood.audit import estimate_noise_matrix
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import class_conditional, corrupt
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, class_conditional([0.1, 0.2]), random_state=0)
    >>> forest = RandomForestClassifier(50, min_samples_leaf=20, random_state=0)
    >>> proba = cross_val_predict(forest, data.X_train, noisy_y, method="predict_proba")
    >>> estimate_noise_matrix(noisy_y, proba).round(1)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    classes, labels = check_labels(y, classes)
    return fit_noise_model(check_proba(proba, len(labels), classes), labels).T
