"""The paper's experiments, run again, and experiments of your own in the same way.

A *run* is one model trained on one data set with one noise and one seed. A *spec*, a TOML file,
names a grid of runs; the packaged one called ``paper`` is the paper's. The *protocol* performs a
run, the *runner* spreads runs over processes or machines and the *store*, an SQLite file, keeps
what came of each as it ends. *Tables* and *figures* set the results beside the paper's.

``hardwood reproduce`` does all this from the command line.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> from lab.paper import Store, load_spec, run
>>> spec = load_spec("paper").narrowed(
...     datasets=["mushrooms"], models=["dt"], criteria=["MSE", "ANE"], noise=["0.3"], seeds=1
... )
>>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
...     summary = run(spec, store, jobs=1)
...     [(result.run.criterion, round(result.accuracy)) for result in store.results()]
[('ANE', 100), ('MSE', 66)]
"""

from lab.paper.runner import Summary, run
from lab.paper.spec import Run, Spec, SpecError, load_spec
from lab.paper.store import Result, Store, StoreError

__all__ = [
    "Result",
    "Run",
    "Spec",
    "SpecError",
    "Store",
    "StoreError",
    "Summary",
    "load_spec",
    "run",
]
