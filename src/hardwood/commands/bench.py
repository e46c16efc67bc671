"""``hardwood bench``: forests beside those of other libraries."""

from __future__ import annotations

import typer


def bench(context: typer.Context) -> None:
    """Compare forests with those of other libraries: time, accuracy, memory and size."""
    from hardwood.benchmark.command import main

    main(context.args)
