"""The paper's tables with our results, as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from lab import tables
from lab.data import title
from lab.paper.compare import Accuracy, Cell
from lab.paper.protocols import OTHERS
from lab.paper.spec import Spec

__all__ = ["FORMATS", "as_csv", "as_latex", "as_markdown", "noise_title", "table_title", "write"]

_MODELS = {"dt": "Decision tree", "rf": "Random forest", "et": "Extremely randomised trees"}
_NOISE = {"cc1": "CC (0.1, 0.3)", "cc2": "CC (0.2, 0.4)", "cc": "CC"}
_INSIDE, _HIGHER, _LOWER = "✓", "▲", "▼"

LEGEND = (
    "Each cell shows the paper's accuracy (%) above ours: the mean ± two standard deviations over "
    "seeds, without ± if there is only one seed. Bold is the paper's. "
    f"{_INSIDE} marks an accuracy of ours inside the paper's mean ± (2 sd + 0.5), {_HIGHER} and "
    f"{_LOWER} one above and below it. A letter marks another protocol: "
    + "; ".join(f"{protocol.mark}, {protocol.title}" for protocol in OTHERS)
    + ". CC is class-conditional noise. Our accuracy stands alone where the training rows are not "
    "the paper's."
)


def table_title(model: str, task: str) -> str:
    """Return the title of a table.

    Examples
    --------
    >>> from lab.paper.tables import table_title
    >>> table_title("rf", "multiclass")
    'Random forest, multiclass'
    """
    return f"{_MODELS[model]}, {task}"


def noise_title(noise: str) -> str:
    """Return the heading of a column.

    Examples
    --------
    >>> from lab.paper.tables import noise_title
    >>> noise_title("cc1")
    'CC (0.1, 0.3)'
    """
    return _NOISE.get(noise, noise)


def as_markdown(cells: Iterable[Cell]) -> str:
    """Write one table for each model and task."""
    parts = []
    for name, noises, rows in _tables(cells):
        table = tables.as_markdown(
            ["data set", "criterion", *map(noise_title, noises)],
            [[title(key[0]), key[1], *map(_markdown_cell, row)] for key, row in rows],
            n_text_columns=2,
        )
        parts.append(f"### {name}\n\n{table}\n")
    return "\n".join(parts)


def as_latex(cells: Iterable[Cell]) -> str:
    """Write one table for each model and task, with a row for the paper and one for us."""
    parts = []
    for name, noises, rows in _tables(cells):
        lines: list[Sequence[str] | None] = []
        previous = ""
        for (dataset, criterion), row in rows:
            if is_new := dataset != previous:
                lines.append(None)
            heading = _latex_text(title(dataset)) if is_new else ""
            lines.append([heading, _latex_text(criterion), "paper", *map(_latex_paper, row)])
            lines.append(["", "", "ours", *map(_latex_ours, row)])
            previous = dataset
        columns = ["Data set", "Criterion", "", *(_latex_text(noise_title(n)) for n in noises)]
        caption = (
            rf"{name}: test accuracy (\%), mean $\pm$ 2 standard deviations, the paper's and ours. "
            r"Arrows mark cells where ours is outside the paper's mean $\pm$ (2 sd + 0.5)."
        )
        parts.append(tables.as_latex(columns, lines, 3, caption) + "\n")
    return "\n".join(parts)


def as_csv(cells: Iterable[Cell]) -> str:
    """Write one line for each cell."""
    columns = [
        *("model", "task", "dataset", "criterion", "noise"),
        *("paper", "paper_two_sd", "paper_bold", "ours", "ours_two_sd", "seeds"),
        *("difference", "differs", "agrees"),
        *(protocol.spec for protocol in OTHERS),
    ]
    rows = []
    for cell in cells:
        run, paper, ours, difference = cell.run, cell.paper, cell.ours, cell.difference
        compared: tuple[object, ...] = ("", "", "")
        if difference is not None:
            compared = f"{difference:.2f}", int(cell.differs), int(cell.agrees)
        rows.append(
            [
                *(run.model, run.task, run.dataset, run.criterion, run.noise),
                *((paper.mean, paper.two_sd, int(cell.bold)) if paper else ("", "", "")),
                *((f"{ours.mean:.2f}", f"{ours.two_sd:.2f}", ours.n) if ours else ("", "", 0)),
                *compared,
                *(_mean(cell.others.get(protocol.spec)) for protocol in OTHERS),
            ]
        )
    return tables.as_csv(columns, rows)


FORMATS: dict[str, Callable[[Iterable[Cell]], str]] = {
    ".md": as_markdown,
    ".tex": as_latex,
    ".csv": as_csv,
}
"""The writer for each suffix."""


def write(folder: Path, spec: Spec, cells: Sequence[Cell]) -> list[Path]:
    """Write the tables of a spec in every format, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, render in FORMATS.items():
        text = render(cells)
        if suffix == ".md":
            text = f"# {spec.title}\n\n{LEGEND}\n\n{text}"
        path = folder / f"{spec.name}-tables{suffix}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


