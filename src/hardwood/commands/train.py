"""``hardwood train``: train a model on a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import hardwood
from hardwood import AdaptiveForestClassifier
from hardwood.commands import _common as common
from hardwood.tables import TableModel, read_table
from hardwood.tables.column_checks import column_warnings
from hardwood.tables.labels import groups_of, labels_of, split_label


def train(
    data: common.Data,
    label: common.Label,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model, usually as .hw.")
    ],
    category: common.Category = None,
    drop: common.Drop = None,
    use: common.Use = None,
    group: common.Group = None,
    missing: common.Missing = None,
    trees: Annotated[
        int | None,
        typer.Option(min=1, help="Number of trees; by default 200, or 100 with --plain."),
    ] = None,
    seed: common.Seed = 0,
    jobs: common.Jobs = -1,
    plain: Annotated[
        bool, typer.Option("--plain", help="Grow an ordinary random forest that does not adapt.")
    ] = False,
    as_json: common.AsJson = False,
) -> None:
    """Train a forest on a table whose labels may be wrong, and save it.

    Columns may contain numbers, dates or text, and missing values. Columns that look like ids are
    left out. The forest adapts to the amount of label noise.
    """
    with common.reported_errors():
        common.check_output(output, data)
        start = time.perf_counter()
        with common.warnings_as_notes(), common.progress() as step:
            step(f"Reading {data.name}")
            X, y = split_label(read_table(data, text=category or []), label)
            groups = None if group is None else groups_of(X, group, missing or [])
            step("Training")
            model = TableModel(
                trees,
                adaptive=not plain,
                category=category or [],
                drop=[*(drop or []), *([] if group is None else [group])],
                use=use or [],
                missing=missing or [],
                n_jobs=jobs,
                random_state=seed,
            ).fit(X, y, groups=groups)
            numbers, labels = model.encoder_.transform(X), labels_of(y, missing or [])
            found = column_warnings(model.columns_, numbers, labels)
            step(f"Saving {output.name}")
            hardwood.save(model, output)
        facts = _facts(model, data, output, len(X), time.perf_counter() - start)
        facts["groups"] = None if groups is None else int(groups.max()) + 1
        facts["warnings"] = [warning._asdict() for warning in found]
    for text in common.in_words(found):
        common.note(text)
    if as_json:
        common.print_json(facts)
    else:
        _show(facts, model)


def _facts(
    model: TableModel, data: Path, output: Path, n_rows: int, seconds: float
) -> dict[str, Any]:
    forest = model.forest_
    facts: dict[str, Any] = {
        "data": data,
        "model": output,
        "label": model.label_,
        "rows": n_rows,
        "classes": model.classes_,
        "trees": len(forest.estimators_),
        "oob_accuracy": model.oob_score_,
        "seconds": round(seconds, 3),
        "columns": common.columns_as_facts(model.columns_),
    }
    if isinstance(forest, AdaptiveForestClassifier):
        setting = forest.adaptation_.query("chosen").iloc[0]
        facts |= {
            "copies": forest.n_copies_,
            "noise_rate": forest.noise_rate_,
            "noise_matrix": forest.noise_matrix_,
            "setting": {name: setting[name] for name in ("family", "amount", "note")},
            "decision": forest.decision_,
            "decision_reason": forest.decision_reason_,
        }
    return facts


def _show(facts: dict[str, Any], model: TableModel) -> None:
    n_used = sum(column.is_used for column in model.columns_)
    lines = {
        "rows": f"{facts['rows']:,}",
        **common.grouping(facts.get("copies", 0), facts["groups"]),
        "columns used": f"{n_used:,} of {len(model.columns_):,}",
        "classes": _some(facts["classes"]),
        "out-of-bag accuracy": f"{common.percent(facts['oob_accuracy'])} on the given labels",
    }
    if "noise_rate" in facts:
        lines |= {
            "estimated noise": f"{common.percent(facts['noise_rate'])} of the labels are wrong",
            "setting": str(facts["setting"]["note"]),
            "decision": f"{facts['decision']}: {facts['decision_reason']}",
        }
    common.print_facts(lines)
    common.print_columns(model.columns_)
    common.print_path("\nModel", facts["model"])


def _some(classes: Any) -> str:
    shown = ", ".join(str(each) for each in classes[:10])
    return shown if len(classes) <= 10 else f"{shown} and {len(classes) - 10:,} more"
