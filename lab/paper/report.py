"""The page that compares our results with the paper's: text by hand, figures from a store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab import tables
from lab.data import title
from lab.paper.compare import NOT_COMPARABLE, OTHER_FEATURES, Cell, agreement
from lab.paper.protocols import OTHERS, compare_protocols
from lab.paper.reasons import reason_for
from lab.paper.spec import Spec, load_spec, packaged_specs
from lab.paper.squares import draw_squares, kind_of
from lab.paper.tables import LEGEND, as_markdown, noise_title, table_title
from lab.store import Result, Store

__all__ = ["write"]

_SKELETON = Path(__file__).with_name("report.md")


def write(page: Path, store: Store) -> list[Path]:
    """Write a page, or refresh its generated parts.

    Generated parts are between ``<!-- generated: name -->`` and ``<!-- end -->``. Everything else
    stays as it is. Figures and the results as CSV go into a folder next to the page, with the same
    name.

    Parameters
    ----------
    page : Path
        The page. If it does not exist, it is started from a template.
    store : Store
        The results.

    Returns
    -------
    list of Path
        The files written.
    """
    from lab.paper.figures import draw

    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    store.export_csv(folder / "results.csv")
    results = store.results()
    spec = load_spec("paper")
    cells = compare_protocols(spec, results)
    images = {
        image: chosen.title
        for chosen in map(load_spec, packaged_specs())
        for image in draw(folder, chosen, results, suffixes=[".png"])
    }
    squares = draw_squares(folder / "squares.png", cells)
    parts = {
        "squares": _squares(cells, f"{folder.name}/{squares.name}"),
        "run": _what_was_run(spec, results),
        "agreement": _agreement_table(spec, cells),
        "outside": _outside(cells),
        "figures": "\n\n".join(
            f"![{words}: {image.stem}]({folder.name}/{image.name})"
            for image, words in images.items()
        ),
        "tables": f"{LEGEND}\n\n{as_markdown(cells)}",
    }
    text = (page if page.exists() else _SKELETON).read_text(encoding="utf-8")
    for name, part in parts.items():
        text = _refreshed(text, name, part)
    page.write_text(text, encoding="utf-8")
    return [page, folder / "results.csv", squares, *images]


def _refreshed(text: str, name: str, part: str) -> str:
    mark = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    return mark.sub(lambda match: f"{match[1]}\n{part.strip()}\n\n{match[2]}", text)


def _squares(cells: Sequence[Cell], image: str) -> str:
    counts = Counter(map(kind_of, cells))
    by_others = sum(counts[protocol.spec] for protocol in OTHERS)
    compared = counts["plain"] + by_others + counts["outside"]
    if not compared:
        return "No cell to compare yet."
    return (
        f"![Every cell of the four tables as a square, coloured by whether ours is inside the paper's "
        f"band]({image})\n\n"
        f"**{counts['plain']:,} of {compared:,} comparable cells ({counts['plain'] / compared:.0%}) are "
        f"inside the paper's band by the plain protocol**, {by_others:,} more by another protocol, and "
        f"{counts['outside']:,} are outside by all that we tried."
    )


def _what_was_run(spec: Spec, results: Iterable[Result]) -> str:
    cells = set(spec.cells())
    ours = [result for result in results if result.run.cell in cells]
    if not ours:
        return "No results yet."
    hours = sum(result.measured["seconds"] for result in ours) / 3600
    versions = "; ".join(sorted({result.versions for result in ours}))
    rows = []
    for dataset in spec.sources:
        of_dataset = [result for result in ours if result.run.dataset == dataset]
        if not of_dataset:
            continue
        seeds = sorted({result.run.seed for result in of_dataset})
        n_cells = len({result.run.cell for result in of_dataset})
        rows.append(
            [
                title(dataset),
                f"{max(result.measured['n_train'] for result in of_dataset):,}",
                f"{n_cells:,} of {sum(cell.dataset == dataset for cell in cells):,}",
                f"{len(of_dataset):,}",
                str(len(seeds)),
            ]
        )
    columns = ["data set", "training rows", "cells run", "runs", "maximum number of seeds"]
    return (
        f"{len(ours):,} runs, {hours:.1f} hours of training.\n\n"
        f"{tables.as_markdown(columns, rows)}\n\nVersions: {versions}."
    )


def _agreement_table(spec: Spec, cells: Sequence[Cell]) -> str:
    comparable = [cell for cell in cells if cell.run.criterion not in NOT_COMPARABLE]
    rows = []
    for dataset in spec.sources:
        of_dataset = [cell for cell in comparable if cell.run.dataset == dataset]
        if not any(cell.ours for cell in of_dataset):
            continue
        shares = [
            _share(cell for cell in of_dataset if (cell.run.model, cell.run.task) == key)
            for key in _columns_of(spec).values()
        ]
        note = OTHER_FEATURES.get(dataset)
        if all(cell.paper is None for cell in of_dataset):
            note = "different rows from the paper's, not comparable"
        name = title(dataset) + (f" ({note})" if note else "")
        rows.append([name, *shares, _share(of_dataset)])
    return tables.as_markdown(["data set", *_columns_of(spec), "all"], rows)


def _columns_of(spec: Spec) -> dict[str, tuple[str, str]]:
    return {table_title(model, task): (model, task) for model in spec.models for task in spec.tasks}


def _share(cells: Iterable[Cell]) -> str:
    agreeing, compared = agreement(cells)
    return f"{agreeing} of {compared} ({agreeing / compared:.0%})" if compared else tables.MISSING


def _outside(cells: Sequence[Cell]) -> str:
    """List the cells that do not agree although the data are the paper's."""
    outside = [
        cell
        for cell in cells
        if cell.difference is not None
        and not cell.agrees
        and cell.run.dataset not in OTHER_FEATURES
        and cell.run.criterion not in NOT_COMPARABLE
    ]
    if not outside:
        return "None."
    rows = []
    for cell in outside:
        run, paper, ours = cell.run, cell.paper, cell.ours
        assert paper is not None
        assert ours is not None
        rows.append(
            [
                *(title(run.dataset), run.task, run.model, run.criterion, noise_title(run.noise)),
                f"{paper.mean:.2f} ± {paper.two_sd:.2f}",
                f"{ours.mean:.2f}",
                f"{cell.difference:+.2f}",
                reason_for(cell),
            ]
        )
    columns = ["data set", "task", "model", "criterion", "noise", "paper", "ours", "difference"]
    return tables.as_markdown([*columns, "reason"], rows, n_text_columns=5)
