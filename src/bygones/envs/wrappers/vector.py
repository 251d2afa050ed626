"""The wrappers for vector environments: one array operation updates the memories of all sub-environments.

The difficult part is when to empty a memory. A vector environment begins new episodes by itself, in the way that
`metadata["autoreset_mode"]` defines:

- NEXT_STEP: the step after the last step of an episode is the reset. Its reward is not a utility.
- SAME_STEP: the last step is also the reset. It returns the first observation of the new episode; the last observation
  and info of the old one are in `final_obs` and `final_info`.
- DISABLED: a sub-environment is reset only by `reset(options={"reset_mask": ...})`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space

from bygones._arrays import Bools
from bygones.envs.batches import AnyAction, Info, as_objects, rows, spread
from bygones.envs.wrappers.fairness import Fairness, Judge
from bygones.envs.wrappers.observing import horizon_of, layout
from bygones.envs.wrappers.recall import AnyObservation, AnyVectorEnv, Recall, present_in, reward_space_of
from bygones.memory import Memory
from bygones.welfare import AnyWelfare

Seeds: TypeAlias = Any
"""A seed, or one for each sub-environment."""

Step: TypeAlias = tuple[AnyObservation, np.ndarray, np.ndarray, np.ndarray, Info]
"""Observations, rewards, terminations, truncations and infos."""


class _EpisodeWrapper(VectorWrapper):
    """Tracks which sub-environments begin an episode, and when, and who is present in them."""

    _recall: Recall

    def __init__(self, env: AnyVectorEnv, presence: str | None) -> None:
        super().__init__(env)
        self._presence = presence
        self._present: Bools | None = None
        self._mode = env.metadata.get("autoreset_mode")
        if not isinstance(self._mode, AutoresetMode):
            raise ValueError(
                f"env must have metadata['autoreset_mode'], one of "
                f"{', '.join(f'AutoresetMode.{mode.name}' for mode in AutoresetMode)}, got {self._mode!r}"
            )
        self._ended = np.zeros(env.num_envs, dtype=bool)

    def _reset(self, seed: Seeds, options: Info | None) -> tuple[AnyObservation, Info, Bools]:
        """Resets, and returns which sub-environments were reset."""
        # Vector environments remove the mask from their options, so they get a copy.
        options = None if options is None else dict(options)
        which = np.ones(self.num_envs, dtype=bool)
        if options is not None and "reset_mask" in options:
            which = np.array(options["reset_mask"], dtype=bool)
        observations, infos = self.env.reset(seed=seed, options=options)
        self._ended = self._ended & ~which
        self._meet(infos, which)
        return observations, infos, which

    def _step(self, actions: AnyAction) -> tuple[Step, Bools, Bools]:
        """Steps and remembers; returns which sub-environments were reset instead of stepped, and which after it."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        instead = self._ended if self._mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        self._ended = terminations | truncations
        after = self._ended if self._mode is AutoresetMode.SAME_STEP else np.zeros_like(self._ended)
        self._recall.receive(rewards, self._present)
        self._meet(infos, np.ones_like(self._ended))
        return (observations, rewards, terminations, truncations, dict(infos)), instead, after

    def _meet(self, infos: Info, which: Bools) -> None:
        """Notes who takes part in the next step of these sub-environments."""
        told = present_in(infos, self._presence, self._recall.shape)
        if told is not None:
            known = np.ones_like(told) if self._present is None else self._present
            self._present = np.where(which[:, None], told, known)


