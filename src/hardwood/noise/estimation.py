"""Estimate the noise matrix from out-of-sample probabilities of the observed labels."""

from __future__ import annotations

from typing import Any

from hardwood.noise.checks import Array, check_labels, check_proba
from hardwood.noise.label_model import SURE, fit_label_model


def estimate_noise_matrix(y: Any, proba: Any, *, classes: Any = None) -> Array:
    """Estimate the noise matrix of labels from out-of-sample probabilities of any classifier.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels, some of them wrong.
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of the labels, predicted by a classifier that was trained on such labels but
        not on the row itself: out of bag, or by cross-validation. Columns are in the order of the
        classes.
    classes : array-like of shape (n_classes,), default=None
        The classes. None means the sorted labels of `y`.

    Returns
    -------
    T : ndarray of shape (n_classes, n_classes)
        ``T[i, j]`` is the probability that a label of true class i is observed as j. Rows sum
        to 1.

    See Also
    --------
    hardwood.audit.LabelAudit : Also provides the classifier.

    Notes
    -----
    With s the probabilities of a row, the probabilities of the true class are modelled as
    proportional to ``s_i^a``, and uniform noise turns them into those of the observed label. T is
    what the labels then show, on average over all exponents a and noise rates, weighted by how
    likely they make the labels. With two classes, the rates of either may differ. Classes that no
    classifier can tell apart look like classes that are mistaken for each other.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_predict
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import class_conditional, corrupt, estimate_noise_matrix
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, class_conditional([0.1, 0.2]), random_state=0)
    >>> forest = RandomForestClassifier(50, min_samples_leaf=20, random_state=0)
    >>> proba = cross_val_predict(forest, data.X_train, noisy_y, method="predict_proba")
    >>> estimate_noise_matrix(noisy_y, proba).round(1)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    classes, labels = check_labels(y, classes)
    proba = check_proba(proba, len(labels), classes)
    return fit_label_model(proba, labels, sure=SURE).T
