"""The page, put together and written."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from hardwood._io.files import replacing
from hardwood.audit.gain import Gain
from hardwood.audit.report.confusions import confused_pairs, heat_map, pairs_in_words
from hardwood.audit.report.settings_chart import settings_chart
from hardwood.audit.report.suspects import MOST_BYTES, Suspects, find_suspects
from hardwood.audit.report.words import (
    about,
    accuracy,
    as_text,
    noise_in_words,
    number,
    percent,
    percent_range,
    times,
)

__all__ = ["write_report"]

_FOLDER = Path(__file__).parent


def write_report(
    audit: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    compare: bool = True,
    max_rows: int = 10_000,
    values: Any = None,
) -> None:
    """Write what an audit found as one HTML file, to be read offline in any browser.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit.

    path : str or path-like
        The file. A file that is there is replaced once the new one is complete.

    title : str, default=None
        The page's title, such as the name of the data; None for "Label audit".

    compare : bool, default=True
        Whether to measure what a model gains by cleaning, as `LabelAudit.cleaning_gain` does. For
        that, each half of the rows is audited and learnt from again, of 100,000 rows at most.

    max_rows : int, default=10,000
        How many of the suspect rows the page holds at most, the most suspect first. Fewer where
        the file would be larger than 5 MB.

    values : array-like of shape (n_samples, n_features), default=None
        What to show as the features' values, where those that the audit was fitted on are codes of
        something else, such as text.

    Raises
    ------
    ImportError
        If Jinja2 is missing, which the extra ``hardwood[report]`` brings.
    NotFittedError
        If the audit is not fitted.
    OSError
        If there can be no file at `path`.
    """
    template = _template()
    if not hasattr(audit, "issues_"):
        raise NotFittedError("audit is not fitted: call its fit(X, y) before the report.")
    if isinstance(max_rows, bool) or not isinstance(max_rows, Integral) or max_rows < 1:
        raise ValueError(f"max_rows must be a whole number of at least 1, but got {max_rows!r}.")
    if values is not None and np.shape(values) != np.shape(getattr(audit, "_X", None)):
        raise ValueError(
            f"values must have the shape of X, {np.shape(getattr(audit, '_X', None))}, but has "
            f"{np.shape(values)}."
        )
    _check_path(path)
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    page = template.render(
        _contents(audit, title, compare, int(max_rows), values),
        style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    with replacing(path) as file:
        file.write(page.encode())


def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "The report needs Jinja2: install the extra hardwood[report], which brings it."
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        accuracy=accuracy, number=number, percent=percent, percent_range=percent_range, times=times
    )
    return environment.get_template("page.html")


def _check_path(path: str | os.PathLike[str]) -> None:
    """Refuse what can be no file before anything is computed."""
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"path: there is no folder {str(place.parent)!r}; make it first.")
    if place.is_dir():
        raise IsADirectoryError(f"path: {str(place)!r} is a folder; name a file in it.")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"path: the folder {str(place.parent)!r} cannot be written to.")


def _contents(
    audit: Any, title: str | None, compare: bool, max_rows: int, values: Any
) -> dict[str, Any]:
    """Return what the template shows."""
    issues = audit.issues_
    given, suggested = (_places(audit.classes_, issues[side]) for side in ("given", "suggested"))
    suspects, rows_json = find_suspects(audit, given, suggested, max_rows, values).within(
        MOST_BYTES
    )
    pairs = confused_pairs(audit, given, suggested)
    rate = float(audit.noise_rate_)
    low, high = map(float, audit.noise_rate_interval_)
    return {
        "title": as_text(title or "Label audit"),
        "headline": noise_in_words(rate, low, high),
        "rate": rate if np.isfinite(rate) else None,
        "interval": (low, high) if np.isfinite([low, high]).all() else None,
        "squares": _squares(rate, low, high),
        "n_rows": len(issues),
        "n_classes": len(audit.classes_),
        "n_wrong": about(rate * len(issues)) if np.isfinite(rate) else None,
        "pairs": [(pair, _filter_of(suspects, i, j)) for pair, i, j in pairs],
        "pairs_in_words": pairs_in_words([pair for pair, *_ in pairs]) if pairs else None,
        "heat": heat_map(audit),
        "suspects": suspects,
        "rows_json": rows_json,
        "gain": _gain(audit, compare),
        "settings": settings_chart(audit.estimator_),
        "version": version("hardwood"),
        "date": datetime.date.today().isoformat(),
    }


def _places(classes: NDArray[Any], labels: Any) -> NDArray[np.intp]:
    """Return where each label stands among the classes."""
    place_of = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([place_of[label] for label in labels.tolist()], dtype=np.intp)


class _Filter(NamedTuple):
    """A pair of labels as the page numbers them, and how many of its rows have them."""

    given: int
    suggested: int
    n_rows: int


def _filter_of(suspects: Suspects, true: int, given: int) -> _Filter:
    of_page = {place: number for number, place in enumerate(suspects.class_places.tolist())}
    first, second = of_page.get(given, -1), of_page.get(true, -1)
    of_pair = (suspects.given == first) & (suspects.suggested == second)
    return _Filter(first, second, int(of_pair.sum()))


def _squares(rate: float, low: float, high: float) -> list[str]:
    """Return for each of a hundred squares whether labels are wrong, may be, or are right."""
    if not np.isfinite(rate):
        return []
    if not np.isfinite([low, high]).all():
        low = high = rate
    return [
        "wrong" if place < round(100 * low) else "maybe" if place < round(100 * high) else "right"
        for place in range(100)
    ]


def _gain(audit: Any, compare: bool) -> Gain | str | None:
    if not compare:
        return None
    if audit.estimator_ is None:
        return "the audit was given probabilities, and no model to train"
    if audit._X is None:
        return "the audit was given no rows to train a model on"
    found: Gain | str = audit._gain("drop")
    return found
