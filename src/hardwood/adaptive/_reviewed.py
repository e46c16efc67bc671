"""Labels that people have reviewed in part: what a forest adapts to.

People review the labels that look wrong. The wrong labels that are left look right, so a forest that
estimates the noise from them finds too little of it. It smooths too little, and it can mistake the
choice of the reviewed rows for noise that differs between the classes. The labels from before the review
do not have this problem. The forest therefore adapts twice, to the labels as they were and as they are,
and has trees with the settings of both, all grown from the labels as they are.

This was chosen on the development half of the tables in `lab/benchmarks`; `docs/audit.md` has figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.grow import TrainingSet
from hardwood.adaptive._choice import Choice

Labels = NDArray[np.uint16]

# The settings from before the review have at least this share of the trees.
_LEAST_SHARE = 0.5


def labels_before(observed: Any, data: TrainingSet) -> Labels:
    """Return the labels from before a review as positions among the classes.

    A label that is no class any more counts as the one that replaced it.

    Parameters
    ----------
    observed : array-like
        The labels, one for each row that the user passed.
    data : TrainingSet
        The rows of positive weight, with the labels after the review.
    """
    given = np.asarray(observed)
    n_rows = data.n_rows if data.kept is None else len(data.kept)
    if given.shape != (n_rows,):
        raise ValueError(
            f"observed must have one label for each of the {n_rows} rows of X, got an array of "
            f"shape {given.shape}."
        )
    given = given if data.kept is None else given[data.kept]
    place = {label: k for k, label in enumerate(data.classes.tolist())}
    labels = zip(given.tolist(), data.labels.tolist(), strict=True)
    return np.array([place.get(label, now) for label, now in labels], dtype=np.uint16)


def may_tell_more(observed: Labels, data: TrainingSet) -> bool:
    """Return whether labels were changed, and no class was without labels before."""
    has_all = len(np.unique(observed)) == len(data.classes)
    return has_all and not np.array_equal(observed, data.labels)


def share_left(before: Choice, observed: Labels, data: TrainingSet) -> float:
    """Return the share of the wrong labels that a review has left."""
    n_wrong = before.labels.noise_rate * data.n_rows
    n_found = np.count_nonzero(observed != data.labels)
    return max(0.0, 1 - n_found / n_wrong) if n_wrong > 0 else 0.0


def blended(before: Choice, now: Choice, left: float) -> Choice:
    """Return a choice with the settings of both.

    The settings from before the review have the share of the wrong labels that is left, but at least half of
    the trees: the number of wrong labels is often estimated too low. The decision is corrected only if
    both say so.
    """
    first = max(left, _LEAST_SHARE)
    parts = [
        *((setting, share * first) for setting, share in before.parts),
        *((setting, share * (1 - first)) for setting, share in now.parts),
    ]
    is_doubtful = now.is_corrected and (left > _LEAST_SHARE or not before.is_corrected)
    lead = before if is_doubtful else now
    old, new = _by_setting(before.adaptation), _by_setting(now.adaptation)
    tried = (old | new) if lead is now else (new | old)  # one may have done without a forest
    nothing = {"share": 0.0, "note": ""}
    rows = []
    for key, row in tried.items():
        was, is_now = old.get(key, nothing), new.get(key, nothing)
        share = first * was["share"] + (1 - first) * is_now["share"]
        note = was["note"] or is_now["note"]
        rows.append(row | {"share": share, "chosen": share > 0, "note": note})
    adaptation = {name: [row[name] for row in rows] for name in lead.adaptation}
    return replace(
        lead,
        parts=[(setting, share) for setting, share in parts if share > 0],
        adaptation=adaptation,
    )


def _by_setting(adaptation: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows of a table of settings by what they set."""
    names = list(adaptation)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*adaptation.values(), strict=True)]
    return {
        tuple(row[n] for n in ("splitter", "max_features", "family", "amount")): row for row in rows
    }
