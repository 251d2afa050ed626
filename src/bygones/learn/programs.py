"""Compiled programs, of which a process can hold only so many.

JAX keeps what it compiles for as long as the process lives, each program in memory mappings of its own. Linux allows a
process 65,530 of them, about a hundred different trainings, and the compilation after that crashes.
"""

from __future__ import annotations

from pathlib import Path

import jax

MAPPINGS = 30_000
"""With more memory mappings than this, a process lets go of its compiled programs before it trains again."""

_MAPS = Path("/proc/self/maps")


def make_room() -> None:
    """Lets go of compiled programs if they are so many that the next could crash the process.

    A program that is needed again is compiled again, or read from the cache on disk (`cache_compilations`).
    """
    if _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > MAPPINGS:
        jax.clear_caches()  # type: ignore[no-untyped-call]
