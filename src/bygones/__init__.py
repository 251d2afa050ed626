"""Temporal fairness in repeated allocation: remember the past, and let it go."""

from bygones import decay, inequality, memory, stability, welfare
from bygones.memory import Discounted, Instantaneous, Linear, Memory, MemoryState, Multiscale, PerfectRecall
from bygones.welfare import Welfare, alpha_fair, egalitarian, generalized_gini, leximin_key, log_nash, nash, utilitarian

__version__ = "0.1.0"

__all__ = [
    "Discounted",
    "Instantaneous",
    "Linear",
    "Memory",
    "MemoryState",
    "Multiscale",
    "PerfectRecall",
    "Welfare",
    "__version__",
    "alpha_fair",
    "decay",
    "egalitarian",
    "generalized_gini",
    "inequality",
    "leximin_key",
    "log_nash",
    "memory",
    "nash",
    "stability",
    "utilitarian",
    "welfare",
]
