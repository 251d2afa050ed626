"""Scenarios as a Gymnasium vector environment: many environments, stepped together.

Memory, welfare and reward are worked out for all environments at once. So is the world, if the scenario takes batches,
as the paper's problem does; if not, it goes on environment by environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bygones._arrays import Array, Bools, Floats, Ints, check_count
from bygones.envs.batches import AnyAction, Info, as_objects, merged, spread, taken
from bygones.envs.env import Observation, Playing, Shell, served_by, spaces_of
from bygones.envs.episode import episode_metrics
from bygones.envs.noise import NoiseBatch
from bygones.envs.problem import FairProblem
from bygones.envs.render import Frame
from bygones.envs.scenario import Scenario, WorldState
from bygones.envs.view import as_scene, as_text


class OneByOne:
    """A scenario whose functions take one state, for many of them."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario, self.n_agents = scenario, scenario.n_agents

    def start(self, noise: Floats) -> WorldState:
        return as_objects([self.scenario.start(one) for one in noise])

    def observe(self, worlds: WorldState) -> Array:
        return np.array([self.scenario.observe(world) for world in worlds])

    def advance(self, noise: Floats, worlds: WorldState, rows: Array) -> tuple[WorldState, Array]:
        steps = [self.scenario.advance(*one) for one in zip(noise, worlds, rows, strict=True)]
        return as_objects([world for world, _ in steps]), np.array([utilities for _, utilities in steps])

    def present(self, worlds: WorldState) -> Array | None:
        present = [self.scenario.present(world) for world in worlds]
        return None if present[0] is None else np.array(present)


