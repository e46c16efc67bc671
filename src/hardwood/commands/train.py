"""``hardwood train``: a model from a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import hardwood
from hardwood import AdaptiveForestClassifier
from hardwood.commands._common import (
    AsJson,
    Category,
    Data,
    Drop,
    Jobs,
    Label,
    Missing,
    Seed,
    Trees,
    check_output,
    columns_as_facts,
    console,
    ending_on_wrong_input,
    fact_table,
    percent,
    print_columns,
    print_json,
    print_path,
    progress,
    warnings_as_notes,
)
from hardwood.tables import TableModel, read_table
from hardwood.tables.labels import split_label


def train(
    data: Data,
    label: Label,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model, by custom as .hw.")
    ],
    category: Category = None,
    drop: Drop = None,
    missing: Missing = None,
    trees: Trees = 100,
    seed: Seed = 0,
    jobs: Jobs = -1,
    plain: Annotated[
        bool, typer.Option("--plain", help="Grow a usual random forest that does not adapt.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a forest on a table whose labels may be wrong, and save it.

    Columns are numbers, dates or text as they are found; text is coded. The forest adapts to the
    noise of the labels by itself.
    """
    with ending_on_wrong_input():
        check_output(output, data)
        start = time.perf_counter()
        with warnings_as_notes(), progress() as step:
            step(f"Reading {data.name}")
            X, y = split_label(read_table(data, text=category or []), label)
            step("Training")
            model = TableModel(
                trees,
                adaptive=not plain,
                category=category or [],
                drop=drop or [],
                missing=missing or [],
                n_jobs=jobs,
                random_state=seed,
            ).fit(X, y)
            step(f"Saving {output.name}")
            hardwood.save(model, output)
        facts = _facts(model, data, output, len(X), time.perf_counter() - start)
    if as_json:
        print_json(facts)
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
        "columns": columns_as_facts(model.columns_),
    }
    if isinstance(forest, AdaptiveForestClassifier):
        table = forest._adaptation
        chosen = int(np.flatnonzero(table["chosen"])[0])
        facts |= {
            "noise_rate": forest.noise_rate_,
            "noise_matrix": forest.noise_matrix_,
            "setting": {name: table[name][chosen] for name in ("family", "amount", "note")},
            "decision": forest.decision_,
            "decision_reason": forest.decision_reason_,
        }
    return facts


def _show(facts: dict[str, Any], model: TableModel) -> None:
    n_used = sum(column.kind != "unused" for column in model.columns_)
    lines = {
        "rows": f"{facts['rows']:,}",
        "columns used": f"{n_used:,} of {len(model.columns_):,}",
        "classes": _some(facts["classes"]),
        "out-of-bag accuracy": f"{percent(facts['oob_accuracy'])} on the labels as they are",
    }
    if "noise_rate" in facts:
        lines |= {
            "estimated noise": f"{percent(facts['noise_rate'])} of the labels",
            "setting": str(facts["setting"]["note"]),
            "decision": f"{facts['decision']}: {facts['decision_reason']}",
        }
    console.print(fact_table(lines))
    print_columns(model.columns_)
    print_path("\nModel", facts["model"])


def _some(classes: Any) -> str:
    shown = ", ".join(str(each) for each in classes[:10])
    return shown if len(classes) <= 10 else f"{shown} and {len(classes) - 10:,} more"
