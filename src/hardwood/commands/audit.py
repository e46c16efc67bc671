"""``hardwood audit``: which labels of a table are wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
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
    note,
    percent,
    print_columns,
    print_json,
    print_path,
    progress,
    warnings_as_notes,
)
from hardwood.tables import Column, TableEncoder, TableError, read_table, write_table
from hardwood.tables.errors import listed
from hardwood.tables.labels import labels_of, split_label

TOO_NOISY = 3


def audit(
    data: Data,
    label: Label,
    report: Annotated[
        Path | None, typer.Option(help="Where to write the report, one HTML file.")
    ] = None,
    issues: Annotated[
        Path | None, typer.Option(help="Where to write what is said of each row: CSV or Parquet.")
    ] = None,
    only_issues: Annotated[
        bool,
        typer.Option("--only-issues", help="Write suspect rows alone, the most suspect first."),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Write the columns of the table as well, last.")
    ] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="End with code 3 if a larger share of the labels seems wrong."
        ),
    ] = None,
    category: Category = None,
    drop: Drop = None,
    missing: Missing = None,
    trees: Trees = 200,
    seed: Seed = 0,
    jobs: Jobs = -1,
    compare: Annotated[
        bool, typer.Option(help="Let the report measure what a model gains by cleaning.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Find the wrong labels of a table, and say how many there are.

    The file of issues has a line for each row, in the same order: its number (from 0), the label
    given, the label suggested, the probability that the given one is wrong (score), whether it is
    an issue, and its rank (1 is the most suspect).
    """
    with ending_on_wrong_input():
        for output in (report, issues):
            if output is not None:
                check_output(output, data)
        start = time.perf_counter()
        with warnings_as_notes(), progress() as step:
            step(f"Reading {data.name}")
            table = read_table(data, text=category or [])
            X, y = split_label(table, label)
            labels = labels_of(y, missing or [])
            encoder = TableEncoder(category=category or [], drop=drop or [], missing=missing or [])
            numbers = encoder.fit_transform(X)
            step("Auditing")
            forest = AdaptiveForestClassifier(trees, full_data=False)
            found = LabelAudit(forest, n_jobs=jobs, random_state=seed).fit(numbers, labels)
            low, high = found.noise_rate_interval_
            if issues is not None:
                step(f"Writing {issues.name}")
                write_table(_lines(found, table if keep else None, only_issues), issues)
            if report is not None:
                step(f"Writing {report.name}")
                values = X[encoder.get_feature_names_out()]  # texts, not their codes
                title = f"Labels of {data.name}"
                found.report(report, title=title, compare=compare, values=values)
        facts: dict[str, Any] = {
            "data": data,
            "label": label,
            "rows": len(table),
            "classes": found.classes_,
            "noise_rate": found.noise_rate_,
            "noise_rate_interval": [low, high],
            "noise_matrix": found.noise_matrix_,
            "n_issues": found.n_issues_,
            "report": report,
            "issues": issues,
            "columns": columns_as_facts(encoder.columns_),
            "seconds": round(time.perf_counter() - start, 3),
        }
    if as_json:
        print_json(facts)
    else:
        _show(facts, encoder.columns_)
    if fail_above is not None and facts["noise_rate"] > fail_above:
        note(f"More than {percent(fail_above)} of the labels seem wrong.")
        raise typer.Exit(TOO_NOISY)


def _lines(found: Any, table: Any, only_issues: bool) -> Any:
    """Return the lines of the file of issues."""
    lines = found.issues_.copy()
    lines.insert(0, "row", range(len(lines)))
    if table is not None:
        twice = [name for name in table.columns if name in lines.columns]
        if twice:
            raise TableError(f"--keep: the table has columns of these names: {listed(twice)}.")
        lines = lines.join(table.reset_index(drop=True))
    return lines[lines["is_issue"]].sort_values("rank") if only_issues else lines


def _show(facts: dict[str, Any], columns: list[Column]) -> None:
    low, high = facts["noise_rate_interval"]
    lines = {
        "rows": f"{facts['rows']:,}",
        "wrong labels": f"{percent(facts['noise_rate'])}, between {percent(low)} and {percent(high)}",
        "rows to look at": f"{facts['n_issues']:,}",
    }
    console.print(fact_table(lines))
    print_columns(columns)
    console.print()
    for name in ("report", "issues"):
        if facts[name] is not None:
            print_path(name.capitalize(), facts[name])
