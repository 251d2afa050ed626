"""The wrapper for PettingZoo's AEC environments, in which agents take turns."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Box, Space
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import BaseWrapper

from bygones.envs.batches import AnyAction, Info
from bygones.envs.wrappers.agents import Agent, Learners, agents_of
from bygones.envs.wrappers.recall import AnyObservation
from bygones.memory import Memory
from bygones.welfare import AnyWelfare


class FairAEC(BaseWrapper[Any, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    r"""`FairParallel` for environments in which agents take turns: same arguments, observations, rewards and infos.

    A step of the memory is a turn: a half-life counts turns, of which a round has as many as there are agents. All
    agents that are alive take part in a turn, since it can bring a reward to each of them. The turn in which a dead
    agent leaves is none.
    """

    def __init__(
        self,
        env: AECEnv[Any, Any, Any],
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
        if isinstance(env, ParallelEnv):
            raise ValueError("env is a parallel environment, in which all agents act at once: use FairParallel")
        if not isinstance(env, AECEnv):
            raise ValueError(f"env must be a pettingzoo.AECEnv, got {type(env).__name__}")
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

    def observe(self, agent: Agent) -> AnyObservation:
        """The observation of an agent, with the memory."""
        return self._agents.observation(agent, self.env.observe(agent))

    def reset(self, seed: int | None = None, options: Info | None = None) -> None:
        """Starts an episode with an empty memory."""
        self.env.reset(seed=seed, options=options)
        self._agents.begin()
        self.rewards = dict.fromkeys(self.env.agents, 0.0)
        self._cumulative_rewards = dict(self.rewards)
        self.infos = dict(self.env.infos)

    def step(self, action: AnyAction) -> None:
        """Takes the turn of an agent, and judges the rewards that it brings to all of them."""
        env, acting = self.env, self.env.agent_selection
        alive = [name for name in env.agents if not (env.terminations[name] or env.truncations[name])]
        env.step(action)
        if acting not in alive:
            self.rewards = dict.fromkeys(env.agents, 0.0)
            self._cumulative_rewards = {name: self._cumulative_rewards[name] for name in env.agents}
            self.infos = {name: self.infos[name] for name in env.agents}
            return
        self.rewards = self._agents.rewards({name: env.rewards[name] for name in env.agents}, alive)
        # An agent's rewards since its last turn.
        self._cumulative_rewards[acting] = 0.0
        for name, reward in self.rewards.items():
            self._cumulative_rewards[name] = self._cumulative_rewards.get(name, 0.0) + reward
        is_over = all(env.terminations[name] or env.truncations[name] for name in env.agents)
        self.infos = self._agents.infos({name: env.infos[name] for name in env.agents}, is_over)
