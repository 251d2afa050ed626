"""What the vector environments share: seeds, autoreset and Gymnasium's batched form of info.

A vector environment holds a *moment*: a (named) tuple of tuples and arrays with one row per environment. Its subclasses
say how moments begin and go on, and what is seen of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Generic, Self, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bygones._arrays import Bools, Floats, Ints, check_count
from bygones.envs.batches import as_objects, merged, spread, taken
from bygones.envs.noise import NoiseBatch

Observation = NDArray[np.float32]
Moment = TypeVar("Moment", bound=tuple[Any, ...])


class FairVectorEnv(VectorEnv[Observation, Any, np.ndarray], Generic[Moment]):
    """Many environments in one, as Gymnasium's `SyncVectorEnv` over single ones.

    A seed s gives environment i the seed s + i, so it sees exactly the noise of a single environment with that seed.
    """

    def __init__(
        self,
        num_envs: int,
        autoreset_mode: AutoresetMode | str,
        observation_space: gym.Space[Observation],
        action_space: gym.Space[Any],
        n_noise: int,
        terminates: bool,
    ) -> None:
        self.num_envs = check_count("num_envs", num_envs)
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self.single_observation_space, self.single_action_space = observation_space, action_space
        self.observation_space = batch_space(observation_space, self.num_envs)
        self.action_space = batch_space(action_space, self.num_envs)
        self._mode: AutoresetMode = self.metadata["autoreset_mode"]
        self._n_noise, self._terminates = n_noise, terminates
        self._everyone = np.arange(self.num_envs)
        self._seeds: list[int] = []
        self._noise: NoiseBatch | None = None
        self._now: Moment | None = None
        self._before: Moment | None = None
        """The moment before the last step."""
        self._over: Bools = np.zeros(self.num_envs, dtype=bool)

    @abstractmethod
    def _begin(self, which: Ints) -> Moment:
        """The start of an episode in these environments."""

    @abstractmethod
    def _played(self, noise: Floats, before: Moment, actions: Any) -> Moment:
        """The moment after a step in all environments of a moment."""

    @abstractmethod
    def _checked(self, actions: Any) -> Any:
        """The actions, one row per environment."""

    @abstractmethod
    def _observe(self, moment: Moment) -> Observation:
        """What is seen."""

    @abstractmethod
    def _account(self, moment: Moment) -> dict[str, Any]:
        """The info of a step."""

    @abstractmethod
    def _metrics(self, moment: Moment) -> dict[str, Any]:
        """What episodes come to, from their last moment."""

    @abstractmethod
    def _outcome(self, moment: Moment) -> tuple[Floats, Bools]:
        """The rewards of the last step, and whether episodes are over."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        which = self._everyone
        if options is not None and "reset_mask" in options:
            which = np.flatnonzero(self._checked_mask(options["reset_mask"]))
        self._seed(seed, which)
        fresh = self._begin(which)
        self._now = fresh if self._now is None else merged(self._now, (which, fresh))
        self._over = self._outcome(self._now)[1]
        return self._observe(self._now), self._info(fresh, which)

    def step(self, actions: Any) -> tuple[Observation, Floats, Bools, Bools, dict[str, Any]]:
        if self._now is None:
            raise ResetNeeded("call reset() before step(): no episode has begun")
        before = self._now
        now = self._proceed(before, self._checked(actions))
        rewards, is_over = self._outcome(now)
        infos: dict[str, Any] = {}
        if is_over.any():
            ended = np.flatnonzero(is_over)
            last = taken(now, ended)
            metrics = {"episode_metrics": self._metrics(last)}
            if self._mode is AutoresetMode.SAME_STEP:
                final = spread({"final_info": {**self._account(last), **metrics}}, ended, self.num_envs)
                final_obs = as_objects(self._observe(last), ended, self.num_envs)
                infos = {**final, "final_obs": final_obs, "_final_obs": is_over.copy()}
                now = merged(now, (ended, self._begin(ended)))
            else:
                infos = spread(metrics, ended, self.num_envs)
        infos |= self._info(now, self._everyone)
        self._now, self._before, self._over = now, before, self._outcome(now)[1]
        over, never = is_over.copy(), np.zeros(self.num_envs, dtype=bool)
        terminated, truncated = (over, never) if self._terminates else (never, over)
        return self._observe(now), rewards, terminated, truncated, infos

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments."""
        return tuple(self._noise.generators) if self._noise is not None else ()

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the environments."""
        return tuple(self._seeds)

    def __copy__(self) -> Self:
        return deepcopy(self)

    def _proceed(self, before: Moment, actions: Any) -> Moment:
        assert self._noise is not None
        if not self._over.any():
            return self._played(self._noise.row(), before, actions)
        waiting, going = np.flatnonzero(self._over), np.flatnonzero(~self._over)
        if self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"the episodes of environments {waiting.tolist()} are over: reset these environments before step()"
            )
        if not len(going):
            return self._begin(waiting)
        played = self._played(self._noise.row(going), taken(before, going), actions[going])
        return merged(before, (going, played), (waiting, self._begin(waiting)))

    def _info(self, moment: Moment, which: Ints) -> dict[str, Any]:
        info = {name: value.copy() for name, value in self._account(moment).items()}
        return spread(info, which, self.num_envs)

    def _seed(self, seed: int | Sequence[int | None] | None, which: Ints) -> None:
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be one number or one per environment ({self.num_envs}), got {len(seeds)}")
        if self._noise is None:
            drawn = [seeding.np_random(one) for one in seeds]
            self._noise = NoiseBatch([generator for generator, _ in drawn], self._n_noise)
            self._seeds = [known for _, known in drawn]
            return
        for i in which:
            if seeds[i] is not None:
                generator, self._seeds[i] = seeding.np_random(seeds[i])
                self._noise.reseed(i, generator)

    def _numbers(self, actions: Any, n_actions: int) -> NDArray[np.integer]:
        """One number of an action per environment."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} whole numbers, one per environment, got {actions!r}")
        if chosen.min() < 0 or chosen.max() >= n_actions:
            raise ValueError(
                f"actions must be from 0 to {n_actions - 1}, got values from {chosen.min()} to {chosen.max()}"
            )
        return chosen

    def _checked_mask(self, mask: Any) -> Bools:
        if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (self.num_envs,) and mask.any()):
            raise ValueError(
                f"reset_mask must be a boolean array of shape ({self.num_envs},) with at least one True, got {mask!r}"
            )
        return mask
