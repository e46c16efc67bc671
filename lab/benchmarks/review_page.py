"""The page and the figure of simulated reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.benchmarks import table_sets
from lab.data import title
from lab.figures import GREEN, GREY, plain
from lab.library import version_of
from lab.store import Result
from lab.tables import as_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = Sequence[Result]

NOISES = {
    "0.1": "uniform 10 %",
    "0.2": "uniform 20 %",
    "0.3": "uniform 30 %",
    "classes": "classes",
    "pairs": "pairs",
}


def part_of(result: Result) -> str:
    """Return the part of the tables that a result belongs to."""
    if result.run.task == "large":
        return "large"
    return table_sets.half_of(result.run.dataset)


def by_part(results: Results) -> dict[str, list[Result]]:
    """Return the results of the development half, the held-out half and the large tables."""
    parts = {
        name: [r for r in results if part_of(r) == name] for name in (*table_sets.HALVES, "large")
    }
    return {name: found for name, found in parts.items() if found}


# --- figures -------------------------------------------------------------------------------------


def by_setting(results: Results) -> list[list[Result]]:
    """Return the results of each table with each noise, one for each seed."""
    settings: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        run = result.run
        settings.setdefault((run.dataset, run.task, run.noise), []).append(result)
    return list(settings.values())


def mean_of(setting: Results, order: str) -> float:
    """Return the mean number of rows to review in an order."""
    return fmean(r.measured["needed"][order] for r in setting)


def saved(setting: Results) -> float:
    """Return the rows to review in batches as a share of those in cleanlab's order."""
    return mean_of(setting, "batches") / max(mean_of(setting, "cleanlab"), 1)


def error_of(setting: Results) -> float:
    """Return the standard error of that share over the seeds."""
    ratio, theirs = saved(setting), max(mean_of(setting, "cleanlab"), 1)
    needed = [r.measured["needed"] for r in setting]
    off = [each["batches"] - ratio * each["cleanlab"] for each in needed]
    return float(stdev(off) / np.sqrt(len(off)) / theirs) if len(off) > 1 else float("nan")


def covers(result: Result, key: str, line: int) -> bool:
    _, low, high, real = result.measured[key]["lines"][line]
    return bool(low <= real <= high)


def width(result: Result, key: str, line: int = 0) -> float:
    """Return the width of an interval relative to its middle."""
    _, low, high, _ = result.measured[key]["lines"][line]
    return float((high - low) / max((high + low) / 2, 1))


def row_error(result: Result, key: str) -> float:
    """Return the error of the planned number of rows, relative to the number that is needed."""
    plan = result.measured[key]
    return float(abs(plan["planned"] - plan["needed"]) / max(plan["needed"], 1))


def needs_review(result: Result) -> bool:
    """Return whether more than 1 % of the labels are wrong."""
    return bool(result.measured["wrong"] > 0.01 * result.measured["rows"])


def with_part(results: Results, key: str) -> list[Result]:
    """Return the results in which something was measured."""
    return [result for result in results if result.measured.get(key)]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


# --- the page ------------------------------------------------------------------------------------


def rows_table(results: Results) -> str:
    lines = []
    for part, found in by_part(results).items():
        for kind, words in NOISES.items():
            here = [r for r in found if r.run.noise == kind and needs_review(r)]
            if here:
                lines.append([part, words, *_rows_cells(here)])
        here = [r for r in found if needs_review(r)]
        lines.append([f"**{part}**", "all", *_rows_cells(here)])
    columns = (
        *("tables", "noise", "settings", "in batches", "by rank", "cleanlab", "random"),
        *("batches / cleanlab", "worst", "more than 5 % more"),
    )
    return as_markdown(columns, lines, 2)


def _rows_cells(results: Results) -> list[str]:
    shares = [
        percent(fmean(r.measured["needed"][order] / r.measured["rows"] for r in results))
        for order in ("batches", "ranks", "cleanlab", "random")
    ]
    ratios = [saved(setting) for setting in by_setting(results)]
    return [
        str(len(ratios)),
        *shares,
        f"{fmean(ratios):.2f}",
        f"{max(ratios):.2f}",
        str(sum(ratio > 1.05 for ratio in ratios)),
    ]


def plan_table(results: Results) -> str:
    lines = []
    for key, words in (
        ("plan", "before the review"),
        ("plan_after_batch", "after 5 % of the rows"),
    ):
        for part, found in by_part(results).items():
            here = with_part(found, key)
            if here:
                lines.append(
                    [
                        words,
                        part,
                        str(len(here)),
                        *(percent(fmean(covers(r, key, line) for r in here)) for line in range(3)),
                        f"{fmean(width(r, key) for r in here):.2f}",
                        percent(median(row_error(r, key) for r in here)),
                    ]
                )
    columns = (
        *("plan", "tables", "reviews", "covers, no row", "half of the rows", "last line"),
        *("width / middle, no row", "median error of rows (%)"),
    )
    return as_markdown(columns, lines, 2)


