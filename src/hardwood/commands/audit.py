"""``hardwood audit``: find wrong labels in a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood._core.validation import MAX_TREES
from hardwood.audit import LabelAudit
from hardwood.audit.decisions import read_decisions
from hardwood.audit.voting import default_forest
from hardwood.commands import _common as common
from hardwood.commands import _decisions
from hardwood.tables import Column, TableEncoder, TableError, write_table
from hardwood.tables.column_checks import column_warnings
from hardwood.tables.errors import closest
from hardwood.tables.labels import groups_of, labels_of_all

TOO_NOISY = 3

CANNOT_TELL = "cannot tell: the table says too little about its labels"
TOO_FEW_ROWS = "cannot tell: the table has too few rows"
_FEW_ROWS = 20


def audit(
    data: common.Data,
    label: Annotated[
        list[str],
        typer.Option(
            "--label",
            "-l",
            help="The column with the labels. Repeat it if several people labelled the rows, each in "
            "a column of their own.",
        ),
    ],
    report: Annotated[
        Path | None, typer.Option(help="Where to write the report, one HTML file.")
    ] = None,
    issues: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the findings on each row: CSV or Parquet; - for the standard output."
        ),
    ] = None,
    only_issues: Annotated[
        bool,
        typer.Option("--only-issues", help="Write only suspect rows, the most suspect first."),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Also write the columns of the table, after the findings."),
    ] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit with code 3 if a larger share of labels looks wrong."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Say how many rows to review until at most this share of the labels is wrong, for "
            "example 1%.",
            metavar="SHARE",
        ),
    ] = None,
    decisions: _decisions.Option = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="The column that identifies the rows, to show in the report. It is not used as a "
            "feature.",
            metavar="COLUMN",
        ),
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
            help="Number of trees; by default 200, and up to 800 in small tables.",
        ),
    ] = None,
    seed: common.Seed = 0,
    raw: common.Raw = False,
    jobs: common.Jobs = -1,
    compare: Annotated[
        bool,
        typer.Option(help="Measure what a model gains from cleaning, and show it in the report."),
    ] = True,
    as_json: common.AsJson = False,
) -> None:
    """Find labels that look wrong in a table, and estimate how many are wrong.

    If you repeat --label, the labels of several people are combined, and the audit is about the most
    probable label of each row.

    If the table cannot tell which labels are wrong, because it has few rows or its columns say
    nothing about the label, no row is an issue, and the exit code is 0.

    The issues file has one line per row, in the same order: its number (from 0), the given and the
    suggested label, the probability that the given label is wrong (score), whether it is an issue,
    and its rank (1 is the most suspect).
    """
    with common.reported_errors():
        common.check_different(report, issues)
        common.check_inputs(data, decisions)
        common.check_json(as_json, issues)
        if report is not None:
            common.check_not_standard(report, "The report")
        for output in (report, issues):
            if output is not None:
                common.check_output(output, data, *([] if decisions is None else [decisions]))
        share = None if target is None else _share(target)
        start = time.perf_counter()
        with common.warnings_as_notes(), common.progress() as step:
            step(f"Reading {data.name}")
            table, X, y = common.read_training_table(data, label, category or [], date or [])
            labels = labels_of_all(y, missing or [])
            groups = None if group is None else groups_of(X, group, missing or [])
            ids = None if id_column is None else _ids(X, id_column)
            left_out = [
                *(drop or []),
                *(
                    name
                    for name in (group, id_column)
                    if name is not None and name not in (drop or [])
                ),
            ]
            encoder = TableEncoder(
                category=category or [],
                date=date or [],
                drop=left_out,
                use=use or [],
                missing=missing or [],
            )
            features = encoder.fit_transform(X)
            step("Auditing")
            forest = None if trees is None else default_forest(trees)
            found = LabelAudit(forest, n_jobs=jobs, random_state=seed)
            verdicts = None
            if decisions is not None:
                verdicts = read_decisions(decisions)
                if labels.ndim == 1:
                    _decisions.checked_decisions(decisions, verdicts, labels)
            try:
                found.fit(features, labels, groups=groups, decisions=verdicts)
            except ValueError as error:
                if labels.ndim == 1:
                    raise  # labels and decisions have been checked
                raise TableError(str(error)) from error
            of_rows = labels if labels.ndim == 1 else found.consensus_
            warnings = column_warnings(encoder.columns_, features, of_rows)
            notes = [*common.in_words(warnings), *_annotators(found)]
            low, high = found.noise_rate_interval_
            if issues is not None:
                step(f"Writing {issues.name}")
                lines = _lines(found, table if keep else None, only_issues)
                write_table(lines, issues, raw=raw)
            if report is not None:
                step(f"Writing {report.name}")
                values = X[encoder.get_feature_names_out()]  # as they are written
                title = f"Labels of {data.name}"
                found.report(
                    report, title=title, compare=compare, values=values, notes=notes, ids=ids
                )
        facts: dict[str, Any] = {
            "data": data,
            "label": label[0] if len(label) == 1 else label,
            "rows": len(X),
            "groups": None if groups is None else int(groups.max()) + 1,
            "copies": found.n_copies_,
            "classes": found.classes_,
            "can_tell": found.can_tell_,
            "noise_rate": found.noise_rate_,
            "noise_rate_interval": [low, high],
            "noise_matrix": found.noise_matrix_,
            "n_issues": found.n_issues_,
            "trade_off": found.trade_off().to_dict("records"),
            "target": share,
            "review_plan": None if share is None else found.review_plan(share).to_dict("records"),
            **_facts_of_annotators(found),
            **_facts_of_decisions(found),
            "report": report,
            "issues": issues,
            "columns": common.columns_as_facts(encoder.columns_),
            "warnings": common.warnings_as_facts(warnings),
            "seconds": round(time.perf_counter() - start, 3),
        }
    for text in common.in_words(warnings):
        common.note(text)
    if as_json:
        common.print_json(facts)
    else:
        _show(facts, encoder.columns_)
    if fail_above is not None and found.can_tell_ and found.noise_rate_ > fail_above:
        common.note(f"More than {common.percent(fail_above)} of the labels look wrong.")
        raise typer.Exit(TOO_NOISY)


def _share(text: str) -> float:
    """Return a share that is given as 1% or as 0.01."""
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise TableError(f"--target: {text!r} is not a share. Give one such as 1% or 0.01.")
    return share


def _ids(table: Any, name: str) -> Any:
    if name not in table.columns:
        raise TableError(f"--id: there is no column {name!r}.{closest(name, list(table.columns))}")
    return table[name].to_numpy()


def _lines(found: LabelAudit, table: Any, only_issues: bool) -> Any:
    """Return the lines of the issues file."""
    lines = found.issues_.copy()
    lines.insert(0, "row", range(len(lines)))
    if table is not None:
        common.check_kept(table, lines.columns)
        lines = lines.join(table.reset_index(drop=True))
    return lines[lines["is_issue"]].sort_values("rank") if only_issues else lines


def _show(facts: dict[str, Any], columns: list[Column]) -> None:
    out = common.messages if common.is_standard(facts["issues"]) else common.console
    common.print_facts(
        {
            "rows": f"{facts['rows']:,}",
            **common.grouping(facts["copies"], facts["groups"]),
            **_decided(facts),
            **(_findings(facts) if facts["can_tell"] else _no_findings(facts)),
            **_plan(facts),
            **_annotators_in_words(facts),
        },
        out,
    )
    common.print_columns(columns, to=out)
    out.print()
    for name in ("report", "issues"):
        if facts[name] is not None and not common.is_standard(facts[name]):
            common.print_path(name.capitalize(), facts[name], out)


def _decided(facts: dict[str, Any]) -> dict[str, str]:
    if not facts["decided"]:
        return {}
    wrong = facts["decided_wrong"]
    verb = "was" if wrong == 1 else "were"
    return {"decided": f"{facts['decided']:,}, of which {wrong:,} {verb} wrong"}


def _no_findings(facts: dict[str, Any]) -> dict[str, str]:
    is_small = facts["rows"] < _FEW_ROWS
    return {"labels that look wrong": TOO_FEW_ROWS if is_small else CANNOT_TELL}


def _facts_of_decisions(found: LabelAudit) -> dict[str, int]:
    """Return how many labels are decided, and how many of these were wrong."""
    issues = found.issues_
    decided = issues["decided"] if "decided" in issues else issues["is_issue"] & False
    return {
        "decided": int(decided.sum()),
        "decided_wrong": int((decided & issues["is_issue"]).sum()),
    }


def _facts_of_annotators(found: LabelAudit) -> dict[str, Any]:
    if found._annotations is None:
        return {}
    return {
        "annotators": found.annotators_.to_dict("records"),
        "annotator_noise_matrices": found.annotator_noise_matrices_,
        "annotator_agreement": found.annotator_agreement_.to_dict("records"),
    }


def _annotators(found: LabelAudit) -> list[str]:
    """Return a remark on each annotator, for the report."""
    people = _facts_of_annotators(found).get("annotators", [])
    return [
        f"{each['annotator']}: about {common.percent(each['accuracy'])} of {each['labels']:,} labels "
        "are right."
        for each in people
    ]


def _annotators_in_words(facts: dict[str, Any]) -> dict[str, str]:
    words = {
        f"labels of {each['annotator']}": f"{each['labels']:,}, about "
        f"{common.percent(each['accuracy'])} right"
        for each in facts.get("annotators", [])
    }
    for pair in facts.get("annotator_agreement", [])[:1]:
        words["disagree most"] = (
            f"{pair['first']} and {pair['second']}, who agree on {common.percent(pair['agreement'])} "
            f"of {pair['rows']:,} rows"
        )
    return words


def _plan(facts: dict[str, Any]) -> dict[str, str]:
    if facts["target"] is None:
        return {}
    until = f"until at most {common.percent(facts['target'])} are wrong"
    last = facts["review_plan"][-1]
    if not facts["can_tell"]:
        return {until: "this table cannot tell how many rows to review"}
    return {
        until: (
            f"review {last['rows']:,} rows, of which about {last['found']:,.0f} are wrong; about "
            f"{last['left']:,.0f} wrong labels are left (likely between {last['left_low']:,.0f} and "
            f"{last['left_high']:,.0f})"
        )
    }


def _findings(facts: dict[str, Any]) -> dict[str, str]:
    rate, low, high = map(common.percent, (facts["noise_rate"], *facts["noise_rate_interval"]))
    n_open = facts["n_issues"] - facts["decided_wrong"]
    in_all = f"{rate} (likely between {low} and {high})"
    if facts["decided"]:
        words = {"others that look wrong": f"{n_open:,}; with those decided, {in_all}"}
    else:
        words = {"labels that look wrong": f"{n_open:,}, {in_all}"}
    for line in facts["trade_off"]:
        if line["rows"] in (n_open, 2 * n_open):
            words[f"if you review {line['rows']:,}"] = (
                f"you find about {line['found']:,.0f} wrong labels, {common.percent(line['share'])}"
            )
    return words
