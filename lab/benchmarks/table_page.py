"""The page that compares classifiers and audits on a folder of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.benchmarks.accuracy import LEAVES
from lab.benchmarks.table_models import (
    CLEANLAB,
    HIGH_SCORE,
    MIN_PROBABILITY,
    MODELS,
    OUR_AUDIT,
    OURS,
    PATIENCE,
    PLAIN,
    ROUNDS,
    TUNED,
)
from lab.benchmarks.table_results import CELL, METRICS, WIN, Frame, Scope, frame_of, scopes
from lab.benchmarks.table_sets import CLASS_RATE, NOISES, PAIR_RATE
from lab.benchmarks.table_targets import (
    finds_more,
    finds_more_often,
    log_loss_ratio,
    targets_table,
)
from lab.store import Result
from lab.tables import MISSING, as_markdown, number

N_EXTREMES = 10
RANKS_NOTE = """\
Mean ranks over tables; 1 is best. A thick bar joins models whose ranks differ by less than the critical difference,
so that chance can explain it."""
FAMILY_TITLES = {"balanced": "Balanced", "imbalanced": "Imbalanced", "mixed": "Mixed"}


# --- tables of classifiers -----------------------------------------------------------------------


def means_table(both: Sequence[Scope]) -> str:
    """Lay out the means over tables and noises."""
    rows = []
    for scope in both:
        for model in scope.models:
            cells = [scope.name, MODELS[model].header]
            cells += [
                number(scope.mean(metric, model), 1, style)
                for metric, (_, style) in METRICS.items()
            ]
            ratio, wins = None, MISSING
            if OURS in scope.models and model in scope.peers:
                ratio = scope.mean("log_loss", OURS) / scope.mean("log_loss", model)
                wins = "{} : {}".format(*scope.wins_and_losses(model))
            cells += [wins, number(ratio, 1, ".2f")]
            rows.append([*cells, number(scope.mean("cpu_seconds", model))])
    titles = [title for title, _ in METRICS.values()]
    compared = ("our wins : losses", "our log loss ÷ its", "processor time (s)")
    return as_markdown(("tables", "model", *titles, *compared), rows, 2)


def by_noise_table(both: Sequence[Scope], metric: str) -> str:
    """Lay out the means of a metric over tables, by noise."""
    title, style = METRICS[metric]
    noises = [kind for kind in NOISES if kind in set(both[-1].classified["noise"])]
    rows = []
    for scope in both:
        means = scope.cells[metric].groupby(level="noise").mean()
        for model in scope.models:
            values = [number(means[model].get(kind), 1, style) for kind in noises]
            rows.append([scope.name, MODELS[model].header, *values])
    return f"{title} by noise:\n\n{as_markdown(('tables', 'model', *noises), rows, 2)}"


def family_section(family: str, both: Sequence[Scope]) -> str:
    both = [found for scope in both if len((found := scope.family(family)).classified)]
    if not both:
        return ""
    everything = both[-1]
    n_tables = everything.cells.index.get_level_values("table").nunique()
    seeds = everything.classified.groupby([*CELL, "model"]).size()
    n_seeds = number_or_range(int(seeds.min()), int(seeds.max()))
    n_cells, n_run = len(everything.cells), everything.runs.groupby(CELL).ngroups
    of_all = "" if n_cells == n_run else f" (of {n_run} that were run, those that all models have)"
    parts = [
        f"## {FAMILY_TITLES[family]} tables",
        f"{n_tables} tables, {n_cells} cells{of_all}, {n_seeds} seeds each.",
        means_table(both),
        *(by_noise_table(both, metric) for metric in METRICS),
    ]
    return "\n\n".join(parts)


def number_or_range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def extremes_section(scope: Scope) -> str:
    """List the cells with the largest losses and wins against scikit-learn's forests."""
    parts = []
    for peer in (PLAIN, TUNED):
        if not scope.has(OURS, peer):
            continue
        found = scope.differences(peer).sort_values("mean")
        header = MODELS[peer].header
        for title, part in (
            (f"The largest losses against {header}", found.head(N_EXTREMES)),
            (f"The largest wins against {header}", found.iloc[::-1].head(N_EXTREMES)),
        ):
            rows = [
                [table, family, kind, f"{line['mean']:+z.1f}", error_of(line)]
                for (family, table, kind), line in part.iterrows()
            ]
            columns = ("table", "family", "noise", "difference", "standard error")
            parts.append(f"{title}:\n\n{as_markdown(columns, rows, 3)}")
    if not parts:
        return ""
    heading = (
        "## Largest losses and wins\n\nPoints of accuracy, with the standard error over seeds."
    )
    return "\n\n".join([heading, *parts])


