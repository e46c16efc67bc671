"""Put the page together and write it."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardwood._io.files import replacing
from hardwood.audit.issues import trade_off
from hardwood.audit.report import words
from hardwood.audit.report.confusions import Pair, confused_pairs, heat_map, pairs_in_words
from hardwood.audit.report.findings import Findings
from hardwood.audit.report.settings_chart import settings_chart
from hardwood.audit.report.suspects import MAX_BYTES, Suspects, as_script, find_suspects

_FOLDER = Path(__file__).parent
_SCRIPTS = ("theme.js", "csv.js", "decisions.js", "suspects.js", "workbench.js", "page.js")


def check_report(path: str | os.PathLike[str], max_rows: int, values: Any, X: Any) -> None:
    """Raise an error if no report can be written with these arguments of `LabelAudit.report`."""
    _template()
    if isinstance(max_rows, bool) or not isinstance(max_rows, Integral) or max_rows < 1:
        raise ValueError(f"max_rows must be an integer of at least 1, got {max_rows!r}.")
    if values is not None and np.shape(values) != np.shape(X):
        raise ValueError(
            f"values must have the shape of X, {np.shape(X)}, got shape {np.shape(values)}."
        )
    place = Path(os.path.realpath(path))
    folder = place.parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"path: the folder {str(folder)!r} does not exist; create it first."
        )
    if place.is_dir():
        raise IsADirectoryError(f"path: {str(place)!r} is a folder; name a file in it.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"path: no permission to write to the folder {str(folder)!r}.")


def write_report(
    found: Findings,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    max_rows: int = 10_000,
    values: Any = None,
    notes: Sequence[str] = (),
) -> None:
    """Write findings as a page; `LabelAudit.report` describes the parameters."""
    check_report(path, max_rows, values, found.X)
    script = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    page = _template().render(
        _contents(found, title, int(max_rows), values),
        notes=[words.as_text(each, 1000) for each in notes],
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
            "The report requires Jinja2, which is not installed: pip install 'hardwood[report]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (words.accuracy, words.number, words.percent, words.percent_range, words.times):
        environment.filters[function.__name__] = function
    return environment.get_template("page.html")


def _contents(found: Findings, title: str | None, max_rows: int, values: Any) -> dict[str, Any]:
    """Return what the template shows."""
    suspects, rows_json = find_suspects(found, max_rows, values).within(MAX_BYTES)
    pairs = confused_pairs(found) if found.can_tell else []
    n_rows = len(found.given)
    known = found.can_tell and np.isfinite(found.noise_rate)
    rate = float(found.noise_rate) if known else np.nan
    low, high = map(float, found.noise_rate_interval) if known else (np.nan, np.nan)
    return {
        "title": words.as_text(title or "Label audit"),
        "headline": words.noise_in_words(rate, low, high),
        "rate": rate if np.isfinite(rate) else None,
        "interval": (low, high) if np.isfinite([low, high]).all() else None,
        "squares": _squares(rate, low, high),
        "n_rows": n_rows,
        "n_copies": found.n_copies,
        "n_classes": len(found.classes),
        "pairs": [(pair, _filter_of(suspects, pair)) for pair in pairs],
        "pairs_in_words": pairs_in_words(pairs) if pairs else None,
        "heat": heat_map(found) if found.can_tell else None,
        "trade_off": _trade_off(found, suspects.n_all),
        "suspects": suspects,
        "rows_json": rows_json,
        "review_json": as_script(_review(found, suspects)),
        "n_decided": 0 if found.decided is None else int(found.decided.sum()),
        "plan": _plan_in_words(found),
        "gain": found.gain,
        "settings": settings_chart(found.adaptation, found.decision_reason, found.is_corrected),
        "version": version("hardwood"),
        "date": datetime.date.today().isoformat(),
    }


def _review(found: Findings, suspects: Suspects) -> dict[str, Any]:
    """Return what the workbench needs beside the rows: the report's id, and the plan."""
    # The same labels give the same id, so that decisions outlive a new report on the same table.
    digest = hashlib.sha256(repr(suspects.labels).encode("utf-8", "replace"))
    digest.update(np.ascontiguousarray(found.given, dtype="<i8").tobytes())
    plan = None
    if found.plan is not None and found.can_tell:
        plan = {name: np.round(values, 1).tolist() for name, values in found.plan.items()}
    return {
        "id": digest.hexdigest()[:16],
        "nRows": len(found.given),
        "nOpen": suspects.n_all,
        "plan": plan,
        "target": found.target,
    }


def _plan_in_words(found: Findings) -> dict[str, Any] | None:
    if found.plan is None or not found.can_tell:
        return None
    return {"rows": int(found.plan["rows"][-1]), "target": found.target}


def _trade_off(found: Findings, n_issues: int) -> list[tuple[int, int, float]]:
    """Return how many of so many rows are wrong, and which share of all wrong labels that is."""
    score = found.score if found.decided is None else found.score[~found.decided]
    table = trade_off(score, n_issues)
    lines = zip(table["rows"], table["found"], table["share"], strict=True)
    return [(int(rows), round(wrong), float(share)) for rows, wrong, share in lines]


class _Filter(NamedTuple):
    """A pair of labels, and how many rows of the page have them."""

    given: int
    suggested: int
    n_rows: int


def _filter_of(suspects: Suspects, pair: Pair) -> _Filter:
    suggested, given = pair.places
    of_pair = (suspects.given == given) & (suspects.suggested == suggested)
    return _Filter(given, suggested, int(of_pair.sum()))


def _squares(rate: float, low: float, high: float) -> list[str]:
    """Return for each of a hundred squares whether it is "wrong", "maybe" or "right"."""
    if not np.isfinite(rate):
        return []
    if not np.isfinite([low, high]).all():
        low = high = rate
    return [
        "wrong" if place < round(100 * low) else "maybe" if place < round(100 * high) else "right"
        for place in range(100)
    ]
