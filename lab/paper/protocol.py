"""How one run is performed: the data, the noise, the model, and what is measured.

The paper's numbers come from its published code, which differs from its text in places. Here the
models do what the text says, and the protocol follows the code where the tables need it:

- Forests see every row (no bootstrap), look at ⌈√d⌉ features that vary, and average the leaves'
  distributions.
- A tuned criterion is trained on a share of the noisy rows, its parameter is the one that is most
  accurate on the other noisy rows, the first of equals, and it is not refitted.
- All criteria and models of one data set, noise and seed see the same noisy labels, and hold out
  the same rows.
- Twoing is computed as it is defined. The paper's twoing is an artefact of its code, which stops
  looking for splits too early.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import (
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
    criteria,
    datasets,
    noise,
)
from hardwood.datasets import Dataset
from hardwood.datasets._dataset import read_npz
from hardwood.datasets._source import BinaryTask
from lab.paper.spec import Run, Source

__all__ = ["Outcome", "candidates", "make_model", "perform"]

Model = RobustTreeClassifier | RobustForestClassifier | RobustExtraTreesClassifier

# A run's seed gives a stream of its own to each thing drawn, besides the model.
_NOISE_STREAM, _HOLDOUT_STREAM, _ROWS_STREAM = range(3)


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    accuracy : float
        On the clean test labels, in percent.
    validation_accuracy : float or None
        On the noisy labels held out, in percent.
    tuned : float or None
        The value that was chosen for a tuned parameter.
    leaves : float
        Leaves of a tree; for a forest the mean of its first ten trees.
    depth : int
        Depth of the deepest of the trees counted in `leaves`.
    seconds : float
        Wall-clock time to train, all candidates of a tuned parameter included.
    n_train : int
        Training rows, those held out included.
    """

    accuracy: float
    validation_accuracy: float | None
    tuned: float | None
    leaves: float
    depth: int
    seconds: float
    n_train: int


def perform(run: Run, source: Source, threads: int = 1) -> Outcome:
    """Train and test one model.

    Parameters
    ----------
    run : Run
        What to do.
    source : Source
        Where the data set comes from.
    threads : int, default=1
        For forests. The result is the same for any number.

    Returns
    -------
    Outcome
        What came of it.

    Examples
    --------
    >>> from lab.paper import load_spec
    >>> from lab.paper.protocol import perform
    >>> spec = load_spec("paper").narrowed(datasets=["mushrooms"], criteria=["CL"], noise=["cc1"])
    >>> run = next(spec.runs())
    >>> outcome = perform(run, spec.sources["mushrooms"])
    >>> outcome.leaves < 30
    True
    """
    settings = json.loads(run.settings)
    definition = settings["criterion"]
    data = _load(source, run.task)
    rows = np.arange(len(data.y_train))
    if run.max_rows:
        rows = np.sort(_generator(run, _ROWS_STREAM).permutation(rows)[: run.max_rows])
    probabilities = _noise_probabilities(source, run.task, json.dumps(settings["noise"]))
    noisy_y, _ = noise.corrupt(
        data.y_train, probabilities, random_state=_generator(run, _NOISE_STREAM)
    )
    X, y = (data.X_train[rows], noisy_y[rows]) if run.max_rows else (data.X_train, noisy_y)

    order = _generator(run, _HOLDOUT_STREAM).permutation(len(y))
    n_held_out = round(definition.get("holdout", 0) * len(y))
    held_out, kept = order[:n_held_out], np.sort(order[n_held_out:])
    X_kept, y_kept = (X[kept], y[kept]) if n_held_out else (X, y)

    best: tuple[float | None, Mapping[str, Any], Model] | None = None
    seconds = 0.0
    for candidate in candidates(definition):
        model = make_model(run.model, definition, candidate, run.trees, run.seed, threads)
        start = time.perf_counter()
        model.fit(X_kept, y_kept)
        seconds += time.perf_counter() - start
        score = _percent(model, X[held_out], y[held_out]) if n_held_out else None
        if best is None or (score is not None and best[0] is not None and score > best[0]):
            best = score, candidate, model
        del model  # a large forest is gone before the next one grows
    assert best is not None  # there is at least one candidate
    validation_accuracy, chosen, model = best
    trees = [model] if isinstance(model, RobustTreeClassifier) else model.estimators_[:10]
    return Outcome(
        accuracy=_percent(model, data.X_test, data.y_test),
        validation_accuracy=validation_accuracy,
        tuned=next(iter(chosen.values()), None),
        leaves=float(np.mean([tree.get_n_leaves() for tree in trees])),
        depth=max(int(tree.get_depth()) for tree in trees),
        seconds=seconds,
        n_train=len(y),
    )


