"""The compiled engine, in the copy that suits this processor.

The engine is compiled once for every instruction set; all copies compute the same bits. The
environment variable ``HARDWOOD_ISA`` (``baseline``, ``avx2``, ``avx512``) chooses another one than
the fastest.
"""

import importlib
import importlib.util
import os

from hardwood import _engine_baseline


def isa_available() -> list[str]:
    """Return the instruction sets that were built and that this processor can run."""
    return [
        isa
        for isa in _engine_baseline.supported_isas()
        if importlib.util.find_spec(f"hardwood._engine_{isa}") is not None
    ]


def isa() -> str:
    """Return the instruction set in use."""
    return str(_module.ISA)


def _choose() -> str:
    available = isa_available()
    wanted = os.environ.get("HARDWOOD_ISA", available[-1])
    if wanted not in available:
        raise ImportError(f"HARDWOOD_ISA={wanted!r} is not one of {available} on this machine.")
    return wanted


_module = importlib.import_module(f"hardwood._engine_{_choose()}")

Codes = _module.Codes
apply = _module.apply
code = _module.code
expand = _module.expand
fit_trees = _module.fit_trees
leading_classes = _module.leading_classes
oob_smoothed = _module.oob_smoothed
oob_votes = _module.oob_votes
predict_proba = _module.predict_proba
prune = _module.prune
pruning_path = _module.pruning_path
shrink_trees = _module.shrink_trees
stop_trees = _module.stop_trees
validate = _module.validate
