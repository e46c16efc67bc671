"""What depends on the seed: an adaptive forest fitted again and again to the same noisy table.

One split and one draw of noise for each table and kind of noise; only ``random_state`` changes. The
table shows how many seeds make the decision that most of them make, how far estimates and accuracies
spread, and whether all models can be exported.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import options
from lab.benchmarks import table_sets
from lab.library import adaptive_forest, versions
from lab.tables import as_markdown

COLUMNS = (
    *("family", "table", "noise", "decision", "seeds that make it", "estimated noise (%)"),
    *("accuracy (%)", "exported"),
)
TABLES = ("australian", "banana", "pima", "spambase", "twonorm", "wdbc", "page-blocks0", "yeast3")
KINDS = ("0", "0.2", "classes")


def bench(
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    tables: Annotated[options.Several, options.several("Only these tables.")] = None,
    noise: Annotated[options.Several, options.several("Only these kinds of noise.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Number of seeds, from 0.")] = 10,
    trees: options.Trees = 200,
) -> None:
    """See whether the decision of an adaptive forest depends on the seed."""
    paths = table_sets.find_tables(
        folder or table_sets.default_folder(), ["balanced", "imbalanced"]
    )
    names = options.choose("--tables", tables, sorted({*map(table_sets.name_of, paths)}), TABLES)
    kinds = options.choose("--noise", noise, table_sets.NOISES, KINDS)
    chosen = [path for path in paths if table_sets.name_of(path) in names]
    print(as_markdown(COLUMNS, measure(chosen, kinds, seeds, trees), n_text_columns=4))
    print(f"\n{versions(['hardwood', 'numpy'])}, {trees} trees, {seeds} seeds")


def measure(
    paths: Iterable[Path], kinds: Iterable[str], seeds: int, trees: int
) -> Iterator[list[str]]:
    for path in paths:
        for kind in kinds:
            split = table_sets.split_table(path, kind, 0)
            forests = [
                adaptive_forest(trees, random_state=seed, n_jobs=-1).fit(
                    split.X_train, split.y_noisy
                )
                for seed in range(seeds)
            ]
            decision, number = Counter(forest.decision_ for forest in forests).most_common(1)[0]
            yield [
                *(path.parent.name, table_sets.name_of(path), kind),
                *(decision, f"{number} of {seeds}"),
                _range(100 * forest.noise_rate_ for forest in forests),
                _range(100 * forest.score(split.X_test, split.y_test) for forest in forests),
                f"{sum(map(_can_be_exported, forests))} of {seeds}",
            ]


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{found[0]:.1f} – {found[-1]:.1f}"


def _can_be_exported(forest: Any) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        forest.to_onnx(Path(folder) / "forest.onnx")
        forest.to_sklearn()
    return True
