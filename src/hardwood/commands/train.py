"""``hardwood train``: train a model on a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import hardwood
from hardwood import AdaptiveForestClassifier
from hardwood._core.validation import MAX_TREES
from hardwood.commands import _common as common
from hardwood.commands import _decisions
from hardwood.tables import Column, TableEncoder, TableModel
from hardwood.tables.column_checks import column_warnings
from hardwood.tables.labels import groups_of, labels_of


def train(
    data: common.Data,
    label: common.Label,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the model, usually as .hw.")
    ] = None,
    category: common.Category = None,
    date: common.Date = None,
    drop: common.Drop = None,
    use: common.Use = None,
    group: common.Group = None,
    missing: common.Missing = None,
    trees: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_TREES,
            help="Number of trees; by default 200, or 100 with --plain.",
        ),
    ] = None,
    seed: common.Seed = 0,
    jobs: common.Jobs = -1,
    plain: Annotated[
        bool, typer.Option("--plain", help="Grow an ordinary random forest that does not adapt.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done with each column.")
    ] = False,
    decisions: _decisions.Option = None,
    as_json: common.AsJson = False,
) -> None:
    """Train a forest on a table whose labels may be wrong, and save it.

    Columns may contain numbers, dates or text, and missing values. Columns that look like ids are
    left out. The forest adapts to the amount of label noise. With --decisions, it learns from the
    labels that a review decided on. With --dry-run, no forest is trained.
    """
    if output is None and not dry_run:
        raise typer.BadParameter("Missing option '--output' / '-o'.")
    declared: dict[str, Any] = {
        "category": category or [],
        "date": date or [],
        "drop": [*(drop or []), *([] if group is None else [group])],
        "use": use or [],
        "missing": missing or [],
    }
    with common.reported_errors():
        column_of_labels = common.only_label(label)
        common.check_inputs(data, decisions)
        if output is not None:
            common.check_not_standard(output, "A model")
            common.check_output(output, data, *([] if decisions is None else [decisions]))
        start = time.perf_counter()
        with common.warnings_as_notes(), common.progress() as step:
            step(f"Reading {data.name}")
            _, X, y = common.read_training_table(data, label, category or [], date or [])
            groups = None if group is None else groups_of(X, group, missing or [])
            labels = labels_of(y, missing or [])
            sources = _decisions.decided_sources(decisions, labels)
            before = None if sources is None else labels
            if sources is not None:
                y, labels = y.take(sources).set_axis(y.index), labels[sources]
            if dry_run or output is None:
                encoder = TableEncoder(**declared)
                columns = encoder.preview(X)
                refused = any(column.kind == "refused" for column in columns)
                features = X[[]] if refused else encoder.fit_transform(X)
                found = column_warnings(columns, features, labels)
                facts = _planned_facts(columns, labels, data, column_of_labels)
            else:
                step("Training")
                model = TableModel(
                    trees, adaptive=not plain, n_jobs=jobs, random_state=seed, **declared
                ).fit(X, y, groups=groups, observed=before)
                columns = model.columns_
                found = column_warnings(columns, model.encoder_.transform(X), labels)
                step(f"Saving {output.name}")
                hardwood.save(model, output)
                facts = _facts(model, data, output, len(X), time.perf_counter() - start)
        facts["groups"] = None if groups is None else int(groups.max()) + 1
        if decisions is not None:
            facts["decisions"] = decisions
        facts["warnings"] = common.warnings_as_facts(found)
    for text in common.in_words(found):
        common.note(text)
    if as_json:
        common.print_json(facts)
    elif dry_run:
        common.print_facts(_said(facts))
        common.print_columns(columns, most=len(columns))
    else:
        _show(facts, columns)
    if any(column.kind == "refused" for column in columns):
        raise typer.Exit(common.WRONG_INPUT)


def _planned_facts(
    columns: list[Column], labels: NDArray[Any], data: Path, label: str
) -> dict[str, Any]:
    """Return what is known without a forest."""
    return {
        "data": data,
        "label": label,
        "rows": len(labels),
        "classes": np.unique(labels),
        "columns": common.columns_as_facts(columns),
    }


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
        chosen = forest.adaptation_.query("chosen").sort_values("share", ascending=False)
        facts |= {
            "copies": forest.n_copies_,
            "noise_rate": forest.noise_rate_,
            "noise_matrix": forest.noise_matrix_,
            "settings": chosen[["family", "amount", "share", "note"]].to_dict("records"),
            "decision": forest.decision_,
            "decision_reason": forest.decision_reason_,
        }
    return facts


def _said(facts: dict[str, Any]) -> dict[str, str]:
    """Return lines about the table."""
    n_used = sum(column["is_used"] for column in facts["columns"])
    return {
        "rows": f"{facts['rows']:,}",
        **common.grouping(facts.get("copies", 0), facts["groups"]),
        "columns used": f"{n_used:,} of {len(facts['columns']):,}",
        "classes": _some(facts["classes"]),
    }


def _show(facts: dict[str, Any], columns: list[Column]) -> None:
    lines = _said(facts) | {
        "out-of-bag accuracy": f"{common.percent(facts['oob_accuracy'])} on the given labels",
    }
    if "noise_rate" in facts:
        lines |= {
            "estimated noise": f"{common.percent(facts['noise_rate'])} of the labels are wrong",
            "settings": "; ".join(
                f"{part['share']:.0%} {part['note']}" for part in facts["settings"]
            ),
            "decision": f"{facts['decision']}: {facts['decision_reason']}",
        }
    common.print_facts(lines)
    common.print_columns(columns)
    common.print_path("\nModel", facts["model"])


def _some(classes: Any) -> str:
    shown = ", ".join(str(each) for each in classes[:10])
    return shown if len(classes) <= 10 else f"{shown} and {len(classes) - 10:,} more"
