r"""What is remembered of past utilities: one interface, several memories.

`bygones.memory.contract` says what a memory promises, `bygones.memory.discounted` holds the paper's memories and
`bygones.memory.linear` those of Theorem 5. `docs/extending.md` shows how to add one.
"""

from bygones.memory.contract import Memory, Parts, Response, check_entitlements
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

PARTS = {
    Discounted: Parts(("gamma", "forgets", "average")),
    Instantaneous: Parts(("gamma", "forgets", "average"), rebuilt_as=Discounted),
    PerfectRecall: Parts(("gamma", "forgets", "average"), rebuilt_as=Discounted),
    Linear: Parts(("matrix", "readout")),
    Multiscale: Parts(("gammas", "forgets", "weights")),
}
"""What each memory is made of. `bygones.pytrees` tells JAX, which is not imported here."""
