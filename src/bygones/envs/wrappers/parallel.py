"""The wrapper for PettingZoo's parallel environments, in which all agents act at once."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Box, Space
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

from bygones.envs.batches import AnyAction, Info
from bygones.envs.wrappers.agents import Agent, Learners, agents_of
from bygones.envs.wrappers.recall import AnyObservation
from bygones.memory import Memory
from bygones.welfare import AnyWelfare


class FairParallel(BaseParallelWrapper[Any, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    r"""Adds the memory to the observations of a parallel environment, and makes its rewards the paper's.

    The reward of an agent is its utility. Agents that are not in `env.agents` at a step are masked: they are not judged
    in it, and their memory stands still.

    Observation:
        A list of numbers gets longer by the memory Z of all agents, the agent's own first and then the others in the
        order of `possible_agents`. An image or any other observation becomes a Dict with the entries `observation` and
        `memory`, and a Dict gets `memory` as one more entry. The observation itself is left alone. The spaces are made
        once.

    Info:
        Every agent has its `utility`, its `cumulative` total, its `memory`, and the `welfare_memory` of all agents.
        The last step of an episode adds `episode_metrics`: `welfare` and `gini` of the totals of all agents that took
        part in it. If rewards may have either sign there is no `gini`.

    Args:
        env: a `pettingzoo.ParallelEnv` with `possible_agents`.
        memory: the memory, with one entry per agent.
        welfare: the welfare function W, or its name, such as "nash" or "generalized_gini".
        weight: λ between 0 (total utility alone) and 1 (fairness alone).
        learners: "central" gives everyone the paper's reward, "separate" gives each agent its own part of it (see
            `bygones.envs.wrappers.agents`).
        observe_memory: whether agents observe the memory.
        observe_denominator: whether they observe its denominator as well.
        shaping_discount: the factor δ in $\delta\,W(Z^t) - W(Z^{t-1})$: 1 in the paper.
        reward_space: the bounds of the agents' rewards, one entry per agent; by default the environment's
            `reward_space` if it has one, else infinite. Rewards of at least 0 are goods, rewards of at most 0 burdens.
        horizon: the longest episode in steps, which bounds the memory in the observation.
    """

    def __init__(
        self,
        env: ParallelEnv[Any, Any, Any],
        memory: Memory,
        welfare: AnyWelfare,
        weight: float,
        *,
        learners: Learners = "central",
        observe_memory: bool = True,
        observe_denominator: bool = False,
        shaping_discount: float = 1.0,
        reward_space: Box | None = None,
        horizon: int | None = None,
    ) -> None:
        if isinstance(env, AECEnv):
            raise ValueError("env is an AEC environment, in which agents take turns: use FairAEC")
        if not isinstance(env, ParallelEnv):
            raise ValueError(f"env must be a pettingzoo.ParallelEnv, got {type(env).__name__}")
        super().__init__(env)
        self._agents = agents_of(
            env,
            memory,
            welfare,
            weight,
            learners=learners,
            observe_memory=observe_memory,
            observe_denominator=observe_denominator,
            shaping_discount=shaping_discount,
            reward_space=reward_space,
            horizon=horizon,
        )

    def observation_space(self, agent: Agent) -> Space[AnyObservation]:
        """The space of an agent's observation, the same object at every call."""
        return self._agents.spaces[agent]

    def reset(
        self, seed: int | None = None, options: Info | None = None
    ) -> tuple[dict[Agent, AnyObservation], dict[Agent, Info]]:
        """Starts an episode with an empty memory."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._agents.begin()
        return self._seen(observations), infos

    def step(
        self, actions: dict[Agent, AnyAction]
    ) -> tuple[
        dict[Agent, AnyObservation], dict[Agent, float], dict[Agent, bool], dict[Agent, bool], dict[Agent, Info]
    ]:
        """Steps the environment and judges the rewards of the agents that were present."""
        present = list(self.env.agents)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        judged = self._agents.rewards(rewards, present)
        infos = self._agents.infos(infos, is_over=not self.env.agents)
        return self._seen(observations), judged, terminations, truncations, infos

    def _seen(self, observations: dict[Agent, AnyObservation]) -> dict[Agent, AnyObservation]:
        return {name: self._agents.observation(name, seen) for name, seen in observations.items()}
