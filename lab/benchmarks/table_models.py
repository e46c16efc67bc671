"""The models that are compared on a folder of tables, and what is measured of them."""

from __future__ import annotations

import importlib.util
import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
from lab.benchmarks.accuracy import cleanlab_forest, sklearn_forest, sklearn_tuned_leaf
from lab.benchmarks.robust_focal import RobustFocalBooster
from lab.benchmarks.table_sets import Split, split_table
from lab.library import version_of
from lab.store import Measured, Run

Array = npt.NDArray[Any]

OURS, OURS_BALANCED, OUR_AUDIT = "hardwood", "hardwood_balanced", "hardwood_audit"
PLAIN, TUNED, CLEANLAB = "sklearn", "sklearn_leaf", "cleanlab"

MIN_PROBABILITY = 0.001
"""Probabilities are clipped here for the log loss."""

ROUNDS, PATIENCE = 200, 20
"""Rounds of boosting at most, and without gain before it stops."""

HIGH_SCORE = 0.8
"""Scores of the audit from here to 1 are compared with the share of labels that are wrong."""


# --- the models ----------------------------------------------------------------------------------


def hardwood_forest(run: Run, X: Array, y: Array, threads: int, **parameters: Any) -> Any:
    forest = AdaptiveForestClassifier(
        run.trees, random_state=run.seed, n_jobs=threads, **parameters
    )
    return forest.fit(X, y)


def sklearn_balanced(run: Run, X: Array, y: Array, threads: int) -> Any:
    forest = RandomForestClassifier(
        run.trees, class_weight="balanced", random_state=run.seed, n_jobs=threads
    )
    return forest.fit(X, y)


def lightgbm_stopped(run: Run, X: Array, y: Array, threads: int) -> Any:
    """Boost until `PATIENCE` rounds bring no gain on a fifth of the rows."""
    X_kept, X_out, y_kept, y_out = hold_out_fifth(X, y, run.seed)
    return fit_stopped(make_booster(run, threads), X_kept, y_kept, X_out, y_out)


def robust_focal(run: Run, X: Array, y: Array, threads: int) -> Any:
    X_kept, X_out, y_kept, y_out = hold_out_fifth(X, y, run.seed)

    def fit(model: Any, evaluate: Any) -> Any:
        return fit_stopped(model, X_kept, y_kept, X_out, y_out, evaluate)

    return RobustFocalBooster(partial(make_booster, run, threads), fit).choose(X_out, y_out)


def make_booster(run: Run, threads: int, **parameters: Any) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=ROUNDS, random_state=run.seed, n_jobs=threads, verbose=-1, **parameters
    )


def fit_stopped(
    model: Any, X: Array, y: Array, X_out: Array, y_out: Array, evaluate: Any = None
) -> Any:
    import lightgbm

    return model.fit(
        X,
        y,
        eval_set=[(X_out, y_out)],
        eval_metric=evaluate,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )


def hold_out_fifth(X: Array, y: Array, seed: int) -> list[Array]:
    """Return X and y of the rows kept and held out; labels that occur once are kept."""
    labels, counts = np.unique(y, return_counts=True)
    single = np.isin(y, labels[counts < 2])
    X_kept, X_out, y_kept, y_out = train_test_split(
        X[~single], y[~single], test_size=0.2, stratify=y[~single], random_state=seed
    )
    return [np.vstack([X_kept, X[single]]), X_out, np.append(y_kept, y[single]), y_out]


@dataclass(frozen=True)
class Model:
    """A model, its name in the tables, and the libraries it requires."""

    fit: Callable[[Run, Array, Array, int], Any]
    header: str
    libraries: tuple[str, ...] = ()


MODELS = {
    OURS: Model(hardwood_forest, "hardwood"),
    OURS_BALANCED: Model(partial(hardwood_forest, decision="balanced"), "hardwood, balanced"),
    PLAIN: Model(sklearn_forest, "scikit-learn"),
    TUNED: Model(sklearn_tuned_leaf, "scikit-learn, tuned leaf"),
    "sklearn_balanced": Model(sklearn_balanced, "scikit-learn, balanced"),
    "lightgbm": Model(lightgbm_stopped, "LightGBM", ("lightgbm",)),
    "robust_focal": Model(robust_focal, "robust focal loss", ("lightgbm",)),
    CLEANLAB: Model(cleanlab_forest, "CleanLearning", ("cleanlab",)),
}
"""The classifiers, in the order of the tables."""

if "decision" not in inspect.signature(AdaptiveForestClassifier).parameters:
    del MODELS[OURS_BALANCED]

# The cheapest ones come first, so that a run that is stopped has whole columns.
BY_COST = (
    *("lightgbm", PLAIN, "sklearn_balanced", OURS, OURS_BALANCED, OUR_AUDIT, "robust_focal"),
    *(TUNED, CLEANLAB),
)


