"""Fuzz the strings of the audit's report: ``python -m tests.fuzz.report --seconds 60 --seed 1``.

Class names, columns, cells, ids, notes and the title may be anything. The page must have the same
elements and attributes, and run the same script, as one with harmless strings in their places. With
``HARDWOOD_FUZZ_BROWSER=1`` headless Chromium opens every page as well: nothing may run, nothing may
be asked for, and nothing may be complained about.
"""

from __future__ import annotations

import atexit
import os
import pickle
import random
import re
import shutil
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' helpers

from audits import HOSTILE, Reader, made_up_findings

from hardwood import AdaptiveForestClassifier
from hardwood.audit.report import write_report
from tests.fuzz import runner

N_ROWS, N_FEATURES = 60, 3
RUNS = "window.hacked=1"
PIECES = [
    *HOSTILE,
    *("<", ">", "&", '"', "'", "`", "\\", "/", "</", "<!--", "-->", "]]>", "<![CDATA[", "\0", "\r"),
    *("\n", "\t", "\u2028", "\u2029", "\ufeff", "\u202e", "\ud800", "\udfff", "\U0010ffff", "\x7f"),
    *("{{", "}}", "{%", "%}", "{#", "${", "&lt;", "&#60;", "&#x3c;", "\\u003c", "%3C", "\ufe64"),
    *(f"<script>{RUNS}</script>", f"<svg onload={RUNS}>", f"javascript:{RUNS}", f'" onx="{RUNS}'),
    *(f"</title><script>{RUNS}</script>", f"</style><script>{RUNS}</script>", f"';{RUNS};'"),
    *(
        "<base href=//x>",
        "<meta http-equiv=refresh content=0>",
        "<a href=x>",
        "__proto__",
        "length",
    ),
    *("constructor", "toString", "nan", "", " ", "0", "-1", "1e5", "x" * 3000, "\u0301" * 50),
]


class Strings(NamedTuple):
    """All that comes from the table or the user."""

    seed: int
    classes: list[str]
    features: list[str]
    cells: list[list[str]]
    ids: list[str] | None
    title: str
    notes: list[str]


def distinct(texts: list[str]) -> list[str]:
    """Different texts: classes and columns are."""
    return [text + "+" * texts[:i].count(text) for i, text in enumerate(texts)]


def skeleton(page: str) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """The elements, the names of their attributes, and what runs."""
    reader = Reader(page)
    names = [(tag, name) for tag, name, _ in reader.attributes]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return reader.tags, names, scripts


class Report:
    """The report's strings."""

    name = "report"

    def __init__(self) -> None:
        self.browser: Any = None
        if os.environ.get("HARDWOOD_FUZZ_BROWSER"):
            from playwright.sync_api import sync_playwright

            driver = sync_playwright().start()
            self.browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
            atexit.register(driver.stop)

    @cached_property
    def _forest(self) -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        X = rng.integers(0, 4, size=(N_ROWS, N_FEATURES)).astype(float)
        forest = AdaptiveForestClassifier(5, random_state=0)
        return forest.fit(X, X[:, 0] > 1), X

    def draw(self, seed: int) -> Strings:
        rng = random.Random(seed)

        def text() -> str:
            return "".join(rng.choice(PIECES) for _ in range(rng.choice([1, 1, 2, 4])))

        cells = [[text() for _ in range(N_FEATURES)] for _ in range(4)]
        return Strings(
            seed,
            distinct([text() for _ in range(rng.choice([2, 2, 3]))]),
            distinct([text() for _ in range(N_FEATURES)]),
            cells,
            [text() for _ in range(N_ROWS)] if rng.random() < 0.5 else None,
            text(),
            [text() for _ in range(rng.randrange(3))],
        )

    def run(self, case: Strings) -> str:
        harmless = case._replace(
            classes=[f"class {i}" for i in range(len(case.classes))],
            features=[f"x{i}" for i in range(N_FEATURES)],
            cells=[[f"cell {i}"] * N_FEATURES for i in range(4)],
            ids=case.ids and [f"id {i}" for i in range(N_ROWS)],
            title="title",
            notes=["note"] * len(case.notes),
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            pages = [self._page(each, path) for each in (harmless, case)]
            for name, one, other in zip(
                ("elements", "attributes", "scripts"), *map(skeleton, pages), strict=True
            ):
                assert one == other, f"other {name}: {set(other) ^ set(one)}"
            if getattr(self, "browser", None) is not None:
                self._open(path)
        return "written"

    def _page(self, case: Strings, path: Path) -> str:
        forest, X = self._forest
        rng = np.random.default_rng(case.seed)
        cells = np.array(case.cells, dtype=object)
        values = np.stack([cells[X[:, j].astype(int), j] for j in range(N_FEATURES)], axis=1)
        found = made_up_findings(
            N_ROWS,
            case.classes,
            forest=forest if len(case.classes) == 2 else None,
            seed=int(rng.integers(100)),
            X=X,
            feature_names=case.features,
            ids=None if case.ids is None else np.array(case.ids, dtype=object),
        )
        write_report(found, path, title=case.title, values=values, notes=case.notes)
        return path.read_text(encoding="utf-8")

    def _open(self, path: Path) -> None:
        complaints: list[str] = []
        page = self.browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("#table")
        assert not page.evaluate("'hacked' in window")
        assert complaints == [path.as_uri()], complaints
        page.close()

    def write(self, case: Strings) -> bytes:
        return pickle.dumps(tuple(case))

    def read(self, file: bytes) -> Strings:
        return Strings(*pickle.loads(file))


if __name__ == "__main__":
    runner.main(Report())
