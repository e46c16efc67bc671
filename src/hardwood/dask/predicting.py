"""Predictions block by block, when they are asked for."""

from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed


def predict_blocks(model: Any, method: str, X: Any, **options: Any) -> Any:
    """Return what a local model's method says of X, lazily if X is, partitioned as X."""
    if isinstance(X, list | tuple) and X and all(isinstance(block, Delayed) for block in X):
        shared = delayed(model)
        return [delayed(_predict)(shared, method, block, options) for block in X]
    if hasattr(X, "map_partitions"):
        return _predict_frame(model, method, X, options)
    if hasattr(X, "map_blocks"):
        return _predict_array(model, method, X, options)
    return getattr(model, method)(X, **options)


def _predict(model: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    if X.shape[0] == 0:
        return _empty(model, method)
    return getattr(model, method)(X, **options)


def _width(model: Any, method: str) -> int | None:
    """Return the number of columns of the result; None if it has one dimension."""
    if method == "predict":
        return None
    return int(model.n_classes_) if method == "predict_proba" else len(model)


def _empty(model: Any, method: str) -> Any:
    width = _width(model, method)
    dtypes = {"predict": model.classes_.dtype, "predict_proba": np.dtype(np.float64)}
    shape = (0,) if width is None else (0, width)
    return np.empty(shape, dtype=dtypes.get(method, np.dtype(np.int64)))


def _predict_array(model: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    import dask.array as da

    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    shared, like = delayed(model), _empty(model, method)
    blocks = [
        da.from_delayed(
            delayed(_predict)(shared, method, block, options),
            (size, *like.shape[1:]),
            dtype=like.dtype,
        )
        for block, size in zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks)


def _predict_frame(model: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    meta = _as_frame(model, method, _empty(model, method), None)
    return X.map_partitions(_predict_partition, model, method, options, meta=meta)


def _predict_partition(X: Any, model: Any, method: str, options: dict[str, Any]) -> Any:
    return _as_frame(model, method, _predict(model, method, X, options), X.index)


def _as_frame(model: Any, method: str, result: Any, index: Any) -> Any:
    import pandas as pd

    if result.ndim == 1:
        return pd.Series(result, index=index)
    columns = model.classes_ if method == "predict_proba" else range(result.shape[1])
    return pd.DataFrame(result, index=index, columns=list(columns))