def error_of(line: Frame) -> str:
    return f"{line['error']:.1f}" if line["n"] > 1 else MISSING


# --- tables of audits ----------------------------------------------------------------------------


def audit_section(both: Sequence[Scope]) -> str:
    if not len(both[-1].audited):
        return ""
    rows = []
    for family, title in FAMILY_TITLES.items():
        for scope in (scope.family(family) for scope in both):
            audited = scope.audited
            if not len(audited):
                continue
            noises = audited.index.get_level_values("noise")
            rows.append([title, scope.name, "all", *audit_cells(audited)])
            rows += [
                [title, scope.name, kind, *audit_cells(audited[noises == kind])]
                for kind in NOISES
                if kind in noises
            ]
    columns = (
        *("family", "tables", "noise", "cleanlab", "hardwood", "difference", "better in (%)"),
        *("missed by cleanlab (%)", "by hardwood (%)"),
    )
    return f"""## Finding wrong labels

Average precision at finding the flipped labels, in percent, and the share of the wrong labels that you miss if you
look at as many labels as are wrong.

{as_markdown(columns, rows, 3)}

Are scores probabilities, and does the interval cover the share of labels that are wrong? *Off by* is the mean
distance between the two columns before it, cell by cell. *By chance* is what it would be if the scores were exact:
many cells have few scores that high. All figures are in percent.

{trust_table(both)}"""


def audit_cells(audited: Frame) -> list[str]:
    precision, missed = audited["average_precision"], audited["missed"]
    gain = precision[OUR_AUDIT] - precision[CLEANLAB]
    return [
        f"{precision[CLEANLAB].mean():.1f}",
        f"{precision[OUR_AUDIT].mean():.1f}",
        f"{gain.mean():+.1f}",
        f"{100 * (gain > 0).mean():.0f}",
        f"{missed[CLEANLAB].mean():.1f}",
        f"{missed[OUR_AUDIT].mean():.1f}",
    ]


def trust_table(both: Sequence[Scope]) -> str:
    rows = []
    for family, title in FAMILY_TITLES.items():
        for scope in (scope.family(family) for scope in both):
            if not len(scope.our_audits):
                continue
            high = scope.high_scores
            off_by = (high["score"] - high["wrong"]).abs()
            means = high[["score", "wrong", "chance"]].mean()
            values = [means["score"], means["wrong"], off_by.mean(), means["chance"]]
            values += scope.coverage()
            # There may be no score that high.
            cells = [MISSING if np.isnan(value) else f"{value:.1f}" for value in values]
            rows.append([title, scope.name, *cells])
    columns = (
        *("family", "tables", f"mean score from {HIGH_SCORE} on", "wrong among these", "off by"),
        *("by chance", "interval covers", "width"),
    )
    return as_markdown(columns, rows, 2)


# --- in short -------------------------------------------------------------------------------------


