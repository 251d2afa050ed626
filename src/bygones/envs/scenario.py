r"""A scenario: the world in which actions bring utilities to agents, and may change the steps that follow.

A scenario knows nothing of fairness. It has the agents, the actions, and the utilities of each action; `problem.py`
adds the memory, the welfare and the reward. The paper's problem is one of the scenarios. A scenario is a frozen
dataclass whose fields are plain numbers, names and tuples, so it can be compared and written as JSON.

Its functions take one state and uniform noise instead of a generator. They take their array library from the noise,
`xp = namespace(noise)`, and the same lines run with NumPy and in a compiled JAX program.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bygones._arrays import Array, Floats, Ints, Json, check_count, check_finite, namespace

WorldState: TypeAlias = Any
"""The state of some scenario: a named tuple of arrays."""

MOST_ACTIONS = 100_000
"""The most actions that are enumerated."""

DEFINED: list[Callable[[type[Scenario]], object]] = []
"""Called with every new class of scenarios: JAX, once it is imported, must know its fields."""


class Most(NamedTuple):
    """Upper bounds of every policy's expected utility, per step and averaged over an episode."""

    total: float
    """The utility of all agents together."""
    each: Floats
    """The utility of each agent."""


@dataclasses.dataclass(frozen=True)
class Scenario(ABC):
    """A world that people act in. Subclasses are frozen dataclasses whose fields are its parameters.

    Attributes:
        horizon: T, the steps of an episode; every episode has as many.
    """

    horizon: int = 1000

    features: ClassVar[tuple[str, ...]] = ("need",)
    """The names of the observed features of each agent."""
    shared: ClassVar[tuple[str, ...]] = ()
    """The names of the other observed numbers."""
    largest_utility: ClassVar[float]
    """The largest utility of an agent at a step; a scenario where agents differ has `utility_bounds` instead."""
    largest_seen: ClassVar[float]
    """The largest number observed; a scenario where numbers differ has `seen_bounds` instead."""
    start_rows: ClassVar[int] = 1
    """How many rows of `n_noise` uniform numbers the start takes, one behind the other in one array."""
    takes_batches: ClassVar[bool] = False
    """Whether `start`, `observe` and `advance` also take many states at once, along leading axes."""
    traced: ClassVar[tuple[str, ...]] = ("horizon",)
    """Fields that JAX may trace: scenarios that differ in nothing else share a compiled program."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for follow in DEFINED:
            follow(cls)

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            object.__setattr__(self, each.name, frozen(getattr(self, each.name)))
        check_count("horizon", self.horizon)
        self.check()

    def check(self) -> None:  # noqa: B027  (not every scenario has something to check)
        """Refuses parameters that make no sense."""

    @property
    @abstractmethod
    def n_agents(self) -> int:
        """n, the number of agents whose utilities are judged."""

    @property
    def n_served(self) -> int | None:
        """k, if an action serves k of the n agents; None if actions are something else, which `actions` lists."""
        return None

    @property
    def n_choices(self) -> int | None:
        """How many choices each agent has, if a row of `actions` has the choice of every agent; None if it has not."""
        return None

    @property
    def n_noise(self) -> int:
        """How many uniform numbers a step takes."""
        return self.n_agents

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest utility that each agent can receive at a step: from 0 to `largest_utility`."""
        return np.zeros(self.n_agents), np.full(self.n_agents, self.largest_utility)

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value of each entry of `observe`: from 0 to `largest_seen`."""
        size = self.n_agents * len(self.features) + len(self.shared)
        return np.zeros(size), np.full(size, self.largest_seen)

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        if self.n_choices is not None:
            return int(self.n_choices**self.n_agents)
        return len(self.actions()) if self.n_served is None else math.comb(self.n_agents, self.n_served)

    @property
    def is_enumerable(self) -> bool:
        """Whether there are few enough actions for each to have a number."""
        if self.n_served is None:
            return self.n_actions <= MOST_ACTIONS
        k = min(self.n_served, self.n_agents - self.n_served)
        # The binomials of n and 1, 2, …, k grow; one with thousands of digits need not be reached.
        return all(math.comb(self.n_agents, j) <= MOST_ACTIONS for j in range(1, k + 1))

    def check_enumerable(self, instead: str) -> None:
        """Refuses a scenario with too many actions; `instead` names the alternative."""
        if self.is_enumerable:
            return
        if self.n_served is None:
            many = f"this scenario has {self.n_actions:,} actions, more than the {MOST_ACTIONS:,}"
        else:
            many = f"choosing {self.n_served} of {self.n_agents} agents gives more than the {MOST_ACTIONS:,} subsets"
        raise ValueError(f"{many} that can be enumerated; {instead}")

    def subsets(self) -> Ints:
        """The agents that each action serves, one row of k agents per action, in lexicographic order.

        Raises:
            ValueError: there are more than 100,000, or actions do not serve agents.
        """
        if self.n_served is None:
            raise ValueError("an action of this scenario does not serve k of the agents: use actions()")
        self.check_enumerable("name the agents themselves instead of the number of a subset")
        return np.array(list(itertools.combinations(range(self.n_agents), self.n_served)))

    def action(self, served: Iterable[int]) -> int:
        """The number of the action that serves these agents."""
        wanted = sorted(int(agent) for agent in served)
        for action, subset in enumerate(self.subsets().tolist()):
            if subset == wanted:
                return action
        raise ValueError(f"served must be {self.n_served} different agents of {self.n_agents}, got {served}")

    def actions(self) -> Floats:
        """One row per action, which `advance` is given: by default who is served, for every subset of k agents."""
        subsets = self.subsets()
        served = np.zeros((len(subsets), self.n_agents))
        np.put_along_axis(served, subsets, 1.0, axis=1)
        return served

    @abstractmethod
    def start(self, noise: Array) -> WorldState:
        """The state before the first step, a named tuple of arrays, from `start_rows` · `n_noise` uniform numbers."""

    @abstractmethod
    def observe(self, state: WorldState) -> Array:
        """The observation of a state: for each of `features` one number per agent, then the numbers of `shared`."""

    @abstractmethod
    def advance(self, noise: Array, state: WorldState, action: Array) -> tuple[WorldState, Array]:
        """The state after an action, given as its row of `actions`, and the utilities of the agents."""

    def brings(self, seen: Floats) -> Floats | None:
        """The utilities of each action, given observations; None where they are not known in advance.

        Args:
            seen: observations, one per row.

        Returns:
            Utilities of shape (rows, actions, agents). By default an agent that is served receives its need, the first
            of its features.
        """
        if self.n_served is None:
            return None
        return self.actions() * seen[:, None, : self.n_agents]

    def revealed(self, seen: Array, guess: WorldState) -> WorldState | None:
        """The state that an observation shows; None where observations do not show all that matters.

        Args:
            seen: the observation.
            guess: a state after the same actions, for the parts that depend on nothing else.
        """
        return guess if self.n_noise == 0 else None

    def brought(self, before: WorldState, action: Array, after: WorldState) -> Array:
        """The utilities of the action between two states; by default those of `advance`, whatever the noise."""
        xp = namespace(action)
        return self.advance(xp.zeros((self.n_noise,), dtype=action.dtype), before, action)[1]

    def present(self, state: WorldState) -> Array | None:
        """Which agents take part in this state; None if all of them always do."""
        return None

    def most(self) -> Most | None:
        """Upper bounds for every policy, where they are known."""
        return None

    @property
    def expected_utility(self) -> float:
        """The utility of an agent at a step if all receive equally much: the unit of the scale "expected"."""
        most = self.most()
        return float(np.mean(self.utility_bounds[1])) if most is None else most.total / self.n_agents

    def arguments(self) -> Json:
        """The parameters by name, as plain numbers, names and lists."""
        return dataclasses.asdict(self)


def check_chances(name: str, values: tuple[float, ...]) -> None:
    """Refuses anything but a list of probabilities."""
    given = np.asarray(check_finite(name, np.asarray(values, float)))
    if given.ndim != 1 or not len(given) or given.min() < 0 or given.max() > 1:
        raise ValueError(f"{name} must be a list of probabilities between 0 and 1, got {values}")


def frozen(value: object) -> object:
    """Lists as tuples, all the way down, as the fields of a scenario are; a named tuple unchanged."""
    if hasattr(value, "_fields") or not isinstance(value, list | tuple | np.ndarray):
        return value
    return tuple(map(frozen, value))
