"""What problems are given, as arrays, refused where it makes no sense."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np


def per_agent(name: str, value: object, most: float = np.nextafter(math.inf, 0)) -> np.ndarray:
    """One number per agent, at least 0."""
    numbers = _numbers(name, value, float)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"{name} must be one number per agent, got shape {numbers.shape}")
    if not (numbers.min() >= 0 and numbers.max() <= most):
        bad = int(np.flatnonzero(~((numbers >= 0) & (numbers <= most)))[0])
        finite = "" if most == math.inf else "finite and "
        raise ValueError(f"{name} must be {finite}at least 0, got {numbers[bad]} for agent {bad}")
    return numbers


def matrix(name: str, value: object, dtype: type) -> np.ndarray:
    """One row per agent and one column per item."""
    matrix = _numbers(name, value, dtype)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have one row per agent and one column per item, got shape {matrix.shape}")
    return matrix


def _numbers(name: str, value: object, dtype: type) -> np.ndarray:
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {value!r}") from None


def is_sparse(matrix: object) -> bool:
    """Whether a matrix is one of SciPy's sparse ones; SciPy is not imported to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(matrix))


def first_bad(utilities: Any) -> tuple[int, int, float]:
    """Row, column and value of the first utility that is negative or not finite."""
    if is_sparse(utilities):
        entries = utilities.tocoo()
        rows, columns, numbers = entries.row, entries.col, entries.data
    else:
        rows, columns = (each.ravel() for each in np.indices(utilities.shape))
        numbers = utilities.ravel()
    bad = int(np.flatnonzero(~((numbers >= 0) & (numbers < math.inf)))[0])
    return int(rows[bad]), int(columns[bad]), float(numbers[bad])


def capacities(capacity: object, n_agents: int, n_items: int) -> np.ndarray:
    """Whole numbers, one per agent, none above the number of items: more could not be used."""
    numbers = _numbers("capacity", math.inf if capacity is None else capacity, float)
    is_shared = numbers.ndim == 0
    if is_shared:
        numbers = np.full(n_agents, numbers)
    if numbers.shape != (n_agents,):
        raise ValueError(f"capacity must be one number or one per agent ({n_agents}), got shape {numbers.shape}")
    good = (numbers >= 1) & ((numbers == np.floor(numbers)) | (numbers == math.inf))
    if not good.all():
        bad = int(np.flatnonzero(~good)[0])
        whose = "" if is_shared else f" for agent {bad}"
        raise ValueError(
            f"capacity must be a whole number of at least 1, or None for unlimited, got {numbers[bad]:g}{whose}"
        )
    return np.asarray(np.minimum(numbers, n_items), dtype=int)


def allowed_agents(allowed: object, n_agents: int) -> np.ndarray | None:
    """Who may take part, refused unless it is one truth value per agent and somebody may; None if everybody may."""
    if allowed is None:
        return None
    who = _numbers("allowed", allowed, bool)
    if who.shape != (n_agents,):
        raise ValueError(f"allowed must be one truth value per agent ({n_agents}), got shape {who.shape}")
    if not who.any():
        raise ValueError("allowed must be True for at least one agent, got none")
    return who