def installed() -> list[str]:
    """Return the models whose libraries are installed, and the audit, the cheapest first."""
    return [
        name
        for name in BY_COST
        if name == OUR_AUDIT
        or (name in MODELS and all(map(importlib.util.find_spec, MODELS[name].libraries)))
    ]


# --- measuring -----------------------------------------------------------------------------------


def perform(folder: Path, run: Run, threads: int) -> Measured:
    """Fit the model of a run to noisy labels, and measure it on clean ones."""
    split = split_table(folder / run.task / f"{run.dataset}.csv.gz", run.noise, run.seed)
    size = {"rows": len(split.y_noisy), "flipped": float(split.flipped.mean())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rows without out-of-bag votes, rare classes, …
        measure = measure_audit if run.model == OUR_AUDIT else measure_model
        return {**size, **measure(run, split, threads)}


def measure_model(run: Run, split: Split, threads: int) -> Measured:
    clock, cpu = time.perf_counter(), time.process_time()
    model = MODELS[run.model].fit(run, split.X_train, split.y_noisy, threads)
    measured: Measured = {
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.process_time() - cpu,
        **scores_on_test_part(model, split),
        "version": versions_of(run.model),
    }
    if run.model == CLEANLAB and split.flipped.any():
        quality = model.get_label_issues()["label_quality"].to_numpy()
        measured |= detection(split.flipped, -quality)
    if run.model == OURS:
        measured["decision"] = str(model.decision_)
    return measured


def measure_audit(run: Run, split: Split, threads: int) -> Measured:
    clock, cpu = time.perf_counter(), time.process_time()
    audit = LabelAudit(random_state=run.seed, n_jobs=threads).fit(split.X_train, split.y_noisy)
    issues = audit.issues_
    low, high = audit.noise_rate_interval_
    score = issues["score"].to_numpy()
    is_high = score >= HIGH_SCORE
    return {
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.process_time() - cpu,
        **detection(split.flipped, -issues["rank"].to_numpy()),
        "n_high": int(is_high.sum()),
        "high_score": float(score[is_high].sum()),
        "high_wrong": int(split.flipped[is_high].sum()),
        "rate": float(audit.noise_rate_),
        "interval": [float(low), float(high)],
        "version": versions_of(run.model),
    }


def versions_of(model: str) -> str:
    """Return the versions of the libraries that a model rests on."""
    own = "hardwood" if model in (OURS, OURS_BALANCED, OUR_AUDIT) else "scikit-learn"
    libraries = (model in MODELS and MODELS[model].libraries) or (own,)
    return ", ".join(f"{library} {version_of(library)}" for library in libraries)


def scores_on_test_part(model: Any, split: Split) -> Measured:
    """Return accuracy, balanced accuracy and AUC in percent, and log loss, on the test part."""
    y, K = split.y_test, split.n_classes
    predicted = model.predict(split.X_test)
    proba = np.zeros((len(y), K))
    # A class can be missing from the noisy labels, or from those that CleanLearning keeps.
    proba[:, getattr(model, "clf", model).classes_] = model.predict_proba(split.X_test)
    return {
        "accuracy": 100 * float(np.mean(predicted == y)),
        "balanced_accuracy": 100 * float(balanced_accuracy_score(y, predicted)),
        "auc": area_under_curve(y, proba),
        "log_loss": log_loss(y, proba),
    }


def area_under_curve(y: Array, proba: Array) -> float | None:
    """Return the AUC in percent, of one class against the rest if there are more than two.

    None if a class does not occur in y.
    """
    K = proba.shape[1]
    if len(np.unique(y)) < K:
        return None
    classes = [1] if K == 2 else range(K)
    return 100 * float(np.mean([roc_auc_score(y == k, proba[:, k]) for k in classes]))


def log_loss(y: Array, proba: Array) -> float:
    """Return the mean of −log P(label), with probabilities clipped at `MIN_PROBABILITY`.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.benchmarks.table_models import log_loss
    >>> round(log_loss(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]])), 3)
    3.454
    """
    clipped = np.clip(proba, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    clipped /= clipped.sum(axis=1, keepdims=True)
    return float(-np.log(clipped[np.arange(len(y)), y]).mean())


def detection(flipped: npt.NDArray[np.bool_], suspicion: Array) -> Measured:
    """Return how well wrong labels are found, in percent.

    ``average_precision`` is that of the suspicion. ``missed`` is the share of the wrong labels that
    are not among the most suspect ones, if you look at as many labels as are wrong.
    """
    n_wrong = int(flipped.sum())
    most_suspect = np.argsort(-suspicion, kind="stable")[:n_wrong]
    return {
        "average_precision": 100 * float(average_precision_score(flipped, suspicion)),
        "missed": 100 * float(1 - flipped[most_suspect].mean()),
    }
