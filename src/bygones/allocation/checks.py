"""The inputs of problems as arrays, refused where they make no sense."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bygones._arrays import check_between
from bygones.kinds import Kind


def names(name: str, names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    """The names, one for each; None where there are none."""
    if names is not None and len(names) != count:
        raise ValueError(f"{name} must be {count} names, one for each, got {len(names)}")
    return None if names is None else tuple(str(each) for each in names)


def names_alone(**others: object) -> None:
    """Refuses arguments by position where agents are given by name."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} must be left out where agents are given by name, got {value!r}")


def of_names(
    by_name: Mapping[str, float | None], what: str, kind: Kind
) -> tuple[np.ndarray, np.ndarray | None, dict[str, dict[str | None, float]]]:
    """Numbers by name: in order, with 0 for None; who may take a burden, None if all may; and the worth."""
    numbers = [0.0 if value is None else number(value, f"{what} of {name!r}") for name, value in by_name.items()]
    may = np.array([value is not None for value in by_name.values()], dtype=bool)
    worth: dict[str, dict[str | None, float]] = {
        name: {} if value is None else {None: value} for name, value in by_name.items()
    }
    return np.array(numbers, dtype=float), None if kind == "good" or may.all() else may, worth


def worth_of(
    names: Sequence[str], numbers: np.ndarray, allowed: np.ndarray | None
) -> dict[str, dict[str | None, float]]:
    """Numbers by position as worths by name, with no worth for agents who are not allowed."""
    may = np.ones(len(numbers), dtype=bool) if allowed is None else allowed
    return {name: {None: x} if can else {} for name, x, can in zip(names, numbers.tolist(), may.tolist(), strict=True)}


def by_item(
    utilities: Mapping[str, Mapping[str | None, float]], items: Sequence[str] | None
) -> tuple[tuple[str, ...] | None, Any, np.ndarray | None]:
    """All items, by default in the order in which they are first named, the utilities, and which pairs are allowed."""
    named = tuple(dict.fromkeys(item for mine in utilities.values() for item in mine if item is not None))
    column: dict[str | None, int] = {item: j for j, item in enumerate(named if items is None else items)}
    missing = [item for item in named if item not in column]
    if missing:
        raise ValueError(f"items must name every item, got {items!r} without {missing[0]!r}")
    worth, allowed = np.zeros((len(utilities), len(column))), np.zeros((len(utilities), len(column)), bool)
    for i, (agent, mine) in enumerate(utilities.items()):
        for item, utility in mine.items():
            worth[i, column[item]] = number(utility, f"utility of {item!r} to {agent!r}")
            allowed[i, column[item]] = True
    return named if items is None else tuple(items), worth, allowed


def number(value: float, name: str, *, finite: bool = True) -> float:
    """A number of at least 0."""
    if type(value) is float and 0.0 <= value < math.inf:  # as nearly all are, of perhaps ten thousand
        return value
    accepted = "a finite number of at least 0" if finite else "a number of at least 0"
    return float(check_between(name, value, 0.0, math.inf, accepted, open_high=finite))


def some_agents(name: str, numbers: np.ndarray, allowed: np.ndarray | None) -> None:
    """Refuses a problem without agents, or in which no agent may take part."""
    if not len(numbers):
        raise ValueError(f"{name} must be one number per agent, got shape {numbers.shape}")
    if allowed is not None and not allowed.any():
        raise ValueError("allowed must be True for at least one agent, got none")


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


def caps(value: Any, n_agents: int) -> np.ndarray:
    """The most of an amount that each agent may have, infinity where there is no limit."""
    most = math.inf if value is None else value
    numbers = np.full(n_agents, most, dtype=float) if np.ndim(most) == 0 else per_agent("caps", most, math.inf)
    if numbers.shape != (n_agents,) or not numbers.min(initial=0.0) >= 0:
        raise ValueError(f"caps must be one number of at least 0 or one per agent ({n_agents}), got {value!r}")
    return numbers


def utilities(value: Any, allowed: object) -> tuple[Any, np.ndarray | None]:
    """Utilities as a matrix, dense or sparse, and which pairs are allowed; None where all (stored) pairs are."""
    if is_sparse(value):
        if allowed is not None:
            raise ValueError("allowed must be None for sparse utilities, where unstored pairs are the forbidden ones")
        from scipy.sparse import csr_array

        worth = csr_array(value, dtype=float, copy=True)
        worth.sum_duplicates()
        numbers, may = worth.data, None
    else:
        worth, may = _matrix("utilities", value, float), None if allowed is None else _matrix("allowed", allowed, bool)
        if may is not None:
            if may.shape != worth.shape:
                raise ValueError(f"allowed must have the shape of utilities {worth.shape}, got {may.shape}")
            worth = np.where(may, worth, 0.0)
        numbers = worth
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < math.inf):
        row, column, bad = _first_bad(worth)
        raise ValueError(
            f"utilities must be finite and at least 0, got {bad} in row {row}, column {column} "
            "(a forbidden pair is one where allowed is False, or one not stored in a sparse matrix)"
        )
    return worth, may


def _matrix(name: str, value: object, dtype: type) -> np.ndarray:
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


def _first_bad(utilities: Any) -> tuple[int, int, float]:
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
    """Who may take part, refused unless it is one truth value per agent; None if everyone may."""
    if allowed is None:
        return None
    who = _numbers("allowed", allowed, bool)
    if who.shape != (n_agents,):
        raise ValueError(f"allowed must be one truth value per agent ({n_agents}), got shape {who.shape}")
    return who
