"""Audit the labels of a table that lies on a Dask cluster."""

from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from dask.delayed import delayed
from distributed import default_client
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import safe_indexing
from hardwood._core.copies import find_copies
from hardwood._io.frames import Table, frame
from hardwood.audit import LabelAudit
from hardwood.audit.detectors import DEFAULT
from hardwood.dask.adaptive import DaskAdaptiveForestClassifier, Labelled
from hardwood.dask.blocks import Blocks, check_blocks
from hardwood.dask.collections import (
    ClusterTable,
    collection_like,
    each_block,
    split_rows,
    weights_like,
)
from hardwood.dask.estimators import (
    DaskExtraTreesClassifier,
    DaskModel,
    DaskRobustForestClassifier,
    clone_on_cluster,
)
from hardwood.dask.placement import Placement
from hardwood.dask.rows import ClusterSet
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import prepare_blocks


class DaskLabelAudit(LabelAudit):
    """A `LabelAudit` of a table that lies on a Dask cluster.

    It finds what one machine would find from the same rows and seed, bit for bit, for any number of
    workers and partitions. The forest is grown on the workers, and its votes are added up where the
    rows are. The labels and the sums of the votes come to the client, and so do the rows that you
    look at. The whole table never does.

    Parameters
    ----------
    estimator : forest, default=None
        The forest whose trees vote, as for `LabelAudit`: a forest of hardwood, or of
        `hardwood.dask`. A local one that is not fitted is grown on the cluster.

    n_jobs : int, default=None
        Number of threads of the client. Workers have their own.

    random_state : int, RandomState instance or None, default=None
        Seed of the forest and of all other random draws.

    detector : str, default="posterior"
        Name of the detector that ranks the labels, a key of `hardwood.audit.DETECTORS`.

    reviewer_accuracy : float, default=0.98
        Probability that a person who checks a label names the true class.

    client : distributed.Client or None, default=None
        The cluster. None means the current client.

    placement : {"auto", "replicate", "distribute"}, default="auto"
        As for `DaskRobustForestClassifier`.

    See Also
    --------
    LabelAudit : The same on one machine, with all attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from hardwood.dask import DaskLabelAudit
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[10, 60, 110]] = [2, 0, 1]
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     audit = DaskLabelAudit(random_state=0)
    ...     audit = audit.fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    ...     issues = audit.issues_.compute()
    >>> bool(issues["is_issue"][[10, 60]].all())
    True
    """

    _twins: ClassVar[dict[type, type]] = {
        twin._local_class: twin
        for twin in (
            DaskAdaptiveForestClassifier,
            DaskExtraTreesClassifier,
            DaskRobustForestClassifier,
        )
    }

    def __init__(
        self,
        estimator: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        *,
        detector: str = DEFAULT,
        reviewer_accuracy: float = 0.98,
        client: Any = None,
        placement: str = "auto",
    ) -> None:
        super().__init__(
            estimator,
            n_jobs,
            random_state,
            detector=detector,
            reviewer_accuracy=reviewer_accuracy,
        )
        self.client = client
        self.placement = placement

    def fit(
        self, X: Any, y: Any, proba: Any = None, *, groups: Any = None, decisions: Any = None
    ) -> Self:
        """Audit labels.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The rows. May be None if `proba` is given.

        y : dask array, dask Series or DataFrame, or list of delayed blocks
            The labels, partitioned as X. With two dimensions, each column has the labels of one
            person.

        proba : dask array, dask DataFrame or list of delayed blocks, default=None
            Out-of-sample probabilities, partitioned as X. If given, no forest is grown.

        groups : dask array, dask Series or list of delayed blocks, default=None
            Rows of the same group are not separate observations. None to look for copies in X.

        decisions : pandas.DataFrame, default=None
            What a review has already found, as for `update`.

        Returns
        -------
        self : DaskLabelAudit
            The fitted audit.
        """
        client = default_client() if self.client is None else self.client
        check_blocks(y if X is None else X, y, proba, groups)
        given = ClusterTable(y, client, "y")
        # A fit compares the sizes of the blocks of X and y.
        sizes = None if proba is not None else given.n_rows_of
        table = None if X is None else ClusterTable(X, client, n_rows_of=sizes)

        def collected(values: Any, name: str) -> Any:
            if values is None:
                return None
            other = ClusterTable(values, client, name)
            _check_rows(given if table is None else table, other, name)
            return other.collect()

        if table is not None:
            _check_rows(table, given, "y")
        labels = given.collect()
        if table is not None:
            table.labels = labels, given.blocks
        super().fit(
            table,
            labels,
            collected(proba, "proba"),
            groups=collected(groups, "groups"),
            decisions=decisions,
        )
        self._given_y = given
        return self

    # --- the forest ------------------------------------------------------------------------------

    def _trained(self, estimator: Any, X: Any, y: Any, groups: Any) -> Any:
        if not isinstance(estimator, DaskModel):
            twin = self._twins.get(type(estimator))
            if twin is None:
                raise TypeError(
                    "estimator must be a forest of hardwood or hardwood.dask, which can be grown on "
                    f"a cluster, got {type(estimator).__name__}. For any other classifier, pass its "
                    "out-of-sample probabilities to fit as proba."
                )
            parameters = estimator.get_params(deep=False)
            estimator = twin(**parameters, client=self.client, placement=self.placement)
        return estimator.fit(
            X.blocks,
            _blocks_of_labels(X, y),
            **({} if groups is None else {"groups": X.split(np.asarray(groups))}),
        )

    def _found_copies(self, estimator: Any, X: Any, y: Any) -> Any:
        blocks = Blocks(X.blocks, _blocks_of_labels(X, y), None, None)
        with Tasks(self.client) as tasks:
            data = prepare_blocks(
                clone(estimator),
                blocks,
                tasks,
                class_weight=None,
                leaf_prediction="distribution",
            )
            rows = ClusterSet(data, tasks, Placement("replicate"))
            labelled: Any = Labelled(rows, rows.labels)
            return find_copies(labelled, self._seed, hashes=rows.hashes())

    def _unfitted(self) -> Any:
        forest = self.estimator_
        if not isinstance(forest, DaskModel):
            return clone(forest)
        return clone(forest._local_class(**forest._local_params()))

    def _another(self) -> LabelAudit:
        names = LabelAudit().get_params(deep=False)
        return LabelAudit(**{name: clone(getattr(self, name), safe=False) for name in names})

    # --- results ---------------------------------------------------------------------------------

    @property
    def issues_(self) -> Any:
        """One line per label, as a dask DataFrame with the partitions of X."""
        import dask.dataframe as dd

        check_is_fitted(self)
        starts = self._given_y.starts
        parts = [
            delayed(_part)({name: v[first:last] for name, v in self._table.items()}, first)
            for first, last in pairwise(starts)
        ]
        is_divided = all(n_rows > 0 for n_rows in self._given_y.n_rows_of)
        return dd.from_delayed(
            parts,
            meta=_part({name: values[:0] for name, values in self._table.items()}, 0),
            divisions=(*starts[:-1], starts[-1] - 1) if is_divided else None,
        )

    def clean(
        self, X: Any = None, y: Any = None, how: str = "drop", *, check: bool = True
    ) -> tuple[Any, Any, Any]:
        """Return the data without the labels that are probably wrong, if that helps.

        Parameters
        ----------
        X, y : dask collection or list of delayed blocks, default=None
            The rows and labels to clean, partitioned as those audited. None for the data passed to
            `fit`.

        how : {"drop", "relabel", "weight"}, default="drop"
            As for `LabelAudit.clean`.

        check : bool, default=True
            Whether to measure `cleaning_gain` first. The client does so, with at most 100,000 rows.

        Returns
        -------
        X, y : dask collection or list of delayed blocks
            The data, lazily, in the types given.
        sample_weight : dask array, list of delayed blocks or None
            The weights for "weight", else None.
        """
        check_is_fitted(self)
        client, audited = self._given_y.client, self._given_y
        labels = audited if y is None else ClusterTable(y, client, "y")
        table = self._X if X is None else ClusterTable(X, client)
        if table is None:
            raise ValueError("X is required, because the audit was fitted without rows.")
        for name, other in (("X", table), ("y", labels)):
            _check_rows(audited, other, name)
        numbers = np.arange(table.shape[0])
        given = self._y if y is None else labels.collect()
        kept, cleaned, weights = self._clean(numbers, given, how, check)
        parts = np.split(kept, np.searchsorted(kept, audited.starts[1:-1]))
        sizes = [len(part) for part in parts]
        own = [part - start for part, start in zip(parts, audited.starts, strict=False)]
        X_kept = collection_like(table.given, each_block(safe_indexing, table.blocks, own), sizes)
        y_kept = collection_like(labels.given, split_rows(cleaned, sizes), sizes)
        of_rows = None if weights is None else weights_like(table.given, weights, sizes)
        return X_kept, y_kept, of_rows

    def report(
        self, path: str | PathLike[str], *, values: Any = None, ids: Any = None, **options: Any
    ) -> None:
        """Write the audit as one HTML file that any browser shows offline.

        Only the rows on the page come to the client, and some that are similar to them.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced once the new one is complete.

        values : dask array, dask DataFrame or list of delayed blocks, default=None
            The feature values to show, if X contains codes for something else.

        ids : dask array, dask Series, list of delayed blocks or array-like, default=None
            What you call the rows.

        **options
            `title`, `compare`, `max_rows`, `notes` and `target`, as for `LabelAudit.report`.
        """
        check_is_fitted(self)
        client = self._given_y.client
        if values is not None:
            values = ClusterTable(values, client, "values")
        if hasattr(ids, "to_delayed"):
            ids = np.asarray(ClusterTable(ids, client, "ids").collect())
        super().report(path, values=values, ids=ids, **options)

    def __sklearn_clone__(self) -> Self:
        cloned: Self = clone_on_cluster(self)
        return cloned


def _blocks_of_labels(X: ClusterTable, y: Any) -> list[Any]:
    """Return labels in blocks: those given, or new ones from the client."""
    labels, blocks = X.labels
    return blocks if y is labels else X.split(np.asarray(y))


def _check_rows(table: ClusterTable, other: ClusterTable, name: str) -> None:
    if table.n_rows_of != other.n_rows_of:
        raise ValueError(
            f"X and {name} must be partitioned alike, but the blocks of X have "
            f"{table.n_rows_of[:5]} rows and those of {name} {other.n_rows_of[:5]}."
        )


def _part(table: Table, first: int) -> Any:
    """Return a part of the issues, with the rows numbered from `first`."""
    part = frame(table)
    part.index = np.arange(first, first + len(part))
    return part
