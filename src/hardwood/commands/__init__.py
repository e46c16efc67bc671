"""The commands of ``hardwood``, one in each file: thin layers over the library."""

from __future__ import annotations

import typer

from hardwood.commands.apply import apply
from hardwood.commands.audit import audit
from hardwood.commands.demo import demo
from hardwood.commands.info import info
from hardwood.commands.predict import predict
from hardwood.commands.train import train

__all__ = ["app"]

app = typer.Typer(
    help="Decision trees and forests that stay accurate when training labels are wrong.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

app.command(epilog="Example: hardwood demo --noise 0.3")(demo)
app.command(epilog="Example: hardwood train patients.csv --label diagnosis -o model.hw")(train)
app.command(epilog="Example: hardwood predict model.hw new.csv -o predictions.csv --proba")(predict)
app.command(
    epilog="Example: hardwood audit patients.csv --label diagnosis --report audit.html "
    "--issues issues.csv"
)(audit)
app.command(
    epilog="Example: hardwood apply patients.csv --label diagnosis --decisions decisions.csv "
    "-o fixed.csv"
)(apply)
app.command(epilog="Example: hardwood info --json")(info)
