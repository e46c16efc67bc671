"""Tables as Markdown, LaTeX and CSV, and the numbers in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["MISSING", "as_csv", "as_latex", "as_markdown", "number", "times"]

MISSING = "–"
"""What stands in a cell that has no value."""


def as_markdown(
    columns: Sequence[str], rows: Iterable[Sequence[str]], n_text_columns: int = 1
) -> str:
    """Lay out a table whose first columns are text and whose other columns are numbers.

    Examples
    --------
    >>> from lab.tables import as_markdown
    >>> print(as_markdown(["model", "fit (s)"], [["tree", "0.5"]]))
    | model | fit (s) |
    | --- | ---: |
    | tree | 0.5 |
    """
    rules = ["---"] * n_text_columns + ["---:"] * (len(columns) - n_text_columns)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rules, *rows))


def as_latex(
    columns: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    n_text_columns: int = 1,
    caption: str = "",
) -> str:
    r"""Lay out a table for a document that uses booktabs; a row that is None becomes a rule.

    Examples
    --------
    >>> from lab.tables import as_latex
    >>> print(as_latex(["model", "fit"], [None, ["tree", "0.5"]], caption="Times"))
    \begin{table*}
    \centering\scriptsize
    \begin{tabular}{lc}
    \toprule
    model & fit \\
    \midrule
    tree & 0.5 \\
    \bottomrule
    \end{tabular}
    \caption{Times}
    \end{table*}
    """
    alignment = "l" * n_text_columns + "c" * (len(columns) - n_text_columns)
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\scriptsize",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            *(
                r"\midrule" if cells is None else rf"{' & '.join(cells)} \\"
                for cells in (columns, *rows)
            ),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{caption}}}",
            r"\end{table*}",
        ]
    )


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a header and one line per row."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return file.getvalue()


def number(value: float | None, scale: float = 1, style: str = "") -> str:
    """Write a number, by default with three significant digits.

    Examples
    --------
    >>> from lab.tables import number
    >>> number(1234.5), number(0.5), number(0.25, 100, ".1f"), number(None)
    ('1,234', '0.500', '25.0', '–')
    """
    if value is None:
        return MISSING
    value *= scale
    if style:
        return format(value, style)
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def times(ratio: float | None) -> str:
    """Write how many times as large or as fast something is."""
    return MISSING if ratio is None else f"{number(ratio)} ×"
