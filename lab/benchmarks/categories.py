"""Tables with text columns: categories as they are, numbered, or one-hot encoded.

"native" is an adaptive forest that splits by sets of categories, "numbered" one for which categories
are numbers in alphabetical order, "one-hot" one for which each is a column of zeros and ones.
LightGBM uses its own categories. All see the same noisy labels, and are scored on clean ones. The last
columns are how far "native" is ahead of "numbered", with the standard error over splits (in the last
rows, over tables), and the fit time of "native" divided by that of "numbered".

With ``--smoothing``, values of `category_smoothing` are compared by the out-of-bag accuracy of a Gini
forest on the noisy labels, which is how the default was chosen. ``--joined`` makes one column of each
pair of text columns, for tables with more categories.

With ``--cost``, fits of all rows are timed on one thread, of a frame as it is and of one with numbered
columns. Reading the text is included. The medians of as many rounds as there are seeds are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import train_test_split

from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood import noise as label_noise
from lab import options
from lab.benchmarks import table_sets
from lab.benchmarks.timing import interleaved, timed
from lab.library import versions
from lab.tables import as_markdown

NOISES = ("0", "0.2", "0.4")
WAYS = ("native", "numbered", "one-hot", "LightGBM")
COSTS = ("table", "noise", "model", "native (s)", "numbered (s)", "× the time")

Folder = Annotated[
    Path | None, typer.Option(help="A folder of tables; by default `tables` next to the data sets.")
]
Half = Annotated[str | None, typer.Option(help="Only this half, development or held-out.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of splits of each table.")]
Trees = Annotated[int, typer.Option(min=1, help="Number of trees of a forest.")]
Joined = Annotated[bool, typer.Option(help="Join text columns in pairs.")]
Cost = Annotated[bool, typer.Option(help="Time fits of all rows, on one thread.")]


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
    cost: Cost = False,
) -> None:
    """Compare ways to treat columns of text."""
    if cost:
        paths = chosen_tables(folder or table_sets.default_folder(), half, tables)
        print(as_markdown(COSTS, costs(paths, trees, seeds), n_text_columns=3))
        print(f"\n{versions(['hardwood', 'numpy', 'pandas'])}")
        return
    values = tuple(options.split(smoothing or []))
    measure = partial(by_smoothing, values=values) if values else by_way
    columns = values or (*WAYS, "× the time", "native − numbered")
    rows = []
    means: dict[str, list[list[float]]] = {}
    for path in chosen_tables(folder or table_sets.default_folder(), half, tables):
        frame, y = table_sets.load_frame(path)
        frame = join_pairs(frame) if joined else frame
        for kind in NOISES:
            T = table_sets.noise_for(kind, int(y.max()) + 1, path.parent.name)
            measured = [measure(*split(frame, y, T, seed), trees, seed) for seed in range(seeds)]
            rows.append([table_sets.name_of(path), kind, *shown(measured, ahead=not values)])
            means.setdefault(kind, []).append(np.mean(measured, axis=0).tolist())
    rows += [["mean", kind, *shown(each, ahead=not values)] for kind, each in means.items()]
    print(as_markdown(("table", "noise", *columns), rows, n_text_columns=2))
    print(f"\n{versions(['hardwood', 'lightgbm', 'numpy'])}")


def shown(measured: list[list[float]], ahead: bool) -> list[str]:
    """Return the mean of each column and, if asked, how far the first one is ahead of the second one.

    Examples
    --------
    >>> shown([[90.0, 89.0], [92.0, 90.0]], ahead=True)
    ['91.00', '89.50', '+1.50 ± 0.50']
    """
    each = np.array(measured)
    cells = [f"{mean:.2f}" for mean in each.mean(axis=0)]
    if ahead:
        lead = each[:, 0] - each[:, 1]
        error = f" ± {lead.std(ddof=1) / np.sqrt(len(lead)):.2f}" if len(lead) > 1 else ""
        cells.append(f"{lead.mean():+.2f}{error}")
    return cells


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

    categories = frame.astype(dict.fromkeys(text_columns(frame), "category"))
    numbers = numbered(frame)
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


def numbered(frame: Any) -> Any:
    """Return a table with numbers in alphabetical order in the place of text."""
    numbers = frame.copy()
    for name in text_columns(frame):
        codes = frame[name].astype("category").cat.codes
        numbers[name] = codes.astype(float).where(frame[name].notna())
    return numbers


def costs(paths: Iterator[Path], trees: int, rounds: int) -> Iterator[list[str]]:
    """Measure processor time of fits of all rows, as they are and numbered."""
    models: dict[str, Callable[[], Any]] = {
        "tree": partial(RobustTreeClassifier, random_state=0),
        "forest": partial(RobustForestClassifier, trees, random_state=0, n_jobs=1),
        "extra trees": partial(RobustExtraTreesClassifier, trees, random_state=0, n_jobs=1),
        "adaptive forest": partial(AdaptiveForestClassifier, trees, random_state=0, n_jobs=1),
    }
    for path in paths:
        frame, y = table_sets.load_frame(path)
        tables = {"native": frame, "numbered": numbered(frame)}
        for kind in NOISES:
            T = table_sets.noise_for(kind, int(y.max()) + 1, path.parent.name)
            noisy, _ = label_noise.corrupt(y, T, 0)
            for name, make in models.items():
                fits = {way: partial(_fit, make, X, noisy) for way, X in tables.items()}
                own, other = (timing.cpu for timing in interleaved(fits, rounds).values())
                times = (f"{own:.3g}", f"{other:.3g}", f"{own / other:.2f}")
                yield [table_sets.name_of(path), kind, name, *times]


def _fit(make: Callable[[], Any], X: Any, y: Any) -> None:
    make().fit(X, y)
