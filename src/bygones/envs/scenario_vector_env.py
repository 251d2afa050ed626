"""Scenarios as a Gymnasium vector environment.

What is the same for every scenario, such as memory, welfare and reward, is worked out for all environments at once. The
world itself goes on environment by environment: a scenario's functions take one state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from bygones._arrays import Bools, Floats, Ints, check_one_of
from bygones.envs.batches import mapped, taken
from bygones.envs.fair_vector_env import FairVectorEnv, Observation
from bygones.envs.problem import episode_metrics
from bygones.envs.problem import observe as observed
from bygones.envs.render import Frame, Viewer
from bygones.envs.scenario_env import checked, problem_of, reward_space_of, spaces_of
from bygones.envs.scenario_problem import ScenarioState, chosen, reward_among
from bygones.envs.scenario_view import as_scene, as_text

Worlds = NDArray[np.object_]
"""The scenario's own state, one per environment."""


class ScenarioMoment(NamedTuple):
    """All environments after a step: the state with one row for each, and the rewards."""

    state: ScenarioState
    reward: Floats


class ScenarioVectorEnv(FairVectorEnv[ScenarioMoment]):
    """`num_envs` copies of `ScenarioEnv`, which documents the environment, in one.

    Spaces, infos and autoreset behave as in Gymnasium's `SyncVectorEnv` over the same number of single environments. A
    seed s gives environment i the seed s + i. With `vector=True` rewards have one row per environment and one column
    per agent, as in MO-Gymnasium's vector environments, and `reward_space` is that of a single environment.

    Args:
        scenario: its name, or where its class is, as `module:Class`.
        num_envs: the number of environments.
        autoreset_mode: what happens when an episode is over, as of `AllocationVectorEnv`.
        vector: whether the reward is the vector of utilities.
        memory: a memory, its text, or the number γ.
        render_mode: None, or `"ansi"` or `"rgb_array"` for a tuple of texts or images, one per environment.
        given: the parameters of the scenario and the other settings of `ScenarioEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (the base class declares an instance's attribute)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        vector: bool = False,
        memory: Any = None,
        render_mode: str | None = None,
        **given: Any,
    ) -> None:
        self.problem = problem_of(scenario, vector, memory, given)
        self.scenario = self.problem.scenario
        super().__init__(
            num_envs,
            autoreset_mode,
            *spaces_of(self.problem, vector),
            n_noise=self.scenario.n_noise,
            terminates=self.problem.ends == "termination",
        )
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.vector = vector
        if vector:
            self.reward_space = reward_space_of(self.problem)
            self.reward_dim = self.problem.n_agents
        self._params = self.problem.params()
        self._viewer: Viewer | None = None

    def render(self) -> tuple[str | Frame, ...] | None:
        """One text or image per environment."""
        if self.render_mode is None or self._now is None:
            raise ResetNeeded('render() needs a render_mode, such as "ansi", and a reset() before it')
        states = [taken(self._now.state, i) for i in range(self.num_envs)]
        shown = [(self.problem, state, None if self.vector else self._remembered(state)) for state in states]
        if self.render_mode == "ansi":
            return tuple(as_text(*one) for one in shown)
        self._viewer = self._viewer or Viewer()
        return tuple(self._viewer.draw(as_scene(*one)) for one in shown)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_viewer": None}

    def _begin(self, which: Ints) -> ScenarioMoment:
        assert self._noise is not None
        rows, n = len(which), self.problem.n_agents
        memory = mapped(lambda part: np.broadcast_to(part, (rows, *np.shape(part))), self._params.memory.init(n))
        worlds = _as_objects([self.scenario.start(noise) for noise in self._noise.row(which)])
        state = ScenarioState(np.zeros(rows, np.int32), worlds, memory, np.zeros((rows, n)), np.zeros((rows, n)))
        return ScenarioMoment(state, np.zeros((rows, n), np.float32) if self.vector else np.zeros(rows))

    def _played(self, noise: Floats, before: ScenarioMoment, actions: Any) -> ScenarioMoment:
        was, params = before.state, self._params
        steps = [
            self.scenario.advance(one, world, chosen(action, one, self.scenario, params))
            for one, world, action in zip(noise, was.world, actions, strict=True)
        ]
        worlds, utilities = _as_objects([world for world, _ in steps]), np.array([each for _, each in steps])
        memory = params.memory.advance(was.memory, utilities)
        now = ScenarioState(was.t + 1, worlds, memory, was.cumulative + utilities, utilities)
        if self.vector:
            return ScenarioMoment(now, utilities.astype(np.float32))
        gain = reward_among(self._present(was.world), was.memory, memory, utilities, params)
        return ScenarioMoment(now, cast(Floats, gain))

    def _observe(self, moment: ScenarioMoment) -> Observation:
        state = moment.state
        seen = np.array([self.scenario.observe(world) for world in state.world])
        return cast(Observation, seen.astype(np.float32) if self.vector else observed(seen, state.memory, self._params))

    def _account(self, moment: ScenarioMoment) -> dict[str, Any]:
        state = moment.state
        present = self._present(state.world)
        return {
            "utilities": state.utilities,
            "cumulative": state.cumulative,
            **({} if self.vector else {"memory": self._remembered(state)}),
            **({} if present is None else {"present": present}),
        }

    def _metrics(self, moment: ScenarioMoment) -> dict[str, Any]:
        return cast("dict[str, Any]", episode_metrics(moment.state.cumulative, moment.state.t, self._params))

    def _outcome(self, moment: ScenarioMoment) -> tuple[Floats, Bools]:
        return moment.reward, cast(Bools, moment.state.t >= self.problem.horizon)

    def _checked(self, actions: Any) -> Any:
        if self.problem.is_enumerable and np.ndim(actions) == 1:
            return self._numbers(actions, self.problem.n_actions)
        if len(actions) != self.num_envs:
            raise ValueError(f"actions must have one entry per environment ({self.num_envs}), got {len(actions)}")
        return np.array([checked(action, self.problem) for action in actions])

    def _remembered(self, state: ScenarioState) -> Floats:
        return cast(Floats, self._params.memory.read(state.memory))

    def _present(self, worlds: Worlds) -> Bools | None:
        """Who takes part in each environment; None if all always do."""
        found = [self.scenario.present(world) for world in worlds]
        return None if found[0] is None else np.array(found)


def _as_objects(worlds: Sequence[Any]) -> Worlds:
    """States in an array, so that they are selected and replaced as other rows are."""
    found = np.empty(len(worlds), dtype=object)
    for i, world in enumerate(worlds):
        found[i] = world
    return found
