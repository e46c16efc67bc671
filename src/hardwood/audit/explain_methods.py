"""The methods of an audit that look at single rows: why they are suspect, and which are similar."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._io.frames import Table, as_index, frame
from hardwood.audit.explain import Explanation
from hardwood.audit.report.suspects import reasons_of_row
from hardwood.audit.review import Review
from hardwood.audit.similar import Leaves, has_leaves
from hardwood.noise.checks import Array, Labels

# Rows among which similar ones are looked for.
_MAX_POOL, _MAX_POOL_OF_PAGE = 50_000, 5_000
_N_SIMILAR = 3


class ExplainMethods:
    """What `LabelAudit` says about a row once it is fitted."""

    estimator_: Any
    classes_: NDArray[Any]
    feature_names_in_: Any
    _X: Any
    _labels: Labels
    _votes: Array
    _drawn: Any
    _seed: int
    _table: Table
    _review: Review

    def explain(self, row: int, *, n_neighbors: int = 5) -> Explanation:
        """Return why the label of a row looks wrong, or right.

        Parameters
        ----------
        row : int
            The row, counted from 0.

        n_neighbors : int, default=5
            Number of similar rows.

        Returns
        -------
        explanation : Explanation
            The `votes` of the trees, the `features` on the row's paths, and its nearest `neighbors`
            by out-of-bag proximity: how often two rows share a leaf in trees trained on neither. If
            the audit was fitted with probabilities or without rows, there are only votes. Trees that
            split on sets of categories do not say what each feature contributes.

        Examples
        --------
        >>> from hardwood import datasets, noise
        >>> from hardwood.audit import LabelAudit
        >>> X, y, *_ = datasets.load("mushrooms")
        >>> noisy_y, flipped = noise.corrupt(y, noise.uniform(2, 0.1), random_state=0)
        >>> audit = LabelAudit(random_state=0).fit(X, noisy_y)
        >>> why = audit.explain(flipped.argmax())
        >>> bool(why.votes[why.suggested] > 0.8), bool((why.neighbors["trusted"] == why.suggested).all())
        (True, True)
        """
        check_is_fitted(self)
        for name, value, low in (("row", row, 0), ("n_neighbors", n_neighbors, 1)):
            if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
                raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}.")
        if row >= len(self._labels):
            raise ValueError(
                f"row must be below the number of rows, {len(self._labels)}, got {row}. Rows are counted "
                "from 0, whatever the index of a data frame is."
            )
        row, n_neighbors = int(row), int(n_neighbors)  # polars takes no integers of NumPy
        given = int(self._labels[row])
        suggested = int(self._review.others[row].argmax())
        votes = self._votes[row]
        features: Table = {"value": [], "contribution": []}
        names: list[str] = []
        neighbors: Table = {"row": [], "proximity": [], "given": [], "trusted": []}
        if self._X is not None and self.estimator_ is not None and has_leaves(self.estimator_):
            n_rows = len(self._labels)
            pool = np.random.default_rng(self._seed).permutation(n_rows)[:_MAX_POOL]
            pool = np.unique(np.append(pool, row))
            own = np.searchsorted(pool, [row])
            leaves = Leaves(self.estimator_, self._X, self._drawn, pool)
            (nearest,) = leaves.nearest(own, np.arange(len(pool)), n_neighbors)
            near = pool[[place for place, _ in nearest]]
            neighbors = {
                "row": near,
                "proximity": [proximity for _, proximity in nearest],
                "given": self._table["given"][near],
                "trusted": self._table["suggested"][near],
            }
            trees = getattr(self.estimator_, "estimators_", None)
            if trees is not None:
                out = np.flatnonzero(leaves.is_out[:, own[0]])
                names, features = reasons_of_row(
                    [trees[int(t)] for t in out],
                    self._X,
                    self.feature_names_in_,
                    row,
                    suggested,
                    given,
                )
        table = frame(features)
        table.index = names
        return Explanation(
            row,
            self.classes_[given],
            self.classes_[suggested],
            float(self._table["score"][row]),
            frame({"votes": votes}).set_axis(as_index(self.classes_))["votes"],
            table,
            frame(neighbors),
        )

    def _similar_rows(self, rows: NDArray[np.intp]) -> list[list[tuple[int, float]]]:
        """Return for each row the most similar ones whose labels look right."""
        trusted = np.flatnonzero(~self._table["is_issue"])
        pool = np.random.default_rng(self._seed).permutation(trusted)[:_MAX_POOL_OF_PAGE]
        followed = np.unique(np.concatenate([pool, rows]))
        leaves = Leaves(self.estimator_, self._X, self._drawn, followed)
        nearest = leaves.nearest(
            np.searchsorted(followed, rows), np.searchsorted(followed, np.sort(pool)), _N_SIMILAR
        )
        return [[(int(followed[place]), near) for place, near in of_row] for of_row in nearest]
