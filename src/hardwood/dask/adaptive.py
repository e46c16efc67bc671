"""The adaptive forest on a Dask cluster."""

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from scipy.sparse import vstack

from hardwood._compat import fit_context
from hardwood._core.compact import CompactForest
from hardwood._core.copies import count_near_copies, find_copies, first_of_repeats
from hardwood._core.grow import Growth
from hardwood._core.model import estimator
from hardwood._core.progress import progress_bar
from hardwood._core.sparse import is_sparse
from hardwood._core.spread import n_threads
from hardwood.adaptive import _again
from hardwood.adaptive._fitted import FITTED
from hardwood.adaptive._judged import Judged
from hardwood.adaptive._parts import Part, smoothed
from hardwood.adaptive.forest import AdaptiveForestClassifier, _warn_of_near_copies
from hardwood.dask.blocks import Blocks, check_blocks
from hardwood.dask.estimators import DaskModel
from hardwood.dask.growing import suitable_placement
from hardwood.dask.predicting import predict_blocks
from hardwood.dask.rows import ClusterSet, JudgedThere
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import DistributedSet, Encoding, prepare_blocks, with_groups

# Up to this many rows, one worker fits the forest: some of its trees depend on the votes of others.
_FEW_ROWS = _again.MOST_ROWS


@estimator
class DaskAdaptiveForestClassifier(DaskModel, AdaptiveForestClassifier):
    """An `AdaptiveForestClassifier` that is grown on a Dask cluster.

    It is the forest that one machine would grow from the same rows and seed, bit for bit, for any
    number of workers and partitions. Trees are grown on the workers. At most 20,000 rows, those
    that judge the settings, come to the client. A table of at most 10,000 rows is left to one
    worker.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees. All other parameters of `AdaptiveForestClassifier` are the same here, too.
        With `oob_score`, the votes on all rows come to the client, 8 bytes for each class.

    client : distributed.Client or None, default=None
        The cluster. None means the current client.

    placement : {"auto", "replicate", "distribute"}, default="auto"
        As for `DaskRobustForestClassifier`. "distribute" supports weights only with
        ``full_data=False``.

    See Also
    --------
    AdaptiveForestClassifier : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from hardwood.dask import DaskAdaptiveForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     forest = DaskAdaptiveForestClassifier(n_estimators=20, random_state=0)
    ...     forest = forest.fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    >>> forest.to_local().predict(X[:2])
    array([0, 0])
    """

    _local_class = AdaptiveForestClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AdaptiveForestClassifier._parameter_constraints,
        **DaskModel._dask_constraints,
    }

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Grow the forest that one machine would grow from the same rows and seed, bit for bit.

        Without `groups`, rows that are copies of others are looked for, in all partitions. For that,
        34 bytes of each row come to the client.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The training data. Arrays may hold NaN for missing values.

        y : dask array, dask Series or list of delayed blocks
            The labels, partitioned as X.

        sample_weight : dask array, dask Series or list of delayed blocks, default=None
            Weights of the rows, partitioned as X.

        groups : dask array, dask Series or list of delayed blocks, default=None
            Rows of the same group are drawn together.

        Returns
        -------
        self : object
            The fitted forest.
        """
        for attribute in FITTED:
            self.__dict__.pop(attribute, None)  # nothing of an old fit remains
        blocks = check_blocks(X, y, sample_weight, groups)
        with Tasks(self.client) as tasks:
            data = self._prepared_on(tasks, blocks)
            noise_matrix = self._checked_noise_matrix(len(data.classes))
            if sum(data.n_rows_of) <= _FEW_ROWS:
                self._fit_on_one_worker(tasks, data)
                return self
            self._seed = self._drawn_seed()
            self._describe(data)
            rows = self._with_copies(tasks, self._placed(tasks, data), groups is not None)
            n_drawn = self.n_estimators - self._n_from_all(rows.n_units)
            candidates, choice = self._adapted(rows, None, n_drawn, noise_matrix)
            drawn: list[Part] = []
            if self.oob_score or not self._replaces(choice):
                drawn = candidates.mixed(choice, n_drawn)
            del candidates
            self._set_choice(choice)
            if self.oob_score:
                voting = CompactForest.joined(smoothed(drawn, n_threads(self.n_jobs)))
                votes = self._out_of_bag(voting, rows, None, rows.n_units)
                self._set_votes(votes, None, n_drawn, rows, noise_matrix)
                labels = rows.given_labels
                if len(labels) < len(self.oob_votes_):  # of a table without its repeats
                    labels = labels[self._groups]
                self._set_oob(self._mapped(self.oob_votes_), labels)
            self._compact = self._completed(drawn, n_drawn, [], rows, None, choice)
        return self

    def _prepared_on(self: Any, tasks: Tasks, blocks: Blocks) -> DistributedSet:
        local = self._local_class(**self._local_params())
        data = prepare_blocks(
            local,
            blocks,
            tasks,
            class_weight=self._fixed_class_weight(),
            leaf_prediction="distribution",
        )
        for name in ("n_features_in_", "feature_names_in_", "_categories"):
            self.__dict__.pop(name, None)
            if hasattr(local, name):
                setattr(self, name, getattr(local, name))
        return data

    def _placed(self: Any, tasks: Tasks, data: DistributedSet) -> ClusterSet:
        n_from_all = self._n_from_all(data.n_rows)
        n_draws = (data.n_units, 0) if n_from_all else (data.n_units,)
        growth = self._growth(data)
        return ClusterSet(
            data, tasks, suitable_placement(self.placement, data, tasks, growth, *n_draws)
        )

    def _with_copies(self: Any, tasks: Tasks, rows: ClusterSet, has_groups: bool) -> ClusterSet:
        """Find copies among the rows, as a local fit does, and return the rows to grow from."""
        self.n_copies_, self._groups = 0, None
        if has_groups:
            self._groups = rows.groups
            return rows
        labels, weights = rows.labels_and_weights
        found = find_copies(Labelled(rows, labels), self._seed, hashes=rows.hashes())  # type: ignore[arg-type]
        if found is not None:
            self._groups = found
            self.n_copies_ = len(found) - int(found.max()) - 1
            first = None if rows.has_zero_weights else first_of_repeats(found, labels, weights)
            if first is None:
                rows = replace(rows, data=with_groups(rows.data, found, tasks))
            else:
                rows = self._placed(
                    tasks, self._prepared_on(tasks, _taken(rows.given, first, rows.starts))
                )
        if n_near := count_near_copies(rows, self._seed):  # type: ignore[arg-type]
            _warn_of_near_copies(n_near)
        return rows

    def _grow(self: Any, growth: Growth, data: Any, n_trees: int, **options: Any) -> CompactForest:
        options = {"n_draws": 0} | options
        options.pop("codes")  # the workers have them
        with progress_bar(n_trees, self.verbose) as progress:
            grown: CompactForest = data.grow(
                growth, self._seed, n_trees=n_trees, progress=progress, **options
            )
        return grown

    def _judged(self: Any, data: Any, n_draws: int) -> Judged:
        n_drawn = self.n_estimators - self._n_from_all(n_draws)
        return JudgedThere(data, n_draws, self._seed, n_drawn)

    def _fit_on_one_worker(self: Any, tasks: Tasks, data: DistributedSet) -> None:
        """Let one worker fit the local twin, which gets categories as numbers."""
        parts = tasks.blocks(
            "rows",
            _numbers,
            [(data.encoding, *data.given.block(i)) for i in range(len(data.given))],
        )
        local = self._local_class(**self._local_params() | {"verbose": 0, "n_jobs": None})
        if data.category_columns:
            local.set_params(categorical_features=list(data.category_columns))
        fitted, said = tasks.gather(tasks.run("fit", _fit, local, parts))
        for each in said:
            warnings.warn(each.message, each.category, stacklevel=4)
        own = {*self.get_params(deep=False), "_categories", "feature_names_in_", "n_features_in_"}
        self.__dict__.update({k: v for k, v in vars(fitted).items() if k not in own})
        if fitted._pairs:
            self._categories = replace(self._categories, pairs=fitted._pairs)

    def predict_proba(self: Any, X: Any, *, noisy: bool = False) -> Any:
        """Return the probabilities of the true classes, lazily.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The rows. Anything else is predicted at once, as on one machine.

        noisy : bool, default=False
            Whether to return the probabilities of the observed labels instead.

        Returns
        -------
        probabilities : dask array, dask DataFrame or list of delayed blocks
            Partitioned as X.
        """
        options = {"noisy": True} if noisy else {}
        return predict_blocks(self.to_local(), "predict_proba", X, **options)


class Labelled:
    """Rows of a cluster whose labels are here."""

    def __init__(self, rows: ClusterSet, labels: NDArray[np.uint16]) -> None:
        self.labels, self.part = labels, rows.part


def _taken(blocks: Blocks, rows: NDArray[np.intp], starts: list[int]) -> Blocks:
    """Return blocks of some of the rows."""
    parts = [
        np.sort(rows[(rows >= first) & (rows < last)]) - first for first, last in pairwise(starts)
    ]

    def taken(values: list[Any] | None) -> list[Any] | None:
        if values is None:
            return None
        return [delayed(_take)(each, part) for each, part in zip(values, parts, strict=True)]

    X, y = taken(blocks.X), taken(blocks.y)
    assert X is not None
    assert y is not None
    return Blocks(X, y, taken(blocks.weights), None)


def _take(values: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def _numbers(sent: tuple[Encoding, Any], X: Any, y: Any, weights: Any, groups: Any) -> Any:
    if X.shape[0] == 0:
        return None
    X, y = sent[0].numbers(X, y)
    return X.tocsr() if is_sparse(X) else X, y, weights, groups


def _fit(local: Any, parts: list[Any]) -> tuple[Any, list[warnings.WarningMessage]]:
    X, y, weights, groups = zip(*(part for part in parts if part is not None), strict=True)

    def joined(values: Any) -> Any:
        return None if values[0] is None else np.concatenate([np.asarray(v) for v in values])

    whole = vstack(X, format="csr") if is_sparse(X[0]) else np.concatenate(X)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        local.fit(whole, joined(y), joined(weights), groups=joined(groups))
    return local, said