def erring_table(results: Results, shares: Sequence[float]) -> str:
    def cells(found: Results) -> list[str]:
        return [
            percent(fmean(r.measured["erring"][order][k] for r in found))
            for k in range(len(shares))
            for order in ("batches", "cleanlab", "random")
        ]

    columns = [
        f"{order}, {share:.0%}" for share in shares for order in ("ours", "cleanlab", "random")
    ]
    before = {
        part: percent(fmean(1 - r.measured["wrong"] / r.measured["rows"] for r in found))
        for part, found in by_part(results).items()
    }
    return as_markdown(
        ("tables", "before", *columns),
        [[part, before[part], *cells(found)] for part, found in by_part(results).items()],
    )


def accuracy_table(results: Results, shares: Sequence[float]) -> str:
    lines = [
        [
            part,
            {"told": "ours, with `observed`", "batches": "ours"}.get(order, order),
            *(
                percent(fmean(r.measured["trained"][order][k] for r in found))
                for k in range(len(shares) + 1)
            ),
        ]
        for part, found in by_part(results).items()
        for order in ("told", "batches", "cleanlab", "random")
    ]
    return as_markdown(
        ("tables", "order", "before", *(f"{share:.0%} reviewed" for share in shares)), lines, 2
    )


def large_table(results: Results) -> str:
    lines = []
    for setting in by_setting([r for r in results if part_of(r) == "large"]):
        found = [r.measured for r in setting]
        planned = [each["plan"]["planned"] / each["rows"] for each in found if "plan" in each]
        lines.append(
            [
                title(setting[0].run.dataset),
                NOISES[setting[0].run.noise],
                f"{found[0]['rows']:,}",
                percent(fmean(each["wrong"] / each["rows"] for each in found)),
                *(
                    percent(fmean(each["needed"][order] / each["rows"] for each in found))
                    for order in ("batches", "ranks", "cleanlab", "random")
                ),
                f"{saved(setting):.2f}",
                percent(fmean(planned)) if planned else "",
            ]
        )
    columns = (
        *("data", "noise", "rows", "wrong", "in batches", "by rank", "cleanlab", "random"),
        *("batches / cleanlab", "planned"),
    )
    return as_markdown(columns, lines, 2)


def worst_table(results: Results, most: int = 10) -> str:
    settings = by_setting([r for r in results if needs_review(r)])
    worst = sorted(settings, key=saved, reverse=True)[:most]
    return as_markdown(
        ("table", "noise", "rows", "in batches", "cleanlab", "batches / cleanlab"),
        [
            [
                title(setting[0].run.dataset),
                NOISES[setting[0].run.noise],
                f"{setting[0].measured['rows']:,}",
                f"{mean_of(setting, 'batches'):,.0f}",
                f"{mean_of(setting, 'cleanlab'):,.0f}",
                f"{saved(setting):.2f}" + (f" ± {error_of(setting):.2f}" if setting[1:] else ""),
            ]
            for setting in worst
        ],
        2,
    )


def summary(results: Results) -> str:
    found = [r for r in results if needs_review(r)]
    lines = []
    if ordered := with_part(found, "needed"):
        ratios = [saved(setting) for setting in by_setting(ordered)]
        lines.append(
            f"In batches, with `update`, you check {100 * (1 - fmean(ratios)):.0f} % fewer rows than in "
            f"cleanlab's order before at most 1 % of the labels are wrong, on average over {len(ratios)} "
            f"settings. In {sum(ratio > 1.05 for ratio in ratios)} of them, you check over 5 % more; "
            f"in the worst, {max(ratios):.2f} times as many."
        )
    if planned := with_part(found, "plan"):
        held_out = [r for r in planned if part_of(r) != "development"] or planned

        def share(which: Results, test: Callable[[Result], bool]) -> str:
            return f"{percent(fmean(test(r) for r in which))} %"

        lines += [
            f"The plan's 90 % interval contains the real number of wrong labels in "
            f"{share(planned, lambda r: covers(r, 'plan', 0))} of {len(planned)} reviews "
            f"({share(held_out, lambda r: covers(r, 'plan', 0))} without the development half). It is "
            f"{fmean(width(r, 'plan') for r in planned):.2f} times as wide as its middle on average. "
            f"Halfway and at the end of the plan, the interval of the labels left contains their "
            f"number in {share(planned, lambda r: covers(r, 'plan', 1))} and "
            f"{share(planned, lambda r: covers(r, 'plan', 2))}.",
            f"The number of rows that the plan names is off by "
            f"{percent(median(row_error(r, 'plan') for r in planned))} % in the median.",
        ]
    return "In short:\n\n" + "\n".join(f"- {line}" for line in lines)


def order_section(results: Results) -> str:
    large = [r for r in results if part_of(r) == "large"]
    n_seeds = len({r.run.seed for r in results})
    seeds = (
        f""" Each setting is measured with {n_seeds} seeds: other
splits, other wrong labels and other forests. Its ratio is that of the mean numbers of rows (± is the standard error over seeds)."""
        if n_seeds > 1
        else ""
    )
    words = f"""The large data sets, with the number of rows that the plan names before the review:

{large_table(large)}
"""
    return f"""## Rows to review until 99 % of the labels are right

A reviewer without mistakes. Rows reviewed, in percent of all rows, on average over the settings.{seeds}

{rows_table(results)}

The settings in which batches save least:

{worst_table(results)}

{words if large else ""}"""


