"""A decision tree that stays accurate when training labels are wrong."""

from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import Interval, StrOptions, Tree, fit_context, make_tree
from hardwood._core.compact import (
    CompactForest,
    ExpandedTree,
    path_indicator,
)
from hardwood._core.grow import Growth, TrainingSet, grow, prepare
from hardwood._core.model import Model, copy_description, estimator
from hardwood._core.spread import n_threads_of_one_tree
from hardwood._core.validation import check_input
from hardwood._io.stored_model import model_from_stored, model_to_stored
from hardwood._io.storing import Stored, storable
from hardwood.criteria import NAMES, Criterion, resolve

# A seed of the engine, plus this, is the `random_state` of a forest's tree. NumPy's seeds are smaller.
FIRST_TREE_SEED = 2**64


class _NoCheckInput:
    """Declares `check_input`, which scikit-learn's trees remove from their metadata.

    Our methods do not have this parameter, and removing what is not there would fail.
    """

    __metadata_request__fit: ClassVar[dict[str, None]] = {"check_input": None}
    __metadata_request__predict: ClassVar[dict[str, None]] = {"check_input": None}
    __metadata_request__predict_proba: ClassVar[dict[str, None]] = {"check_input": None}


@storable("RobustTreeClassifier")
@estimator
class RobustTreeClassifier(Model, DecisionTreeClassifier, _NoCheckInput):  # type: ignore[misc]
    """A decision tree that is robust to label noise.

    It works like scikit-learn's `DecisionTreeClassifier`, with the criteria of Wilton & Ye (2024).
    Nodes are split only if that gains something, which is what makes robust criteria robust.

    Parameters
    ----------
    {criterion, splitter, growth_parameters, tree_random_state, class_weight, ccp_alpha,
    monotonic_cst, leaf_prediction}

    Attributes
    ----------
    {data_attributes, max_features_, tree_, feature_importances_}

    See Also
    --------
    sklearn.tree.DecisionTreeClassifier : The same without robust criteria.

    Notes
    -----
    There are deliberate differences from scikit-learn. Splits without gain are not made.
    `max_features` counts features that vary in the node. float64 is never rounded to float32.
    Entropy is in natural units. A tree predicts the majority class of the leaf, and the first one
    if several are equally frequent.

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

    splitter: str = "best"
    ccp_alpha: float = 0.0
    monotonic_cst: Any = None
    leaf_prediction: str = "distribution"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DecisionTreeClassifier._parameter_constraints,
        **Model._category_constraints,
        "criterion": [StrOptions(set(NAMES)), Criterion],
        "random_state": [
            "random_state",
            Interval(Integral, FIRST_TREE_SEED, 2 * FIRST_TREE_SEED - 1, closed="both"),
        ],
        "leaf_prediction": [StrOptions({"distribution", "optimal"})],
    }

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        {takes_training_data}

        Returns
        -------
        self : RobustTreeClassifier
            The fitted tree.
        """
        data = self._prepared(X, y, sample_weight)
        grown = grow(
            self._growth(data), data, self._drawn_seed(), n_threads=n_threads_of_one_tree(data)
        )
        self._describe(data)
        self._adopt(grown if self.ccp_alpha == 0 else grown.pruned(self.ccp_alpha))
        return self

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        self._forget()  # a fit that fails leaves no old tree behind
        return prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self.class_weight,
            leaf_prediction=self.leaf_prediction,
        )

    def _growth(self, data: TrainingSet, **others: Any) -> Growth:
        return super()._growth(
            data,
            monotonic_cst=self.monotonic_cst,
            leaf_prediction=self.leaf_prediction,
            random_cuts=self.splitter == "random",
            **others,
        )

    def _forget(self) -> None:
        for attribute in ("_compact", "tree_", "_expanded", "_importances"):
            self.__dict__.pop(attribute, None)

    def _adopt(self, compact: CompactForest) -> None:
        """Take the compact tree as this estimator's own."""
        expanded = compact.expand()
        self._importances = self._gain_by_feature(expanded)
        if compact.has_sets:
            self._expanded = expanded
        else:
            self.tree_ = make_tree(expanded, self.n_features_in_)
        self._compact = compact

    # `_adopt` sets these. Trees from a file compute them on demand.

    @cached_property
    def tree_(self) -> Tree:
        """The tree as a scikit-learn object."""
        if not hasattr(self, "_compact"):
            raise AttributeError(f"This {type(self).__name__} is not fitted: it has no tree_.")
        if self._compact.has_sets:
            raise AttributeError(
                "This tree splits by sets of categories, which a scikit-learn Tree cannot hold: it "
                "has no tree_. Use plot_tree and export_text of hardwood.plotting to see it, "
                "to_onnx to export it, or set categorical_features=None and encode the categories."
            )
        return make_tree(self._expanded, self.n_features_in_)

    @cached_property
    def _expanded(self) -> ExpandedTree:
        return self._compact.expand()

    @cached_property
    def _importances(self) -> NDArray[np.float64]:
        return self._gain_by_feature(self._expanded)

    @property
    def _children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The left and the right child of each node, −1 for leaves."""
        if self._compact.has_sets:
            return self._expanded["left_child"], self._expanded["right_child"]
        return self.tree_.children_left, self.tree_.children_right

    @property
    def _value(self) -> NDArray[np.float64]:
        """What each node predicts."""
        value: NDArray[np.float64]
        value = self._expanded["value"] if self._compact.has_sets else self.tree_.value[:, 0, :]
        return value

    def get_depth(self) -> int:
        """Return the depth of the tree, 0 for a lone leaf."""
        check_is_fitted(self)
        has_sets = self._compact.has_sets
        return int(self._expanded["max_depth"] if has_sets else self.tree_.max_depth)

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return int(np.count_nonzero(self._children[0] < 0))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the leaf in `tree_` that each row ends in.

        {takes_X}

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node indices.
        """
        check_is_fitted(self)
        return self._compact.apply(check_input(self, X))[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the majority class of each row's leaf, the first of equals.

        {takes_X, returns_classes}
        """
        leaves = self.apply(X)
        value = self._value
        if len(leaves) < len(value):
            majority = np.argmax(value[leaves], axis=1)
        else:
            majority = np.argmax(value, axis=1)[leaves]
        labels: NDArray[Any] = self.classes_.take(majority)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return what each row's leaf predicts: its class proportions, or see `leaf_prediction`.

        {takes_X, returns_probabilities}
        """
        leaves = self.apply(X)
        proportions: NDArray[np.float64] = self._value.take(leaves, axis=0)
        return proportions

    def decision_path(self, X: Any) -> csr_matrix:
        """Return which nodes each row passes through.

        {takes_X}

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes through the node.
        """
        return path_indicator(self.apply(X), *self._children)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the path of minimal cost-complexity pruning.

        {takes_training_data}

        Returns
        -------
        path : Bunch
            `ccp_alphas`, the effective alphas, and `impurities`, the total impurity of the leaves
            after each step.
        """
        grown = type(self)(**{**self.get_params(deep=False), "ccp_alpha": 0.0})
        return grown.fit(X, y, sample_weight)._compact.pruning_path()

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the total gain that is due to each feature; zero if the tree is one leaf."""
        check_is_fitted(self)
        return self._importances.copy()

    def _is_seed_of_tree(self) -> bool:
        """Whether `random_state` is a seed of the engine itself, as the trees of forests have."""
        seed = self.random_state
        return isinstance(seed, Integral) and int(seed) >= FIRST_TREE_SEED

    def _drawn_seed(self) -> int:
        if self._is_seed_of_tree():
            return int(self.random_state) - FIRST_TREE_SEED
        return super()._drawn_seed()

    def to_sklearn(self, X: Any = None) -> DecisionTreeClassifier:
        """Return a genuine scikit-learn tree that makes the same predictions.

        {rounds_X}

        Returns
        -------
        tree : sklearn.tree.DecisionTreeClassifier
            A fitted tree that shares the `tree_` of this one.
        """
        check_is_fitted(self)
        self._check_has_no_categories()
        self._warn_of_float32(X)
        parameters = self.get_params(deep=False)
        name = resolve(self.criterion).name
        parameters["criterion"] = name if name in ("gini", "entropy") else "gini"
        if self._is_seed_of_tree():
            parameters["random_state"] = None
        known = DecisionTreeClassifier().get_params(deep=False)
        twin = DecisionTreeClassifier(**{name: parameters[name] for name in known})
        copy_description(self, twin)
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
