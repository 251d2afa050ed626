r"""The promises of every memory.

A memory holds rules and no past; its *state* holds the past. Three methods make a memory:

- `init(n_agents)`: the empty state, a named tuple of arrays (or of such tuples);
- `advance(state, utilities, elapsed)`: the state after utilities arrive;
- `read(state)`: the remembered utilities $Z$, agents along the last axis.

They are pure, never change their arguments, and treat leading axes as a batch. With them a memory works in the
environment, the wrappers, the simulator, the learner and, for small problems, in `allocate`.

Everything else is a *promise*, which lets callers do better: `response` makes `allocate` exact for problems of any
size, `bound` gives observations a finite range, and so on. The defaults here promise nothing.

A promise is about `init`, `advance` and `read`, and would not hold for a subclass that brings another of the three.
A memory is therefore final: to change one, put another around it (`bygones.memory.around`).
"""

from __future__ import annotations

import copy
import inspect
import math
from abc import abstractmethod
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, cast

import numpy as np
from typing_extensions import TypeVar

from bygones._arrays import AnyArray, Array, Condition, Number, check_between, check_finite, is_traced, namespace
from bygones._registry import Named, Part, Registry
from bygones.document.document import Answer, Document

AnyState: TypeAlias = tuple[Any, ...]
"""The state of some memory, where it does not matter of which: a named tuple of arrays, or of such tuples."""

State = TypeVar("State", bound=AnyState, default=Any)
"""The state of a memory between two steps: a named tuple of arrays whose leading axes are a batch."""


class Response(NamedTuple):
    r"""How a memory responds to utilities $u$: $Z \mid u = \text{base} + G\,u$.

    Attributes:
        base: the memory of each agent if no one receives anything.
        gain: $G$, as one number for all agents, one number per agent, or a matrix of agents by agents where the utility
            of one agent changes the memory of another.
    """

    base: np.ndarray
    gain: float | np.ndarray


