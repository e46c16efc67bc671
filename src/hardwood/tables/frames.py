"""pandas and pyarrow, imported on use, and data frames."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hardwood._core.frame_checks import check_is_loaded


def pandas() -> Any:
    """Return the module pandas."""
    return _imported("pandas", "pandas")


def pyarrow(part: str = "") -> Any:
    """Return the module pyarrow, or a part of it such as ".csv"."""
    return _imported(f"pyarrow{part}", "pyarrow")


def _imported(module: str, library: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"Tables require {library}, which is not installed: pip install 'hardwood[report]'"
        ) from error


def as_frame(X: Any) -> Any:
    """Return X as a pandas DataFrame with strings as column names."""
    check_is_loaded(X)
    if not hasattr(X, "columns"):
        raise TypeError(
            f"X must be a data frame, got {type(X).__name__}. For an array, pass "
            "pandas.DataFrame(X, columns=[...])."
        )
    frame = X if isinstance(X, pandas().DataFrame) else X.to_pandas()
    return frame.set_axis([str(name) for name in frame.columns], axis=1)
