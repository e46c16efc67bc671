"""Tables as people have them, for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def fruit(n_rows: int, rng: np.random.Generator) -> Any:
    """Numbers, text, dates, truth values and missing values; `ripe` is told by hue and size."""
    hue = rng.choice(["red", "blue", "green", "yellow"], n_rows, p=[0.4, 0.3, 0.2, 0.1])
    size = rng.normal(size=n_rows).round(3)
    table = pd.DataFrame(
        {
            "number": np.arange(n_rows),
            "hue": hue,
            "size": size,
            "bitten": rng.random(n_rows) < 0.5,
            "picked": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 99, n_rows), "D"),
            "name": [f"fruit {i}" for i in range(n_rows)],
            "planet": "earth",
        }
    )
    table["ripe"] = np.where((hue == "red") | (size > 0.5), "yes", "no")
    table.loc[rng.random(n_rows) < 0.1, "hue"] = None
    table.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    return table
