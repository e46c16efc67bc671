"""Forests on a Dask cluster."""

from typing import Any, ClassVar

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import StrOptions, fit_context
from hardwood._core.compact import CompactForest
from hardwood._core.draws import Draws
from hardwood._core.model import estimator
from hardwood._core.progress import progress_bar
from hardwood.dask.blocks import check_blocks
from hardwood.dask.growing import suitable_placement
from hardwood.dask.predicting import predict_blocks
from hardwood.dask.rows import ClusterSet
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import DistributedSet, prepare_blocks
from hardwood.dask.voting import Votes
from hardwood.forest import RobustExtraTreesClassifier, RobustForestClassifier


def clone_on_cluster(estimator: Any) -> Any:
    """Return an estimator with the same parameters, on the same cluster."""
    parameters = estimator.get_params(deep=False)
    client = parameters.pop("client")  # a connection cannot be copied
    copies = {name: clone(value, safe=False) for name, value in parameters.items()}
    return type(estimator)(client=client, **copies)


@estimator
class DaskModel:
    """What forests on a cluster add to the forests of one machine."""

    _local_class: ClassVar[Any]

    client: Any = None
    placement: str = "auto"

    _dask_constraints: ClassVar[dict[str, Any]] = {
        "client": "no_validation",
        "placement": [StrOptions({"auto", "replicate", "distribute"})],
    }

    def _local_params(self: Any) -> dict[str, Any]:
        names = self._local_class().get_params(deep=False)
        return {name: getattr(self, name) for name in names}

    def to_local(self: Any) -> Any:
        """Return the same forest as an ordinary estimator, which needs no cluster.

        Returns
        -------
        forest : RobustForestClassifier, RobustExtraTreesClassifier or AdaptiveForestClassifier
            The fitted forest. Use `hardwood.save` to write it to a file.
        """
        check_is_fitted(self)
        local = self._local_class(**self._local_params())
        parameters = self.get_params(deep=False)
        local.__dict__.update({k: v for k, v in vars(self).items() if k not in parameters})
        return local

    def predict(self: Any, X: Any) -> Any:
        """Return the most probable class of each row, lazily.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The rows. Anything else is predicted at once, as on one machine.

        Returns
        -------
        classes : dask array, dask Series or list of delayed blocks
            Partitioned as X.
        """
        return predict_blocks(self.to_local(), "predict", X)

    def predict_proba(self: Any, X: Any) -> Any:
        """Return the class probabilities of each row, lazily.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The rows. Anything else is predicted at once, as on one machine.

        Returns
        -------
        probabilities : dask array, dask DataFrame or list of delayed blocks
            Partitioned as X.
        """
        return predict_blocks(self.to_local(), "predict_proba", X)

    def apply(self: Any, X: Any) -> Any:
        """Return the leaf of each row in each tree, lazily.

        Parameters
        ----------
        X : dask array, dask DataFrame or list of delayed blocks
            The rows. Anything else is looked up at once, as on one machine.

        Returns
        -------
        leaves : dask array, dask DataFrame or list of delayed blocks
            Partitioned as X.
        """
        return predict_blocks(self.to_local(), "apply", X)

    def _votes_out_of_bag(
        self: Any, trees: CompactForest, data: Any, X: Any, n_draws: int
    ) -> Votes:
        votes: Votes = data.out_of_bag(trees, self._seed, n_draws)
        return votes

    def __sklearn_clone__(self: Any) -> Any:
        return clone_on_cluster(self)

    def __getstate__(self: Any) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}  # a connection cannot be copied


