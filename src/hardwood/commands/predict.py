"""``hardwood predict``: apply a model to a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import hardwood
from hardwood.commands import _common as common
from hardwood.tables import TableError, TableModel, read_table, write_table
from hardwood.tables.errors import listed
from hardwood.tables.frames import pandas


def predict(
    model: Annotated[Path, typer.Argument(help="A model saved by `hardwood train`.")],
    data: common.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write predictions: CSV, TSV or Parquet; - for the standard output.",
        ),
    ],
    proba: Annotated[
        bool, typer.Option("--proba", help="Also write the probability of each class.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Also write the columns of the table, before the predictions."),
    ] = False,
    drop: common.Drop = None,
    raw: common.Raw = False,
    jobs: common.Jobs = -1,
    as_json: common.AsJson = False,
) -> None:
    """Predict the classes of the rows of a table.

    The output has one line per row, in the same order: the column `prediction` and, with --proba, a
    column `proba_<class>` for each class. Columns that were not in the training table are an error
    unless --drop names them. The column with the labels may be present or not.

    In CSV and TSV, a quote is put before text that a spreadsheet would run as a formula; --raw writes
    text as it is.
    """
    with common.reported_errors():
        common.check_output(output, data, model)
        common.check_json(as_json, output)
        start = time.perf_counter()
        with common.progress() as step:
            step(f"Loading {model.name}")
            loaded = _load(model)
            texts = [column.name for column in loaded.columns_ if column.is_read_from_text]
            step(f"Reading {data.name}")
            table = read_table(data, text=texts)
            loaded.check_columns(table, drop=drop or [])
            step("Predicting")
            loaded.forest_.set_params(n_jobs=jobs)
            p = loaded.predict_proba(table)
            predicted = loaded.classes_[p.argmax(axis=1)]
            step(f"Writing {output.name}")
            columns = {"prediction": predicted}
            if proba:
                columns |= {f"proba_{name}": p[:, k] for k, name in enumerate(loaded.classes_)}
            lines = pandas().DataFrame(columns)
            if keep:
                common.check_kept(table, lines.columns)
                lines = table.reset_index(drop=True).join(lines)
            write_table(lines, output, raw=raw)
            unseen = loaded.encoder_.unseen(table)
        facts: dict[str, Any] = {
            "model": model,
            "data": data,
            "output": output,
            "rows": len(table),
            "predicted": {
                str(name): int(count)
                for name, count in zip(*np.unique(predicted, return_counts=True), strict=True)
            },
            "unseen": unseen,
            "seconds": round(time.perf_counter() - start, 3),
        }
    for name, values in unseen.items():
        common.note(
            f"Column {name!r} has values that were not in the training table; they count as "
            f"missing: {listed(values)}."
        )
    if as_json:
        common.print_json(facts)
    else:
        counts = ", ".join(f"{name}: {count:,}" for name, count in facts["predicted"].items())
        lines = {"rows": f"{len(table):,}", "predicted": counts}
        if common.is_standard(output):
            common.print_facts(lines, common.messages)
        else:
            common.print_facts(lines)
            common.print_path("\nPredictions", output)


def _load(path: Path) -> TableModel:
    try:
        model = hardwood.load(path)
    except ValueError as error:
        raise TableError(str(error)) from error
    if not isinstance(model, TableModel):
        raise TableError(
            f"{path} contains a {type(model).__name__}, which does not take tables. Use a model "
            "saved by `hardwood train`."
        )
    return model