class VectorRememberRewards(_EpisodeWrapper):
    """`RememberRewards` for a vector environment: same arguments, same layout, one row per sub-environment.

    With same-step autoreset, `final_obs` holds the last memory of the episode that ended, and the observation the
    empty memory of the one that began.
    """

    def __init__(
        self,
        env: AnyVectorEnv,
        memory: Memory,
        *,
        observe_denominator: bool = False,
        flatten: bool = True,
        horizon: int | None = None,
        reward_space: Box | None = None,
        presence: str | None = None,
    ) -> None:
        super().__init__(env, presence)
        self.reward_space = reward_space_of(env, reward_space)
        self._recall = Recall(memory, self.reward_space.shape[0], (env.num_envs,))
        base, steps = env.single_observation_space, horizon_of(env, horizon)
        self._layout = layout(base, memory, self.reward_space, observe_denominator, flatten, steps)
        self.single_observation_space = self._layout.space
        self.observation_space = batch_space(self._layout.space, env.num_envs)

    def reset(self, *, seed: Seeds = None, options: Info | None = None) -> tuple[AnyObservation, Info]:
        """Starts episodes with empty memories, in all sub-environments, or where `options["reset_mask"]` is True."""
        observations, infos, which = self._reset(seed, options)
        self._recall.forget(which)
        return self._join(observations), infos

    def step(self, actions: AnyAction) -> Step:
        """Steps every sub-environment and remembers its vector reward."""
        (observations, rewards, terminations, truncations, infos), instead, after = self._step(actions)
        self._recall.forget(instead)
        if after.any():
            infos["final_obs"] = self._join_final(infos["final_obs"], after)
            self._recall.forget(after)
        return self._join(observations), rewards, terminations, truncations, infos

    def _join(self, observations: AnyObservation) -> AnyObservation:
        return self._layout.join(observations, self._recall)

    def _join_final(self, observations: AnyObservation, ended: Bools) -> np.ndarray:
        Z, which = self._recall.values, np.flatnonzero(ended)
        d = self._recall.denominator if self._layout.observe_denominator else [None] * len(Z)
        return as_objects([self._layout.joined(observations[i], Z[i], d[i]) for i in which], which, self.num_envs)


class VectorFairReward(_EpisodeWrapper):
    """`FairReward` for a vector environment: same arguments, same reward, one row per sub-environment.

    `info` has the entries of `FairReward`, each with a mask `_name` of the sub-environments it is about, as in
    Gymnasium. With same-step autoreset, the entries of an episode's last step are in `final_info`.
    """

    def __init__(
        self,
        env: AnyVectorEnv,
        memory: Memory,
        welfare: AnyWelfare,
        weight: float,
        *,
        shaping_discount: float = 1.0,
        reward_space: Box | None = None,
        presence: str | None = None,
    ) -> None:
        super().__init__(env, presence)
        bounds = reward_space_of(env, reward_space)
        self._recall = Recall(memory, bounds.shape[0], (env.num_envs,))
        self._fairness = Fairness(Judge.of(memory, welfare, weight, shaping_discount, bounds), self._recall)
        self.reward_space = Box(-float("inf"), float("inf"), ())

    def reset(self, *, seed: Seeds = None, options: Info | None = None) -> tuple[AnyObservation, Info]:
        """Starts episodes with empty memories, in all sub-environments, or where `options["reset_mask"]` is True."""
        observations, infos, which = self._reset(seed, options)
        self._fairness.begin(which)
        return observations, infos

    def step(self, actions: AnyAction) -> Step:
        """Steps every sub-environment and judges its vector reward."""
        (observations, _, terminations, truncations, infos), instead, after = self._step(actions)
        scalars = np.where(instead, 0.0, self._fairness.reward())
        record = self._fairness.step_record()
        _tell(infos, record, ~instead & ~after)
        if self._ended.any():
            last = {"episode_metrics": self._fairness.episode_record()}
            if after.any():
                infos["final_info"] = dict(infos.get("final_info", {}))
                _tell(infos["final_info"], record | last, after)
                infos["_final_info"] = after.copy()
            else:
                _tell(infos, last, self._ended)
        self._fairness.begin(instead | after)
        return observations, scalars, terminations, truncations, infos


def _tell(infos: Info, record: Info, about: Bools) -> None:
    """Adds the record of these sub-environments to the infos, in Gymnasium's batched form."""
    which = np.flatnonzero(about)
    if len(which):
        infos |= spread(rows(record, which), which, len(about))
