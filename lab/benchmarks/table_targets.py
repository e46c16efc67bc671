"""What hardwood should reach on a folder of tables, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.benchmarks.table_models import (
    CLEANLAB,
    HIGH_SCORE,
    OUR_AUDIT,
    OURS,
    OURS_BALANCED,
    PLAIN,
    TUNED,
)
from lab.benchmarks.table_results import CELL, Scope
from lab.tables import MISSING, as_markdown

LARGE = 5000
"""Training rows above which the cost of a fit is compared."""

Judged = tuple[str, bool | None]
"""What was measured, and whether it reaches the target; None if it cannot be judged."""

NOT_MEASURED: Judged = ("not measured", None)


def gains_points(scope: Scope, metric: str, least: float) -> Judged:
    if not scope.has(OURS, TUNED):
        return NOT_MEASURED
    gain = scope.mean(metric, OURS) - scope.mean(metric, TUNED)
    return f"{gain:+.2f}", gain >= least


def wins_often(scope: Scope) -> Judged:
    if not scope.has(OURS, TUNED):
        return NOT_MEASURED
    wins, losses = scope.wins_and_losses(TUNED)
    return f"{wins} : {losses}", wins >= 1.3 * losses


def never_far_below(scope: Scope) -> Judged:
    if not scope.has(OURS, PLAIN):
        return NOT_MEASURED
    found = scope.differences(PLAIN)
    if found["n"].min() < 5:
        return "needs five seeds", None
    n_below = int((found["mean"] + 2 * found["error"] < -5).sum())
    return f"{n_below} cells", n_below == 0


def balances_best(scope: Scope) -> Judged:
    if not scope.has(OURS_BALANCED) or not scope.peers:
        return NOT_MEASURED
    ours = scope.mean("balanced_accuracy", OURS_BALANCED)
    best = max(scope.mean("balanced_accuracy", peer) for peer in scope.peers)
    return f"{ours:.2f}, best peer {best:.2f}", ours >= best


def log_loss_ratio(scope: Scope) -> Judged:
    if not scope.has(OURS) or not scope.peers:
        return NOT_MEASURED
    ratio = scope.mean("log_loss", OURS) / min(scope.mean("log_loss", p) for p in scope.peers)
    return f"{ratio:.2f}", ratio <= 0.85


def clean_log_loss(scope: Scope) -> Judged:
    clean = scope.where(scope.runs["noise"] == "0")
    if not clean.has(OURS, PLAIN):
        return NOT_MEASURED
    ours, plain = clean.mean("log_loss", OURS), clean.mean("log_loss", PLAIN)
    return f"{ours:.3f}, scikit-learn {plain:.3f}", ours <= plain


def finds_more(scope: Scope, least: float) -> Judged:
    if not len(scope.audited):
        return NOT_MEASURED
    precision = scope.audited["average_precision"]
    gain = float((precision[OUR_AUDIT] - precision[CLEANLAB]).mean())
    return f"{gain:+.2f}", gain >= least


def finds_more_often(scope: Scope) -> Judged:
    if not len(scope.audited):
        return NOT_MEASURED
    precision = scope.audited["average_precision"]
    share = 100 * float((precision[OUR_AUDIT] > precision[CLEANLAB]).mean())
    return f"{share:.0f} %", share >= 80


def scores_are_probabilities(scope: Scope) -> Judged:
    if not len(scope.our_audits):
        return NOT_MEASURED
    high = scope.high_scores
    if not len(high):
        return "no score is that high", None
    off_by = float((high["score"] - high["wrong"]).abs().mean())
    return f"{off_by:.1f}", off_by <= 10


def interval_covers(scope: Scope) -> Judged:
    if not len(scope.our_audits):
        return NOT_MEASURED
    share, _ = scope.coverage()
    return f"{share:.0f} %", share >= 85


def interval_is_narrow(scope: Scope) -> Judged:
    if not len(scope.our_audits):
        return NOT_MEASURED
    _, width = scope.coverage()
    return f"{width:.1f}", width <= 20


def costs_little(scope: Scope) -> Judged:
    large = scope.where(scope.runs["rows"] > LARGE)
    if not large.has(OURS, PLAIN):
        return NOT_MEASURED
    ratio = large.mean("cpu_seconds", OURS) / large.mean("cpu_seconds", PLAIN)
    return f"{ratio:.2f}", ratio <= 2.5


def decides_alike(scope: Scope) -> Judged:
    if not scope.has(OURS):
        return NOT_MEASURED
    decided = scope.runs[scope.runs["model"] == OURS].groupby(CELL)["decision"]
    if decided.size().min() < 10:
        return "needs ten seeds", None
    alike = decided.agg(lambda decisions: decisions.value_counts(normalize=True).max())
    return f"at least {100 * alike.min():.0f} %", bool(alike.min() >= 0.9)


def judgements(scope: Scope) -> Iterator[tuple[str, Judged]]:
    """Yield each target with what was measured."""
    balanced, imbalanced = scope.family("balanced"), scope.family("imbalanced")
    both = scope.where(scope.runs["family"] != "mixed")
    yield "Balanced: accuracy, at least tuned leaf + 0.3", gains_points(balanced, "accuracy", 0.3)
    yield "Balanced: wins over tuned leaf, at least 1.3 × losses", wins_often(balanced)
    yield (
        "Balanced: no cell below scikit-learn by 5 points and two standard errors",
        never_far_below(balanced),
    )
    yield "Balanced: AUC, at least tuned leaf + 0.4", gains_points(balanced, "auc", 0.4)
    yield "Imbalanced: accuracy, at least tuned leaf", gains_points(imbalanced, "accuracy", 0.0)
    yield "Imbalanced: AUC, at least tuned leaf + 0.4", gains_points(imbalanced, "auc", 0.4)
    yield (
        'Imbalanced: balanced accuracy with `decision="balanced"`, at least every peer\'s',
        balances_best(imbalanced),
    )
    for family in (balanced, imbalanced):
        name = "Balanced" if family is balanced else "Imbalanced"
        yield f"{name}: log loss, at most 0.85 × the best peer's", log_loss_ratio(family)
        yield f"{name}: log loss with clean labels, at most scikit-learn's", clean_log_loss(family)
    yield "Balanced: audit's average precision, at least cleanlab + 7", finds_more(balanced, 7)
    yield (
        "Imbalanced: audit's average precision, at least cleanlab + 2.5",
        finds_more(imbalanced, 2.5),
    )
    yield "Audit better than cleanlab, in at least 80 % of cells", finds_more_often(both)
    named = {"Balanced": balanced, "Imbalanced": imbalanced, "Both families": both}
    for name, cells in named.items():
        yield (
            f"{name}: distance of the mean score from {HIGH_SCORE} on to the share that is wrong, "
            "mean over cells, at most 10 points",
            scores_are_probabilities(cells),
        )
    yield "Interval covers the noise rate, in at least 85 % of runs", interval_covers(both)
    yield "Width of the interval, at most 20 points", interval_is_narrow(both)
    yield (
        f"Processor time above {LARGE:,} rows, at most 2.5 × scikit-learn's",
        costs_little(scope),
    )
    yield "The same decision with nine of ten seeds", decides_alike(scope)


def targets_table(both: Sequence[Scope]) -> str:
    words = {True: "yes", False: "no", None: MISSING}
    judged = [list(judgements(scope)) for scope in both]
    rows = [
        [lines[0][0], *(cell for _, (text, reached) in lines for cell in (text, words[reached]))]
        for lines in zip(*judged, strict=True)
    ]
    columns = [cell for scope in both for cell in (scope.name, "reached")]
    return as_markdown(("target", *columns), rows)