def plan_section(results: Results) -> str:
    return f"""## The plan

How often the 90 % intervals of `review_plan(0.01)` contain the wrong labels that are really left: before any row is
reviewed, after half of the plan's rows, and at its last line.

{plan_table(results)}

The first line's interval is meant to be at most half as wide as its middle. At the last line, about 1 % of the labels are left. In
a table of 500 rows these are five, so the interval is wide compared with its middle.
"""


def erring_section(results: Results) -> str:
    from lab.benchmarks.review import ERRING, ERRING_SHARES

    return f"""## A reviewer who errs

A reviewer who is right {ERRING:.0%} of the time (`reviewer_accuracy={ERRING}`): percent of labels that are right, after a
share of the rows has been reviewed. Such a reviewer cannot bring the wrong labels down to 1 %: every row that is checked
gets a wrong label one time in ten.

{erring_table(results, ERRING_SHARES)}
"""


def training_section(results: Results) -> str:
    from lab.benchmarks.review import SHARES, TREES

    return f"""## A model trained after a part of the review

Accuracy on clean test labels of an `AdaptiveForestClassifier` of {TREES} trees, in percent, on average over {len(results)} settings.

{accuracy_table(results, SHARES)}

After a part of a review, the most suspect rows first, the wrong labels that are left do not look wrong. A forest that only sees
the labels as they are now resists noise too little, and can be less accurate than before the review. Pass it the labels from before
the review as well: `AdaptiveForestClassifier().fit(X, y, observed=y_before)`. `hardwood train --decisions` does so.
"""


def page(results: Results, image: str, command: str) -> str:
    from lab.benchmarks.review import BATCH, FOLDS, TREES

    libraries = ("hardwood", "cleanlab", "scikit-learn")
    measured = ", ".join(f"{library} {version_of(library)}" for library in libraries)
    most = max(r.measured["rows"] for r in results)
    sections = (
        ("needed", order_section),
        ("plan", plan_section),
        ("erring", erring_section),
        ("trained", training_section),
    )
    text = "\n".join(
        section(found) for key, section in sections if (found := with_part(results, key))
    )
    figure = f"""{image}On the left, scores of about 50 % are too low: in tables that cannot tell which labels are wrong, no score is above 50 %.

"""
    return f"""# Reviewing labels

{summary(results)}

We simulate reviews of labels that known noise has flipped: real tables and five large data sets (at most {most:,} rows of
each). *Uniform* noise flips all labels at one rate, *classes* flips classes at different rates, and *pairs* mistakes each
class for the next one, at 25 %. A reviewer checks one row after another and corrects its label.

- *In batches*: `LabelAudit.next_rows` gives rows, and `update` takes the decisions in: after 1, 2, 5 and 10 % of the rows, and
  then after every {BATCH:.0%}.
- *By rank*: the order of the first audit, without updates.
- *cleanlab*: the order of cleanlab's label quality, from {FOLDS}-fold scikit-learn forests of {TREES} trees.
- *Random*: any order; its expectation.

{figure if image else ""}{text}
Measured with {measured}. To make this page again:

```bash
{command}
```
"""


# --- the figure ----------------------------------------------------------------------------------


def draw(results: Results) -> Figure:
    """Draw the calibration of the scores, and the rows to review in two orders."""
    from matplotlib.figure import Figure

    results = [r for r in results if "needed" in r.measured and "plan" in r.measured]

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = {"development": (GREY, "s"), "held-out": (GREEN, "o"), "large": ("#c2410c", "^")}
    for part, found in by_part(results).items():
        color, marker = styles[part]
        total: Any = np.sum([r.measured["reliability"] for r in found], axis=0)
        full = total[:, 0] >= 20
        left.plot(
            100 * total[full, 1] / total[full, 0],
            100 * total[full, 2] / total[full, 0],
            f"{marker}-",
            color=color,
            label=part,
        )
        needed = [r.measured["needed"] for r in found]
        rows = [r.measured["rows"] for r in found]
        right.scatter(
            [100 * each["cleanlab"] / n for each, n in zip(needed, rows, strict=True)],
            [100 * each["batches"] / n for each, n in zip(needed, rows, strict=True)],
            s=14,
            color=color,
            marker=marker,
            label=part,
        )
    for ax in (left, right):
        ax.plot([0, 100], [0, 100], color=GREY, linewidth=1, linestyle=":")
        plain(ax, grid="y")
        ax.legend(frameon=False, fontsize=8)
    left.set_xlabel("mean score of the labels (%)")
    left.set_ylabel("labels that are wrong (%)")
    left.set_title("Calibration of the scores", fontsize=10, loc="left")
    right.set_xlabel("rows to review in cleanlab's order (%)")
    right.set_ylabel("rows to review in batches (%)")
    right.set_title("Until 99 % of the labels are right", fontsize=10, loc="left")
    return figure
