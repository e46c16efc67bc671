"""Mushrooms: comes with the package. LIBSVM's original file can be read, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hardwood.datasets._dataset import Dataset, read_npz
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source, split_at_random

EMBEDDED = Path(__file__).parents[1] / "data"
_POISONOUS, _EDIBLE = 1, 2  # the labels in the file


def _read(paths: list[Path]) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    (path,) = paths
    names = read_npz(EMBEDDED / "mushrooms.npz").feature_names
    X, y = load_svmlight_file(path, n_features=len(names), dtype=np.float64, zero_based=False)
    if not y.size or not np.isin(y, [_POISONOUS, _EDIBLE]).all():
        raise ValueError("its labels must be 1 (poisonous) and 2 (edible)")
    dense = X.toarray().astype(np.uint8)
    return split_at_random(dense, (y == _EDIBLE).astype(np.uint8), ("poisonous", "edible"), names)


SOURCE = Source(
    name="mushrooms",
    shape=Shape(6_499, 1_625, 112, 2),
    binary_task=BinaryTask(("poisonous", "edible"), lambda kind: kind == "poisonous"),
    layouts=(Layout((("mushrooms", "mushrooms.txt", "mushrooms.libsvm", "mushrooms.svm"),)),),
    read=_read,
    originals=(
        "mushrooms (https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#mushrooms)"
    ),
)
