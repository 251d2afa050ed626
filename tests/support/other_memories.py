"""Memories that people use beside the paper's, for any number of agents."""

import numpy as np

from bygones.memory import (
    Capped,
    Discounted,
    Multiscale,
    PerAgent,
    PerfectRecall,
    Relative,
    Reset,
    SlidingWindow,
)

MEMORIES = {
    "the last step": lambda n: SlidingWindow(1),
    "sliding window": lambda n: SlidingWindow(3),
    "reset": lambda n: Reset(4),
    "reset at every step": lambda n: Reset(1),
    "per agent": lambda n: PerAgent(gammas=np.linspace(0.0, 1.0, n)),
    "per agent, averaged": lambda n: PerAgent(half_lives=np.arange(1, n + 1), average=True),
    "capped": lambda n: Capped(Discounted(gamma=0.9), cap=1.5),
    "capped, averaged": lambda n: Capped(Discounted(gamma=0.9, average=True), cap=0.4),
    "capped recall": lambda n: Capped(PerfectRecall(), cap=2.0),
    "capped window": lambda n: Capped(SlidingWindow(4), cap=1.25),
    "capped time scales": lambda n: Capped(Multiscale(gammas=(0.5, 0.9), weights=(0.5, 1.0)), cap=2.5),
    "capped per agent": lambda n: Capped(PerAgent(gammas=np.linspace(0.0, 1.0, n)), cap=1.5),
    "relative": lambda n: Relative(PerfectRecall()),
    "relative, discounted": lambda n: Relative(Discounted(half_life=2)),
    "relative of capped": lambda n: Relative(Capped(Reset(5), cap=2.0)),
}
"""Memories by name; each is a function of the number of agents."""
