"""Scenarios for Gymnasium, in NumPy: a thin layer over `bygones.envs.scenario_problem`."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bygones._arrays import Floats
from bygones.envs import catalogue
from bygones.envs.noise import Noise
from bygones.envs.problem import episode_metrics
from bygones.envs.scenario_problem import ScenarioProblem, ScenarioState, begin, fair_reward, observe, proceed
from bygones.memory import Discounted
from bygones.memory.naming import named

Observation = NDArray[np.float32]

_SETTINGS = {each.name for each in dataclasses.fields(ScenarioProblem)} - {"scenario", "horizon"}


class ScenarioEnv(gym.Env[Observation, Any]):
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
    - `vector`: whether the reward is the vector of utilities.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, scenario: str, *, vector: bool = False, memory: Any = None, render_mode: None = None, **given: Any
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode must be None: scenarios are not drawn, got {render_mode!r}")
        settings: dict[str, Any] = {name: value for name, value in given.items() if name in _SETTINGS}
        arguments = {name: value for name, value in given.items() if name not in _SETTINGS}
        if vector and (settings or memory is not None):
            raise ValueError("vector=True has no memory or welfare: use the wrappers of bygones.envs.wrappers")
        if memory is not None:
            is_number = isinstance(memory, int | float) and not isinstance(memory, bool)
            settings["memory"] = Discounted(gamma=memory) if is_number else named(memory)
        self.render_mode = None
        self.vector = vector
        # Any welfare will do for a vector of rewards, which is not judged.
        judged: dict[str, Any] = {"welfare": "egalitarian"} if vector else {}
        self.problem = ScenarioProblem(catalogue.made(scenario, arguments), **judged, **settings)
        self.scenario = self.problem.scenario
        self._params = self.problem.params()
        self._noise: Noise | None = None
        self._now: ScenarioState | None = None
        low, high = self.scenario.seen_bounds if vector else self.problem.observation_bounds()
        self.observation_space = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        n = self.scenario.n_agents
        self.action_space = (
            gym.spaces.Discrete(self.problem.n_actions)
            if self.problem.is_enumerable
            else gym.spaces.Box(0.0, 1.0, (n,), np.float32)
        )
        if vector:
            least, most = (bound.astype(np.float32) for bound in self.scenario.utility_bounds)
            self.reward_space = gym.spaces.Box(least, most, dtype=np.float32)
            self.reward_dim = n

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        if self._noise is None or self._noise.generator is not self.np_random:
            self._noise = Noise(self.np_random, self.scenario.n_noise)
        self._now = begin(self._noise.row(), self.scenario, self._params)
        return self._observe(self._now), self._info(self._now)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        before = self._now
        if before is None or self._noise is None or before.t >= self.problem.horizon:
            raise ResetNeeded("call reset() before step(): no episode has begun, or the last one is over")
        after = proceed(self._noise.row(), before, self._checked(action), self.scenario, self._params)
        self._now, info = after, self._info(after)
        over = bool(after.t >= self.problem.horizon)
        if over:
            metrics = episode_metrics(after.cumulative, after.t, self._params)
            info["episode_metrics"] = {name: float(value) for name, value in metrics.items()}
        if self.vector:
            reward: Any = np.asarray(after.utilities, np.float32)
        else:
            reward = float(fair_reward(before, after, self.scenario, self._params))
        terminates = self.problem.ends == "termination"
        return self._observe(after), reward, over and terminates, over and not terminates, info

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

    def _checked(self, action: Any) -> Any:
        """An action as `proceed` takes it."""
        n, k = self.scenario.n_agents, self.scenario.n_served
        try:
            number = operator.index(action)
        except TypeError:
            given: Floats = np.asarray(action)
        else:
            if self.problem.is_enumerable and 0 <= number < self.problem.n_actions:
                return number
            given = np.zeros(0)
        if k is not None and given.dtype.kind in "iu" and given.shape == (k,):
            if len(set(given.tolist())) == k and given.min() >= 0 and given.max() < n:
                return given
        elif k is not None and not self.problem.is_enumerable and given.shape == (n,) and not np.isnan(given).any():
            return np.argpartition(-given, k - 1)[:k]
        served = f", or {k} different agents from 0 to {n - 1}" if k is not None else ""
        number_of = (
            f"a whole number from 0 to {self.problem.n_actions - 1}"
            if self.problem.is_enumerable
            else f"an array of {n} priorities"
        )
        raise ValueError(f"action must be {number_of}{served}, got {action!r}")
