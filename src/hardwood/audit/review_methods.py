"""The methods of an audit that lead people through a review."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._io.frames import frame
from hardwood.audit.decisions import Decisions, check_decisions
from hardwood.audit.review import RANDOM_SHARE, Review
from hardwood.noise.checks import Array, Labels


class ReviewMethods:
    """What `LabelAudit` offers once it is fitted: a plan, the next rows, and verdicts that count."""

    classes_: NDArray[Any]
    can_tell_: bool
    _labels: Labels
    _decisions: Decisions
    _review: Review

    def _take_in(self, decisions: Decisions) -> None:
        raise NotImplementedError

    def update(self, decisions: Any) -> Self:
        """Take into account what a review found.

        Labels decided on are trusted as far as `reviewer_accuracy` says. The audit trains the forest
        again with them, estimates the noise rate and the noise matrix again, and ranks the other rows
        again. You may choose the rows in any way: the audit takes each row's label and score into
        account. Calls add up, and a later decision on a row replaces an earlier one.

        Parameters
        ----------
        decisions : pandas.DataFrame, dict or path-like
            One line for each decision: the `row`, counted from 0, and its true `label`. A line
            without a label says that nobody could decide; `next_rows` leaves such rows out. A column
            `given`, if there is one, must have the labels that were audited. Other columns are
            ignored. You can also pass the path of such a file, for example of the ``decisions.csv``
            that the report exports.

        Returns
        -------
        self : LabelAudit
            The audit, updated.

        Examples
        --------
        >>> import pandas
        >>> from hardwood import datasets, noise
        >>> from hardwood.audit import LabelAudit
        >>> X, y, *_ = datasets.load("mushrooms")
        >>> noisy_y, flipped = noise.corrupt(y, noise.uniform(2, 0.2), random_state=0)
        >>> audit = LabelAudit(random_state=0).fit(X, noisy_y)
        >>> rows = audit.next_rows(50)
        >>> audit = audit.update(pandas.DataFrame({"row": rows, "label": y[rows]}))
        >>> bool(audit.issues_["decided"].sum() == 50)
        True
        """
        check_is_fitted(self)
        found = check_decisions(decisions, self.classes_, self._labels)
        self._take_in(self._decisions.joined(found))
        return self

    def next_rows(self, k: int = 20, *, random_share: float = RANDOM_SHARE) -> NDArray[np.intp]:
        """Return the rows to review next.

        Parameters
        ----------
        k : int, default=20
            Number of rows.

        random_share : float, default=0.025
            Share of these rows to draw at random from all others. Without it, nobody would look at
            rows that the forest trusts, and the estimate of the noise rate could not correct itself.
            A row whose label is wrong with probability p is drawn in proportion to √(p (1 − p)).

        Returns
        -------
        rows : ndarray of int
            Row numbers, counted from 0: the most suspect rows first, then those drawn at random. Rows
            that somebody decided on, or looked at without a decision, are left out. There are fewer
            than k if not enough others are left.
        """
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be an integer of at least 1, got {k!r}.")
        check_share("random_share", random_share)
        return self._review.next_rows(int(k), float(random_share))

    def review_plan(self, target: float = 0.01) -> Any:
        """Return how many rows to review until few wrong labels are left.

        The plan assumes that you review the rows in the order of `rank`, correct every wrong label
        you see, and make no mistakes.

        Parameters
        ----------
        target : float, default=0.01
            Share of wrong labels in the table at which the review ends.

        Returns
        -------
        plan : pandas.DataFrame
            One line per length of the review. After so many `rows`: how many wrong labels you can
            expect to have `found`, and how many are `left`, with a 90 % interval from `left_low` to
            `left_high`. All columns are numbers of rows. The first line is for no review, and the
            last one reaches the target. Rows already decided on do not count.

        See Also
        --------
        hardwood.plotting.review_curve : The plan as a picture.

        Examples
        --------
        >>> from hardwood import datasets, noise
        >>> from hardwood.audit import LabelAudit
        >>> X, y, *_ = datasets.load("mushrooms")
        >>> noisy_y, flipped = noise.corrupt(y, noise.uniform(2, 0.1), random_state=0)
        >>> plan = LabelAudit(random_state=0).fit(X, noisy_y).review_plan(target=0.01)
        >>> plan.columns.tolist()
        ['rows', 'found', 'left', 'left_low', 'left_high']
        >>> bool(plan["left"].iloc[-1] <= 0.01 * len(y))
        True
        """
        check_is_fitted(self)
        check_share("target", target)
        return frame(self._review.plan(float(target)))

    @property
    def noise_matrix_interval_(self) -> tuple[Array, Array] | None:
        """90 % intervals of the entries of `noise_matrix_`: the low and the high ends."""
        check_is_fitted(self)
        return self._review.matrix_interval()


def check_share(name: str, value: Any) -> None:
    """Raise a ValueError unless a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")


def check_reviewer_accuracy(value: Any) -> float:
    """Return the parameter `reviewer_accuracy` if it is a number above 0.5 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.5 < float(value) <= 1:
        raise ValueError(
            f"reviewer_accuracy must be a number above 0.5 and at most 1, got {value!r}."
        )
    return float(value)
