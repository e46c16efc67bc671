"""Distinct values and codes of columns."""

import numpy as np
import pytest

from hardwood.dask.tables import Distinct, encode


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
@pytest.mark.parametrize("n_values", [3, 100, 50_000])
def test_whole_numbers_are_looked_up_as_they_are_searched(rng, dtype, n_values):
    info = np.iinfo(dtype)
    low = max(info.min, -20)
    column = rng.integers(low, min(info.max, low + n_values), size=1000).astype(dtype)
    found, searched = Distinct.of(column), Distinct.of(column.astype(np.float64))
    assert np.array_equal(found.values, searched.values)
    assert np.array_equal(found.n_rows, searched.n_rows)
    assert found.values.dtype == (dtype if np.dtype(dtype).itemsize == 8 else np.float64)
    table = found.table(0, False)
    (codes,), (others,) = (encode(values[:, None], [table]) for values in (column, column * 1.0))
    assert codes.dtype == others.dtype
    assert np.array_equal(codes, others)


def test_whole_numbers_that_are_far_apart(rng):
    column = rng.integers(-(2**62), 2**62, size=100)
    assert np.array_equal(Distinct.of(column).values, np.unique(column))
    huge = np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64)
    assert Distinct.of(huge).values.tolist() == huge.tolist()
