"""Makes memories and welfare functions JAX pytrees: importing this module registers them.

Their numbers (γ, weights, α) become leaves, so that a memory can be an argument of a jitted function, be stacked
and mapped over, and change without compiling again. What kind of memory or welfare it is stays part of the
structure. Instantaneous and perfect recall come back as the discounted memories they are.
"""

from __future__ import annotations

from typing import Any

import jax

from bygones.memory import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall
from bygones.welfare import Welfare


def _rebuild(kind: type, names: tuple[str, ...], leaves: Any) -> Any:
    # Past the constructor: its checks have been made, and leaves may be placeholders without numbers.
    rebuilt: Any = object.__new__(kind)
    for name, leaf in zip(names, leaves, strict=True):
        object.__setattr__(rebuilt, name, leaf)
    return rebuilt


def _register(kind: type, names: tuple[str, ...], rebuilt_as: type | None = None) -> None:
    jax.tree_util.register_pytree_node(
        kind,
        lambda memory: (tuple(getattr(memory, name) for name in names), None),
        lambda _, leaves: _rebuild(rebuilt_as or kind, names, leaves),
    )


_register(Discounted, ("gamma", "forgets", "average"))
_register(Instantaneous, ("gamma", "forgets", "average"), Discounted)
_register(PerfectRecall, ("gamma", "forgets", "average"), Discounted)
_register(Linear, ("matrix", "readout"))
_register(Multiscale, ("gammas", "forgets", "weights"))

jax.tree_util.register_pytree_node(
    Welfare,
    lambda welfare: (tuple(welfare.parameters.values()), (welfare.name, tuple(welfare.parameters))),
    lambda said, leaves: Welfare(said[0], dict(zip(said[1], leaves, strict=True))),
)