class Memory(Answer, Generic[State]):
    """The interface that every memory fits. Memories are frozen; states are never changed in place."""

    if TYPE_CHECKING:
        # A memory may have it as an attribute or as a property.
        @property
        def average(self) -> Condition:
            """Whether Z is on the scale of a mean utility per step rather than of a total."""
    else:
        average = False

    _is_final = False

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for base in cls.__bases__:
            if getattr(base, "_is_final", False):
                raise TypeError(
                    f"{cls.__name__} cannot inherit from the memory {base.__name__}, whose promises would not hold for "
                    f"it: inherit from bygones.memory.Around, with a {base.__name__} inside"
                )
        cls._is_final = cls.__dict__.get("_is_final", True)

    @abstractmethod
    def init(self, n_agents: int) -> State:
        """The empty memory of `n_agents` agents."""

    @abstractmethod
    def advance(self, state: State, utilities: Array, elapsed: Number = 1) -> State:
        """`update` without its checks, for inner loops that have checked already."""

    @abstractmethod
    def read(self, state: State) -> Array:
        """The remembered utilities Z, before entitlements."""

    def response(self, state: State, elapsed: Number = 1) -> Response | None:
        r"""How Z responds to utilities that arrive `elapsed` steps from now; None where it is not affine in them."""
        return None

    def faded(self, state: State, elapsed: Number = 1) -> Array:
        """Z `elapsed` steps from now if nobody receives anything; leading axes are a batch."""
        Z = self.read(state)
        return self.read(self.advance(state, namespace(Z).zeros_like(Z), elapsed))

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        r"""The largest $|Z_i|$ that utilities in $[0, u_{\max}]$ can reach within `steps` steps, or infinity."""
        return math.inf

    @property
    def can_be_negative(self) -> bool:
        """Whether utilities of at least 0 can leave a Z below 0."""
        return True

    @property
    def keeps_agents_apart(self) -> bool:
        """Whether the Z of an agent depends on its own utilities only."""
        return False

    @property
    def forgets_at_once(self) -> bool:
        """Whether nothing of the past is left after one step."""
        return False

    @property
    def half_life(self) -> Number | None:
        """Steps after which a past utility counts half, as an array if agents differ; None if there is no such time."""
        return None

    def denominator(self, state: State) -> Array | None:
        """Z had every utility been one, on average over the agents; None if that is not kept."""
        return None

    def largest_denominator(self, steps: float) -> float:
        """The largest `denominator` that `steps` steps can lead to."""
        return self.bound(1.0, steps)

    def after_ones(self, n_agents: int, steps: int) -> float:
        """Z, on average over the agents, after `steps` steps in which every utility was one."""
        state, ones = self.init(n_agents), np.ones(n_agents)
        for _ in range(steps):
            state = self.advance(state, ones)
        return float(np.mean(self.read(state)))

    def canonical(self) -> Memory[State]:
        """The same memory in plain numbers, in the form that shares a compiled program with most others."""
        return self

    def matches(self, other: object) -> bool:
        """Whether the other memory is this one, up to the rounding of numbers given in another unit."""
        if not isinstance(other, Memory):
            return False
        mine: Any = self.canonical()
        theirs: Any = other.canonical()
        if type(mine) is not type(theirs) or not is_dataclass(mine):
            return bool(mine == theirs)
        return all(_alike(getattr(mine, f.name), getattr(theirs, f.name)) for f in fields(mine) if f.compare)

    def __eq__(self, other: object) -> bool:
        """Whether the other is a memory of the same kind with the same parameters, to the bit; see `matches`."""
        return self is other or (isinstance(other, Memory) and _identity(self) == _identity(other))

    def __hash__(self) -> int:
        return hash(_identity(self))

    def update(self, state: State, utilities: AnyArray, elapsed: Number = 1) -> State:
        """The memory after `utilities` arrive, `elapsed` steps after the previous ones.

        Args:
            state: the memory so far; it is not changed.
            utilities: one finite number per agent along the last axis; leading axes are a batch.
            elapsed: real time since the last update, in steps. Zero means the same instant.
        """
        utilities = check_finite("utilities", utilities)
        n_agents = self.n_agents(state)
        if utilities.ndim == 0 or utilities.shape[-1] != n_agents:
            raise ValueError(
                f"utilities must have one entry per agent ({n_agents}) along the last axis, got shape {utilities.shape}"
            )
        check_between("elapsed", elapsed, 0.0, math.inf, "a finite time of at least 0", open_high=True)
        return self.advance(state, utilities, elapsed)

    def values(self, state: State, entitlements: AnyArray | None = None) -> Array:
        """The remembered utilities Z; with entitlements, per unit of entitlement."""
        Z = self.read(state)
        return Z if entitlements is None else Z / check_entitlements(entitlements, Z.shape[-1])

    def ahead(
        self, state: State, utilities: AnyArray, elapsed: Number = 1, entitlements: AnyArray | None = None
    ) -> Array:
        """Z given these candidate utilities, Zᵗ|A: what `values` would be after `update`.

        Any number of candidates at once: with utilities of shape (..., n) the answer has shape (..., n).
        """
        return self.values(self.update(state, utilities, elapsed), entitlements)

    def n_agents(self, state: State) -> int:
        """The number of agents whose past the state holds."""
        return int(self.read(state).shape[-1])

    def document(self) -> Document:
        """The memory as people read it."""
        from bygones.memory.memory_card import document

        return document(self)


SomeMemory = TypeVar("SomeMemory", bound=Memory)

AnyMemory: TypeAlias = Memory | str
"""A memory as people give it: itself, or its name."""

memories: Registry[Memory] = Registry(
    "memory",
    "a class of memories, or a function that returns one",
    synonyms={"perfect": "perfect_recall", "none": "instantaneous"},
    base=Memory,
)
"""The memories by name, such as `discounted(half_life=50)`. `memories.add` adds your own."""


