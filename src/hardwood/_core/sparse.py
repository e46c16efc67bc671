"""What tells sparse matrices from everything else."""

from typing import Any

from scipy.sparse import issparse


def is_sparse(X: Any) -> bool:
    """Return whether X is one of SciPy's sparse matrices or arrays."""
    return bool(issparse(X))
