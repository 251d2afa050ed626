r"""The memory of past utilities: one interface, several memories.

`bygones.memory.contract` defines the promises of a memory, `bygones.memory.discounted` holds the paper's memories,
`bygones.memory.per_agent` has memories with a decay per agent and `bygones.memory.linear` the memories of Theorem 5.
`bygones.memory.windows` and `bygones.memory.bounded` hold others that people use; `docs/memories.md` compares them.
`docs/extending.md` shows how to add one. `parse_memory` finds a memory by its name.
"""

from bygones.memory.around import Around
from bygones.memory.bounded import Capped, Relative, RelativeState
from bygones.memory.contract import (
    AnyMemory,
    Memory,
    Response,
    check_entitlements,
    memories,
    named_in_time,
    parse_memory,
)
from bygones.memory.discounted import Discounted, Instantaneous, PerfectRecall
from bygones.memory.exact_sums import MemoryState
from bygones.memory.linear import Linear, Multiscale
from bygones.memory.per_agent import PerAgent
from bygones.memory.priced import Priced, PricedState
from bygones.memory.windows import Reset, ResetState, SlidingWindow, WindowState

__all__ = [
    "AnyMemory",
    "Around",
    "Capped",
    "Discounted",
    "Instantaneous",
    "Linear",
    "Memory",
    "MemoryState",
    "Multiscale",
    "PerAgent",
    "PerfectRecall",
    "Priced",
    "PricedState",
    "Relative",
    "RelativeState",
    "Reset",
    "ResetState",
    "Response",
    "SlidingWindow",
    "WindowState",
    "check_entitlements",
    "memories",
    "named_in_time",
    "parse_memory",
]

FIXED: dict[type[Memory], tuple[str, ...]] = {SlidingWindow: ("length",), Priced: ("kind",)}
"""The attributes of memories that decide shapes or the course of a program. `bygones.pytrees` tells JAX."""
