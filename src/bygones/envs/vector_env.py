"""A Gymnasium vector environment: many of the paper's environments, stepped together in array operations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bygones._arrays import Array, Bools, Floats, Ints, check_count, check_one_of
from bygones.envs.actions import named
from bygones.envs.batches import as_objects, merged, spread, taken
from bygones.envs.dynamics import EnvState, Transition, account, begin, proceed
from bygones.envs.gymnasium_env import Observation, own, scene_of, spaces_of
from bygones.envs.noise import NoiseBatch
from bygones.envs.problem import episode_metrics, observe, problem_of
from bygones.envs.render import Frame, Viewer

Moment = tuple[EnvState, Transition]


class AllocationVectorEnv(VectorEnv[Observation, NDArray[np.integer], np.ndarray]):
    """`num_envs` copies of `AllocationEnv`, which documents the environment, in one.

    Spaces, infos and autoreset behave as in Gymnasium's `SyncVectorEnv` over the same number of single environments. A
    seed s gives environment i the seed s + i, so it sees exactly the needs of a single environment with that seed.

    Args:
        num_envs: the number of environments.
        autoreset_mode: what happens when an episode is over. `NEXT_STEP` resets the environment at the next step and
            ignores that step's action. `SAME_STEP` resets it at once and puts the last observation and info into
            `final_obs` and `final_info`. `DISABLED` leaves the reset to the caller: `options={"reset_mask": mask}`.
        render_mode: None, or `"rgb_array"` for a tuple of images, one per environment.
        settings: the settings of `AllocationEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (the base class declares an instance's attribute)
        "render_modes": ["rgb_array"],
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        self.num_envs = check_count("num_envs", num_envs)
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.problem = problem_of(**settings)
        self.single_observation_space, self.single_action_space = spaces_of(self.problem)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._params = self.problem.params()
        self._n_actions = self.problem.n_actions if self.problem.is_enumerable else None
        self._terminates = self.problem.ends == "termination"
        self._mode: AutoresetMode = self.metadata["autoreset_mode"]
        self._everyone = np.arange(self.num_envs)
        self._seeds: list[int] = []
        self._noise: NoiseBatch | None = None
        self._now: Moment | None = None
        self._needs_before: Array = np.zeros((self.num_envs, self.problem.n_agents))
        self._over: Array = np.zeros(self.num_envs, dtype=bool)
        self._viewer: Viewer | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        which = self._everyone
        if options is not None and "reset_mask" in options:
            which = np.flatnonzero(self._checked_mask(options["reset_mask"]))
        self._seed(seed, which)
        fresh = self._begin(which)
        self._now = fresh if self._now is None else merged(self._now, (which, fresh))
        self._over = self._now[1].over
        return self._observe(self._now), self._info(fresh, which)

    def step(self, actions: NDArray[np.integer]) -> tuple[Observation, Floats, Bools, Bools, dict[str, Any]]:
        if self._now is None:
            raise ResetNeeded("call reset() before step(): no episode has begun")
        before = self._now
        now = self._proceed(before, self._checked(actions))
        _, outcome = now
        infos: dict[str, Any] = {}
        if outcome.over.any():
            ended = np.flatnonzero(outcome.over)
            last = taken(now, ended)
            metrics = {"episode_metrics": episode_metrics(last[0].cumulative, last[0].t, self._params)}
            if self._mode is AutoresetMode.SAME_STEP:
                final = spread({"final_info": {**account(*last), **metrics}}, ended, self.num_envs)
                final_obs = as_objects(self._observe(last), ended, self.num_envs)
                infos = {**final, "final_obs": final_obs, "_final_obs": outcome.over.copy()}
                now = merged(now, (ended, self._begin(ended)))
            else:
                infos = spread(metrics, ended, self.num_envs)
        infos |= self._info(now, self._everyone)
        self._now, self._needs_before, self._over = now, before[0].needs, now[1].over
        over, never = cast(Bools, outcome.over.copy()), np.zeros(self.num_envs, dtype=bool)
        terminated, truncated = (over, never) if self._terminates else (never, over)
        return self._observe(now), cast(Floats, outcome.reward), terminated, truncated, infos

    def render(self) -> tuple[Frame, ...] | None:
        """One image per environment."""
        if self.render_mode is None or self._now is None:
            raise ResetNeeded('render() needs render_mode="rgb_array" and a reset() before it')
        self._viewer = self._viewer or Viewer()
        moments = [(*taken(self._now, i), self._needs_before[i]) for i in range(self.num_envs)]
        return tuple(self._viewer.draw(scene_of(self.problem, *moment)) for moment in moments)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments."""
        return tuple(self._noise.generators) if self._noise is not None else ()

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the environments."""
        return tuple(self._seeds)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_viewer": None}

    def __copy__(self) -> AllocationVectorEnv:
        return deepcopy(self)

    def _proceed(self, before: Moment, actions: NDArray[np.integer]) -> Moment:
        assert self._noise is not None
        if not self._over.any():
            return proceed(self._noise.row(), before[0], actions, self._params)
        waiting, going = np.flatnonzero(self._over), np.flatnonzero(~self._over)
        if self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"the episodes of environments {waiting.tolist()} are over: reset these environments before step()"
            )
        played = proceed(self._noise.row(going), taken(before[0], going), actions[going], self._params)
        return merged(before, (going, played), (waiting, self._begin(waiting)))

    def _begin(self, which: Ints) -> Moment:
        assert self._noise is not None
        return begin(np.array([self._noise.row(which), self._noise.row(which)]), self._params)

    def _observe(self, moment: Moment) -> Observation:
        state, outcome = moment
        return cast(Observation, observe(state.needs, state.memory, self._params, outcome.Z))

    def _info(self, moment: Moment, which: Ints) -> dict[str, Any]:
        info = account(*moment)
        return spread(own(info, tuple(info)), which, self.num_envs)

    def _seed(self, seed: int | Sequence[int | None] | None, which: Ints) -> None:
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be one number or one per environment ({self.num_envs}), got {len(seeds)}")
        if self._noise is None:
            drawn = [seeding.np_random(one) for one in seeds]
            self._noise = NoiseBatch([generator for generator, _ in drawn], self.problem.n_agents)
            self._seeds = [known for _, known in drawn]
            return
        for i in which:
            if seeds[i] is not None:
                generator, self._seeds[i] = seeding.np_random(seeds[i])
                self._noise.reseed(i, generator)

    def _checked(self, actions: Any) -> NDArray[np.integer]:
        chosen = np.asarray(actions)
        if self._n_actions is None or chosen.ndim == 2:
            return named(actions, self.problem, (self.num_envs,))
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} whole numbers, one per environment, got {actions!r}")
        if chosen.min() < 0 or chosen.max() >= self._n_actions:
            raise ValueError(
                f"actions must be from 0 to {self._n_actions - 1}, got values from {chosen.min()} to {chosen.max()}"
            )
        return chosen

    def _checked_mask(self, mask: Any) -> Bools:
        if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (self.num_envs,) and mask.any()):
            raise ValueError(
                f"reset_mask must be a boolean array of shape ({self.num_envs},) with at least one True, got {mask!r}"
            )
        return mask
