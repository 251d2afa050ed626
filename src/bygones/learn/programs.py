"""Compiled programs: their arguments, and how many a process can hold.

JAX keeps compiled programs for as long as the process lives, each program in separate memory mappings. Linux allows a
process 65,530 of them, about a hundred different trainings, and the compilation after that crashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np

Tree: TypeAlias = Any
"""Arrays in tuples, named tuples, dictionaries and other pytrees."""

MAPPINGS = 30_000
"""With more memory mappings than this, a process lets go of its compiled programs before it trains again."""

_MAPS = Path("/proc/self/maps")


def make_room() -> None:
    """Lets go of compiled programs if they are so many that the next could crash the process.

    A program that is needed again is compiled again, or read from the cache on disk (`cache_compilations`).
    """
    if _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > MAPPINGS:
        jax.clear_caches()  # type: ignore[no-untyped-call]


@contextmanager
def single_precision() -> Iterator[None]:
    """JAX without numbers of 64 bits, which `JAX_ENABLE_X64` would otherwise bring into compiled programs."""
    config: Any = jax.config
    has_double = config.jax_enable_x64
    config.update("jax_enable_x64", False)
    try:
        yield
    finally:
        config.update("jax_enable_x64", has_double)


def stacked(trees: Sequence[Tree], batched: bool) -> Tree:
    """Trees of NumPy arrays as one tree with the runs along the first axis; a single run unchanged."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees) if batched else trees[0]


def row(tree: Tree, i: int | jax.Array) -> Tree:
    """One of the runs of a stacked tree."""
    return jax.tree.map(lambda leaf: leaf[i], tree)
