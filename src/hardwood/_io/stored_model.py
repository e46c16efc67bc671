"""What every model stores: parameters, classes, features and trees."""

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hardwood._core.categories import Categories
from hardwood._core.compact import CompactForest
from hardwood._core.validation import MAX_COLUMNS
from hardwood._io.storing import Stored

Model = TypeVar("Model")


def model_to_stored(model: Any) -> dict[str, Any]:
    """Return the values to store."""
    check_is_fitted(model)
    model._validate_params()  # loading checks them, and they may have been set since the fit
    return {
        "parameters": model.get_params(deep=False),
        "classes": model.classes_,
        "n_features": model.n_features_in_,
        "feature_names": getattr(model, "feature_names_in_", None),
        "max_features": model.max_features_,
        "categories": model._categories,
        "trees": model._compact,
    }


def model_from_stored(cls: type[Model], stored: Stored) -> Model:
    """Check the values and return the model."""
    parameters = stored.instance("parameters", dict)
    unknown = parameters.keys() - set(cls._get_param_names())  # type: ignore[attr-defined]
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameters {sorted(map(str, unknown))}")
    model: Any = cls(**parameters)
    model._validate_params()

    compact = stored.instance("trees", CompactForest)
    n_features = stored.integer("n_features", 1, MAX_COLUMNS)
    # Files of earlier versions have no categories.
    categories = (
        stored.instance("categories", Categories | None) if "categories" in stored else None
    )
    if categories is not None and categories.n_features != n_features:
        raise stored.wrong("categories", f"those of {n_features} features")
    n_columns = n_features if categories is None else categories.n_columns
    compact.validate(n_columns, {} if categories is None else categories.n_categories())
    classes = stored.instance("classes", np.ndarray)
    if classes.shape != (compact.n_classes,) or not np.all(classes[:-1] < classes[1:]):
        raise stored.wrong("classes", "the classes of the trees, in ascending order")
    if stored["feature_names"] is not None:
        model.feature_names_in_ = stored.array("feature_names", "O", (n_features,))
    model.classes_ = classes
    model.n_classes_ = compact.n_classes
    model.n_outputs_ = 1
    model.n_features_in_ = n_features
    model.max_features_ = stored.integer("max_features", 1, n_columns)
    model._compact = compact
    model._categories = categories
    return model  # type: ignore[no-any-return]
