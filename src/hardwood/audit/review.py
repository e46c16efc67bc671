"""A review of labels: what it is expected to find, and which rows come next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hardwood._io.frames import Table
from hardwood.audit.calibration import (
    LEAST,
    N_DRAWS,
    Calibration,
    checked_wrong,
    fit_calibration,
    log_odds,
    trust_in,
)
from hardwood.audit.decisions import Decisions
from hardwood.noise.checks import Array, Labels

# Intervals hold 90 % of the posterior.
_TAIL = 0.05
_N_LINES = 20
# Rows of about the same rank are taken together; so many parts of the table are told apart.
_N_PARTS = 200
# Of the next rows, this share is drawn at random.
RANDOM_SHARE = 0.025
# The noise matrix that the audit estimates counts as this many labels of each class.
_PRIOR_LABELS = 2.0
_MAX_CLASSES_OF_MATRIX = 100
# The relative half width of the noise rate's interval in a table of labels by several people.
_DOUBT = 0.5


@dataclass(frozen=True)
class _Cells:
    """Undecided rows of similar rank and equal label, taken together: each has this many `counts`."""

    parts: NDArray[np.intp]
    given: Labels
    counts: Array
    z: Array
    of_row: NDArray[np.intp]


@dataclass(frozen=True)
class Review:
    """The state of a review.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        P(wrong) of the labels by the audit, without any verdict.
    given : ndarray of int of shape (n_rows,)
        The labels.
    others : ndarray of shape (n_rows, n_classes)
        P(true class | the label is wrong).
    noise_matrix : ndarray of shape (n_classes, n_classes)
        T, as the audit estimates it without any verdict.
    decisions : Decisions
        The verdicts.
    reviewer_accuracy : float
        Probability that a verdict is right.
    seed : int
        Seed of the draws.
    rate : float
        The expected share of wrong labels, without any verdict.
    doubt : float, default=None
        Half the width of the interval of that share, relative to it. None if there is no interval.
    """

    scores: Array
    given: Labels
    others: Array
    noise_matrix: Array
    decisions: Decisions
    reviewer_accuracy: float
    seed: int
    rate: float
    doubt: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.given)

    @property
    def _n_classes(self) -> int:
        return len(self.noise_matrix)

    @cached_property
    def calibration(self) -> Calibration:
        """How far the scores can be trusted."""
        rows = self.decisions.rows
        doubt = _DOUBT if self.doubt is None else self.doubt
        return fit_calibration(
            self.scores[rows],
            self.given[rows],
            self.decisions.labels != self.given[rows],
            self._n_classes,
            self.reviewer_accuracy,
            trust_in(self.scores, self.rate, doubt, self._n_classes),
        )

    @cached_property
    def undecided(self) -> NDArray[np.bool_]:
        """The rows that nobody has decided."""
        return ~self.decisions.mask(self.n_rows)

    @cached_property
    def wrong(self) -> Array:
        """P(wrong) of all labels, given the verdicts."""
        wrong = self.calibration.wrong(self.scores, self.given)
        rows = self.decisions.rows
        if len(rows):
            wrong = wrong.copy()
            said_wrong = self.decisions.labels != self.given[rows]
            wrong[rows] = checked_wrong(
                wrong[rows], said_wrong, self._n_classes, self.reviewer_accuracy
            )
        return wrong

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows in the order of review, the most suspect first, decided ones last."""
        return np.lexsort((-self.scores, -self.wrong, ~self.undecided))

    # --- what is known now ----------------------------------------------------------------------

    @property
    def noise_rate_interval(self) -> tuple[float, float]:
        """A 90 % interval of the share of wrong labels."""
        decided = self.wrong[self.decisions.rows]
        spread = np.sqrt((decided * (1 - decided)).sum())  # reviewers err
        chance = np.random.default_rng(self.seed + 2).standard_normal(N_DRAWS)
        total = self._left(np.zeros(1, dtype=np.intp))[0] + decided.sum() + spread * chance
        low, high = np.quantile(total / self.n_rows, [_TAIL, 1 - _TAIL])
        rate = float(self.wrong.mean())
        return max(0.0, min(float(low), rate)), min(1.0, max(float(high), rate))

    @cached_property
    def posterior(self) -> Array:
        """P(true class) of each row, given its label and the verdicts."""
        posterior = self.others * self.wrong[:, np.newaxis]
        rows = np.arange(self.n_rows)
        posterior[rows, self.given] = 1 - self.wrong
        decided, labels = self.decisions.rows, self.decisions.labels
        before = (
            self.others[decided] * self.calibration.wrong(self.scores, self.given)[decided, None]
        )
        before[np.arange(len(decided)), self.given[decided]] = 1 - before.sum(axis=1)
        verdict = np.full_like(before, (1 - self.reviewer_accuracy) / max(1, self._n_classes - 1))
        verdict[np.arange(len(decided)), labels] = self.reviewer_accuracy
        joint = before * verdict
        total = joint.sum(axis=1, keepdims=True)
        posterior[decided] = np.divide(joint, total, where=total > 0, out=verdict)
        return posterior

    def estimated_matrix(self) -> Array:
        """Return the noise matrix, given the verdicts."""
        return _by_true_class(self._joint_counts(self.posterior) + self._prior_counts)

    def matrix_interval(self) -> tuple[Array, Array] | None:
        """Return 90 % intervals of the entries of the noise matrix, or None if there are too many."""
        K = self._n_classes
        if K > _MAX_CLASSES_OF_MATRIX:
            return None
        cells = self._cells(self.undecided_order, np.empty(0, dtype=np.intp))
        rows = self.undecided_order
        shares = np.zeros((len(cells.counts), K))
        np.add.at(shares, cells.of_row, self.others[rows])
        shares /= cells.counts[:, np.newaxis]
        wrong = cells.counts * self.calibration.wrong_by(
            cells.z, cells.given, self.calibration.draws(self.seed)
        )
        counts = np.zeros((N_DRAWS, K, K))
        for j in range(K):
            here = cells.given == j
            counts[:, :, j] = wrong[:, here] @ shares[here]
            counts[:, j, j] = cells.counts[here].sum() - wrong[:, here].sum(axis=1)
        counts += self._joint_counts(self.posterior * ~self.undecided[:, np.newaxis])
        counts += self._prior_counts
        # Given the counts, the rows of T have a Dirichlet distribution.
        draws = _by_true_class(np.random.default_rng(self.seed).gamma(np.maximum(counts, 1e-9)))
        low, high = np.quantile(draws, [_TAIL, 1 - _TAIL], axis=0)
        T = self.estimated_matrix()
        return np.minimum(low, T), np.maximum(high, T)

    @property
    def _prior_counts(self) -> Array:
        return _PRIOR_LABELS * self.noise_matrix

    def _joint_counts(self, posterior: Array) -> Array:
        counts = np.zeros((self._n_classes, self._n_classes))
        for j in range(self._n_classes):
            counts[:, j] = posterior[self.given == j].sum(axis=0)
        return counts

    # --- what comes next ------------------------------------------------------------------------

    @property
    def undecided_order(self) -> NDArray[np.intp]:
        """The undecided rows, the most suspect first."""
        return self.order[: int(self.undecided.sum())]

    def plan(self, target: float) -> Table:
        """Return the columns of ``LabelAudit.review_plan``."""
        rows, left = self.curve
        last = int(np.argmax(left <= target * self.n_rows + 1e-9))
        lines = np.unique(np.linspace(0, last, min(_N_LINES, last) + 1).round().astype(np.intp))
        low, high = self.intervals(lines)
        return {
            "rows": rows[lines],
            "found": left[0] - left[lines],
            "left": left[lines],
            "left_low": low,
            "left_high": high,
        }

    @cached_property
    def curve(self) -> tuple[NDArray[np.intp], Array]:
        """Numbers of rows reviewed, from 0, and the expected number of wrong labels left."""
        wrong = self.wrong[self.undecided_order]
        left = np.concatenate([np.cumsum(wrong[::-1])[::-1], [0.0]])
        return np.arange(len(left)), left

    def intervals(self, lines: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the ends of 90 % intervals of what is left after so many rows."""
        _, expected = self.curve
        low, high = np.quantile(self._left(lines), [_TAIL, 1 - _TAIL], axis=1)
        n_left = len(expected) - 1 - lines
        low, high = np.clip(low, 0, n_left), np.clip(high, 0, n_left)
        return np.minimum(low, expected[lines]), np.maximum(high, expected[lines])

    def _left(self, lines: NDArray[np.intp]) -> Array:
        """Return draws of the number of wrong labels left, of shape (n_lines, n_draws)."""
        cells = self._cells(self.undecided_order, lines)
        n_parts = int(cells.parts.max(initial=-1)) + 1
        p = self.calibration.wrong_by(cells.z, cells.given, self.calibration.draws(self.seed))
        number = np.zeros((N_DRAWS, n_parts + 1))
        chance = np.random.default_rng(self.seed + 1)
        for part in range(n_parts):
            here = cells.parts == part
            n_rows = cells.counts[here].sum()
            share = np.minimum(p[:, here] @ cells.counts[here] / n_rows, 1)
            number[:, part] = chance.binomial(int(n_rows), share)
        left = np.cumsum(number[:, ::-1], axis=1)[:, ::-1]
        total, bend = np.maximum(left[:, :1], 1), self.calibration.trust.bend
        left = total * (left / total) ** np.exp(bend * chance.standard_normal((N_DRAWS, 1)))
        starts = np.searchsorted(self._edges(lines), lines)
        return np.asarray(left[:, np.minimum(starts, n_parts)].T)

    def _edges(self, lines: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where parts of the order begin; every line is the beginning of one."""
        n_undecided = int(self.undecided.sum())
        even = np.linspace(0, n_undecided, _N_PARTS + 1).astype(np.intp)
        return np.unique(np.concatenate([even, lines, [0, n_undecided]]))

    def _cells(self, rows: NDArray[np.intp], lines: NDArray[np.intp]) -> _Cells:
        parts = np.searchsorted(self._edges(lines), np.arange(len(rows)), side="right") - 1
        key, of_row = np.unique(parts * self._n_classes + self.given[rows], return_inverse=True)
        counts = np.bincount(of_row, minlength=len(key)).astype(np.float64)
        z = np.bincount(of_row, weights=log_odds(self.scores[rows]), minlength=len(key))
        return _Cells(
            key // self._n_classes, key % self._n_classes, counts, z / np.maximum(counts, 1), of_row
        )

    def next_rows(self, k: int, random_share: float) -> NDArray[np.intp]:
        """Return the rows to review next, those drawn at random last."""
        waiting = ~np.isin(self.undecided_order, self.decisions.unsure)
        rows = self.undecided_order[waiting]
        k = min(k, len(rows))
        # Whole numbers of rows, such that the share holds over many small batches.
        before = len(self.decisions) + len(self.decisions.unsure)
        n_random = int(random_share * (before + k)) - int(random_share * before)
        first, rest = np.split(rows, [k - n_random])
        # In proportion to the standard deviation of a verdict, which makes the estimate of the number of
        # wrong labels most precise: the first of exponential waiting times with these rates.
        wrong = np.clip(self.wrong[rest], LEAST, 1 - LEAST)
        waiting_times = np.random.default_rng([self.seed, before]).exponential(size=len(rest))
        soonest = np.argsort(waiting_times / np.sqrt(wrong * (1 - wrong)), kind="stable")
        return np.concatenate([first, rest[soonest[:n_random]]])


def relative_width(interval: tuple[float, float], rate: float) -> float:
    """Return half the width of an interval of the noise rate, relative to the rate."""
    low, high = interval
    return (high - low) / 2 / max(rate, 1e-3)


def mean_score(first: Array, again: Array) -> Array:
    """Return the probabilities with the mean log odds of two.

    On the development half of the real tables, this mean ranks rows better than either the forest
    trained on the labels as they were or the one trained on the decided labels.
    """
    return np.asarray(expit((log_odds(first) + log_odds(again)) / 2))


def others_of(posterior: Array, labels: Labels) -> Array:
    """Return P(true class | the label is wrong) of each row, from P(true class)."""
    others = posterior.copy()
    rows = np.arange(len(labels))
    others[rows, labels] = 0
    total = others.sum(axis=1, keepdims=True)
    even = np.full_like(others, 1 / max(1, others.shape[1] - 1))
    even[rows, labels] = 0
    return np.asarray(np.divide(others, total, where=total > 0, out=even))


def _by_true_class(counts: Array) -> Array:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))
