"""The paper's tables beside ours, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from lab.paper.compare import Accuracy, Cell, title
from lab.paper.spec import Spec

__all__ = ["FORMATS", "as_csv", "as_latex", "as_markdown", "noise_title", "table_title", "write"]

_MODELS = {"dt": "Decision tree", "rf": "Random forest", "et": "Extremely randomised trees"}
_NOISE = {"cc1": "CC (0.1, 0.3)", "cc2": "CC (0.2, 0.4)", "cc": "CC"}
_HIGHER, _LOWER = "▲", "▼"

LEGEND = (
    "In each cell the paper's accuracy (%) above, bold where the paper's is, and ours below: mean ± "
    f"two standard deviations over seeds, without ± where there is one seed. {_HIGHER} and {_LOWER}: "
    "ours is higher or lower by more than both bands together. CC: class-conditional noise. Ours stands "
    "alone where the training rows are not the paper's."
)


def table_title(model: str, task: str) -> str:
    """Return the heading of a table.

    Parameters
    ----------
    model, task : str
        As in a spec.

    Returns
    -------
    str
        For example "Decision tree, binary".

    Examples
    --------
    >>> from lab.paper.tables import table_title
    >>> table_title("rf", "multiclass")
    'Random forest, multiclass'
    """
    return f"{_MODELS[model]}, {task}"


def noise_title(noise: str) -> str:
    """Return what a column is headed by.

    Parameters
    ----------
    noise : str
        As in a spec.

    Returns
    -------
    str
        For example "0.3" or "CC (0.1, 0.3)".

    Examples
    --------
    >>> from lab.paper.tables import noise_title
    >>> noise_title("cc1")
    'CC (0.1, 0.3)'
    """
    return _NOISE.get(noise, noise)


def as_markdown(cells: Iterable[Cell]) -> str:
    """Write a table per model and task.

    Parameters
    ----------
    cells : iterable of Cell
        Of `lab.paper.compare.compare`.

    Returns
    -------
    str
        Markdown.
    """
    parts = []
    for (model, task), table in _tables(cells):
        columns = _columns(table)
        lines = [
            f"### {table_title(model, task)}",
            "",
            f"| data set | criterion | {' | '.join(map(noise_title, columns))} |",
            f"| --- | --- |{' ---: |' * len(columns)}",
        ]
        for (dataset, criterion), row in _rows(table):
            by_noise = {cell.run.noise: cell for cell in row}
            texts = [_markdown_cell(by_noise.get(noise)) for noise in columns]
            lines.append(f"| {title(dataset)} | {criterion} | {' | '.join(texts)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n" if parts else ""


def as_latex(cells: Iterable[Cell]) -> str:
    r"""Write a table per model and task, for a document that uses booktabs.

    Parameters
    ----------
    cells : iterable of Cell
        Of `lab.paper.compare.compare`.

    Returns
    -------
    str
        LaTeX: a ``table*`` environment each.
    """
    parts = []
    for (model, task), table in _tables(cells):
        columns = _columns(table)
        heading = " & ".join(_latex_text(noise_title(noise)) for noise in columns)
        lines = [
            r"\begin{table*}",
            r"\centering\scriptsize",
            rf"\begin{{tabular}}{{lll{'c' * len(columns)}}}",
            r"\toprule",
            rf"Dataset & Criterion & & {heading} \\",
        ]
        previous = None
        for (dataset, criterion), row in _rows(table):
            by_noise = {cell.run.noise: cell for cell in row}
            if dataset != previous:
                lines.append(r"\midrule")
            name = _latex_text(title(dataset)) if dataset != previous else ""
            previous = dataset
            cells_in_order = [by_noise.get(noise) for noise in columns]
            paper = " & ".join(map(_latex_paper, cells_in_order))
            ours = " & ".join(map(_latex_ours, cells_in_order))
            lines.append(rf"{name} & {_latex_text(criterion)} & paper & {paper} \\")
            lines.append(rf" & & ours & {ours} \\")
        lines += [
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{table_title(model, task)}: test accuracy (\%), mean $\pm$ 2 standard "
            r"deviations, the paper's and ours. Arrows: ours is higher or lower by more than both "
            r"bands together.}",
            r"\end{table*}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n" if parts else ""


def as_csv(cells: Iterable[Cell]) -> str:
    """Write a line per cell.

    Parameters
    ----------
    cells : iterable of Cell
        Of `lab.paper.compare.compare`.

    Returns
    -------
    str
        CSV.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        [
            *("model", "task", "dataset", "criterion", "noise"),
            *("paper", "paper_two_sd", "paper_bold", "ours", "ours_two_sd", "seeds"),
            *("difference", "differs", "agrees"),
        ]
    )
    for cell in cells:
        run, paper, ours = cell.run, cell.paper, cell.ours
        compared = cell.difference is not None
        writer.writerow(
            [
                *(run.model, run.task, run.dataset, run.criterion, run.noise),
                *((paper.mean, paper.two_sd, int(cell.bold)) if paper else ("", "", "")),
                *((f"{ours.mean:.2f}", f"{ours.two_sd:.2f}", ours.n) if ours else ("", "", 0)),
                f"{cell.difference:.2f}" if cell.difference is not None else "",
                int(cell.differs) if compared else "",
                int(cell.agrees) if compared else "",
            ]
        )
    return file.getvalue()


