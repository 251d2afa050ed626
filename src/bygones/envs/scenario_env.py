"""Scenarios for Gymnasium, in NumPy: a thin layer over `bygones.envs.scenario_problem`."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bygones._arrays import Floats, check_one_of
from bygones.envs import catalogue
from bygones.envs.noise import Noise
from bygones.envs.problem import episode_metrics
from bygones.envs.render import Viewed
from bygones.envs.scenario_problem import ScenarioProblem, ScenarioState, begin, fair_reward, observe, proceed
from bygones.envs.scenario_view import as_scene, as_text
from bygones.memory import Discounted, named

Observation = NDArray[np.float32]

_SETTINGS = {each.name for each in dataclasses.fields(ScenarioProblem)} - {"scenario", "horizon"}


class ScenarioEnv(Viewed, gym.Env[Observation, Any]):
    """A scenario, with a memory and a welfare on top. The class of the scenario documents what happens in it.

    ## Observation Space
    A `Box`: what the scenario shows, then the memory Z at the chosen scale, then its denominator if asked for.

    ## Action Space
    `Discrete`, the rows of `env.unwrapped.problem.scenario.actions()`. Where an action serves k of the agents, `step`
    also takes the k agents themselves, as whole numbers in any order; with more than 100,000 subsets the space is a
    `Box` of priorities, and the k agents of highest priority are served.

    ## Rewards
    (1 − λ) · total utility + λ · change in the welfare of what is remembered, as in the paper. With `vector=True` it is
    the vector of utilities instead, in MO-Gymnasium's convention: `reward_space` has its bounds, and the memory is not
    observed. The wrappers of `bygones.envs.wrappers` then add fairness.

    ## Arguments
    - those of the scenario, such as `horizon`;
    - `memory` (a memory, its text, or the number γ), `welfare`, `weight`, `observation_scale` and the other settings of
      `AllocationProblem`;
    - `vector`: whether the reward is the vector of utilities;
    - `render_mode`: `"ansi"` for a table in plain text, `"rgb_array"` for a picture, `"human"` for a window, or None.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human", "rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self, scenario: str, *, vector: bool = False, memory: Any = None, render_mode: str | None = None, **given: Any
    ) -> None:
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.vector = vector
        self.problem = problem_of(scenario, vector, memory, given)
        self.scenario = self.problem.scenario
        self._params = self.problem.params()
        self._noise: Noise | None = None
        self._now: ScenarioState | None = None
        self.observation_space, self.action_space = spaces_of(self.problem, vector)
        if vector:
            self.reward_space = reward_space_of(self.problem)
            self.reward_dim = self.problem.n_agents

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        if self._noise is None or self._noise.generator is not self.np_random:
            self._noise = Noise(self.np_random, self.scenario.n_noise)
        self._now = begin(self._noise.row(), self.scenario, self._params)
        if self.render_mode == "human":
            self.render()
        return self._observe(self._now), self._info(self._now)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        before = self._now
        if before is None or self._noise is None or before.t >= self.problem.horizon:
            raise ResetNeeded("call reset() before step(): no episode has begun, or the last one is over")
        after = proceed(self._noise.row(), before, checked(action, self.problem), self.scenario, self._params)
        self._now, info = after, self._info(after)
        over = bool(after.t >= self.problem.horizon)
        if over:
            metrics = episode_metrics(after.cumulative, after.t, self._params)
            info["episode_metrics"] = {name: float(value) for name, value in metrics.items()}
        if self.vector:
            reward: Any = np.asarray(after.utilities, np.float32)
        else:
            reward = float(fair_reward(before, after, self.scenario, self._params))
        if self.render_mode == "human":
            self.render()
        terminates = self.problem.ends == "termination"
        return self._observe(after), reward, over and terminates, over and not terminates, info

    def render(self) -> Any:
        """This step as text (`"ansi"`) or as an array (`"rgb_array"`), or None after showing it (`"human"`)."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render_mode, such as gym.make("bygones/Donut-v0", render_mode="ansi")')
            return None
        if self._now is None:
            raise ResetNeeded("call reset() before render(): there is nothing to render yet")
        Z = None if self.vector else self._params.memory.read(self._now.memory)
        if self.render_mode == "ansi":
            return as_text(self.problem, self._now, Z)
        return self._drawn(as_scene(self.problem, self._now, Z))

    def _observe(self, state: ScenarioState) -> Observation:
        if self.vector:
            return np.asarray(self.scenario.observe(state.world), np.float32)
        return cast(Observation, observe(state, self.scenario, self._params))

    def _info(self, state: ScenarioState) -> dict[str, Any]:
        present = self.scenario.present(state.world)
        info = {"utilities": np.array(state.utilities), "cumulative": np.array(state.cumulative)}
        if not self.vector:
            info["memory"] = np.array(self._params.memory.read(state.memory))
        if present is not None:
            info["present"] = np.array(present)
        return info


def problem_of(scenario: str, vector: bool, memory: Any, given: dict[str, Any]) -> ScenarioProblem:
    """The problem of an environment, from what was passed to `gym.make`."""
    settings: dict[str, Any] = {name: value for name, value in given.items() if name in _SETTINGS}
    arguments = {name: value for name, value in given.items() if name not in _SETTINGS}
    if vector and (settings or memory is not None):
        raise ValueError("vector=True has no memory or welfare: use the wrappers of bygones.envs.wrappers")
    if memory is not None:
        is_number = isinstance(memory, int | float) and not isinstance(memory, bool)
        settings["memory"] = Discounted(gamma=memory) if is_number else named(memory)
    # Any welfare will do for a vector of rewards, which is not judged.
    judged: dict[str, Any] = {"welfare": "egalitarian"} if vector else {}
    return ScenarioProblem(catalogue.made(scenario, arguments), **judged, **settings)


def spaces_of(problem: ScenarioProblem, vector: bool) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """The observation and the action space of a problem."""
    low, high = problem.scenario.seen_bounds if vector else problem.observation_bounds()
    acts: gym.Space[Any] = (
        gym.spaces.Discrete(problem.n_actions)
        if problem.is_enumerable
        else gym.spaces.Box(0.0, 1.0, (problem.n_agents,), np.float32)
    )
    return gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32), acts


def reward_space_of(problem: ScenarioProblem) -> gym.spaces.Box:
    """The bounds of a vector of rewards."""
    least, most = (bound.astype(np.float32) for bound in problem.scenario.utility_bounds)
    return gym.spaces.Box(least, most, dtype=np.float32)


def checked(action: Any, problem: ScenarioProblem) -> Any:
    """An action as `proceed` takes it.

    Raises:
        ValueError: it is no action of the problem.
    """
    n, k = problem.n_agents, problem.scenario.n_served
    try:
        number = operator.index(action)
    except TypeError:
        given: Floats = np.asarray(action)
    else:
        if problem.is_enumerable and 0 <= number < problem.n_actions:
            return number
        given = np.zeros(0)
    if k is not None and given.dtype.kind in "iu" and given.shape == (k,):
        if len(set(given.tolist())) == k and given.min() >= 0 and given.max() < n:
            return given
    elif k is not None and not problem.is_enumerable and given.shape == (n,) and not np.isnan(given).any():
        return np.argpartition(-given, k - 1)[:k]
    served = f", or {k} different agents from 0 to {n - 1}" if k is not None else ""
    number_of = (
        f"a whole number from 0 to {problem.n_actions - 1}" if problem.is_enumerable else f"an array of {n} priorities"
    )
    raise ValueError(f"action must be {number_of}{served}, got {action!r}")
