"""``hardwood demo``: the whole story, on mushrooms some of whose labels are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit
from hardwood.commands._common import (
    check_output,
    console,
    ending_on_wrong_input,
    percent,
    print_path,
    progress,
)
from hardwood.commands._demo_trees import show_trees
from hardwood.commands._mushrooms import LABEL, mushrooms
from hardwood.tables import TableEncoder, write_table


def demo(
    output: Annotated[Path, typer.Option(help="Where to save the figure.")] = Path(
        "hardwood-demo.png"
    ),
    report: Annotated[Path, typer.Option(help="Where to write the audit's report.")] = Path(
        "audit-demo.html"
    ),
    table: Annotated[
        Path | None,
        typer.Option(help="Where to write the table with the wrong labels, to try other commands."),
    ] = None,
    noise_rate: Annotated[
        float,
        typer.Option("--noise", min=0, max=0.5, help="Share of training labels to flip."),
    ] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise and of the trees.")] = 0,
) -> None:
    """Flip labels of mushrooms; see who is fooled, and find the wrong ones.

    Trees and forests learn from labels of which a share is wrong, and are tested on right ones. Then
    an audit finds the wrong labels, and writes its report.
    """
    with ending_on_wrong_input():
        for path in (output, report, *([] if table is None else [table])):
            check_output(path)
        show_trees(noise_rate, seed, output)
        try:
            _show_audit(noise_rate, seed, report, table)
        except ImportError as error:
            console.print(f"No audit: {error}", markup=False, soft_wrap=True)


def _show_audit(noise_rate: float, seed: int, report: Path, table: Path | None) -> None:
    data = mushrooms(noise_rate, seed)
    if table is not None:
        write_table(data.train.assign(**{LABEL: data.labels}), table)
        print_path("Table", table)
    encoder = TableEncoder().fit(data.train)
    X, X_test = encoder.transform(data.train), encoder.transform(data.test)
    forests = {
        "plain, by Gini": RobustForestClassifier(criterion="gini", n_jobs=-1, random_state=seed),
        "adaptive": AdaptiveForestClassifier(oob_score=True, n_jobs=-1, random_state=seed),
    }
    with progress() as step:
        for name, forest in forests.items():
            step(f"Growing a forest: {name}")
            forest.fit(X, data.labels)
        console.print(_outcomes(forests, X_test, data.test_labels))
        step("Looking for wrong labels")
        audit = LabelAudit(forests["adaptive"], n_jobs=-1, random_state=seed).fit(X, data.labels)
        console.print(_found(audit, data.is_wrong))
        step(f"Writing {report.name}")
        values = data.train[encoder.get_feature_names_out()]
        audit.report(report, title="Labels of mushrooms", values=values)
    print_path("Report", report)


def _outcomes(forests: Mapping[str, Any], X: Any, labels: Any) -> Table:
    table = Table(title="As a table of letters, 5% missing")
    table.add_column("forest of 100 trees")
    table.add_column("test accuracy", justify="right")
    for name, forest in forests.items():
        table.add_row(name, f"{forest.score(X, labels):.1%}")
    return table


def _found(audit: Any, is_wrong: Any) -> str:
    suspect = audit.issues_["is_issue"].to_numpy()
    both = int(np.sum(suspect & is_wrong))
    low, high = audit.noise_rate_interval_
    return (
        f"The audit holds {percent(audit.noise_rate_)} of the labels for wrong (between "
        f"{percent(low)} and {percent(high)}); {percent(is_wrong.mean())} are. It suspects "
        f"{suspect.sum():,} rows, of which {both:,} have the wrong label, as have "
        f"{is_wrong.sum():,} in all."
    )
