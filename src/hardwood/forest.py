"""Forests that stay accurate when training labels are wrong."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from hardwood._core.base_forest import BaseForest
from hardwood._io.storing import storable
from hardwood.criteria import Criterion


@storable("RobustForestClassifier")
class RobustForestClassifier(BaseForest):
    """A random forest for labels that may be wrong.

    Scikit-learn's `RandomForestClassifier` with the criteria of Wilton & Ye (2024), exact splits on
    rank codes, and growth that stops where nothing is gained.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.

    criterion : str or Criterion, default="ne"
        What splits improve: an object of :mod:`hardwood.criteria` or one of the names "gini" or
        "mse", "entropy", "ce" or "log_loss", "misclassification" or "conservative", "sqrt_gini",
        "ne", "gce", "twoing", "credal", "ranking". `FromLoss` and `CustomImpurity` take your own.

    max_depth : int, default=None
        Largest depth; None for no limit.

    min_samples_split : int or float, default=2
        Fewest distinct rows of a node that is split, or their share of all rows.

    min_samples_leaf : int or float, default=1
        Fewest distinct rows of a leaf, or their share of all rows.

    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight in a leaf.

    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many features that vary in the node are looked at; a share of all, their square root
        (rounded up) or logarithm, or all (None).

    max_leaf_nodes : int, default=None
        Grow best-first up to this many leaves; None for no limit.

    min_impurity_decrease : float, default=0.0
        Smallest gain of a split as a share of all data. A gain of zero never suffices.

    bootstrap : bool, default=True
        Whether each tree draws its rows with replacement or sees all of them.

    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not draw it; a callable
        ``metric(y_true, y_pred)`` scores in place of accuracy.

    n_jobs : int, default=None
        Number of threads; −1 for all. The forest is the same for any number.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, of the order in which features are looked at, and of random cuts.

    verbose : int, default=0
        Whether to show progress.

    warm_start : bool, default=False
        Whether to add trees to those of the last fit.

    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. With `bootstrap` they multiply the probabilities of the draws.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int or float, default=None
        How many rows each tree draws, or their share; None for as many as there are.

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

    estimators_ : sequence of RobustTreeClassifier
        The trees, each made when it is asked for.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the risk reduction that each feature brought.

    oob_score_ : float
        Score of the out-of-bag predictions, where asked for.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities from the trees that did not draw the row, where asked for.

    See Also
    --------
    RobustExtraTreesClassifier : Random thresholds in place of the best.
    sklearn.ensemble.RandomForestClassifier : The same without robust criteria.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RobustForestClassifier(random_state=0, oob_score=True).fit(X, y)
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> forest.oob_score_ > 0.9
    True
    """

    _random_cuts = False
    _sklearn_class = RandomForestClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Criterion = "ne",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        leaf_prediction: str = "distribution",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.leaf_prediction = leaf_prediction


@storable("RobustExtraTreesClassifier")
class RobustExtraTreesClassifier(BaseForest):
    """Extremely randomised trees for labels that may be wrong.

    Each candidate feature is cut at one random threshold, and the best of these cuts is taken.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.

    criterion : str or Criterion, default="ne"
        What splits improve: an object of :mod:`hardwood.criteria` or one of the names "gini" or
        "mse", "entropy", "ce" or "log_loss", "misclassification" or "conservative", "sqrt_gini",
        "ne", "gce", "twoing", "credal", "ranking". `FromLoss` and `CustomImpurity` take your own.

    max_depth : int, default=None
        Largest depth; None for no limit.

    min_samples_split : int or float, default=2
        Fewest distinct rows of a node that is split, or their share of all rows.

    min_samples_leaf : int or float, default=1
        Fewest distinct rows of a leaf, or their share of all rows.

    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight in a leaf.

    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many features that vary in the node are looked at; a share of all, their square root
        (rounded up) or logarithm, or all (None).

    max_leaf_nodes : int, default=None
        Grow best-first up to this many leaves; None for no limit.

    min_impurity_decrease : float, default=0.0
        Smallest gain of a split as a share of all data. A gain of zero never suffices.

    bootstrap : bool, default=False
        Whether each tree draws its rows with replacement or sees all of them.

    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not draw it; a callable
        ``metric(y_true, y_pred)`` scores in place of accuracy.

    n_jobs : int, default=None
        Number of threads; −1 for all. The forest is the same for any number.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws, of the order in which features are looked at, and of random cuts.

    verbose : int, default=0
        Whether to show progress.

    warm_start : bool, default=False
        Whether to add trees to those of the last fit.

    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. With `bootstrap` they multiply the probabilities of the draws.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int or float, default=None
        How many rows each tree draws, or their share; None for as many as there are.

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

    estimators_ : sequence of RobustTreeClassifier
        The trees, each made when it is asked for.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the risk reduction that each feature brought.

    oob_score_ : float
        Score of the out-of-bag predictions, where asked for.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities from the trees that did not draw the row, where asked for.

    See Also
    --------
    RobustForestClassifier : The best thresholds.
    sklearn.ensemble.ExtraTreesClassifier : The same without robust criteria.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RobustExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _random_cuts = True
    _sklearn_class = ExtraTreesClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Criterion = "ne",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        leaf_prediction: str = "distribution",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.leaf_prediction = leaf_prediction
