"""What the labels say about their noise, given out-of-bag votes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.noise.checks import Array
from hardwood.noise.label_model import LabelModel, fit_label_model
from hardwood.noise.sharpening import Sharpening


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