def in_short(scope: Scope) -> str:
    """Sum up what was measured on some of the tables, most important first."""
    lines = []
    for family, title in FAMILY_TITLES.items():
        some = scope.family(family)
        if some.has(OURS, PLAIN, TUNED):
            ours, plain, tuned = (some.mean("accuracy", m) for m in (OURS, PLAIN, TUNED))
            ratio, _ = log_loss_ratio(some)
            lines.append(
                f"- **{title} tables**: {ours:.1f} % of the predictions are right, {plain:.1f} % with "
                f"scikit-learn's forest, and {tuned:.1f} % if\n  its leaf size is tuned. The log loss is "
                f"{ratio} times that of the best other model."
            )
    gains = [
        f"{gain.removeprefix('+')} points on {title.lower()} tables"
        for family, title in FAMILY_TITLES.items()
        if (gain := finds_more(scope.family(family), 0)[0]).startswith("+")
    ]
    if gains:
        share, _ = finds_more_often(scope.where(scope.runs["family"] != "mixed"))
        lines.append(
            "- **Wrong labels**: the audit's average precision is higher than cleanlab's, by "
            f"{' and '.join(gains)}.\n  It is higher in {share} of the cells."
        )
    return "\n".join([f"In short, on the {scope.name}:", "", *lines, "", ""]) if lines else ""


# --- the page ------------------------------------------------------------------------------------


def page(results: Sequence[Result], image: str, command: str) -> str:
    """Write the page."""
    runs = frame_of(results)
    both = scopes(runs)
    trees = ", ".join(map(str, sorted(set(runs["trees"]))))
    named = ", ".join(sorted({name for text in runs["version"] for name in text.split(", ")}))
    sections = [
        f"## Targets\n\n{targets_table(both)}",
        f"## Ranks\n\n{RANKS_NOTE}\n\n{image.strip()}" if image else "",
        *(family_section(family, both) for family in FAMILY_TITLES),
        extremes_section(both[-1]),
        audit_section(both),
    ]
    body = "\n\n".join(section for section in sections if section)
    return f"""# Real tables

{in_short(both[0])}We compare classifiers and label audits on tables of the [UCI repository](https://archive.ics.uci.edu), which come from KEEL's
collection: *balanced* ones, *imbalanced* ones with two classes of which one is rare, and *mixed* ones with text and
missing values. We split the rows 70 : 30, stratified by class, and flip labels in the training part. The labels of the
test part stay clean. Categories are coded as numbers, the same way for all models. No model sees a clean label or
the noise.

Noise is *uniform*, at the given rate; by *classes*, where class i of K is flipped at the rate
r · (½ + i/(K − 1)), evenly to the other classes (r is {CLASS_RATE["balanced"]}, and {CLASS_RATE["imbalanced"]} for imbalanced tables); or by *pairs*,
where a share of {PAIR_RATE} of each class is labelled as the next class.

A *cell* is one table with one kind of noise, and its value is the mean over seeds. All other figures are means over
cells. We win a cell if we are more accurate by more than {WIN} points, and lose it if we are less accurate by as much.
The rules of `hardwood` were chosen on the development half of the tables and are judged on the *held-out half*. Tables
from the same source are in the same half.

Forests have {trees} trees. Boosting has at most {ROUNDS} rounds.

- *hardwood*: `AdaptiveForestClassifier` with its defaults; *balanced*, with `decision="balanced"`.
- *scikit-learn*: `RandomForestClassifier`; *tuned leaf*, with the `min_samples_leaf` that has the best out-of-bag score among
  {", ".join(map(str, LEAVES))}; *balanced*, with `class_weight="balanced"`.
- *LightGBM*: stopped after {PATIENCE} rounds without gain in log loss on a fifth of the training rows.
- *robust focal loss*: LightGBM with the loss of [Robust-GBDT](https://arxiv.org/abs/2310.05067), stopped in the same way.
  The rows that stop it also choose the loss's two parameters.
- *CleanLearning*: cleanlab around a `RandomForestClassifier`. Its out-of-fold probabilities (five folds) also give
  cleanlab's scores of the labels.

Probabilities are clipped at {MIN_PROBABILITY} for the log loss. With more than two classes, AUC is the mean over
classes of one class against the rest.

{body}

Measured with {named}. To make this page again:

```bash
{command}
```
"""
