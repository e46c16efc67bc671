"""Figures: accuracy against noise, and against the parameter that a spec varies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lab.data import title
from lab.figures import GREEN, MUTED, legend, plain
from lab.paper.compare import Accuracy, Cell, compare
from lab.paper.spec import Spec
from lab.paper.tables import table_title
from lab.store import Result, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "draw_theory"]

# Green for the criteria that stop early, grey for twoing, whose tables cannot be reproduced.
_COLORS = {
    "ANE": GREEN,
    "CL": "#4fae62",
    "Twoing": "#a8a29e",
    "Credal": "#7c3aed",
    "GCE": "#ea9a1e",
    "MSE": "#1d4ed8",
    "CE": "#14b8d4",
    "Ranking": "#d6336c",
}
_OTHER_COLORS = ("#0f766e", "#a16207", "#4338ca", "#9f1239", "#57534e", "#65a30d")
_NOISE_TICKS = {"cc1": "CC1", "cc2": "CC2", "cc": "CC"}
_PAPER_STYLE: dict[str, Any] = {
    **{"marker": "o", "markersize": 5.5, "mfc": "none", "mew": 0.9, "alpha": 0.8, "zorder": 4}
}
_PARAMETERS = {"lam": "λ", "q": "q", "min_samples_leaf": "minimum rows in a leaf"}


def draw(
    folder: Path, spec: Spec, results: Iterable[Result], suffixes: Sequence[str] = (".png", ".svg")
) -> list[Path]:
    """Draw the results of a spec: a figure per model and task, or one for a varied parameter.

    Parameters
    ----------
    folder : Path
        The folder to write to; created if necessary.
    spec : Spec
        The spec.
    results : iterable of Result
        Results of this spec and possibly others.
    suffixes : sequence of str, default=(".png", ".svg")
        The image formats.

    Returns
    -------
    list of Path
        The images; none if there are no results.
    """
    results = list(results)
    if spec.swept:
        drawn = _parameter_figure(spec, results)
        figures = {spec.name: drawn} if drawn is not None else {}
    else:
        figures = {}
        for (model, task), group in groupby(
            compare(spec, results), key=lambda cell: (cell.run.model, cell.run.task)
        ):
            cells = list(group)
            if any(cell.ours for cell in cells):
                figures[f"{spec.name}-{model}-{task}"] = _noise_figure(spec, cells)
    return _saved(folder, figures, suffixes)


def draw_theory(folder: Path, suffixes: Sequence[str] = (".png", ".svg")) -> list[Path]:
    """Draw the paper's figures that need no experiment: Figure 1 and Figure 8.

    Parameters
    ----------
    folder : Path
        The folder to write to; created if necessary.
    suffixes : sequence of str, default=(".png", ".svg")
        The image formats.

    Returns
    -------
    list of Path
        The images.
    """
    from matplotlib.figure import Figure

    from hardwood import plotting

    figures = {}
    for name, drawn in (("figure-1", plotting.figure_1), ("figure-8", plotting.figure_8)):
        figures[name] = Figure(figsize=(10, 4), layout="constrained")
        drawn(figures[name].subplots(1, 2))
    return _saved(folder, figures, suffixes)


def _saved(folder: Path, figures: Mapping[str, Figure], suffixes: Sequence[str]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        for suffix in suffixes:
            path = folder / f"{name}{suffix}"
            # Without a date, the same results give the same file.
            figure.savefig(path, dpi=130, metadata={"Date": None} if suffix == ".svg" else None)
            paths.append(path)
    return paths


# --- accuracy against noise -----------------------------------------------------------------------


def _noise_figure(spec: Spec, cells: Sequence[Cell]) -> Figure:
    """Draw one panel per data set for one model and task; open circles are the paper's means."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    by_dataset: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_dataset[cell.run.dataset].append(cell)
    by_dataset = {
        name: group for name, group in by_dataset.items() if any(cell.ours for cell in group)
    }
    criteria = list(dict.fromkeys(cell.run.criterion for cell in cells))
    colors = _colors(criteria)
    n_columns = min(3, len(by_dataset))
    n_rows = ceil(len(by_dataset) / n_columns)
    figure = Figure(figsize=(max(4.4 * n_columns, 7), 3.3 * n_rows + 1.1), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax, (dataset, group) in zip(panels, by_dataset.items(), strict=False):
        _noise_panel(ax, group, colors)
        ax.set_title(title(dataset), fontsize=11, loc="left")
    for ax in panels[len(by_dataset) :]:
        ax.set_visible(False)
    for ax in panels[::n_columns]:
        ax.set_ylabel("test accuracy (%)", color=MUTED)
    of = table_title(cells[0].run.model, cells[0].run.task)
    heading = f"{spec.title}\n{of}: accuracy against label noise"
    figure.suptitle(heading, fontsize=13, x=0.01, ha="left")
    handles = [
        Line2D([], [], color=colors[name], linewidth=_width(name), label=name) for name in criteria
    ]
    if any(cell.paper for cell in cells):
        handles.append(
            Line2D([], [], color=MUTED, marker="o", mfc="none", linestyle="none", label="paper")
        )
    style = {"handlelength": 1.6, "columnspacing": 1.4}
    legend(figure, handles, "lower center", len(handles) if n_columns > 1 else 5, **style)
    return figure


def _noise_panel(ax: Axes, cells: Sequence[Cell], colors: dict[str, str]) -> None:
    columns = list(dict.fromkeys(cell.run.noise for cell in cells))
    n_uniform = sum(_is_rate(noise) for noise in columns)
    criteria = list(dict.fromkeys(cell.run.criterion for cell in cells))
    for place, criterion in enumerate(criteria):
        row = {cell.run.noise: cell for cell in cells if cell.run.criterion == criterion}
        color = colors[criterion]
        # Class-conditional noise has no place on the scale, so criteria are spread side by side.
        aside = 0.5 * (place / max(len(criteria) - 1, 1) - 0.5)
        line = [
            (x, row[noise].ours)
            for x, noise in enumerate(columns[:n_uniform])
            if noise in row and row[noise].ours
        ]
        xs = [x for x, _ in line]
        ours = [accuracy for _, accuracy in line if accuracy]
        style: dict[str, Any] = {
            "color": color,
            "marker": "o",
            "zorder": 3 if criterion == "ANE" else 2,
        }
        ax.plot(xs, [a.mean for a in ours], linewidth=_width(criterion), markersize=3, **style)
        low, high = ([a.mean + side * a.two_sd for a in ours] for side in (-1, 1))
        ax.fill_between(xs, low, high, color=color, alpha=0.12, linewidth=0)
        for x, noise in enumerate(columns):
            cell = row.get(noise)
            if cell is None:
                continue
            at = x if x < n_uniform else x + aside
            if cell.ours and x >= n_uniform:
                mean, two_sd = cell.ours.mean, cell.ours.two_sd
                ax.errorbar(at, mean, two_sd, markersize=4, elinewidth=1, **style)
            if cell.paper:
                ax.plot(at, cell.paper.mean, mec=color, **_PAPER_STYLE)
    if n_uniform < len(columns):
        ax.axvline(n_uniform - 0.5, color=MUTED, alpha=0.25, linewidth=0.8)
    ax.set_xticks(range(len(columns)), [_NOISE_TICKS.get(noise, noise) for noise in columns])
    ax.set_xlim(-0.4, len(columns) - 0.5)
    ax.set_ylim(top=min(ax.get_ylim()[1], 101))  # bands may exceed 100 %
    _style(ax)


# --- against a parameter --------------------------------------------------------------------------


def _parameter_figure(spec: Spec, results: Sequence[Result]) -> Figure | None:
    """Draw accuracy and leaves against the varied parameter, one line per noise."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator

    entries = {entry.name: entry for entry in spec.criteria if entry.swept}
    found: dict[Run, list[Result]] = defaultdict(list)
    for result in results:
        found[result.run.cell].append(result)
    columns: dict[tuple[str, str, str, str], dict[str, list[Run]]] = {}
    for cell in spec.cells():
        if cell in found and cell.criterion in entries:
            family = entries[cell.criterion].family
            panel = columns.setdefault((cell.dataset, cell.task, cell.model, family), {})
            panel.setdefault(cell.noise, []).append(cell)
    if not columns:
        return None
    noises = list(dict.fromkeys(noise for panel in columns.values() for noise in panel))
    shades = colormaps["viridis_r"]
    colors = {
        noise: shades(0.12 + 0.86 * place / max(len(noises) - 1, 1))
        for place, noise in enumerate(noises)
    }
    figure = Figure(figsize=(max(3.9 * len(columns), 5.5), 6.6), layout="constrained")
    panels = figure.subplots(2, len(columns), squeeze=False, sharex=True)
    for (accuracy_ax, leaves_ax), (key, lines) in zip(panels.T, columns.items(), strict=True):
        dataset, task, model, family = key
        for noise, cells in lines.items():
            values = [_swept_value(entries[cell.criterion].swept) for cell in cells]
            accuracies = [Accuracy.of([r.accuracy for r in found[cell]]) for cell in cells]
            leaves = [fmean(r.measured["leaves"] for r in found[cell]) for cell in cells]
            style = {"color": colors[noise], "marker": "o", "markersize": 4, "linewidth": 1.8}
            means, two_sds = [a.mean for a in accuracies], [a.two_sd for a in accuracies]
            accuracy_ax.errorbar(values, means, two_sds, elinewidth=1, **style)
            leaves_ax.plot(values, leaves, **style)
        accuracy_ax.set_title(
            f"{title(dataset)}, {task}\n{model.upper()}, {family}", fontsize=10, loc="left"
        )
        leaves_ax.set_yscale("log")
        leaves_ax.minorticks_off()
        leaves_ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        leaves_ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        leaves_ax.set_xlabel(_PARAMETERS.get(spec.swept or "", spec.swept or ""))
        for ax in (accuracy_ax, leaves_ax):
            _style(ax)
            if min(values) > 0 and max(values) / min(values) > 30:
                ax.set_xscale("log")
                ax.minorticks_off()
            ax.set_xticks(values, [f"{value:g}" for value in values])
    panels[0, 0].set_ylabel("test accuracy (%)", color=MUTED)
    panels[1, 0].set_ylabel("leaves", color=MUTED)
    handles = [
        Line2D([], [], color=colors[noise], marker="o", markersize=4, label=f"noise {noise}")
        for noise in noises
    ]
    legend(figure, handles, "lower center", len(noises) if len(columns) > 1 else 3)
    return figure


def _swept_value(swept: tuple[str, float] | None) -> float:
    assert swept is not None  # only entries that vary a parameter get here
    return swept[1]


# --- style ----------------------------------------------------------------------------------------


def _colors(criteria: Iterable[str]) -> dict[str, str]:
    others = iter(_OTHER_COLORS * 10)
    return {name: _COLORS[name] if name in _COLORS else next(others) for name in criteria}


def _width(criterion: str) -> float:
    return 2.6 if criterion == "ANE" else 1.6


def _is_rate(noise: str) -> bool:
    return noise.replace(".", "", 1).isdigit()


def _style(ax: Axes) -> None:
    plain(ax, grid="y")
    ax.tick_params(labelsize=9)
