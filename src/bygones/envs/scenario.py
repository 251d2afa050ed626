r"""What a scenario is: a world in which actions bring utilities, and may change what comes next.

A scenario knows nothing of fairness. It says who the agents are, what can be done, and what each agent receives; the
memory, the welfare and the reward are put on top by `scenario_problem.py`. It is a frozen dataclass whose fields are
plain numbers, names and tuples, which makes it hashable, comparable and writable as JSON.

Its functions take one state, without a batch, and uniform noise instead of a generator. They take their array library
from the noise, `xp = namespace(noise)`, so that the same lines run with NumPy and in a compiled JAX program.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_finite
from bygones.envs.fair_problem import MOST_ACTIONS


class Most(NamedTuple):
    """What no policy exceeds in expectation, per step and averaged over an episode."""

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
    """What is observed of each agent, by name."""
    shared: ClassVar[tuple[str, ...]] = ()
    """What is observed besides, one number each."""

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
    def n_noise(self) -> int:
        """How many uniform numbers the start takes, and every step."""
        return self.n_agents

    @property
    @abstractmethod
    def utility_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest utility that each agent can receive at a step."""

    @property
    @abstractmethod
    def seen_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value of each entry of `observe`."""

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return len(self.actions()) if self.n_served is None else math.comb(self.n_agents, self.n_served)

    def actions(self) -> Floats:
        """One row per action, which `advance` is given: by default who is served, for every subset of k agents."""
        assert self.n_served is not None
        if self.n_actions > MOST_ACTIONS:
            raise ValueError(
                f"this scenario has {self.n_actions:,} actions, more than the {MOST_ACTIONS:,} that can be enumerated; "
                "an action may also be the agents that are served"
            )
        subsets = np.array(list(itertools.combinations(range(self.n_agents), self.n_served)))
        served = np.zeros((len(subsets), self.n_agents))
        np.put_along_axis(served, subsets, 1.0, axis=1)
        return served

    @abstractmethod
    def start(self, noise: Array) -> Any:
        """The state before the first step: a named tuple of arrays."""

    @abstractmethod
    def observe(self, state: Any) -> Array:
        """What is seen of a state: for each of `features` one number per agent, then the numbers of `shared`."""

    @abstractmethod
    def advance(self, noise: Array, state: Any, action: Array) -> tuple[Any, Array]:
        """The state after an action, given as its row of `actions`, and what each agent receives for it."""

    def brings(self, seen: Floats) -> Floats | None:
        """What each action would bring to each agent, given what is observed; None where that is not known beforehand.

        Args:
            seen: rows of what `observe` returns.

        Returns:
            Utilities of shape (rows, actions, agents). By default an agent that is served receives its need, the first
            of its features.
        """
        if self.n_served is None:
            return None
        return self.actions() * seen[:, None, : self.n_agents]

    def present(self, state: Any) -> Array | None:
        """Which agents take part in this state; None if all of them always do."""
        return None

    def most(self) -> Most | None:
        """What no policy exceeds, where that is known."""
        return None

    @property
    def expected_utility(self) -> float:
        """What an agent receives at a step if all receive equally much: the unit of the scale "expected"."""
        most = self.most()
        return float(np.mean(self.utility_bounds[1])) if most is None else most.total / self.n_agents

    def arguments(self) -> dict[str, Any]:
        """The parameters by name, as plain numbers, names and lists."""
        return dataclasses.asdict(self)


def check_chances(name: str, values: tuple[float, ...]) -> None:
    """Refuses what is not a list of probabilities."""
    given = np.asarray(check_finite(name, np.asarray(values, float)))
    if given.ndim != 1 or not len(given) or given.min() < 0 or given.max() > 1:
        raise ValueError(f"{name} must be a list of probabilities between 0 and 1, got {values}")


def frozen(value: object) -> object:
    """Lists as tuples, all the way down, as the fields of a scenario are."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple | np.ndarray) else value
