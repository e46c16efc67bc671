"""Distinct values and codes of columns."""

import numpy as np
import pytest
from dask.sizeof import sizeof

from hardwood.dask import training
from hardwood.dask.tables import Codes, Distinct, encode
from hardwood.dask.training import CodedBlock


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
    found = (encode(values[:, None], [table]) for values in (column, column * 1.0))
    (codes,), (others,) = (each.columns for each in found)
    assert codes.dtype == others.dtype
    assert np.array_equal(codes, others)


def test_whole_numbers_that_are_far_apart(rng):
    column = rng.integers(-(2**62), 2**62, size=100)
    assert np.array_equal(Distinct.of(column).values, np.unique(column))
    huge = np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64)
    assert Distinct.of(huge).values.tolist() == huge.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_distinct_values_of_parts_are_merged(rng, dtype):
    column = rng.integers(-50, 50, size=1000).astype(dtype)
    if column.dtype.kind == "f":
        column[column == 7] = np.nan
        column[::11] *= -0.0
    parts = [Distinct.of(part) for part in np.split(column, [0, 1, 400, 400, 900])]
    whole, merged = Distinct.of(column), Distinct.merged(parts)
    assert np.array_equal(merged.values, whole.values)
    assert merged.values.dtype == whole.values.dtype == dtype
    assert not np.any(np.signbit(merged.values[merged.values == 0]))
    assert np.array_equal(merged.n_rows, whole.n_rows)
    assert merged.has_missing == whole.has_missing == (column.dtype.kind == "f")


def test_columns_with_many_values_are_merged_alone(monkeypatch):
    monkeypatch.setattr(training, "MERGED_AT_ONCE", 100)
    assert training._groups_of([40, 40, 40, 300, 20, 80]) == [[0, 1], [2], [3], [4, 5]]


def test_dask_knows_the_size_of_what_workers_hold():
    narrow, wide = np.zeros((2, 1000), dtype=np.uint8), np.zeros((1, 1000), dtype=np.uint16)
    codes = Codes(narrow, wide, (False, True, False))
    block = CodedBlock(codes, np.zeros(1000, dtype=np.uint16), None, np.zeros(1000))
    assert 4000 + 2000 + 8000 <= sizeof(block) < 15_000
    assert 12_000 <= sizeof(Distinct.of(np.arange(1000.0))) < 13_000
