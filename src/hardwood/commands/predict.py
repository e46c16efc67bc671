"""``hardwood predict``: what a model says of a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import hardwood
from hardwood.commands._common import (
    AsJson,
    Data,
    Drop,
    Jobs,
    check_output,
    console,
    ending_on_wrong_input,
    fact_table,
    note,
    print_json,
    print_path,
    progress,
)
from hardwood.tables import TableError, TableModel, read_table, write_table
from hardwood.tables._pandas import pandas
from hardwood.tables.errors import listed


def predict(
    model: Annotated[Path, typer.Argument(help="The model that `hardwood train` saved.")],
    data: Data,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where to write predictions: CSV, TSV or Parquet."),
    ],
    proba: Annotated[
        bool, typer.Option("--proba", help="Write the probability of each class as well.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Write the columns of the table as well, first.")
    ] = False,
    drop: Drop = None,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """Predict the classes of a table's rows by a model.

    The output has a line for each row, in the same order: the column prediction, and with --proba
    for each class a column of its name after `proba_`. Columns that training had not are refused, unless --drop
    names them; the column of labels may be there.
    """
    with ending_on_wrong_input():
        check_output(output, data, model)
        start = time.perf_counter()
        with progress() as step:
            step(f"Loading {model.name}")
            loaded = _load(model)
            texts = [column.name for column in loaded.columns_ if column.kind == "text"]
            step(f"Reading {data.name}")
            table = read_table(data, text=texts)
            loaded.check_columns(table, drop=drop or [])
            step("Predicting")
            loaded.forest_.set_params(n_jobs=jobs)
            p = loaded.predict_proba(table)
            predicted = loaded.classes_[p.argmax(axis=1)]
            step(f"Writing {output.name}")
            write_table(
                _written(table if keep else None, predicted, p if proba else None, loaded), output
            )
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
        note(f"Column {name!r} holds what training had not, taken as missing: {listed(values)}.")
    if as_json:
        print_json(facts)
    else:
        counts = ", ".join(f"{name}: {count:,}" for name, count in facts["predicted"].items())
        console.print(fact_table({"rows": f"{len(table):,}", "predicted": counts}))
        print_path("\nPredictions", output)


def _load(path: Path) -> TableModel:
    try:
        model = hardwood.load(path)
    except ValueError as error:
        raise TableError(str(error)) from error
    if not isinstance(model, TableModel):
        raise TableError(
            f"{path} holds a {type(model).__name__}, which knows nothing of tables: give a model "
            "that `hardwood train` saved."
        )
    return model


def _written(table: Any, predicted: Any, p: Any, model: TableModel) -> Any:
    columns = {"prediction": predicted}
    if p is not None:
        columns |= {f"proba_{name}": p[:, k] for k, name in enumerate(model.classes_)}
    frame = pandas().DataFrame(columns)
    if table is None:
        return frame
    twice = [name for name in frame.columns if name in table.columns]
    if twice:
        raise TableError(f"--keep: the table has columns of these names itself: {listed(twice)}.")
    return pandas().concat([table.reset_index(drop=True), frame], axis=1)
