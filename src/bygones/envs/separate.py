"""Scenarios whose agents decide separately, as parallel environments of PettingZoo.

The rewards are the utilities of the agents, and a wrapper adds the memory and the fairness:

    env = SeparateAgents("matthew", n=10, control="moves")
    env = FairParallel(env, Discounted(half_life=50), "egalitarian", 0.9)
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bygones._arrays import Floats
from bygones._parts import needed_by
from bygones._text import listed
from bygones.envs import catalogue
from bygones.envs.batches import Info
from bygones.envs.noise import Noise
from bygones.envs.scenario import Scenario, WorldState

with needed_by("bygones.envs.separate", "multi-agent"):
    from gymnasium.error import ResetNeeded
    from gymnasium.spaces import Box, Discrete
    from gymnasium.utils import seeding
    from pettingzoo import ParallelEnv

Observation = NDArray[np.float32]


class SeparateAgents(ParallelEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo is not typed
    """A scenario in which every agent decides for itself: `job_scheduling`, `matthew` or `plant`.

    The reward of an agent is its utility. There is no memory and no welfare: `FairParallel` adds them. All agents live
    to the end of an episode, which is truncated after as many steps as the scenario has.

    An agent observes all that the scenario shows: for each feature its own number and then the others' in order, and
    at the end the shared numbers.

    Args:
        scenario: a scenario, or the name of one.
        parameters: the parameters of a scenario that is given by name.
    """

    render_mode = None

    def __init__(self, scenario: Scenario | str, **parameters: object) -> None:
        if isinstance(scenario, str):
            scenario = catalogue.made(scenario, parameters)
        elif parameters:
            raise ValueError(f"give the parameters of a scenario to the scenario itself, got {', '.join(parameters)}")
        if scenario.n_choices is None:
            raise ValueError(
                f"in the scenario {catalogue.name_of(scenario) or type(scenario).__name__} one policy decides for all "
                f"agents; they decide separately in {listed(_names())}"
            )
        self.scenario = scenario
        self.metadata = {"name": catalogue.name_of(scenario) or type(scenario).__name__, "render_modes": []}
        self.possible_agents = [f"agent_{i}" for i in range(scenario.n_agents)]
        self.agents: list[str] = []
        least, most = scenario.utility_bounds
        self.reward_space = Box(least, most, dtype=np.float64)
        low, high = (bound.astype(np.float32) for bound in scenario.seen_bounds)
        self.state_space = Box(low, high, dtype=np.float32)
        self._orders = [self._order_of(i) for i in range(scenario.n_agents)]
        self._observation_spaces = {
            name: Box(low[order], high[order], dtype=np.float32)
            for name, order in zip(self.possible_agents, self._orders, strict=True)
        }
        self._action_spaces = {name: Discrete(scenario.n_choices) for name in self.possible_agents}
        self._noise: Noise | None = None
        self._world: WorldState = None
        self._steps = 0

    def observation_space(self, agent: str) -> Box:
        """The space of an agent's observation, the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """The choices of an agent, the same object at every call."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Info | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Starts an episode."""
        if seed is not None or self._noise is None:
            self._noise = Noise(seeding.np_random(seed)[0], self.scenario.n_noise)
        self._world = self.scenario.start(self._noise.rows(self.scenario.start_rows))
        self._steps, self.agents = 0, list(self.possible_agents)
        return self._observations(), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Takes the choices of all agents."""
        if not self.agents or self._noise is None:
            raise ResetNeeded("call reset() before step(): no episode has begun, or the last one is over")
        self._world, utilities = self.scenario.advance(self._noise.row(), self._world, self._chosen(actions))
        self._steps += 1
        over, names = self._steps >= self.scenario.horizon, self.possible_agents
        self.agents = [] if over else list(names)
        rewards = dict(zip(names, np.asarray(utilities, float).tolist(), strict=True))
        return (
            self._observations(),
            rewards,
            dict.fromkeys(names, False),
            dict.fromkeys(names, over),
            {name: {} for name in names},
        )

    def state(self) -> Observation:
        """All that the scenario shows, for a central learner."""
        return np.asarray(self.scenario.observe(self._world), np.float32)

    def _chosen(self, actions: dict[str, int]) -> Floats:
        if missing := [name for name in self.agents if name not in actions]:
            raise ValueError(f"actions must have a choice for each agent, but {listed(missing)} have none")
        for name in self.agents:
            space, action = self._action_spaces[name], actions[name]
            if not space.contains(action):
                raise ValueError(f"actions must be whole numbers from 0 to {space.n - 1}, got {action!r} of {name}")
        return np.array([actions[name] for name in self.agents], dtype=float)

    def _observations(self) -> dict[str, Observation]:
        seen = self.state()
        return {name: seen[order] for name, order in zip(self.possible_agents, self._orders, strict=True)}

    def _order_of(self, agent: int) -> NDArray[np.intp]:
        """Where an agent's observation is in that of the scenario."""
        n, features = self.scenario.n_agents, len(self.scenario.features)
        own_first = np.array([agent, *(other for other in range(n) if other != agent)])
        of_agents = np.concatenate([feature * n + own_first for feature in range(features)])
        return np.concatenate([of_agents, n * features + np.arange(len(self.scenario.shared))])


def _names() -> list[str]:
    """The scenarios whose agents decide separately."""
    return [name for name in catalogue.names() if ":" not in name and _is_separate(name)]


def _is_separate(name: str) -> bool:
    return cast(Any, catalogue.kind_of(name)).n_choices is not Scenario.n_choices