def parse_memory(memory: AnyMemory) -> Memory:
    """The memory of a name, in steps, as in `parse_memory("discounted(half_life=50)")`. A `Memory` is itself.

    A memory around another has the other as its first parameter: `capped(discounted(half_life=50), cap=40)`.

    Raises:
        ValueError: no memory has this name, or it does not take these parameters.
    """
    if isinstance(memory, Memory):
        return memory
    if not isinstance(memory, str):
        raise ValueError(f"memory must be a name such as 'discounted(half_life=50)', or a Memory, got {memory!r}")
    entry, inside = memories.read(memory), {}
    for parameter, value in entry.parameters.items():
        if parameter == "memory":
            inside = {parameter: parse_memory(cast(AnyMemory, value))}
        elif isinstance(value, str):
            raise ValueError(f"{parameter} must be a number of steps, got {value!r} in the memory {memory}")
    built = entry.build(**inside)
    if not isinstance(built, Memory):
        raise ValueError(f"memory {memory} must be a Memory, got {built!r}")
    return built


def memory_parameters(memory: Memory) -> dict[str, object]:
    """The parameters that make the memory again, by name; none of a memory that is no dataclass."""
    taken = inspect.signature(type(memory)).parameters
    return {name: getattr(memory, name) for name in getattr(memory, "__dataclass_fields__", ()) if name in taken}


def memory_text(memory: Memory) -> Part:
    """The memory as `parse_memory` reads it."""
    parts = memory_parameters(memory)
    plain = {name: memory_text(part) if isinstance(part, Memory) else part for name, part in parts.items()}
    return Part(memories.text_of(type(memory), plain))


IN_TIME = {"discounted": "half_life", "sliding_window": "length", "reset": "every"}
"""The parameter of a memory that is a length of time, where time is real and not counted in steps."""


def named_in_time(text: str) -> tuple[Named[Memory], str | None]:
    """A memory in real time, such as `sliding_window(length=28d)`, and its length of time as the text has it.

    A memory that is not in `IN_TIME` has no such length. One that is takes nothing else.
    """
    entry = memories.read(text)
    parameter = IN_TIME.get(entry.name)
    for other in entry.parameters:
        if parameter not in (None, other):
            raise ValueError(f"memory {entry.name} takes {parameter} where time is real, got {text!r}")
    length = entry.parameters.get(parameter or "")
    return entry, None if length is None else str(length)


def with_parts(memory: SomeMemory, /, **parts: object) -> SomeMemory:
    """The memory with other parts, past the checks of its constructor."""
    changed = copy.copy(memory)
    for name, part in parts.items():
        object.__setattr__(changed, name, part)
    return changed


def check_entitlements(entitlements: AnyArray, n_agents: int, *, exempt: bool = False) -> Array:
    """The entitlements as an array, refused unless they are one finite number above zero per agent.

    With `exempt`, as for shares of a load, an entitlement may be zero, though not everyone's.
    """
    weights = check_finite("entitlements", entitlements)
    if weights.shape != (n_agents,):
        raise ValueError(f"entitlements must have one entry per agent ({n_agents}), got shape {weights.shape}")
    if exempt:
        if not is_traced(weights) and not np.any(weights):
            raise ValueError("entitlements must be above 0 for at least one agent, since not everyone can be exempt")
        return check_between("entitlements", weights, 0.0, math.inf, "at least 0 for every agent (0 is exempt)")
    return check_between("entitlements", weights, 0.0, math.inf, "above 0 for every agent", open_low=True)


def _identity(value: Any) -> object:
    """A memory, or a part of one, as something that can be compared and hashed: arrays by their numbers."""
    if isinstance(value, Memory):
        described: Any = value
        if not is_dataclass(described):
            return id(value)
        return type(value), *(_identity(getattr(value, each.name)) for each in fields(described) if each.compare)
    if isinstance(value, tuple):
        return tuple(map(_identity, value))
    return value if np.ndim(value) == 0 else (np.shape(value), *np.ravel(value).tolist())


def _alike(a: object, b: object) -> bool:
    if isinstance(a, Memory):
        return a.matches(b)
    try:
        numbers = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    except (TypeError, ValueError):
        return bool(a == b)
    return numbers[0].shape == numbers[1].shape and bool(np.allclose(*numbers, rtol=1e-9, atol=0, equal_nan=True))
