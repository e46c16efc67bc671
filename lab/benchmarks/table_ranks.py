"""Critical-difference diagrams: mean ranks of models over tables, and which of them differ.

Demšar, "Statistical comparisons of classifiers over multiple data sets" (JMLR 7, 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import studentized_range

from lab.benchmarks.table_models import MODELS, OURS, OURS_BALANCED
from lab.benchmarks.table_results import METRICS, Scope, frame_of
from lab.figures import GREEN, MUTED
from lab.store import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def mean_ranks(scope: Scope, metric: str) -> tuple[Any, int]:
    """Return the mean rank of each model over tables, 1 is best, and the number of tables."""
    by_table = scope.cells[metric].groupby(level=["family", "table"]).mean().dropna()
    ranks = by_table.rank(axis=1, ascending=metric == "log_loss")
    return ranks.mean().sort_values(), len(by_table)


def critical_difference(n_models: int, n_tables: int) -> float:
    """Return the difference of mean ranks that is significant at 5 %, by Nemenyi's test.

    Examples
    --------
    >>> from lab.benchmarks.table_ranks import critical_difference
    >>> round(critical_difference(5, 30), 2)  # q = 2.728 in Demšar's table
    1.11
    """
    # Nemenyi: q · sqrt(k·(k + 1) / (6·N)), q the studentised range for infinite degrees of freedom / √2
    q = studentized_range.ppf(0.95, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_tables)))


def alike(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest stretches of sorted ranks that the critical difference does not separate.

    Examples
    --------
    >>> from lab.benchmarks.table_ranks import alike
    >>> alike([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place, other in enumerate(ranks) if other <= rank + difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw(results: Sequence[Result]) -> Figure:
    """Draw a critical-difference diagram for each metric."""
    from matplotlib.figure import Figure

    scope = Scope("all tables", frame_of(results))
    height = 0.8 + 0.2 * ((len(scope.models) + 1) // 2)
    figure = Figure(figsize=(8.5, height * len(METRICS)), layout="constrained")
    for ax, metric in zip(figure.subplots(len(METRICS), squeeze=False)[:, 0], METRICS, strict=True):
        ranks, n_tables = mean_ranks(scope, metric)
        title = METRICS[metric][0].removesuffix(" (%)")
        draw_ranks(ax, f"{title}, {n_tables} tables", ranks, n_tables)
    return figure


def draw_ranks(ax: Axes, title: str, ranks: Any, n_tables: int) -> None:
    """Draw mean ranks on an axis. Bars join models that do not differ significantly."""
    values, n_models = ranks.to_numpy(), len(ranks)
    can_differ = n_models > 1 and n_tables > 0
    difference = critical_difference(n_models, n_tables) if can_differ else 0.0
    half = (n_models + 1) // 2
    ax.set_title(title, loc="left", fontsize=9)
    ax.hlines(0, 1, n_models, color="black", linewidth=0.8)
    for rank in range(1, n_models + 1):
        ax.vlines(rank, 0, 0.15, color="black", linewidth=0.8)
        ax.text(rank, 0.25, str(rank), ha="center", va="bottom", fontsize=8)
    for place, (model, value) in enumerate(ranks.items()):
        is_left = place < half
        depth = -1.0 - (place if is_left else n_models - 1 - place)
        edge = 0.7 if is_left else n_models + 0.3
        color = GREEN if model in (OURS, OURS_BALANCED) else MUTED
        ax.plot([value, value, edge], [0, depth, depth], color=color, linewidth=1)
        text = f"{MODELS[model].header} {value:.2f}"
        side = "right" if is_left else "left"
        ax.text(edge, depth, f" {text} ", ha=side, va="center", fontsize=8, color=color)
    for level, (first, last) in enumerate(alike(values, difference)):
        depth = -0.25 - 0.2 * level
        ax.hlines(depth, values[first] - 0.04, values[last] + 0.04, color=MUTED, linewidth=2.5)
    ax.hlines(1.3, 1, 1 + difference, color=MUTED, linewidth=2.5)
    words = f" critical difference {difference:.2f}"
    ax.text(1 + difference, 1.3, words, va="center", fontsize=8, color=MUTED)
    ax.set_xlim(-0.6, n_models + 1.6)
    ax.set_ylim(-1.5 - half, 1.8)
    ax.axis("off")
