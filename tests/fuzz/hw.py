"""Fuzz files of `hardwood.save`: ``python -m tests.fuzz.hw --number 10000 --seed 1``.

A file is damaged by raw bytes, or its header and arrays are changed and the checksums made right
again. It must be refused with a ValueError that names it, or give a model that works, within 1 GB
of memory. If the checksums were not made right, the model must be the one that was saved.
"""

from __future__ import annotations

import atexit
import random
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' helpers

import hw_files
from cases import noisy_labels

import hardwood
from tests.fuzz import runner


class Case(NamedTuple):
    """A damaged file; of one whose checksums were not made right, what its model must predict."""

    file: bytes
    rows: Any = None
    proba: Any = None


class Files:
    """Damaged model files."""

    name = "hw"

    def __init__(self) -> None:
        if hw_files.CAN_LIMIT_MEMORY:
            assert self.originals
            assert self.large_ones  # before the limit, as they need memory of their own
            hw_files.limit_memory()

    @cached_property
    def originals(self) -> list[tuple[bytes, Any, Any]]:
        """Files, rows, and what the models predict for these."""
        rng = np.random.default_rng(0)
        models = hw_files.models(rng)
        rows = [rng.normal(size=(30, model.n_features_in_)) for model in models]
        made = [
            (hw_files.saved(model), X, model.predict_proba(X))
            for model, X in zip(models, rows, strict=True)
        ]
        model, table = hw_files.table_model(rng)
        return [*made, (hw_files.saved(model), table, model.predict_proba(table))]

    @cached_property
    def large_ones(self) -> list[tuple[bytes, Any, Any]]:
        """Files of hundreds of kilobytes."""
        rng = np.random.default_rng(1)
        X = rng.normal(size=(2000, 12))
        y = noisy_labels(X, 3, rng)
        forests = [
            hardwood.RobustForestClassifier(20, oob_score=True, random_state=0),
            hardwood.AdaptiveForestClassifier(30, random_state=0),
        ]
        for forest in forests:
            forest.fit(X, y)
        return [(hw_files.saved(forest), X, forest.predict_proba(X)) for forest in forests]

    @cached_property
    def folder(self) -> Path:
        """Where the damaged files are, one at a time."""
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder)
        return Path(folder)

    def draw(self, seed: int) -> Case:
        rng = random.Random(seed)
        files = self.large_ones if rng.random() < 0.02 else self.originals
        file, rows, proba = rng.choice(files)
        damage = rng.choice(hw_files.SEEN_BY_CHECKSUMS + hw_files.WITH_RIGHT_CHECKSUMS)
        damaged = damage(file, rng)
        if damage in hw_files.SEEN_BY_CHECKSUMS:
            return Case(damaged, rows, proba)
        if rng.random() < 0.2:  # and another time, if it can still be taken apart
            with suppress(Exception):
                damaged = rng.choice(hw_files.WITH_RIGHT_CHECKSUMS)(damaged, rng)
        return Case(damaged)

    def run(self, case: Case) -> str:
        path = self.folder / "damaged.hw"
        path.unlink(missing_ok=True)  # an earlier one may still be mapped
        path.write_bytes(case.file)
        rng = np.random.default_rng(len(case.file))
        try:
            model = hardwood.load(path, memory_map=bool(rng.random() < 0.8))
        except ValueError as error:
            if str(path) not in str(error):
                raise
            return "refused"
        if case.rows is None:
            hw_files.use(model, rng)
        else:
            np.testing.assert_array_equal(model.predict_proba(case.rows), case.proba)
        return "loaded"

    def write(self, case: Case) -> bytes:
        return case.file

    def read(self, file: bytes) -> Case:
        return Case(file)


if __name__ == "__main__":
    runner.main(Files())
