"""A decision tree that stays accurate when training labels are wrong."""

from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import StrOptions, Tree, fit_context, make_tree
from hardwood._core.compact import CompactForest, gain_by_feature, path_indicator
from hardwood._core.float32 import count_blurred, warn_of_blurred
from hardwood._core.grow import Growth, TrainingSet, grow, growth, prepare
from hardwood._core.spread import n_threads_of_one_tree
from hardwood._core.validation import check_input
from hardwood._io.onnx import write_onnx
from hardwood._io.stored_model import model_from_stored, model_to_stored
from hardwood._io.storing import Stored, storable
from hardwood.criteria import NAMES, Criterion, resolve


class _NoCheckInput:
    """Methods without `check_input`, which scikit-learn's trees take off their metadata.

    What is taken off must be there: without this, asking for routed metadata would fail.
    """

    __metadata_request__fit: ClassVar[dict[str, None]] = {"check_input": None}
    __metadata_request__predict: ClassVar[dict[str, None]] = {"check_input": None}
    __metadata_request__predict_proba: ClassVar[dict[str, None]] = {"check_input": None}


@storable("RobustTreeClassifier")
class RobustTreeClassifier(DecisionTreeClassifier, _NoCheckInput):  # type: ignore[misc]
    """A decision tree for labels that may be wrong.

    Scikit-learn's `DecisionTreeClassifier` with the criteria of Wilton & Ye (2024), exact splits on
    rank codes, and growth that stops where nothing is gained.

    Parameters
    ----------
    criterion : str or Criterion, default="ne"
        What splits improve: an object of :mod:`hardwood.criteria` or one of the names "gini" or
        "mse", "entropy", "ce" or "log_loss", "misclassification" or "conservative", "sqrt_gini",
        "ne", "gce", "twoing", "credal", "ranking". `FromLoss` and `CustomImpurity` take your own.

    splitter : {"best", "random"}, default="best"
        "best" looks at every cut of a feature, "random" at one random threshold.

    max_depth : int, default=None
        Largest depth; None for no limit.

    min_samples_split : int or float, default=2
        Fewest rows of a node that is split, or their share of all rows.

    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf, or their share of all rows.

    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight in a leaf.

    max_features : int, float or {"sqrt", "log2"}, default=None
        How many features that vary in the node are looked at; a share of all, their square root
        (rounded up) or logarithm, or all (None).

    random_state : int, RandomState instance or None, default=None
        Seed of the order in which features are looked at, which breaks ties, and of random cuts.

    max_leaf_nodes : int, default=None
        Grow best-first up to this many leaves; None for no limit.

    min_impurity_decrease : float, default=0.0
        Smallest gain of a split as a share of all data. A gain of zero never suffices.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, −1 or 0: the probability of the second class rises, falls or is free along a feature.
        Two classes only.

    leaf_prediction : {"distribution", "optimal"}, default="distribution"
        What a leaf predicts: its class proportions, or what the criterion's loss is smallest for
        (Theorem 3): the majority class alone for "misclassification", the proportions for "gini"
        and "entropy", something between for "gce", one or the other for "ne". Criteria that are
        not the impurity of a loss have no such prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_classes_ : int
        Their number.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are all strings.

    max_features_ : int
        What `max_features` came to.

    tree_ : sklearn.tree._tree.Tree
        The tree as scikit-learn has it.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the risk reduction that each feature brought.

    See Also
    --------
    sklearn.tree.DecisionTreeClassifier : The same without robust criteria.

    Notes
    -----
    On purpose unlike scikit-learn: splits without gain are not made; `max_features` counts features
    that vary in the node; float64 is never narrowed to float32; entropy is in natural units. A tree
    predicts its leaf's majority class, the first of equals.

    References
    ----------
    J. Wilton and N. Ye, "Robust Loss Functions for Training Decision Trees with Noisy Labels",
    AAAI 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = RobustTreeClassifier(random_state=0).fit(X, y)
    >>> tree.predict(X[:2])
    array([0, 0])
    >>> int(tree.get_n_leaves())
    10
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DecisionTreeClassifier._parameter_constraints,
        "criterion": [StrOptions(set(NAMES)), Criterion],
        "leaf_prediction": [StrOptions({"distribution", "optimal"})],
    }

    def __init__(
        self,
        *,
        criterion: str | Criterion = "ne",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        leaf_prediction: str = "distribution",
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
        )
        self.leaf_prediction = leaf_prediction

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training input, dense; NaN is a missing value.

        y : array-like of shape (n_samples,)
            The labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none negative. Rows of weight zero take no part.

        Returns
        -------
        self : RobustTreeClassifier
            The fitted tree.
        """
        for attribute in ("_compact", "tree_", "_importances"):
            self.__dict__.pop(attribute, None)  # a fit that fails leaves no old tree behind
        data = prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self.class_weight,
            leaf_prediction=self.leaf_prediction,
        )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        own_growth = self._growth(data)
        compact = grow(own_growth, data, seed, n_threads=n_threads_of_one_tree(data))
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)
        self.n_outputs_ = 1
        self.max_features_ = own_growth.max_features
        compact = compact if self.ccp_alpha == 0 else compact.pruned(self.ccp_alpha)
        self._n_blurred = count_blurred(compact, data.X)
        self._adopt(compact)
        return self

    def _growth(self, data: TrainingSet) -> Growth:
        return growth(
            data,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            monotonic_cst=self.monotonic_cst,
            leaf_prediction=self.leaf_prediction,
            random_cuts=self.splitter == "random",
        )

    def _adopt(self, compact: CompactForest) -> None:
        """Take the compact tree as this estimator's own."""
        expanded = compact.expand()
        self._importances = gain_by_feature(expanded, self.n_features_in_)
        self.tree_ = make_tree(expanded, self.n_features_in_)
        self._compact = compact

    # What `_adopt` sets, made on demand for trees that come from a file.

    @cached_property
    def tree_(self) -> Tree:
        """The tree as scikit-learn has it."""
        if not hasattr(self, "_compact"):
            raise AttributeError(f"this {type(self).__name__} is not fitted: it has no tree_")
        return make_tree(self._compact.expand(), self.n_features_in_)

    @cached_property
    def _importances(self) -> NDArray[np.float64]:
        return gain_by_feature(self._compact.expand(), self.n_features_in_)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the leaf in `tree_` that each row ends in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input, compared in its own precision.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node numbers.
        """
        check_is_fitted(self)
        return self._compact.apply(check_input(self, X))[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the majority class of each row's leaf, the first of equals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        leaves = self.apply(X)
        majority = np.argmax(self.tree_.value[:, 0, :], axis=1)
        labels: NDArray[Any] = self.classes_.take(majority[leaves])
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return what each row's leaf predicts: its class proportions, unless `leaf_prediction` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        leaves = self.apply(X)
        proportions: NDArray[np.float64] = self.tree_.value[:, 0, :].take(leaves, axis=0)
        return proportions

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Log-probabilities, −inf where a class does not occur in the leaf.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_path(self, X: Any) -> csr_matrix:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        return path_indicator(self.apply(X), self.tree_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the path of minimal cost-complexity pruning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training input.

        y : array-like of shape (n_samples,)
            The labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : Bunch
            `ccp_alphas`, the effective alphas, and `impurities`, what the leaves keep after each.
        """
        grown = type(self)(**{**self.get_params(deep=False), "ccp_alpha": 0.0})
        return grown.fit(X, y, sample_weight)._compact.pruning_path()

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the risk reduction that each feature brought; all zero for a lone leaf."""
        check_is_fitted(self)
        return self._importances.copy()

    def to_sklearn(self) -> DecisionTreeClassifier:
        """Return a genuine scikit-learn tree with the same predictions.

        scikit-learn narrows its input to float32: the two agree on every input that float32 holds
        exactly. A warning tells how many splits send values of the training data to the other side
        once these are narrowed.

        Returns
        -------
        tree : sklearn.tree.DecisionTreeClassifier
            A fitted tree that shares this one's `tree_`.
        """
        check_is_fitted(self)
        warn_of_blurred(self._n_blurred, self._compact)
        return self._twin()

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the tree as an ONNX model, which predicts the same without Python.

        Thresholds and input are float64, and missing values go where they go here.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.onnx``.

        Notes
        -----
        The model takes ``X``, float64 of shape (n_samples, n_features), and gives ``label`` and
        ``probabilities``, float32 of shape (n_samples, n_classes). It needs the extra
        ``hardwood[onnx]``.
        """
        check_is_fitted(self)
        write_onnx(self, path)

    def _twin(self) -> DecisionTreeClassifier:
        names = DecisionTreeClassifier().get_params(deep=False)
        parameters = {name: getattr(self, name) for name in names}
        name = resolve(self.criterion).name
        parameters["criterion"] = name if name in ("gini", "entropy") else "gini"
        twin = DecisionTreeClassifier(**parameters)
        for attribute in ("classes_", "n_classes_", "n_outputs_", "n_features_in_"):
            setattr(twin, attribute, getattr(self, attribute))
        if hasattr(self, "feature_names_in_"):
            twin.feature_names_in_ = self.feature_names_in_
        twin.max_features_ = self.max_features_
        twin.tree_ = self.tree_
        return twin

    def _to_stored(self) -> dict[str, Any]:
        return model_to_stored(self)

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        tree = model_from_stored(cls, stored)
        if len(tree._compact) != 1:
            raise stored.wrong("trees", "one tree")
        return tree

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_compact")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.multi_class = not resolve(self.criterion).two_classes_only
        return tags
