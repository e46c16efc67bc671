"""Covertype: UCI's ``covtype.data``, or OpenML's ``covertype``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source, split_at_random
from hardwood.datasets._text import open_text, read_arff, read_table

_CLASSES = (
    "Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir",
    "Krummholz",
)  # fmt: skip
_FEATURES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{area}" for area in range(1, 5)),
    *(f"Soil_Type{soil}" for soil in range(1, 41)),
)


def _read(paths: list[Path]) -> Dataset:
    (path,) = paths
    if ".arff" in path.suffixes:
        X, y = read_arff(path)
    else:
        with open_text(path) as file:
            table = read_table(file, np.int16)
        X, y = table[:, :-1], table[:, -1]
    if X.shape[1] != len(_FEATURES):
        raise ValueError(f"it has {X.shape[1]} features instead of {len(_FEATURES)}")
    if not 1 <= y.min() <= y.max() <= len(_CLASSES):
        raise ValueError("its last column must hold the cover type, from 1 to 7")
    return split_at_random(X.astype(np.int16), (y - 1).astype(np.uint8), _CLASSES, _FEATURES)


SOURCE = Source(
    name="covertype",
    shape=Shape(464_809, 116_203, len(_FEATURES), len(_CLASSES)),
    binary_task=BinaryTask(("Lodgepole Pine", "others"), lambda tree: tree == "Lodgepole Pine"),
    layouts=(
        Layout((("covtype.data.gz", "covtype.data", "covertype.arff", "covertype.arff.gz"),)),
    ),
    read=_read,
    originals=(
        "covtype.data.gz or covtype.data (https://archive.ics.uci.edu/dataset/31/covertype), "
        "or covertype.arff from OpenML (the version with integer values)"
    ),
    remotes=(
        Remote(
            "covtype.data.gz",
            ("https://ndownloader.figshare.com/files/5976039",),
            "sha256",
            "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        ),
    ),
)
