"""The method of an audit that writes its findings as a page."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hardwood.audit.cleaning_methods import CleaningMethods
from hardwood.audit.explain_methods import ExplainMethods
from hardwood.audit.report import Findings, check_report, write_report
from hardwood.audit.review_methods import check_share
from hardwood.audit.similar import has_leaves
from hardwood.noise.checks import Array


class ReportMethods(CleaningMethods, ExplainMethods):
    """How `LabelAudit` reports its findings."""

    can_tell_: bool
    noise_rate_: float
    noise_rate_interval_: tuple[float, float]
    class_prior_: Array
    n_copies_: int

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        compare: bool = True,
        max_rows: int = 10_000,
        values: Any = None,
        notes: Sequence[str] = (),
        ids: Any = None,
        target: float = 0.01,
    ) -> None:
        """Write the audit as one HTML file that any browser shows offline.

        The page is also a workbench: people decide row by row which labels are right, and export
        their decisions for `update`, `hardwood apply` and `hardwood train`.

        Parameters
        ----------
        path : str or path-like
            The file to write. An existing file is replaced once the new one is complete.

        title : str, default=None
            Title of the page, such as the name of the data; None for "Label audit".

        compare : bool, default=True
            Whether to measure `cleaning_gain` and show it. This is the slowest part.

        max_rows : int, default=10,000
            Maximum number of issues on the page, the most suspect first. There are fewer if the file
            would otherwise be larger than 5 MB.

        values : array-like of shape (n_samples, n_features), default=None
            The feature values to show, if X contains codes for them, as for text.

        notes : sequence of str, default=()
            Remarks about the data to show on the page.

        ids : array-like of shape (n_samples,), default=None
            Your own names for the rows. The page and the exported decisions show them next to the
            row numbers.

        target : float, default=0.01
            Share of wrong labels at which the review ends, as in `review_plan`.

        Raises
        ------
        ImportError
            If Jinja2 is not installed; the extra ``hardwood[report]`` includes it.
        OSError
            If `path` cannot be written.
        """
        check_is_fitted(self)
        check_report(path, max_rows, values, self._X)  # before the gain, which takes long
        check_share("target", target)
        if ids is not None and len(ids) != len(self._labels):
            raise ValueError(
                f"ids must have one value for each of the {len(self._labels)} rows, got {len(ids)}."
            )
        forest, table = self.estimator_, self._table
        found = Findings(
            classes=self.classes_,
            given=self._labels,
            suggested=np.asarray(np.searchsorted(self.classes_, table["suggested"])),
            score=table["score"],
            is_issue=table["is_issue"],
            rank=table["rank"],
            noise_matrix=self.noise_matrix_,
            noise_rate=self.noise_rate_,
            noise_rate_interval=self.noise_rate_interval_,
            can_tell=self.can_tell_,
            class_prior=self.class_prior_,
            trees=getattr(forest, "estimators_", None),
            X=self._X,
            feature_names=self.feature_names_in_,
            adaptation=getattr(forest, "adaptation_", None),
            decision_reason=getattr(forest, "decision_reason_", ""),
            is_corrected=getattr(forest, "decision_", "plain") == "corrected",
            n_copies=self.n_copies_,
            gain=self._gain_to_show() if compare else None,
            decided=table.get("decided"),
            ids=None if ids is None else np.asarray(ids, dtype=object),
            plan=self._review.plan(target),
            target=float(target),
            similar=self._similar_rows if self._X is not None and has_leaves(forest) else None,
        )
        write_report(found, path, title=title, max_rows=max_rows, values=values, notes=notes)