Row = tuple[tuple[str, str], list[Cell | None]]


def _tables(cells: Iterable[Cell]) -> Iterator[tuple[str, list[str], list[Row]]]:
    """Yield title, noises and rows of each table, without data sets that have no result of ours."""
    cells = list(cells)
    with_results = {_part(cell) for cell in cells if cell.ours is not None}
    cells = [cell for cell in cells if _part(cell) in with_results]
    for (model, task), group in groupby(cells, key=lambda cell: (cell.run.model, cell.run.task)):
        table = list(group)
        noises = list(dict.fromkeys(cell.run.noise for cell in table))
        rows = []
        for key, row in groupby(table, key=lambda cell: (cell.run.dataset, cell.run.criterion)):
            by_noise = {cell.run.noise: cell for cell in row}
            rows.append((key, [by_noise.get(noise) for noise in noises]))
        yield table_title(model, task), noises, rows


def _part(cell: Cell) -> tuple[str, str, str]:
    return cell.run.model, cell.run.task, cell.run.dataset


def _text(accuracy: Accuracy) -> str:
    return f"{accuracy.mean:.2f}" + (f" ± {accuracy.two_sd:.2f}" if accuracy.n > 1 else "")


def _mean(accuracy: Accuracy | None) -> str:
    return f"{accuracy.mean:.2f}" if accuracy else ""


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.paper is None:
        return _text(cell.ours) if cell.ours else tables.MISSING
    paper = _text(cell.paper)
    lines = [f"**{paper}**" if cell.bold else paper]
    lines.append(f"{_text(cell.ours)} {_mark(cell, cell.ours)}" if cell.ours else tables.MISSING)
    for protocol in OTHERS:
        if (accuracy := cell.others.get(protocol.spec)) is not None:
            lines.append(f"{protocol.mark} {_text(accuracy)} {_mark(cell, accuracy)}")
    return "<br>".join(lines)


def _mark(
    cell: Cell, accuracy: Accuracy, marks: tuple[str, str, str] = (_INSIDE, _HIGHER, _LOWER)
) -> str:
    inside, higher, lower = marks
    if cell.paper is None or cell.is_inside(accuracy):
        return inside
    return higher if accuracy.mean > cell.paper.mean else lower


def _latex_text(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%")


def _latex_number(accuracy: Accuracy) -> str:
    return _text(accuracy).replace("±", r"\pm")


def _latex_paper(cell: Cell | None) -> str:
    if cell is None or cell.paper is None:
        return "--"
    number = _latex_number(cell.paper)
    return rf"$\mathbf{{{number}}}$" if cell.bold else f"${number}$"


def _latex_ours(cell: Cell | None) -> str:
    if cell is None or cell.ours is None:
        return "--"
    arrow = _mark(cell, cell.ours, ("", r"\uparrow", r"\downarrow"))
    return f"${_latex_number(cell.ours)}{arrow}$"
