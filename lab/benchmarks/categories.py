"""Tables with text columns: categories as they are, numbered, or one-hot encoded.

"native" is an adaptive forest that splits by sets of categories, "numbered" one for which categories
are numbers in alphabetical order, "one-hot" one for which each is a column of zeros and ones.
LightGBM uses its own categories. The last column is the fit time of "native" divided by that of
"numbered". All see the same noisy labels, and are scored on clean ones.

With ``--smoothing``, values of `category_smoothing` are compared by the out-of-bag accuracy of a Gini
forest on the noisy labels, which is how the default was chosen. ``--joined`` makes one column of each
pair of text columns, for tables with more categories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import train_test_split

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood import noise as label_noise
from lab import options
from lab.benchmarks import table_sets
from lab.benchmarks.timing import timed
from lab.library import versions
from lab.tables import as_markdown

NOISES = ("0", "0.2", "0.4")
WAYS = ("native", "numbered", "one-hot", "LightGBM")

Folder = Annotated[
    Path | None, typer.Option(help="A folder of tables; by default `tables` next to the data sets.")
]
Half = Annotated[str | None, typer.Option(help="Only this half, development or held-out.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of splits of each table.")]
Trees = Annotated[int, typer.Option(min=1, help="Number of trees of a forest.")]
Joined = Annotated[bool, typer.Option(help="Join text columns in pairs.")]


def bench(
    tables: Annotated[options.Several, options.several("Only these tables.", "NAMES")] = None,
    smoothing: Annotated[
        options.Several, options.several("Compare these values of category_smoothing.", "VALUES")
    ] = None,
    folder: Folder = None,
    half: Half = None,
    seeds: Seeds = 5,
    trees: Trees = 100,
    joined: Joined = False,
) -> None:
    """Compare ways to treat columns of text."""
    values = tuple(options.split(smoothing or []))
    measure = partial(by_smoothing, values=values) if values else by_way
    columns = values or (*WAYS, "× the time")
    rows = []
    sums: dict[str, list[list[float]]] = {}
    for path in chosen_tables(folder or table_sets.default_folder(), half, tables):
        frame, y = table_sets.load_frame(path)
        frame = join_pairs(frame) if joined else frame
        for kind in NOISES:
            T = table_sets.noise_for(kind, int(y.max()) + 1, path.parent.name)
            measured = [measure(*split(frame, y, T, seed), trees, seed) for seed in range(seeds)]
            mean = np.mean(measured, axis=0).tolist()
            rows.append([table_sets.name_of(path), kind, *shown(mean)])
            sums.setdefault(kind, []).append(mean)
    for kind, means in sums.items():
        rows.append(["mean", kind, *shown(np.mean(means, axis=0).tolist())])
    print(as_markdown(("table", "noise", *columns), rows, n_text_columns=2))
    print(f"\n{versions(['hardwood', 'lightgbm', 'numpy'])}")


def shown(numbers: list[float]) -> list[str]:
    return [f"{number:.2f}" for number in numbers]


def chosen_tables(folder: Path, half: str | None, names: options.Several) -> Iterator[Path]:
    """Return the tables that have a column of text."""
    asked = options.split(names or [])
    for path in table_sets.find_tables(folder):
        name = table_sets.name_of(path)
        if (asked and name not in asked) or (half and table_sets.half_of(name) != half):
            continue
        if text_columns(table_sets.load_frame(path)[0]):
            yield path


def text_columns(frame: Any) -> list[str]:
    import pandas as pd

    return [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]


def join_pairs(frame: Any) -> Any:
    """Make one column of each pair of neighbouring columns."""
    import pandas as pd

    names = list(frame)[: len(frame.columns) // 2 * 2]
    pairs = zip(names[::2], names[1::2], strict=True)
    return pd.DataFrame(
        {f"{a}, {b}": frame[a].astype(str) + "," + frame[b].astype(str) for a, b in pairs}
    )


def split(frame: Any, y: Any, T: Any, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return the table, the rows to fit and to test, the noisy labels and the clean ones."""
    train, test = train_test_split(
        np.arange(len(y)), test_size=table_sets.TEST_SHARE, stratify=y, random_state=seed
    )
    noisy, _ = label_noise.corrupt(y[train], T, seed)
    return frame, train, test, noisy, y[test]


def by_smoothing(
    frame: Any, train: Any, test: Any, y: Any, y_test: Any, trees: int, seed: int, values: Any
) -> list[float]:
    """Return the out-of-bag accuracy of each value."""
    forest = partial(RobustForestClassifier, trees, criterion="gini", oob_score=True, n_jobs=-1)
    return [
        100
        * forest(category_smoothing=float(value), random_state=seed)
        .fit(frame.iloc[train], y)
        .oob_score_
        for value in values
    ]


def by_way(
    frame: Any, train: Any, test: Any, y: Any, y_test: Any, trees: int, seed: int
) -> list[float]:
    """Return the accuracy of each way, and the time of the first one divided by the second one's."""
    import pandas as pd
    from lightgbm import LGBMClassifier

    text = text_columns(frame)
    categories = frame.astype(dict.fromkeys(text, "category"))
    numbers = categories.copy()
    for name in text:
        numbers[name] = categories[name].cat.codes.astype(float).where(frame[name].notna())
    forest = partial(AdaptiveForestClassifier, trees, random_state=seed, n_jobs=-1)
    models: dict[str, tuple[Callable[[], Any], Any]] = {
        "native": (forest, frame),
        "numbered": (forest, numbers),
        "one-hot": (forest, pd.get_dummies(frame, dtype=float)),
        "LightGBM": (partial(LGBMClassifier, verbose=-1, random_state=seed), categories),
    }
    accuracies, seconds = [], {}
    for way in WAYS:
        make, X = models[way]
        model = make()
        seconds[way] = timed(partial(model.fit, X.iloc[train], y)).cpu
        accuracies.append(100 * float(np.mean(model.predict(X.iloc[test]) == y_test)))
    return [*accuracies, seconds["native"] / seconds["numbered"]]
