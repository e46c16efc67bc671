"""The figure: how fast each library fits, relative to scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.speed.peers import BASELINE, PEERS
from lab.speed.report import speed_up, task_name
from lab.speed.runner import Outcome, Plan, Task

__all__ = ["save"]

_OWN = ("#14532d", "#4f9d5d", "#a3cfa4")
_OTHERS = ("#5f5f5f", "#9a9a9a", "#cfcfcf")
_MUTED = "#6b6b6b"


def save(path: Path, plan: Plan, outcomes: Mapping[tuple[Task, str], Outcome]) -> None:
    """Draw a panel per data set, a group of bars per peer and a bar per noise rate.

    Parameters
    ----------
    path : Path
        The image to write.
    plan : Plan
        What was compared.
    outcomes : mapping of (Task, str) to Outcome
        What came of it.
    """
    # A bare Figure needs neither pyplot nor a display.
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(task.dataset for task in plan.tasks))
    rates = list(dict.fromkeys(task.noise_rate for task in plan.tasks))
    peers = [peer for peer in plan.peers if peer != BASELINE]
    figure = Figure(figsize=(2.2 + 2.9 * len(names), 1.3 + 0.5 * len(peers)), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    height = 0.8 / len(rates)
    for ax, name in zip(panels, names, strict=True):
        longest = 1.0
        for row, peer in enumerate(peers):
            colors = _OWN if PEERS[peer].library == "hardwood" else _OTHERS
            for step, rate in enumerate(rates):
                ratio = speed_up(outcomes, Task(name, rate), peer)
                y = row + (step - (len(rates) - 1) / 2) * height
                color = colors[step % len(colors)]
                if ratio is not None:
                    ax.barh(y, ratio, height * 0.92, color=color)
                    longest = max(longest, ratio)
                ax.annotate(
                    _text(ratio),
                    (ratio or 0, y),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                    color=_MUTED,
                    bbox={"color": "white", "pad": 0.5},
                )
        ax.axvline(1, color="black", linewidth=1, zorder=0.5)
        ax.set_xlim(0, 1.22 * longest)
        ax.set_title(task_name(Task(name, 0)).partition(",")[0], fontsize=11, loc="left")
        ax.tick_params(length=0, labelcolor=_MUTED)
        ax.spines[["top", "right", "left"]].set_visible(False)
    # The panels share their rows, so the first one's names are all.
    names_axis = panels[0].yaxis
    names_axis.set_ticks(range(len(peers)), [PEERS[peer].title for peer in peers])
    for label, peer in zip(names_axis.get_ticklabels(), peers, strict=True):
        label.set_color("black" if PEERS[peer].library == "hardwood" else _MUTED)
    names_axis.set_inverted(True)
    figure.supxlabel("fit speed, scikit-learn = 1", fontsize=10)
    figure.legend(
        handles=[
            Patch(color=_OTHERS[step % len(_OTHERS)], label=_labels(rate))
            for step, rate in enumerate(rates)
        ],
        loc="outside upper right",
        ncols=len(rates),
        frameon=False,
        fontsize=9,
    )
    figure.savefig(path, dpi=150)


def _text(ratio: float | None) -> str:
    if ratio is None:
        return "not measured"
    return "< 0.01 ×" if ratio < 0.01 else f"{ratio:.1f} ×" if ratio >= 0.1 else f"{ratio:.2f} ×"


def _labels(rate: float) -> str:
    return f"{rate:.0%} of the labels flipped".replace("%", " %") if rate else "clean labels"
