r"""What is remembered of past utilities: one interface, several memories.

`bygones.memory.contract` says what a memory promises, `bygones.memory.discounted` holds the paper's memories and
`bygones.memory.linear` those of Theorem 5.
"""

from bygones.memory.contract import Memory, Response, check_entitlements
from bygones.memory.discounted import Discounted, Instantaneous, PerfectRecall
from bygones.memory.linear import Linear, Multiscale
from bygones.memory.sums import MemoryState

__all__ = [
    "Discounted",
    "Instantaneous",
    "Linear",
    "Memory",
    "MemoryState",
    "Multiscale",
    "PerfectRecall",
    "Response",
    "check_entitlements",
]
