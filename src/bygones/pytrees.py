"""Makes memories and welfare functions JAX pytrees: importing this module registers bygones' own.

Their numbers (γ, weights, α) become leaves, so a memory can be an argument of a jitted function, be stacked and mapped
over, and change without compiling again. What kind of memory or welfare it is stays part of the structure.

One decorator registers your own memory:

    @register("share", fixed=("length",))
    @dataclass(frozen=True)
    class Mine(Memory): ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import jax

from bygones import memory
from bygones.memory import FIXED, Around, Memory
from bygones.welfare import Welfare

Kind = TypeVar("Kind", bound=type)


def register(*numbers: str, fixed: tuple[str, ...] | None = ()) -> Callable[[Kind], Kind]:
    """A class decorator that makes the instances of a class JAX pytrees.

    Args:
        numbers: names of the attributes that are numbers or arrays. They become leaves, and may be traced.
        fixed: names of the attributes that decide shapes or the course of the program, such as the length of a window.
            They must be hashable, and another value needs another compilation. None stands for all other fields of the
            dataclass.
    """

    def add(kind: Kind) -> Kind:
        def others() -> tuple[str, ...]:
            # Looked up late: a class that is registered in `__init_subclass__` is not a dataclass yet.
            fields = () if fixed is not None else dataclasses.fields(kind)
            return fixed or tuple(each.name for each in fields if each.name not in numbers)

        jax.tree_util.register_pytree_node(
            kind,
            lambda it: (tuple(getattr(it, name) for name in numbers), tuple(getattr(it, name) for name in others())),
            lambda kept, leaves: _rebuild(kind, (*numbers, *others()), (*leaves, *kept)),
        )
        return kind

    return add


def is_registered(value: object) -> bool:
    """Whether JAX knows the structure of the value."""
    return not jax.tree_util.all_leaves([value])


def _rebuild(kind: type, names: tuple[str, ...], parts: tuple[object, ...]) -> object:
    # Past the constructor: its checks have been made, and leaves may be placeholders without numbers.
    rebuilt: object = object.__new__(kind)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(rebuilt, name, part)
    return rebuilt


for _kind in [it for it in vars(memory).values() if isinstance(it, type) and issubclass(it, Memory)]:
    if _kind not in (Memory, Around):
        _fixed = FIXED.get(_kind, ())
        _fields = dataclasses.fields(_kind)  # type: ignore[arg-type]
        register(*(each.name for each in _fields if each.name not in _fixed), fixed=_fixed)(_kind)

jax.tree_util.register_pytree_node(
    Welfare,
    lambda welfare: (tuple(welfare.parameters.values()), (welfare.name, tuple(welfare.parameters), welfare.function)),
    lambda kept, leaves: Welfare(kept[0], dict(zip(kept[1], leaves, strict=True)), kept[2]),
)