@estimator
class _DaskForest(DaskModel):
    """What forests that do not adapt add."""

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Grow the forest that one machine would grow from the same rows and seed, bit for bit.

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
        self._check_combinations()
        if self.warm_start:
            raise ValueError(
                "warm_start is not supported on a cluster. Set warm_start=False, or fit "
                f"{self._local_class.__name__} on one machine."
            )
        for name in ("_compact", "oob_score_", "oob_decision_function_"):
            self.__dict__.pop(name, None)  # a fit that fails leaves no old trees behind
        blocks = check_blocks(X, y, sample_weight, groups)
        local = self._local_class(**self._local_params())
        with Tasks(self.client) as tasks:
            data = prepare_blocks(
                local,
                blocks,
                tasks,
                class_weight=self._fixed_class_weight(),
                leaf_prediction=self.leaf_prediction,
            )
            self._seed = self._drawn_seed()
            n_draws = self._n_draws(data) if self.bootstrap else 0
            rows = self._placed(tasks, data, n_draws)
            grown = self._grown_from(rows, n_draws)
            for name in ("n_features_in_", "feature_names_in_", "_categories"):
                self.__dict__.pop(name, None)
                if hasattr(local, name):
                    setattr(self, name, getattr(local, name))
            self._describe(data)
            if self.oob_score:
                votes = self._out_of_bag(grown, rows, None, n_draws)
                self._set_oob(votes, rows.given_labels)
        self.__dict__.pop("_draws", None)
        if sample_weight is None and groups is None and self.class_weight is None:
            self._draws = (Draws(0, data.n_rows, n_draws, None, None, None),)
        self._compact = grown
        return self

    @property
    def _balances_draws(self: Any) -> bool:
        return bool(self.class_weight == "balanced_subsample" and self.bootstrap)

    def _placed(self: Any, tasks: Tasks, data: DistributedSet, n_draws: int) -> ClusterSet:
        placement = suitable_placement(
            self.placement,
            data,
            tasks,
            self._growth(data),
            n_draws,
            balance_draws=self._balances_draws,
        )
        return ClusterSet(data, tasks, placement)

    def _grown_from(self: Any, rows: ClusterSet, n_draws: int) -> CompactForest:
        with progress_bar(self.n_estimators, self.verbose) as progress:
            grown = rows.grow(
                self._growth(rows.data),
                self._seed,
                n_trees=self.n_estimators,
                n_draws=n_draws,
                balance_draws=self._balances_draws,
                progress=progress,
            )
        if self.ccp_alpha > 0:
            grown = CompactForest.joined(
                [grown.tree(t).pruned(self.ccp_alpha) for t in range(len(grown))]
            )
        return grown.with_votes()


@estimator
class DaskRobustForestClassifier(_DaskForest, RobustForestClassifier):  # type: ignore[misc]
    """A `RobustForestClassifier` that is grown on a Dask cluster.

    It is the forest that one machine would grow from the same rows and seed, bit for bit, for any
    number of workers and partitions.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. All other parameters of `RobustForestClassifier` are the same here, too,
        except `warm_start`, which must be False. With `oob_score`, the votes on all rows come to the
        client, 8 bytes for each class.

    client : distributed.Client or None, default=None
        The cluster. None means the current client.

    placement : {"auto", "replicate", "distribute"}, default="auto"
        "replicate" sends the codes of all rows to every worker and shares the trees out.
        "distribute" leaves rows where they are until a node is small enough for one worker.
        "auto" replicates if the codes fit in the memory of every worker.

    See Also
    --------
    RobustForestClassifier : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from hardwood.dask import DaskRobustForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     forest = DaskRobustForestClassifier(n_estimators=10, random_state=0)
    ...     forest = forest.fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    >>> forest.to_local().predict(X[:2])
    array([0, 0])
    """

    _local_class = RobustForestClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RobustForestClassifier._parameter_constraints,
        **DaskModel._dask_constraints,
    }


@estimator
class DaskExtraTreesClassifier(_DaskForest, RobustExtraTreesClassifier):  # type: ignore[misc]
    """A `RobustExtraTreesClassifier` that is grown on a Dask cluster.

    It is the forest that one machine would grow from the same rows and seed, bit for bit. The
    parameters are those of `RobustExtraTreesClassifier`, and `client` and `placement`: see
    `DaskRobustForestClassifier`.

    See Also
    --------
    DaskRobustForestClassifier : Splits at the best thresholds.
    RobustExtraTreesClassifier : The same on one machine.
    """

    _local_class = RobustExtraTreesClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RobustExtraTreesClassifier._parameter_constraints,
        **DaskModel._dask_constraints,
    }
