"""The compiled engine, in the copy that suits this processor.

Its hot loops are compiled once for every instruction set; all copies compute the same bits. The
environment variable ``HARDWOOD_ISA`` (``baseline``, ``avx2``, ``avx512``) overrides the choice of
the fastest.
"""

import importlib
import importlib.util
import os

from hardwood._core import _engine_baseline


def isa_available() -> list[str]:
    """Return the instruction sets that were built and that this processor can run."""
    return [
        isa
        for isa in _engine_baseline.supported_isas()
        if importlib.util.find_spec(f"hardwood._core._engine_{isa}") is not None
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


_module = importlib.import_module(f"hardwood._core._engine_{_choose()}")
globals().update({name: getattr(_module, name) for name in dir(_module) if name[0] != "_"})
