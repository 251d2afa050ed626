r"""Fairness among agents with names, each with a separate reward and observation.

The reward of an agent is its utility, and one memory holds the recent totals of all agents. There are two kinds of
learners:

- `"central"`: one learner decides for all agents, or they learn to work as a team. Everyone receives the paper's
  reward, $(1-\lambda)\sum_j u_j + \lambda\,(\delta\,W(Z^t) - W(Z^{t-1}))$.
- `"separate"`: each agent learns for itself. Agent i receives its own part of the same sum,
  $(1-\lambda)\,u_i + \frac{\lambda}{m}\,(\delta\,W(Z^t) - W(Z^{t-1}))$, where m agents took part in the step. The
  rewards of a step add up to the paper's.

An agent observes the memory of all agents, its own first, so agents can share one policy. Agents that are absent or
dead are masked: they receive no reward, their memory stands still, and in the welfare they count as if they had the
mean of the agents present.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from gymnasium.spaces import Box, Space

from bygones._arrays import Array, Ints, at_least, check_count, check_one_of, namespace
from bygones.envs.batches import Info
from bygones.envs.wrappers.fairness import Fairness, Judge, plain
from bygones.envs.wrappers.observing import Layout, layout
from bygones.envs.wrappers.recall import AnyObservation, Recall, nearest_space, reward_space_of
from bygones.memory import Memory
from bygones.welfare import AnyWelfare

Agent: TypeAlias = Hashable
"""The name of an agent."""

Learners = Literal["central", "separate"]
"""Who learns: one for all agents, or each agent for itself."""


class Agents:
    """The agents of an environment by name, with their memory, and the rewards and observations that result.

    Attributes:
        names: all agents that can take part, in the order of the memory.
        spaces: the observation space of each agent.
    """

    def __init__(
        self,
        names: Iterable[Agent],
        spaces: Mapping[Agent, Space[AnyObservation]],
        memory: Memory,
        judge: Judge,
        reward_space: Box,
        *,
        learners: Learners,
        observe_memory: bool,
        observe_denominator: bool,
        horizon: int | None,
    ) -> None:
        self.names = list(names)
        self._learners = check_learners(learners)
        self._recall = Recall(memory, len(self.names))
        self._fairness = Fairness(judge, self._recall)
        self._orders = {name: own_first(i, len(self.names)) for i, name in enumerate(self.names)}
        steps = math.inf if horizon is None else check_count("horizon", horizon)
        self._layouts: dict[Agent, Layout] = {}
        if observe_memory:
            self._layouts = {
                name: agent_layout(spaces[name], memory, reward_space, order, observe_denominator, steps)
                for name, order in self._orders.items()
            }
        self.spaces = {name: self._layouts[name].space if observe_memory else spaces[name] for name in self.names}

    def begin(self) -> None:
        """Starts an episode with an empty memory."""
        self._fairness.begin()

    def rewards(self, given: Mapping[Agent, float], present: Iterable[Agent]) -> dict[Agent, float]:
        """The rewards of a step, from the environment's rewards and the agents that took part."""
        there = set(present)
        who = np.array([name in there for name in self.names])
        self._recall.receive([given.get(name, 0.0) for name in self.names], who)
        judge, utilities = self._fairness.judge, self._recall.utilities
        gained = self._fairness.gain()
        shares = shares_of(utilities, gained, who, judge, self._learners).tolist()
        received = dict(zip(self.names, shares, strict=True))
        return {name: received.get(name, 0.0) for name in given}

    def observation(self, name: Agent, observation: AnyObservation) -> AnyObservation:
        """The observation of an agent, with the memory; None, which a dead agent may observe, is left alone."""
        if name not in self._layouts or observation is None:
            return observation
        d = self._recall.denominator if self._layouts[name].observe_denominator else None
        return self._layouts[name].joined(observation, self._recall.values[self._orders[name]], d)

    def infos(self, given: Mapping[Agent, Info], is_over: bool) -> dict[Agent, Info]:
        """The infos of a step, with an agent's own entries and, once the episode is over, its metrics."""
        record = self._fairness.step_record()
        names = {"utilities": "utility", "cumulative": "cumulative", "memory": "memory"}
        shared: Info = {"welfare_memory": float(record["welfare_memory"])}
        if is_over:
            shared["episode_metrics"] = plain(self._fairness.episode_record())
        own = {name: {new: float(record[old][i]) for old, new in names.items()} for i, name in enumerate(self.names)}
        return {name: {**info, **own.get(name, {}), **shared} for name, info in given.items()}


def agents_of(
    env: Any,
    memory: Memory,
    welfare: AnyWelfare,
    weight: float,
    *,
    learners: Learners,
    observe_memory: bool,
    observe_denominator: bool,
    shaping_discount: float,
    reward_space: Box | None,
    horizon: int | None,
) -> Agents:
    """The agents of an environment of PettingZoo; the arguments are as in `FairParallel`."""
    names = getattr(env, "possible_agents", None)
    if not names:
        raise ValueError("env must have possible_agents, the names of all agents that can take part")
    bounds = bounds_of(env, reward_space, len(names))
    return Agents(
        names,
        {name: env.observation_space(name) for name in names},
        memory,
        Judge.of(memory, welfare, weight, shaping_discount, bounds),
        bounds,
        learners=learners,
        observe_memory=observe_memory,
        observe_denominator=observe_denominator,
        horizon=horizon,
    )


def bounds_of(env: object, given: Box | None, n_agents: int) -> Box:
    """The bounds of the agents' rewards: as given, or as the environment has them, or none."""
    if given is None and nearest_space(env) is None:
        return Box(-math.inf, math.inf, (n_agents,), dtype=np.float64)
    space = reward_space_of(env, given)
    if space.shape != (n_agents,):
        raise ValueError(f"reward_space must have one entry for each of the {n_agents} agents, got shape {space.shape}")
    return space


def shares_of(utilities: Array, gain: Array, present: Array, judge: Judge, learners: Learners) -> Array:
    """The reward of each agent present, from the utilities of a step and the weighted gain of welfare."""
    if learners == "central":
        reward = (1.0 - judge.weight) * utilities.sum(axis=-1) + gain
    else:
        reward = (1.0 - judge.weight) * utilities + gain / at_least(present.sum(axis=-1), 1)
    return namespace(utilities).where(present, reward, 0.0)


def check_learners(learners: object) -> Learners:
    """The kind of learners, refused unless it is one of the two."""
    check_one_of("learners", learners, get_args(Learners))
    return "separate" if learners == "separate" else "central"


def own_first(agent: int, n_agents: int) -> Ints:
    """The agents in the order in which one of them observes the memory: itself, then the others."""
    return np.array([agent, *(other for other in range(n_agents) if other != agent)])


def agent_layout(
    space: Space[AnyObservation],
    memory: Memory,
    reward_space: Box,
    order: Ints,
    observe_denominator: bool,
    steps: float,
) -> Layout:
    """The layout of an agent's observation. A list of numbers gets longer; images and others are left alone."""
    low, high = (np.asarray(bound[order], float) for bound in (reward_space.low, reward_space.high))
    ordered = Box(low, high, dtype=np.float64)
    is_list = isinstance(space, Box) and len(space.shape) == 1
    return layout(space, memory, ordered, observe_denominator, is_list, steps)