class FairVectorEnv(Shell, VectorEnv[Observation, AnyAction, np.ndarray]):
    """`num_envs` copies of `FairEnv`, which documents the environment, in one.

    Spaces, infos and autoreset behave as in Gymnasium's `SyncVectorEnv` over the same number of single environments. A
    seed s gives environment i the seed s + i, so it sees exactly the noise of a single environment with that seed. With
    `vector=True` rewards have one row per environment and one column per agent, as in MO-Gymnasium's vector
    environments, and `reward_space` is that of a single environment.

    Args:
        scenario: a scenario, its name, or where its class is, as `module:Class`.
        num_envs: the number of environments.
        autoreset_mode: the reset after an episode. `NEXT_STEP` resets the environment at the next step and ignores that
            step's action. `SAME_STEP` resets it at once and puts the last observation and info into `final_obs` and
            `final_info`. `DISABLED` leaves the reset to the caller: `options={"reset_mask": mask}`.
        problem: a `FairProblem`, instead of a scenario and all other settings.
        vector: whether the reward is the vector of utilities.
        render_mode: None, or `"ansi"` or `"rgb_array"` for a tuple of texts or images, one per environment.
        settings: the parameters of the scenario and the other settings of `FairEnv`.
    """

    metadata: Info = {  # noqa: RUF012  (the base class declares an instance's attribute)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: Scenario | str = "allocation",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        problem: FairProblem | None = None,
        vector: bool = False,
        render_mode: str | None = None,
        **settings: object,
    ) -> None:
        self._set_up(scenario, problem, vector, render_mode, settings)
        if not self.scenario.takes_batches:
            self._params = self._params._replace(scenario=cast(Scenario, OneByOne(self.scenario)))
        self.num_envs = check_count("num_envs", num_envs)
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self.single_observation_space, self.single_action_space = spaces_of(self.problem, vector)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._mode: AutoresetMode = self.metadata["autoreset_mode"]
        self._everyone = np.arange(self.num_envs)
        self._seeds: list[int] = []
        self._noise: NoiseBatch | None = None
        self._now: Playing | None = None
        self._before: Playing | None = None
        """Before the last step."""
        self._over: Bools = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[Observation, Info]:
        which = self._everyone
        if options is not None and "reset_mask" in options:
            mask, shape = options["reset_mask"], (self.num_envs,)
            if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == shape and mask.any()):
                raise ValueError(
                    f"reset_mask must be a boolean array of shape {shape} with at least one True, got {mask!r}"
                )
            which = np.flatnonzero(mask)
        self._seed(seed, which)
        fresh = self._begin(which)
        self._now = fresh if self._now is None else merged(self._now, (which, fresh))
        self._over = self._is_over(self._now)
        return self._observe(self._now), spread(self._account(fresh), which, self.num_envs)

    def step(self, actions: AnyAction) -> tuple[Observation, Floats, Bools, Bools, Info]:
        if self._now is None:
            raise ResetNeeded("call reset() before step(): no episode has begun")
        before = self._now
        now = self._proceed(before, self._checked(actions))
        is_over = self._is_over(now)
        rewards = cast(Floats, np.asarray(now.state.utilities, np.float32) if self.vector else now.outcome.reward)
        infos: Info = {}
        if is_over.any():
            ended = np.flatnonzero(is_over)
            last = taken(now, ended)
            metrics = {"episode_metrics": episode_metrics(last.state, self._params)}
            if self._mode is AutoresetMode.SAME_STEP:
                account = {**self._account(last), **metrics}
                infos = spread({"final_info": account}, ended, self.num_envs)
                infos |= {
                    "final_obs": as_objects(self._observe(last), ended, self.num_envs),
                    "_final_obs": is_over.copy(),
                }
                now = merged(now, (ended, self._begin(ended)))
            else:
                infos = spread(metrics, ended, self.num_envs)
        infos |= spread(self._account(now), self._everyone, self.num_envs)
        self._now, self._before, self._over = now, before, self._is_over(now)
        over, never = is_over.copy(), np.zeros(self.num_envs, dtype=bool)
        terminated, truncated = (over, never) if self._terminates else (never, over)
        return self._observe(now), rewards, terminated, truncated, infos

    def render(self) -> tuple[str | Frame, ...] | None:
        """One text or image per environment."""
        if self.render_mode is None or self._now is None:
            raise ResetNeeded('render() needs a render_mode, such as "ansi", and a reset() before it')
        shown = []
        for i in range(self.num_envs):
            state, judged = taken(self._now, i)
            world_before = None if self._before is None or not state.t else taken(self._before, i).state.world
            shown.append((self.problem, state, None if self.vector else judged.Z, world_before))
        if self.render_mode == "ansi":
            return tuple(as_text(*one[:3]) for one in shown)
        return tuple(cast(Frame, self._drawn(as_scene(*one))) for one in shown)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments."""
        return tuple(self._noise.generators) if self._noise is not None else ()

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the environments."""
        return tuple(self._seeds)

    def _proceed(self, before: Playing, actions: AnyAction) -> Playing:
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

    def _begin(self, which: Ints) -> Playing:
        assert self._noise is not None
        return self._begun(self._noise.rows(self.scenario.start_rows, which))

    def _is_over(self, now: Playing) -> Bools:
        return cast(Bools, now.state.t >= self._horizon)

    def _checked(self, actions: AnyAction) -> NDArray[np.integer]:
        if self._n_actions is None or np.ndim(actions) == 2:
            return served_by(actions, self.problem, (self.num_envs,))
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} whole numbers, one per environment, got {actions!r}")
        if chosen.min() < 0 or chosen.max() >= self._n_actions:
            raise ValueError(
                f"actions must be from 0 to {self._n_actions - 1}, got values from {chosen.min()} to {chosen.max()}"
            )
        return chosen

    def _seed(self, seed: int | Sequence[int | None] | None, which: Ints) -> None:
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be one number or one per environment ({self.num_envs}), got {len(seeds)}")
        if self._noise is None:
            drawn = [seeding.np_random(one) for one in seeds]
            self._noise = NoiseBatch([generator for generator, _ in drawn], self.scenario.n_noise)
            self._seeds = [known for _, known in drawn]
            return
        for i in which:
            if seeds[i] is not None:
                generator, self._seeds[i] = seeding.np_random(seeds[i])
                self._noise.reseed(i, generator)
