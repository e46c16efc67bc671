"""``hardwood demo``: the whole story, on mushrooms with some wrong labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit
from hardwood.commands import _common as common
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
        typer.Option(help="Where to write the noisy table, to try the other commands on."),
    ] = None,
    noise_rate: Annotated[
        float,
        typer.Option("--noise", min=0, max=0.5, help="Share of training labels to flip."),
    ] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise and the trees.")] = 0,
) -> None:
    """See how models cope with wrong labels, and how an audit finds these labels.

    Trees and forests learn from noisy labels and are tested on correct ones. An audit then finds the
    wrong labels and writes a report.
    """
    with common.reported_errors():
        common.check_different(output, report, table)
        for what, path in (("The figure", output), ("The report", report), ("The table", table)):
            if path is not None:
                common.check_not_standard(path, what)
                common.check_output(path)
        show_trees(noise_rate, seed, output)
        try:
            _show_audit(noise_rate, seed, report, table)
        except ImportError as error:
            common.console.print(f"No audit: {error}", markup=False, soft_wrap=True)


def _show_audit(noise_rate: float, seed: int, report: Path, table: Path | None) -> None:
    data = mushrooms(noise_rate, seed)
    if table is not None:
        write_table(data.train.assign(**{LABEL: data.labels}), table)
        common.print_path("Table", table)
    encoder = TableEncoder().fit(data.train)
    X, X_test = encoder.transform(data.train), encoder.transform(data.test)
    forests = {
        "ordinary, Gini": RobustForestClassifier(criterion="gini", n_jobs=-1, random_state=seed),
        "adaptive": AdaptiveForestClassifier(oob_score=True, n_jobs=-1, random_state=seed),
    }
    outcomes = Table(title="The same as text, 5% missing")
    outcomes.add_column("forest")
    outcomes.add_column("test accuracy", justify="right")
    with common.progress() as step:
        for name, forest in forests.items():
            step(f"Growing a forest: {name}")
            accuracy = forest.fit(X, data.labels).score(X_test, data.test_labels)
            outcomes.add_row(name, f"{accuracy:.1%}")
        common.console.print(outcomes)
        step("Looking for wrong labels")
        audit = LabelAudit(forests["adaptive"], n_jobs=-1, random_state=seed).fit(X, data.labels)
        common.console.print(_found(audit, data.is_wrong))
        step(f"Writing {report.name}")
        values = data.train[encoder.get_feature_names_out()]
        audit.report(report, title="Labels of mushrooms", values=values)
    common.print_path("Report", report)


def _found(audit: LabelAudit, is_wrong: Any) -> str:
    suspect = audit.issues_["is_issue"].to_numpy()
    low, high = map(common.percent, audit.noise_rate_interval_)
    return (
        f"The audit estimates that {common.percent(audit.noise_rate_)} of the labels are wrong (likely "
        f"between {low} and {high}). In fact, {common.percent(is_wrong.mean())} are. It marks "
        f"{suspect.sum():,} rows and finds {np.sum(suspect & is_wrong):,} of the "
        f"{is_wrong.sum():,} wrong labels."
    )
