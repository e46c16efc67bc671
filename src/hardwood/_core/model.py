"""What trees and forests share: how parameters are declared, and what fitted models can do."""

from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood._core.compact import CompactForest
from hardwood._core.docs import fill_docs
from hardwood._core.float32 import warn_of_blurred
from hardwood._core.grow import Growth, TrainingSet, growth
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
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.multi_class = not resolve(self.criterion).two_classes_only
        return tags


def copy_description(model: Any, other: Any) -> None:
    """Copy the attributes that tell of the training data."""
    for name in ("classes_", "n_classes_", "n_outputs_", "n_features_in_", "max_features_"):
        setattr(other, name, getattr(model, name))
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = model.feature_names_in_
