"""``hardwood apply``: write a table with the labels that people decided on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood.audit.decisions import read_decisions
from hardwood.commands import _common as common
from hardwood.commands._decisions import checked_decisions, sources_of
from hardwood.tables import TableError, read_table
from hardwood.tables.labels import labels_of, split_label
from hardwood.tables.relabel import relabel_file
from hardwood.tables.source import Source


def apply(
    data: common.Data,
    label: common.Label,
    decisions: Annotated[
        Path, typer.Option(help="What a review found: the decisions.csv that the report exports.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the table: CSV, TSV or Parquet; - for the standard output.",
        ),
    ],
    changes: Annotated[
        str | None,
        typer.Option(
            help="Add a column of this name with the former labels of the rows that change.",
            metavar="COLUMN",
        ),
    ] = None,
    missing: common.Missing = None,
    as_json: common.AsJson = False,
) -> None:
    """Write a table with the labels that a review decided on.

    Every other cell stays as it is written. The input is never overwritten.
    """
    with common.reported_errors():
        column = common.only_label(label)
        common.check_inputs(data, decisions)
        common.check_output(output, data, decisions)
        common.check_json(as_json, output)
        start = time.perf_counter()
        with common.progress() as step:
            step(f"Reading {data.name}")
            source = Source(data)
            table = read_table(source, text=[column])
            _, y = split_label(table, column)
            if changes is not None and changes in table.columns:
                raise TableError(f"--changes: the table already has a column {changes!r}.")
            labels = labels_of(y, missing or [])
            found = checked_decisions(decisions, read_decisions(decisions), labels)
            sources = sources_of(found, labels)
            step(f"Writing {output.name}")
            relabel_file(source, output, column, sources, changes)
        facts: dict[str, Any] = {
            "data": data,
            "decisions": decisions,
            "output": output,
            "rows": len(labels),
            "decided": len(found),
            "changed": int(np.sum(sources != np.arange(len(sources)))),
            "undecided": len(found.unsure),
            "seconds": round(time.perf_counter() - start, 3),
        }
    if as_json:
        common.print_json(facts)
        return
    lines = {
        "rows": f"{facts['rows']:,}",
        "decided": f"{facts['decided']:,}",
        "labels changed": f"{facts['changed']:,}",
    }
    if facts["undecided"]:
        lines["not sure"] = f"{facts['undecided']:,}, left as they are"
    if common.is_standard(output):
        common.print_facts(lines, common.messages)
    else:
        common.print_facts(lines)
        common.print_path("\nTable", output)
