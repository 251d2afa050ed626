"""A Gymnasium vector environment: many of the paper's environments, stepped together in array operations."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from bygones._arrays import Bools, Floats, Ints, check_one_of
from bygones.envs.actions import named
from bygones.envs.batches import taken
from bygones.envs.dynamics import EnvState, Transition, account, begin, proceed
from bygones.envs.fair_vector_env import FairVectorEnv, Observation
from bygones.envs.gymnasium_env import scene_of, spaces_of
from bygones.envs.problem import episode_metrics, observe, problem_of
from bygones.envs.render import Frame, Viewer


class AllocationVectorEnv(FairVectorEnv[tuple[EnvState, Transition]]):
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
        self.problem = problem_of(**settings)
        super().__init__(
            num_envs,
            autoreset_mode,
            *spaces_of(self.problem),
            n_noise=self.problem.n_agents,
            terminates=self.problem.ends == "termination",
        )
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self._params = self.problem.params()
        self._n_actions = self.problem.n_actions if self.problem.is_enumerable else None
        self._viewer: Viewer | None = None

    def render(self) -> tuple[Frame, ...] | None:
        """One image per environment."""
        if self.render_mode is None or self._now is None:
            raise ResetNeeded('render() needs render_mode="rgb_array" and a reset() before it')
        self._viewer = self._viewer or Viewer()
        needs_before = (self._before or self._now)[0].needs
        moments = [(*taken(self._now, i), needs_before[i]) for i in range(self.num_envs)]
        return tuple(self._viewer.draw(scene_of(self.problem, *moment)) for moment in moments)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_viewer": None}

    def _begin(self, which: Ints) -> tuple[EnvState, Transition]:
        assert self._noise is not None
        return begin(np.array([self._noise.row(which), self._noise.row(which)]), self._params)

    def _played(
        self, noise: Floats, before: tuple[EnvState, Transition], actions: NDArray[np.integer]
    ) -> tuple[EnvState, Transition]:
        return proceed(noise, before[0], actions, self._params)

    def _observe(self, moment: tuple[EnvState, Transition]) -> Observation:
        state, outcome = moment
        return cast(Observation, observe(state.needs, state.memory, self._params, outcome.Z))

    def _account(self, moment: tuple[EnvState, Transition]) -> dict[str, Any]:
        return cast("dict[str, Any]", account(*moment))

    def _metrics(self, moment: tuple[EnvState, Transition]) -> dict[str, Any]:
        state, _ = moment
        return cast("dict[str, Any]", episode_metrics(state.cumulative, state.t, self._params))

    def _outcome(self, moment: tuple[EnvState, Transition]) -> tuple[Floats, Bools]:
        return cast("tuple[Floats, Bools]", (moment[1].reward, moment[1].over))

    def _checked(self, actions: Any) -> NDArray[np.integer]:
        if self._n_actions is None or np.ndim(actions) == 2:
            return named(actions, self.problem, (self.num_envs,))
        return self._numbers(actions, self._n_actions)
