"""The paper's experiments, and experiments of your own in the same way.

A *spec*, a TOML file, describes a grid of runs; the one called ``paper`` is the paper's. The
*protocol* performs one run, and `lab.runner` and `lab.store` perform and keep all of them. *Tables*
and *figures* show the results next to the paper's. ``python -m lab reproduce`` does it all from the
command line.

Examples
--------
>>> from lab.paper import load_spec, run
>>> from lab.store import Store
>>> spec = load_spec("paper").narrowed(
...     datasets=["mushrooms"], models=["dt"], criteria=["MSE", "ANE"], noise=["0.3"], seeds=1
... )
>>> with Store(":memory:") as store:
...     summary = run(spec, store, jobs=1)
...     [(result.run.criterion, round(result.accuracy)) for result in store.results()]
[('ANE', 100), ('MSE', 65)]
"""

from lab.paper.runner import run
from lab.paper.spec import Spec, SpecError, load_spec

__all__ = ["Spec", "SpecError", "load_spec", "run"]
