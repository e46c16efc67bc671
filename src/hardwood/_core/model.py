"""What trees and forests share: how parameters are declared, and what fitted models can do."""

from copy import copy
from dataclasses import dataclass, field, fields
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import Interval, StrOptions
from hardwood._core.categories import Categories
from hardwood._core.compact import CompactForest, ExpandedTree, gain_by_feature
from hardwood._core.docs import fill_docs
from hardwood._core.float32 import warn_of_blurred
from hardwood._core.grow import Growth, TrainingSet, growth
from hardwood._core.pairs import Pair, share_out
from hardwood._core.validation import check_input
from hardwood._io.onnx import Decision, write_onnx
from hardwood.criteria import Criterion, resolve

Class = TypeVar("Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: Class) -> Class:
    """Declare the parameters of a scikit-learn estimator as annotated fields.

    This writes `__init__`, with the inherited parameters, which are keyword-only unless a field
    says otherwise, and fills the docstrings (`hardwood._core.docs`).
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    for parameter in fields(cls):
        if parameter.init and parameter.name in vars(cls):
            delattr(cls, parameter.name)  # defaults belong to the signature, not to the class
    return fill_docs(cls)


@estimator
class Model:
    """A tree or forest of the engine, as part of a scikit-learn classifier."""

    _compact: CompactForest = field(init=False)
    _categories: Categories | None = field(init=False)
    n_features_in_: int = field(init=False)
    max_features_: int = field(init=False)

    criterion: str | Criterion = "ne"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    random_state: Any = None
    class_weight: Any = None
    categorical_features: Any = "from_dtype"
    category_smoothing: float = 0.0

    _category_constraints: ClassVar[dict[str, Any]] = {
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "category_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the model, or of its criterion.

        Parameters
        ----------
        **params : dict
            Values by name. ``criterion__lam=0.3`` sets a parameter of the criterion. A criterion
            that was given by its name becomes an object, with defaults for its other parameters.

        Returns
        -------
        self : object
            The model.
        """
        nested = "criterion__"
        of_criterion = {name for name in params if name.startswith(nested)}
        named = params.get("criterion", getattr(self, "criterion", None))
        if of_criterion and isinstance(named, str):
            values = {name.removeprefix(nested): params.pop(name) for name in of_criterion}
            params["criterion"] = resolve(named).set_params(**values)
        return super().set_params(**params)  # type: ignore[misc, no-any-return]

    def _growth(self, data: TrainingSet, **others: Any) -> Growth:
        """Return how trees grow from this data; subclasses pass the parameters that they add."""
        return growth(
            data,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            category_smoothing=self.category_smoothing,
            **others,
        )

    def _drawn_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _describe(self, data: TrainingSet) -> None:
        """Set the attributes that tell of the training data."""
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)
        self.n_outputs_ = 1
        self.max_features_ = self._growth(data).max_features

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Which features have categories."""
        check_is_fitted(self)
        is_categorical = np.zeros(self.n_features_in_, dtype=np.bool_)
        if self._categories is not None:
            is_categorical[list(self._categories.columns)] = True
        return is_categorical

    @property
    def _pairs(self) -> tuple[Pair, ...]:
        """The columns that trees see joined in pairs, after those of X."""
        return () if self._categories is None else self._categories.pairs

    def _gain_by_feature(self, expanded: ExpandedTree) -> NDArray[np.float64]:
        """Return each feature's share of what the splits of a tree gain."""
        gain = gain_by_feature(expanded, self.n_features_in_ + len(self._pairs))
        return share_out(gain, self._pairs)

    @property
    def categories_(self) -> list[NDArray[Any] | None]:
        """The categories of each feature, as met in the fit; None for numbers."""
        check_is_fitted(self)
        categories: list[NDArray[Any] | None] = [None] * self.n_features_in_
        found = {} if self._categories is None else self._categories.of_column
        for column, values in found.items():
            array = np.empty(len(values), dtype=object)
            array[:] = values
            categories[column] = array
        return categories

    def encode_categories(self, X: Any) -> NDArray[Any]:
        """Return X as the trees see it, with categories as numbers.

        {takes_X}

        Returns
        -------
        numbers : ndarray of shape (n_samples, n_features)
            The index of each category in `categories_`. NaN if it is missing or was not met in the
            fit. Other features are as they were.

        See Also
        --------
        without_categories : A model that takes these numbers.
        """
        check_is_fitted(self)
        numbers: NDArray[Any] = check_input(self, X)
        return numbers[:, : self.n_features_in_].copy() if self._pairs else numbers

    def without_categories(self) -> Self:
        """Return a copy of the model that takes the numbers of categories instead of these.

        Explainers that call `predict_proba` with arrays of numbers, such as SHAP's, can use it.

        Returns
        -------
        model : object
            Its input is what `encode_categories` returns.
        """
        check_is_fitted(self)
        model = copy(self)
        model._categories = None if self._categories is None else self._categories.of_numbers()
        model.__dict__.pop("feature_names_in_", None)  # arrays of numbers have none
        return model

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`.

        {takes_X}

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Log-probabilities, −inf where a probability is zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _check_has_no_categories(self) -> None:
        if self._categories is not None or self._compact.has_sets:
            raise ValueError(
                "scikit-learn's trees cannot split by categories. Use to_onnx to predict without "
                "hardwood, or encode the categories (for example with OneHotEncoder) before you "
                "fit a model that to_sklearn can convert."
            )

    def _warn_of_float32(self, X: Any) -> None:
        """Warn if scikit-learn, which rounds X to float32, would send its rows elsewhere."""
        if X is not None:
            warn_of_blurred(self._compact, check_input(self, X), stacklevel=4)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the model to an ONNX file, to predict without Python.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually ending in ``.onnx``.

        Notes
        -----
        The input ``X`` is float64, of shape (n_samples, n_features). The outputs are ``label`` and
        ``probabilities``, which is float32. Thresholds are float64, and missing values are
        supported. This requires the extra ``hardwood[onnx]``.
        """
        check_is_fitted(self)
        write_onnx(self, path, self._decision())

    def _decision(self) -> Decision | None:
        """Return what the model makes of the votes of its trees; None if it takes them as they are."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_compact")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.multi_class = not resolve(self.criterion).two_classes_only
        return tags


def copy_description(model: Any, other: Any) -> None:
    """Copy the attributes that tell of the training data."""
    for name in ("classes_", "n_classes_", "n_outputs_", "n_features_in_", "max_features_"):
        setattr(other, name, getattr(model, name))
    other._categories = model._categories
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = model.feature_names_in_