FORMATS: dict[str, tuple[str, Callable[[Iterable[Cell]], str]]] = {
    "markdown": (".md", as_markdown),
    "latex": (".tex", as_latex),
    "csv": (".csv", as_csv),
}
"""Suffix and writer of each format."""


def write(folder: Path, spec: Spec, cells: Sequence[Cell]) -> list[Path]:
    """Write the tables in every format.

    Parameters
    ----------
    folder : Path
        Where to; made if it is not there.
    spec : Spec
        Whose title and name the files take.
    cells : sequence of Cell
        Of `lab.paper.compare.compare`.

    Returns
    -------
    list of Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (suffix, render) in FORMATS.items():
        text = render(cells)
        if name == "markdown":
            text = f"# {spec.title}\n\n{LEGEND}\n\n{text}"
        path = folder / f"{spec.name}-tables{suffix}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _tables(cells: Iterable[Cell]) -> Iterable[tuple[tuple[str, str], list[Cell]]]:
    """Group cells by model and task, leaving out data sets without any result of ours."""
    cells = list(cells)
    with_results = {_part(cell) for cell in cells if cell.ours is not None}
    cells = [cell for cell in cells if _part(cell) in with_results]
    for key, group in groupby(cells, key=lambda cell: (cell.run.model, cell.run.task)):
        yield key, list(group)


def _part(cell: Cell) -> tuple[str, str, str]:
    return cell.run.model, cell.run.task, cell.run.dataset


def _rows(table: Sequence[Cell]) -> Iterable[tuple[tuple[str, str], Iterable[Cell]]]:
    return groupby(table, key=lambda cell: (cell.run.dataset, cell.run.criterion))


def _columns(table: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.run.noise for cell in table))


def _text(accuracy: Accuracy) -> str:
    return f"{accuracy.mean:.2f}" + (f" ± {accuracy.two_sd:.2f}" if accuracy.n > 1 else "")


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = _text(cell.ours) if cell.ours else "–"
    if cell.paper is None:
        return ours
    if cell.differs:
        ours += f" {_arrow(cell, _HIGHER, _LOWER)}"
    paper = _text(cell.paper)
    return f"{f'**{paper}**' if cell.bold else paper}<br>{ours}"


def _arrow(cell: Cell, higher: str, lower: str) -> str:
    return higher if (cell.difference or 0) > 0 else lower


def _latex_text(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%")


def _latex_number(accuracy: Accuracy | None) -> str:
    return "--" if accuracy is None else _text(accuracy).replace("±", r"\pm")


def _latex_paper(cell: Cell | None) -> str:
    if cell is None or cell.paper is None:
        return "--"
    number = _latex_number(cell.paper)
    return rf"$\mathbf{{{number}}}$" if cell.bold else f"${number}$"


def _latex_ours(cell: Cell | None) -> str:
    if cell is None or cell.ours is None:
        return "--"
    arrow = _arrow(cell, r"\uparrow", r"\downarrow") if cell.differs else ""
    return f"${_latex_number(cell.ours)}{arrow}$"
