"""How one run is performed: the data, the noise, the model, and what is measured.

The paper's numbers come from its published code, which differs from its text in places. Our models
do what the text says. The protocol follows the code where the tables depend on it:

- Forests see every row (no bootstrap), look at ⌈√d⌉ features that vary, and average the
  distributions of the leaves.
- A tuned criterion is trained on a share of the noisy rows. The value that is most accurate on the
  other noisy rows is kept, the first one if several are equal, and the model is not refitted.
- All criteria and models see the same noisy labels of a data set, noise and seed, and hold out the
  same rows.
- Twoing is computed as it is defined. The paper's twoing is an artefact of its code, which stops
  searching for splits too early.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Mapping
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
from lab.data import noise_probabilities
from lab.paper.spec import Source
from lab.store import Measured, Run

__all__ = ["candidates", "check_model", "make_model", "perform"]

Model = RobustTreeClassifier | RobustForestClassifier | RobustExtraTreesClassifier

# Besides the model, a run's seed gives a stream of its own to each thing that is drawn.
_NOISE_STREAM, _HOLDOUT_STREAM, _ROWS_STREAM = range(3)


def perform(run: Run, source: Source, threads: int = 1) -> Measured:
    """Train and test one model.

    Parameters
    ----------
    run : Run
        The run.
    source : Source
        Where the data set comes from.
    threads : int, default=1
        Number of threads for forests. It does not change the result.

    Returns
    -------
    dict
        - ``accuracy`` on the clean test labels, in percent;
        - ``validation_accuracy`` on the noisy labels held out, in percent, or None;
        - ``tuned``, the value chosen for a tuned parameter, or None;
        - ``leaves`` of a tree, or the mean over the first ten trees of a forest;
        - ``depth`` of the deepest of these trees;
        - ``seconds`` by the clock to train, including all candidates of a tuned parameter;
        - ``n_train``, the number of training rows, including those held out.

    Examples
    --------
    >>> from lab.paper import load_spec
    >>> from lab.paper.protocol import perform
    >>> spec = load_spec("paper").narrowed(datasets=["mushrooms"], criteria=["CL"], noise=["cc1"])
    >>> run = next(spec.runs())
    >>> perform(run, spec.sources["mushrooms"])["leaves"] < 30
    True
    """
    settings = json.loads(run.settings)
    definition = settings["criterion"]
    data = _load(source, run.task)
    rows = np.arange(len(data.y_train))
    if run.max_rows:
        rows = np.sort(_generator(run, _ROWS_STREAM).permutation(rows)[: run.max_rows])
    probabilities = _noise(source, run.task, json.dumps(settings["noise"]))
    noise_stream = _generator(run, _NOISE_STREAM)
    noisy_y, _ = noise.corrupt(data.y_train, probabilities, random_state=noise_stream)
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
        del model  # frees a large forest before the next one grows
    assert best is not None  # there is at least one candidate
    validation_accuracy, chosen, model = best
    trees = [model] if isinstance(model, RobustTreeClassifier) else model.estimators_[:10]
    return {
        "accuracy": _percent(model, data.X_test, data.y_test),
        "validation_accuracy": validation_accuracy,
        "tuned": next(iter(chosen.values()), None),
        "leaves": float(np.mean([tree.get_n_leaves() for tree in trees])),
        "depth": max(int(tree.get_depth()) for tree in trees),
        "seconds": seconds,
        "n_train": len(y),
    }


def candidates(definition: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters to choose from: none, or one for each value of a tuned parameter.

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
    """Return the estimator of a run, not fitted yet.

    Parameters
    ----------
    model : {"dt", "rf", "et"}
        Decision tree, random forest or extremely randomised trees.
    definition : mapping
        A criterion of a spec. A parameter goes to the criterion if it has one of that name, else to
        the model.
    parameters : mapping
        More parameters.
    trees : int
        Number of trees in a forest.
    seed, threads : int
        ``random_state``, and ``n_jobs`` of a forest.

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
    # The forests of the tables draw no bootstrap sample.
    return forest(
        n_estimators=trees,
        criterion=criterion,
        random_state=seed,
        n_jobs=threads,
        **{"bootstrap": False, **merged},
    )


def check_model(model: Model) -> None:
    """Check the parameters of an estimator and of its criterion, as ``fit`` would."""
    model._validate_params()
    criteria.resolve(model.criterion)._validate_params()


# Workers keep what their next runs need too. Two data sets, because tasks alternate.
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
            f"first_classes of {source.name} are {sorted(first)}, but its classes are "
            f"{data.classes}."
        )
    if not first and len(data.classes) == 2:
        return data
    if not first:
        raise ValueError(
            f"{source.name} has {len(data.classes)} classes. Its binary task needs first_classes, "
            f"the classes that make up label 0, under [datasets.{source.name}]."
        )
    groups = ", ".join(source.first_classes), ", ".join(rest)
    return BinaryTask(groups, first.__contains__).apply(data)


# Class distances and boundaries take a while on large data, and do not depend on the seed.
@lru_cache(maxsize=4)
def _noise(source: Source, task: str, definition: str) -> NDArray[np.float64]:
    return noise_probabilities(_load(source, task), json.loads(definition))


def _generator(run: Run, stream: int) -> np.random.Generator:
    """Return a random stream for one purpose, the same for all criteria and models.

    It differs by data set and noise, so that an unlucky draw does not affect every column.
    """
    name = f"{run.dataset} {run.task} {run.noise}".encode()
    return np.random.default_rng([run.seed, stream, zlib.crc32(name)])


def _percent(model: Model, X: NDArray[Any], y: NDArray[Any]) -> float:
    return 100 * float(np.mean(model.predict(X) == y))
