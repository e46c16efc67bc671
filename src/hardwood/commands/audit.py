"""``hardwood audit``: find wrong labels in a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood.audit import LabelAudit
from hardwood.audit.label_audit import default_forest
from hardwood.commands import _common as common
from hardwood.tables import Column, TableEncoder, read_table, write_table
from hardwood.tables.column_checks import column_warnings
from hardwood.tables.labels import groups_of, labels_of, split_label

TOO_NOISY = 3

CANNOT_TELL = "cannot tell: the table says too little about its labels"


def audit(
    data: common.Data,
    label: common.Label,
    report: Annotated[
        Path | None, typer.Option(help="Where to write the report, one HTML file.")
    ] = None,
    issues: Annotated[
        Path | None, typer.Option(help="Where to write the findings on each row: CSV or Parquet.")
    ] = None,
    only_issues: Annotated[
        bool,
        typer.Option("--only-issues", help="Write only suspect rows, the most suspect first."),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Also write the columns of the table, last.")
    ] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit with code 3 if a larger share of labels looks wrong."
        ),
    ] = None,
    category: common.Category = None,
    drop: common.Drop = None,
    use: common.Use = None,
    group: common.Group = None,
    missing: common.Missing = None,
    trees: Annotated[
        int | None, typer.Option(min=1, help="Number of trees; by default 200.")
    ] = None,
    seed: common.Seed = 0,
    jobs: common.Jobs = -1,
    compare: Annotated[
        bool, typer.Option(help="Measure in the report what a model gains from cleaning.")
    ] = True,
    as_json: common.AsJson = False,
) -> None:
    """Find labels that look wrong in a table, and estimate how many are.

    If the table cannot tell, because it has few rows or its columns say nothing about the label, no
    row is an issue, and the exit code is 0.

    The issues file has one line per row, in the same order: its number (from 0), the given and the
    suggested label, the probability that the given label is wrong (score), whether it is an issue,
    and its rank (1 is the most suspect).
    """
    with common.reported_errors():
        for output in (report, issues):
            if output is not None:
                common.check_output(output, data)
        start = time.perf_counter()
        with common.warnings_as_notes(), common.progress() as step:
            step(f"Reading {data.name}")
            table = read_table(data, text=category or [])
            X, y = split_label(table, label)
            labels = labels_of(y, missing or [])
            groups = None if group is None else groups_of(X, group, missing or [])
            left_out = [*(drop or []), *([] if group is None else [group])]
            encoder = TableEncoder(
                category=category or [], drop=left_out, use=use or [], missing=missing or []
            )
            numbers = encoder.fit_transform(X)
            warnings = column_warnings(encoder.columns_, numbers, labels)
            notes = common.in_words(warnings)
            step("Auditing")
            forest = None if trees is None else default_forest(trees)
            found = LabelAudit(forest, n_jobs=jobs, random_state=seed)
            found.fit(numbers, labels, groups=groups)
            low, high = found.noise_rate_interval_
            if issues is not None:
                step(f"Writing {issues.name}")
                write_table(_lines(found, table if keep else None, only_issues), issues)
            if report is not None:
                step(f"Writing {report.name}")
                values = X[encoder.get_feature_names_out()]  # texts, not their codes
                title = f"Labels of {data.name}"
                found.report(report, title=title, compare=compare, values=values, notes=notes)
        facts: dict[str, Any] = {
            "data": data,
            "label": label,
            "rows": len(table),
            "groups": None if groups is None else int(groups.max()) + 1,
            "copies": found.n_copies_,
            "classes": found.classes_,
            "can_tell": found.can_tell_,
            "noise_rate": found.noise_rate_,
            "noise_rate_interval": [low, high],
            "noise_matrix": found.noise_matrix_,
            "n_issues": found.n_issues_,
            "trade_off": found.trade_off().to_dict("records"),
            "report": report,
            "issues": issues,
            "columns": common.columns_as_facts(encoder.columns_),
            "warnings": [warning._asdict() for warning in warnings],
            "seconds": round(time.perf_counter() - start, 3),
        }
    for text in notes:
        common.note(text)
    if as_json:
        common.print_json(facts)
    else:
        _show(facts, encoder.columns_)
    if fail_above is not None and found.can_tell_ and found.noise_rate_ > fail_above:
        common.note(f"More than {common.percent(fail_above)} of the labels look wrong.")
        raise typer.Exit(TOO_NOISY)


def _lines(found: LabelAudit, table: Any, only_issues: bool) -> Any:
    """Return the lines of the issues file."""
    lines = found.issues_.copy()
    lines.insert(0, "row", range(len(lines)))
    if table is not None:
        common.check_kept(table, lines.columns)
        lines = lines.join(table.reset_index(drop=True))
    return lines[lines["is_issue"]].sort_values("rank") if only_issues else lines


def _show(facts: dict[str, Any], columns: list[Column]) -> None:
    common.print_facts(
        {
            "rows": f"{facts['rows']:,}",
            **common.grouping(facts["copies"], facts["groups"]),
            **(_findings(facts) if facts["can_tell"] else {"labels that look wrong": CANNOT_TELL}),
        }
    )
    common.print_columns(columns)
    common.console.print()
    for name in ("report", "issues"):
        if facts[name] is not None:
            common.print_path(name.capitalize(), facts[name])


def _findings(facts: dict[str, Any]) -> dict[str, str]:
    rate, low, high = map(common.percent, (facts["noise_rate"], *facts["noise_rate_interval"]))
    words = {
        "labels that look wrong": f"{facts['n_issues']:,}, {rate} (likely between {low} and {high})"
    }
    for line in facts["trade_off"]:
        if line["rows"] in (facts["n_issues"], 2 * facts["n_issues"]):
            words[f"if you review {line['rows']:,}"] = (
                f"you find about {line['found']:,.0f} wrong labels, {common.percent(line['share'])}"
            )
    return words
