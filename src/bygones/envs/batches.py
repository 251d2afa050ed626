"""Selects and replaces rows of batched states, and builds Gymnasium's batched form of info."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bygones._arrays import Ints

AnyAction: TypeAlias = Any
"""An action as people and learners give it, such as its number or the agents to serve; the environment checks it."""

Info: TypeAlias = dict[str, Any]
"""The `info` and the `options` of Gymnasium, by name."""

Tree = TypeVar("Tree", bound=tuple[Any, ...])


def taken(tree: Tree, which: Ints | int) -> Tree:
    """The selected rows of every array in a (named) tuple of tuples and arrays."""
    return cast(Tree, mapped(lambda array: array[which], tree))


def merged(tree: Tree, *parts: tuple[Ints, Tree]) -> Tree:
    """The tree with some rows replaced, in new arrays. Each part is a pair of row indices and their new content."""

    def replaced(array: np.ndarray, *rows: np.ndarray) -> np.ndarray:
        array = array.copy()
        for (which, _), row in zip(parts, rows, strict=True):
            array[which] = row
        return array

    return cast(Tree, mapped(replaced, tree, *(part for _, part in parts)))


def spread(info: Info, which: Ints, num_envs: int) -> Info:
    """The info of some environments in Gymnasium's form for all environments.

    Arrays are zero for the other environments. For every `name` the mask `_name` marks the environments that have it.
    """
    infos: Info = {}
    for name, value in info.items():
        mask = np.zeros(num_envs, dtype=bool)
        mask[which] = True
        infos[f"_{name}"] = mask
        if isinstance(value, dict):
            infos[name] = spread(value, which, num_envs)
        elif len(which) == num_envs:
            infos[name] = value
        else:
            infos[name] = np.zeros((num_envs, *value.shape[1:]), dtype=value.dtype)
            infos[name][which] = value
    return infos


def rows(record: Info, which: Ints) -> Info:
    """The selected rows of every array in a nested dictionary of arrays."""
    return {name: rows(value, which) if isinstance(value, dict) else value[which] for name, value in record.items()}


def as_objects(
    rows: Sequence[object] | np.ndarray, which: Ints | None = None, num_envs: int | None = None
) -> NDArray[np.object_]:
    """Rows of some environments, by default of all, as one object each: Gymnasium's form for final observations."""
    objects = np.full(len(rows) if num_envs is None else num_envs, None, dtype=object)
    for i, row in zip(range(len(rows)) if which is None else which, rows, strict=True):
        objects[i] = row
    return objects


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """The results of a function for all arrays of these (named) tuples of tuples and arrays, of one structure."""
    first = trees[0]
    if not isinstance(first, tuple):
        return function(*trees)
    parts = [mapped(function, *together) for together in zip(*trees, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
