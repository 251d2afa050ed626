"""The wrappers for a single environment."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from bygones._arrays import Bools
from bygones.envs.batches import AnyAction, Info
from bygones.envs.wrappers.fairness import Fairness, Judge, plain
from bygones.envs.wrappers.observing import horizon_of, layout
from bygones.envs.wrappers.recall import AnyEnv, AnyObservation, Recall, check_single, present_in, reward_space_of
from bygones.memory import Memory
from bygones.welfare import AnyWelfare


class RememberRewards(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Appends the memory Z of past vector rewards, and optionally its denominator d, to the observation.

    The vector reward is not changed.

    Observation:
        A Box observation becomes one flat Box: the observation, then Z, then d. Its type is the environment's own
        if that is float32 or float64, else float32. Every other observation (and a Box with `flatten=False`, for
        images) becomes a Dict with the entries `observation`, `memory` and `denominator`; a Dict observation gets
        the last two as additional entries. The bounds of Z and d are finite if rewards and memory are bounded;
        perfect recall is bounded only over a finite `horizon`.

    Args:
        env: an environment with a vector reward and MO-Gymnasium's `reward_space`.
        memory: the memory, with one entry per component of the reward.
        observe_denominator: whether d is observed as well. Z and d together make averaged memories Markov.
        flatten: whether to flatten a Box observation.
        horizon: the longest episode in steps; by default the environment's time limit, if it has one.
        reward_space: the bounds of the vector reward; by default the environment's.
        presence: the entry of `info` that marks the agents who take part in the next step, one truth value each, such
            as `"present"`. An absent agent's memory stands still. By default everyone always takes part.
    """

    def __init__(
        self,
        env: AnyEnv,
        memory: Memory,
        *,
        observe_denominator: bool = False,
        flatten: bool = True,
        horizon: int | None = None,
        reward_space: Box | None = None,
        presence: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            memory=memory,
            observe_denominator=observe_denominator,
            flatten=flatten,
            horizon=horizon,
            reward_space=reward_space,
            presence=presence,
        )
        gym.Wrapper.__init__(self, check_single(env, "RememberRewards"))
        self.reward_space = reward_space_of(env, reward_space)
        self.recall, self._presence = Recall(memory, self.reward_space.shape[0]), presence
        self._present: Bools | None = None
        self._layout = layout(
            env.observation_space, memory, self.reward_space, observe_denominator, flatten, horizon_of(env, horizon)
        )
        self.observation_space = self._layout.space

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[AnyObservation, Info]:
        """Starts an episode with an empty memory."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.recall.forget()
        self._present = present_in(info, self._presence, self.recall.shape)
        return self._join(observation), info

    def step(self, action: AnyAction) -> tuple[AnyObservation, SupportsFloat, bool, bool, Info]:
        """Steps the environment and remembers its vector reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.recall.receive(reward, self._present)  # type: ignore[arg-type]
        self._present = present_in(info, self._presence, self.recall.shape)
        return self._join(observation), reward, terminated, truncated, info

    def remembers(self, memory: Memory, presence: str | None) -> bool:
        """Whether this is the memory that is observed, of agents whose presence has this name."""
        return memory is self.recall.memory and presence == self._presence

    def _join(self, observation: AnyObservation) -> AnyObservation:
        return self._layout.join(observation, self.recall)


class FairReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    r"""Turns a vector reward $u^t$ into $(1-\lambda)\sum_i u_i^t + \lambda\,(W(Z^t) - W(Z^{t-1}))$.

    Info:
        Every step, in new arrays: `utilities` (the vector reward), `cumulative` (totals: the sum of the vector rewards
        in this episode), `memory` (Z) and `welfare_memory`, W(Z). The last step of an episode adds `episode_metrics`:
        `welfare`, W of the totals (of the mean per step if the memory is an average), and `gini` of the totals. The
        Gini coefficient has no meaning for negative utilities, so it is absent if the reward space allows them.
        `bygones/Allocation-v0` uses the same names.

    Args:
        env: an environment with a vector reward and MO-Gymnasium's `reward_space`.
        memory: the memory that W judges. The wrapper keeps its own, whether or not the agent observes one.
        welfare: the welfare function W, or its name, such as "nash" (log-Nash, as the paper uses it) or
            "alpha_fair(alpha=2)". Functions that need utilities of at least 0 are refused if the reward space allows
            negative rewards. Rewards of at most 0 are burdens, which `"power_burden"` and `"generalized_gini"` judge.
        weight: λ between 0 (total utility alone) and 1 (fairness alone).
        shaping_discount: the factor δ in $\delta\,W(Z^t) - W(Z^{t-1})$: 1 in the paper; the learner's discount factor
            for strict potential-based shaping.
        reward_space: the bounds of the vector reward; by default the environment's.
        presence: the entry of `info` that marks the agents who take part in the next step, one truth value each, such
            as `"present"`. Absent agents are not judged, and their memory stands still. By default everyone always
            takes part.
    """

    def __init__(
        self,
        env: AnyEnv,
        memory: Memory,
        welfare: AnyWelfare,
        weight: float,
        *,
        shaping_discount: float = 1.0,
        reward_space: Box | None = None,
        presence: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            memory=memory,
            welfare=welfare,
            weight=weight,
            shaping_discount=shaping_discount,
            reward_space=reward_space,
            presence=presence,
        )
        gym.Wrapper.__init__(self, check_single(env, "FairReward"))
        bounds = reward_space_of(env, reward_space)
        # The memory that the agent observes right below is the one to judge, if it is the same.
        observed = env.recall if isinstance(env, RememberRewards) and env.remembers(memory, presence) else None
        self._shares, recall = observed is not None, observed or Recall(memory, bounds.shape[0])
        self._fairness = Fairness(Judge.of(memory, welfare, weight, shaping_discount, bounds), recall)
        self._presence = presence
        self._present: Bools | None = None
        self.reward_space = Box(-float("inf"), float("inf"), ())

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[AnyObservation, Info]:
        """Starts an episode with an empty memory."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._fairness.begin()
        self._present = present_in(info, self._presence, self._fairness.recall.shape)
        return observation, info

    def step(self, action: AnyAction) -> tuple[AnyObservation, float, bool, bool, Info]:
        """Steps the environment and judges its vector reward."""
        observation, rewards, terminated, truncated, info = self.env.step(action)
        fairness = self._fairness
        if not self._shares:
            fairness.recall.receive(rewards, self._present)  # type: ignore[arg-type]
        reward = float(fairness.reward())
        self._present = present_in(info, self._presence, fairness.recall.shape)
        info = {**info, **fairness.step_record()}
        info["welfare_memory"] = float(info["welfare_memory"])
        if terminated or truncated:
            info["episode_metrics"] = plain(fairness.episode_record())
        return observation, reward, terminated, truncated, info
