"""Temporal fairness in repeated allocation: remember the past, and let it go.

The names below are imported from their modules when they are first used, so `import bygones` is fast and needs no
optional dependency.

For example:

    memory = bygones.Discounted(half_life=30)
    decision = bygones.allocate(bygones.ChooseK(needs, k=2), memory, memory.init(len(needs)), "egalitarian")
"""

import difflib
import importlib
import importlib.util
from typing import TYPE_CHECKING

from bygones._parts import needed_by

if TYPE_CHECKING:
    from bygones import (
        allocation,
        audit,
        decay,
        envs,
        inequality,
        learn,
        ledger,
        memory,
        simulation,
        stability,
        welfare,
    )
    from bygones.allocation import Assign, ChooseK, Decision, Divide, allocate
    from bygones.audit import read_history
    from bygones.learn import Settings, evaluate, train
    from bygones.ledger import Ledger, Rules
    from bygones.memory import (
        Capped,
        Discounted,
        Instantaneous,
        Linear,
        Memory,
        MemoryState,
        Multiscale,
        PerAgent,
        PerfectRecall,
        Relative,
        Reset,
        SlidingWindow,
    )
    from bygones.simulation import simulate
    from bygones.welfare import (
        Welfare,
        alpha_fair,
        egalitarian,
        generalized_gini,
        leximin_key,
        log_nash,
        nash,
        power_burden,
        utilitarian,
    )

__version__ = "0.2.0"

__all__ = [
    "Assign",
    "Capped",
    "ChooseK",
    "Decision",
    "Discounted",
    "Divide",
    "Instantaneous",
    "Ledger",
    "Linear",
    "Memory",
    "MemoryState",
    "Multiscale",
    "PerAgent",
    "PerfectRecall",
    "Relative",
    "Reset",
    "Rules",
    "Settings",
    "SlidingWindow",
    "Welfare",
    "__version__",
    "allocate",
    "allocation",
    "alpha_fair",
    "audit",
    "decay",
    "egalitarian",
    "envs",
    "evaluate",
    "generalized_gini",
    "inequality",
    "learn",
    "ledger",
    "leximin_key",
    "log_nash",
    "memory",
    "nash",
    "power_burden",
    "read_history",
    "simulate",
    "simulation",
    "stability",
    "train",
    "utilitarian",
    "welfare",
]
_NEEDS = {"evaluate": "jax", "read_history": "ibis", "train": "jax"}
"""The names that need an optional library, and the library."""

# `from bygones import *` asks for every name, and must not fail where a library is missing.
for _name, _library in _NEEDS.items():
    if importlib.util.find_spec(_library) is None:
        __all__.remove(_name)

_NAMES = {
    "allocation": ("Assign", "ChooseK", "Decision", "Divide", "allocate"),
    "audit": ("read_history",),
    "learn": ("Settings", "evaluate", "train"),
    "ledger": ("Ledger", "Rules"),
    "memory": (
        "Capped", "Discounted", "Instantaneous", "Linear", "Memory", "MemoryState", "Multiscale", "PerAgent",
        "PerfectRecall", "Relative", "Reset", "SlidingWindow",
    ),
    "simulation": ("simulate",),
    "welfare": (
        "Welfare", "alpha_fair", "egalitarian", "generalized_gini", "leximin_key", "log_nash", "nash",
        "power_burden", "utilitarian",
    ),
}  # fmt: skip
"""The module that defines each name."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NEEDS})


def _import(name: str) -> object:
    """The public name, imported on first use (PEP 562)."""
    module = next((module for module, names in _NAMES.items() if name in names), name)
    if module == name and name not in __all__:
        near = difflib.get_close_matches(name, [*__all__, *_NEEDS], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        # With a name and no object, Python adds no second suggestion.
        raise AttributeError(f"module 'bygones' has no attribute {name!r}{hint}", name=name)
    with needed_by(f"bygones.{name}"):
        home = importlib.import_module(f"bygones.{module}")
        value = home if module == name else getattr(home, name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = _import