def candidates(definition: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters to choose among: none, or one for each value of a tuned parameter.

    Parameters
    ----------
    definition : mapping
        A criterion of a spec.

    Yields
    ------
    dict
        Parameters to add to the criterion's own.

    Examples
    --------
    >>> from lab.paper.protocol import candidates
    >>> list(candidates({"criterion": "ne", "parameters": {}, "tune": {"lam": [0, 1]}}))
    [{'lam': 0}, {'lam': 1}]
    >>> list(candidates({"criterion": "gini", "parameters": {}}))
    [{}]
    """
    tune = definition.get("tune")
    if not tune:
        yield {}
        return
    ((name, values),) = tune.items()
    yield from ({name: value} for value in values)


def make_model(
    model: str,
    definition: Mapping[str, Any],
    parameters: Mapping[str, Any],
    trees: int,
    seed: int,
    threads: int,
) -> Model:
    """Return the estimator of a run.

    Parameters
    ----------
    model : {"dt", "rf", "et"}
        Decision tree, random forest or extremely randomised trees.
    definition : mapping
        A criterion of a spec. Its parameters are the criterion's where that has one of the name,
        else the model's.
    parameters : mapping
        More of them.
    trees : int
        Trees of a forest.
    seed, threads : int
        ``random_state``, and ``n_jobs`` of a forest.

    Returns
    -------
    estimator
        Not fitted yet.

    Examples
    --------
    >>> from lab.paper.protocol import make_model
    >>> definition = {"criterion": "gce", "parameters": {"q": 0.5, "min_samples_leaf": 3}}
    >>> make_model("dt", definition, {}, trees=1, seed=0, threads=1)
    RobustTreeClassifier(criterion=GeneralizedCrossEntropy(q=0.5),
                         min_samples_leaf=3, random_state=0)
    """
    criterion = criteria.resolve(definition["criterion"])
    merged = {**definition["parameters"], **parameters}
    own = criterion.get_params().keys() & merged.keys()
    criterion.set_params(**{name: merged.pop(name) for name in own})
    if model == "dt":
        return RobustTreeClassifier(criterion=criterion, random_state=seed, **merged)
    forest = RobustForestClassifier if model == "rf" else RobustExtraTreesClassifier
    # The tables' forests draw no bootstrap sample.
    return forest(
        n_estimators=trees,
        criterion=criterion,
        random_state=seed,
        n_jobs=threads,
        **{"bootstrap": False, **merged},
    )


# Workers keep what the next runs need too; two data sets, as tasks alternate.
@lru_cache(maxsize=2)
def _load(source: Source, task: str) -> Dataset:
    if source.dataset is not None:
        return datasets.load(source.dataset, task=task, features=source.features)  # type: ignore[arg-type]
    assert source.path is not None  # one of the two is given
    data = read_npz(Path(source.path))
    return _in_two(data, source) if task == "binary" else data


def _in_two(data: Dataset, source: Source) -> Dataset:
    first = set(source.first_classes)
    rest = [name for name in data.classes.tolist() if name not in first]
    if len(first) + len(rest) > len(data.classes):
        raise ValueError(
            f"first_classes of {source.name} are {sorted(first)}, its classes {data.classes}."
        )
    if not first and len(data.classes) == 2:
        return data
    if not first:
        raise ValueError(
            f"{source.name} has {len(data.classes)} classes: its binary task needs first_classes "
            f"under [datasets.{source.name}], those that make up label 0."
        )
    groups = ", ".join(source.first_classes), ", ".join(rest)
    return BinaryTask(groups, first.__contains__).apply(data)


# Class distances and boundaries take a while on large data, and do not depend on the seed.
@lru_cache(maxsize=4)
def _noise_probabilities(source: Source, task: str, definition: str) -> NDArray[np.float64]:
    """Return the noise matrix, or a row of probabilities per sample."""
    parameters = json.loads(definition)
    data = _load(source, task)
    n_classes = len(data.classes)
    make: dict[str, Callable[..., NDArray[np.float64]]] = {
        "uniform": lambda rate: noise.uniform(n_classes, rate),
        "class_conditional": lambda rates: noise.class_conditional(rates),
        "pair_flip": lambda rate: noise.pair_flip(n_classes, rate),
        "mahalanobis": lambda **ends: noise.mahalanobis(data.X_train, data.y_train, **ends),
        "instance_dependent": lambda rate: noise.instance_dependent(
            data.X_train, data.y_train, rate
        ),
    }
    return make[parameters.pop("kind")](**parameters)


def _generator(run: Run, stream: int) -> np.random.Generator:
    """Return a stream for one thing drawn: the same for all criteria and models.

    Other data sets and other noises draw anew, so that an unlucky draw is not in every column.
    """
    name = f"{run.dataset} {run.task} {run.noise}".encode()
    return np.random.default_rng([run.seed, stream, zlib.crc32(name)])


def _percent(model: Model, X: NDArray[Any], y: NDArray[Any]) -> float:
    return 100 * float(np.mean(model.predict(X) == y))
