"""The page on how our results compare with the paper's: text by hand, figures from the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.paper.compare import NOT_COMPARABLE, Cell, agreement, compare, title
from lab.paper.spec import Spec, load_spec, packaged_specs
from lab.paper.store import Result, Store
from lab.paper.tables import LEGEND, as_markdown, noise_title, table_title

__all__ = ["write"]

_SKELETON = Path(__file__).with_name("report.md")
_OTHER_FEATURES = {"20news": "other word vectors than the paper's"}


def write(page: Path, store: Store) -> list[Path]:
    """Write a page and what it shows, or refresh the generated parts of one.

    Generated parts stand between ``<!-- generated: name -->`` and ``<!-- end -->``; what is outside
    of them stays as it is. Figures and the results as CSV go into a folder beside the page that has
    its name.

    Parameters
    ----------
    page : Path
        The page. If it is not there, it starts from a skeleton.
    store : Store
        Where the results are.

    Returns
    -------
    list of Path
        What was written.
    """
    from lab.paper.figures import draw

    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    store.export_csv(folder / "results.csv")
    results = store.results()
    spec = load_spec("paper")
    cells = compare(spec, results)
    images = {
        image: chosen.title
        for chosen in map(load_spec, packaged_specs())
        for image in draw(folder, chosen, results, suffixes=[".png"])
    }
    parts = {
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
    return [page, folder / "results.csv", *images]


def _refreshed(text: str, name: str, part: str) -> str:
    mark = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    return mark.sub(lambda match: f"{match[1]}\n{part.strip()}\n\n{match[2]}", text)


def _what_was_run(spec: Spec, results: Iterable[Result]) -> str:
    cells = set(spec.cells())
    ours = [result for result in results if result.run.cell in cells]
    if not ours:
        return "Nothing yet."
    hours = sum(result.outcome.seconds for result in ours) / 3600
    versions = "; ".join(sorted({result.versions for result in ours}))
    rows = []
    for dataset in spec.sources:
        of_dataset = [result for result in ours if result.run.dataset == dataset]
        if not of_dataset:
            continue
        seeds = sorted({result.run.seed for result in of_dataset})
        rows.append(
            f"| {title(dataset)} | {max(result.outcome.n_train for result in of_dataset):,} | "
            f"{len({result.run.cell for result in of_dataset}):,} of "
            f"{sum(cell.dataset == dataset for cell in cells):,} | {len(of_dataset):,} | "
            f"{len(seeds)} |"
        )
    heading = "| data set | training rows | cells run | runs | seeds, at most |"
    table = "\n".join([heading, "| --- |" + " ---: |" * 4, *rows])
    return f"{len(ours):,} runs, {hours:.1f} hours of training.\n\n{table}\n\nMade with {versions}."


def _agreement_table(spec: Spec, cells: Sequence[Cell]) -> str:
    comparable = [cell for cell in cells if cell.run.criterion not in NOT_COMPARABLE]
    lines = [
        "| data set | " + " | ".join(_columns_of(spec)) + " | all |",
        "| --- |" + " ---: |" * (len(_columns_of(spec)) + 1),
    ]
    for dataset in spec.sources:
        of_dataset = [cell for cell in comparable if cell.run.dataset == dataset]
        if not any(cell.ours for cell in of_dataset):
            continue
        shares = [
            _share(cell for cell in of_dataset if (cell.run.model, cell.run.task) == key)
            for key in _columns_of(spec).values()
        ]
        note = _OTHER_FEATURES.get(dataset)
        if all(cell.paper is None for cell in of_dataset):
            note = "other rows than the paper's, not comparable"
        name = title(dataset) + (f" ({note})" if note else "")
        lines.append(f"| {name} | {' | '.join(shares)} | {_share(of_dataset)} |")
    return "\n".join(lines)


def _columns_of(spec: Spec) -> dict[str, tuple[str, str]]:
    return {table_title(model, task): (model, task) for model in spec.models for task in spec.tasks}


def _share(cells: Iterable[Cell]) -> str:
    agreeing, compared = agreement(cells)
    return f"{agreeing} of {compared} ({agreeing / compared:.0%})" if compared else "–"


def _outside(cells: Sequence[Cell]) -> str:
    """List the cells that do not agree, on data that is the paper's."""
    outside = [
        cell
        for cell in cells
        if cell.difference is not None
        and not cell.agrees
        and cell.run.dataset not in _OTHER_FEATURES
        and cell.run.criterion not in NOT_COMPARABLE
    ]
    if not outside:
        return "None."
    lines = [
        "| data set | task | model | criterion | noise | paper | ours | difference |",
        "| --- | --- | --- | --- | --- | ---: | ---: | ---: |",
    ]
    for cell in outside:
        run, paper, ours = cell.run, cell.paper, cell.ours
        assert paper is not None
        assert ours is not None
        assert cell.difference is not None
        lines.append(
            f"| {title(run.dataset)} | {run.task} | {run.model} | {run.criterion} | "
            f"{noise_title(run.noise)} | {paper.mean:.2f} ± {paper.two_sd:.2f} | {ours.mean:.2f} | "
            f"{cell.difference:+.2f} |"
        )
    return "\n".join(lines)
