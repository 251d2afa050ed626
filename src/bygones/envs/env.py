"""Scenarios for Gymnasium, in NumPy: a thin layer over `bygones.envs.episode`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, Self, TypeAlias, cast

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bygones._arrays import Floats, Ints, check_one_of
from bygones.envs.batches import AnyAction, Info
from bygones.envs.episode import (
    EpisodeState,
    Outcome,
    begin,
    episode_metrics,
    first_outcome,
    observation,
    outcome,
    proceed,
)
from bygones.envs.noise import Noise
from bygones.envs.problem import SETTINGS, FairProblem, problem_of
from bygones.envs.render import Frame, Scene, Viewer
from bygones.envs.scenario import Scenario, WorldState
from bygones.envs.view import as_scene, as_text

Observation = NDArray[np.float32]

Settings: TypeAlias = dict[str, Any]
"""The parameters of a scenario and the settings of `FairProblem`: the arguments of `gym.make`."""


class Playing(NamedTuple):
    """One or many environments after a step."""

    state: EpisodeState
    outcome: Outcome


class Shell:
    """The problem behind an environment of Gymnasium, single or vector, with its spaces and settings."""

    metadata: Info
    reward_space: gym.spaces.Box
    reward_dim: int
    _viewer: Viewer | None = None

    def _set_up(
        self,
        scenario: Scenario | str,
        problem: FairProblem | None,
        vector: bool,
        render_mode: str | None,
        settings: Settings,
    ) -> None:
        """Sets the problem up, from the arguments of `gym.make`."""
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        if problem is not None and (settings or vector):
            given = ", ".join([*settings, *(["vector"] if vector else [])])
            raise ValueError(f"pass either a problem or its settings, not both; got problem and {given}")
        if vector and SETTINGS & set(settings):
            raise ValueError("vector=True has no memory or welfare: use the wrappers of bygones.envs.wrappers")
        # Any welfare will do for a vector of rewards, which is not judged.
        settings = {"welfare": "egalitarian", **settings} if vector else settings
        self.problem, self.vector = problem or problem_of(scenario, **settings), vector
        self.scenario, self._params = self.problem.scenario, self.problem.params()
        self._horizon = self.problem.horizon
        self._n_actions = self.scenario.n_actions if self.scenario.is_enumerable else None
        self._terminates = self.problem.ends == "termination"
        if vector:
            least, most = (bound.astype(np.float32) for bound in self.scenario.utility_bounds)
            self.reward_space = gym.spaces.Box(least, most, dtype=np.float32)
            self.reward_dim = self.problem.n_agents

    def _begun(self, noise: Floats) -> Playing:
        """The start of an episode."""
        state = begin(noise, self._params)
        return Playing(state, first_outcome(state, self._params))

    def _played(self, noise: Floats, before: Playing, action: Ints | int) -> Playing:
        """A step."""
        (was, judged), params = before, self._params
        state = proceed(noise, was, action, params)
        return Playing(state, outcome(state, judged.welfare, judged.Z, params.scenario.present(was.world), params))

    def _observe(self, now: Playing) -> Observation:
        """The observation."""
        (state, judged), params = now, self._params
        seen = params.scenario.observe(state.world)
        if self.vector:
            return np.asarray(seen, np.float32)
        return cast(Observation, observation(seen, state.memory, params, judged.Z))

    def _account(self, now: Playing) -> Info:
        """The entries of `info`, in new arrays."""
        state, judged = now
        present = self._params.scenario.present(state.world)
        account: Info = {"utilities": state.utilities.copy(), "cumulative": state.cumulative.copy()}
        if not self.vector:
            account["memory"] = judged.Z.copy()
            # Of a single number, `+` makes a copy in a tenth of the time of `copy`.
            account["welfare_memory"], account["welfare_true"] = +judged.welfare, +judged.welfare_true
        if present is not None:
            account["present"] = np.array(present)
        return account

    def close(self, **options: object) -> None:
        """Closes the viewer, if there is one."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None
        super().close(**options)  # type: ignore[misc]  # of Gymnasium's environment, which is mixed in

    def _drawn(self, scene: Scene) -> Frame | None:
        """The scene as an array, or None after showing it in a window (`"human"`)."""
        shows = self.render_mode == "human"
        if self._viewer is None:
            self._viewer = Viewer(self.metadata["render_fps"] if shows else None)
        frame = self._viewer.draw(scene)
        return None if shows else frame

    def __getstate__(self) -> Info:
        # A window cannot be pickled or copied; a copy opens its own when it renders.
        return {**self.__dict__, "_viewer": None}

    def __copy__(self) -> Self:
        # A shallow copy would share the generator: stepping one would change the noise of the other.
        return deepcopy(self)


class FairEnv(Shell, gym.Env[Observation, AnyAction]):
    r"""A scenario with a memory and a welfare on top. The class of the scenario documents the world.

    ## Observation Space
    A `Box` in float32: the observation of the scenario, in the paper's problem the need of each agent; then the memory
    Zᵗ⁻¹ of each agent at the chosen scale; then the denominator dₜ₋₁, with `observe_denominator`.

    Every range is finite unless the needs are unbounded, as log-normal needs are. The ranges of memory and denominator
    follow from the paper's theorems, widened by one part in a million for rounding. A linear memory with negative
    entries may fall below 0, so its range is symmetric.

    ## Action Space
    `Discrete`, the rows of `env.unwrapped.problem.scenario.actions()`. Where an action serves k of the n agents, these
    are the subsets of k agents in lexicographic order, and `scenario.subsets()` lists the agents of each. With more
    than 100,000 subsets it is a `Box` of n priorities from 0 to 1 instead, and the k agents with the highest priorities
    are served. An indicator, with a one for each of k agents, is such an action. Either way `step` also takes the k
    agents themselves, as an array of whole numbers in any order, which is what symmetric policies give.

    ## Rewards
    $r_t = (1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$ where $U_t$ is the total utility of the step, W is
    the welfare function, and c is `shaping_discount`, by default 1.

    With `vector=True` it is the vector of utilities instead, as MO-Gymnasium has it: `reward_space` has its bounds, and
    the memory is not observed. The wrappers of `bygones.envs.wrappers` then add fairness.

    ## Starting State
    The scenario's; the memory is empty, Z⁰ = 0 and d₀ = 0.

    ## Episode End
    The episode is truncated after T steps: a time limit, so learners bootstrap from the last observation. With
    `ends="termination"` it is terminated instead. A step after the end raises `ResetNeeded`.

    ## Information
    `reset` and `step` return these entries, in arrays that you may keep or change: `utilities` (of this step),
    `cumulative` (totals received so far), `memory` (Zᵗ, unscaled), `welfare_memory` (W of the memory) and
    `welfare_true` (W of the totals, or of the mean per step if the memory averages). With `vector=True` only the first
    two are there. Where agents come and go, `present` marks who takes part.

    The last step of an episode adds `episode_metrics`, a dictionary with `gini` and `welfare` of the totals received,
    `utility_per_step`, `utility_least`, `utility_most` and `welfare_memory`. Vector environments batch it as they do
    the `episode` of `RecordEpisodeStatistics`.

    ## Arguments
    - the parameters of the scenario, such as `horizon`; of `bygones/Allocation-v0` `n_resources`, `n_agents`,
      `n_advantaged` and `needs`;
    - the settings of `FairProblem`: the memory, which may also be its text or the number γ of an additive discounted
      one, the welfare, λ as `weight`, and the switches for the choices that the paper leaves open
      (`docs/decisions.md`). The observation scale `"running"` belongs to the learner. It is refused here, and
      Stable-Baselines3's `VecNormalize` does the same;
    - `problem`: a `FairProblem`, instead of all of these;
    - `vector`: whether the reward is the vector of utilities;
    - `render_mode`: `"ansi"` for a table in plain text, `"rgb_array"` for a picture, `"human"` for a window, or None.

    ## Version History
    * v0: Initial version.
    """

    metadata: Info = {"render_modes": ["ansi", "human", "rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | str = "allocation",
        *,
        problem: FairProblem | None = None,
        vector: bool = False,
        render_mode: str | None = None,
        **settings: object,
    ) -> None:
        self._set_up(scenario, problem, vector, render_mode, settings)
        self.observation_space, self.action_space = spaces_of(self.problem, vector)
        self._noise: Noise | None = None
        self._now: Playing | None = None
        self._world_before: WorldState = None
        self._is_over = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        super().reset(seed=seed)
        if self._noise is None or self._noise.generator is not self.np_random:
            self._noise = Noise(self.np_random, self.scenario.n_noise)
        now = self._now = self._begun(self._noise.rows(self.scenario.start_rows))
        self._world_before, self._is_over = None, False
        if self.render_mode == "human":
            self.render()
        return self._observe(now), self._account(now)

    def step(self, action: AnyAction) -> tuple[Observation, Any, bool, bool, Info]:
        if self._now is None or self._noise is None or self._is_over:
            raise ResetNeeded("call reset() before step(): no episode has begun, or the last one is over")
        before, taken = self._now, self._checked(action)
        now = self._now = self._played(self._noise.row(), before, taken)
        over = self._is_over = bool(now.state.t >= self._horizon)
        self._world_before, info = before.state.world, self._account(now)
        if over:
            metrics = episode_metrics(now.state, self._params)
            info["episode_metrics"] = {name: float(value) for name, value in metrics.items()}
        if self.render_mode == "human":
            self.render()
        reward = np.asarray(now.state.utilities, np.float32) if self.vector else float(now.outcome.reward)
        return self._observe(now), reward, over and self._terminates, over and not self._terminates, info

    def choose(self, policy: Callable[..., Ints], rng: np.random.Generator) -> int | Ints:
        """The action that a policy such as `bygones.allocation.policies.OneStep` takes now."""
        if self._now is None:
            raise ResetNeeded("call reset() before choose(): no episode has begun")
        state, n = self._now.state, self.problem.n_agents
        needs = np.asarray(self.scenario.observe(state.world), float)[:n]
        served = policy(needs, self.scenario.n_served, state.memory, int(state.t), rng)
        return self.scenario.action(served) if self.scenario.is_enumerable else np.asarray(served)

    def render(self) -> Any:
        """This step as text (`"ansi"`) or as an array (`"rgb_array"`), or None after showing it (`"human"`)."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render_mode, such as gym.make("bygones/Donut-v0", render_mode="ansi")')
            return None
        if self._now is None:
            raise ResetNeeded("call reset() before render(): there is nothing to render yet")
        state, judged = self._now
        shown = (self.problem, state, None if self.vector else judged.Z)
        if self.render_mode == "ansi":
            return as_text(*shown)
        return self._drawn(as_scene(*shown, self._world_before))

    def _checked(self, action: AnyAction) -> int | Ints:
        try:
            number = operator.index(action)
        except TypeError:
            return served_by(action, self.problem)
        if self._n_actions is None or not 0 <= number < self._n_actions:
            return served_by(action, self.problem)
        return number


def spaces_of(problem: FairProblem, vector: bool = False) -> tuple[gym.Space[Observation], gym.Space[AnyAction]]:
    """The observation and the action space of a problem."""
    if problem.observation_scale == "running":
        raise ValueError(
            "observation_scale 'running' is the learner's, not the environment's: train with bygones, or use "
            "observation_scale='none' and wrap the environment in Stable-Baselines3's VecNormalize(norm_reward=False)"
        )
    low, high = problem.scenario.seen_bounds if vector else problem.observation_bounds()
    box: Any = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    priorities: Any = gym.spaces.Box(0.0, 1.0, (problem.n_agents,), np.float32)
    scenario = problem.scenario
    return box, gym.spaces.Discrete(scenario.n_actions) if scenario.is_enumerable else priorities


def served_by(action: object, problem: FairProblem, rows: tuple[int, ...] = ()) -> Ints:
    """The k agents that an action serves which is not the number of one: they, or a priority for each agent.

    Args:
        action: agents, or priorities.
        problem: the problem that is played.
        rows: how many actions there are, as a shape.

    Raises:
        ValueError: it is neither of them.
    """
    scenario, given = problem.scenario, np.asarray(action)
    n, k, is_enumerable = scenario.n_agents, scenario.n_served, scenario.is_enumerable
    is_whole = given.dtype.kind in "iu"
    if k is not None and is_whole and given.shape == (*rows, k):
        ordered = np.sort(given, axis=-1)
        if ordered.min() >= 0 and ordered.max() < n and (ordered[..., 1:] > ordered[..., :-1]).all():
            return given.astype(np.intp)
    elif k is not None and not is_enumerable and given.dtype.kind in "iufb" and given.shape == (*rows, n):
        priorities = given.astype(float)
        if not np.isnan(priorities).any():
            return np.argpartition(-priorities, k - 1, axis=-1)[..., :k]
    if is_enumerable:
        wanted = f"a whole number from 0 to {scenario.n_actions - 1}"
    else:
        wanted = f"an array of {n} priorities, of which the {k} highest are served"
    agents = "" if k is None else f", or {k} different agents from 0 to {n - 1}"
    per_row = "" if not rows else f" for each of the {rows[0]} environments"
    raise ValueError(f"action must be {wanted}{agents}{per_row}, got {_shown(action)}")


def _shown(action: object) -> str:
    text = repr(action)
    return text if len(text) <= 80 else f"{type(action).__name__} of shape {np.asarray(action).shape}"
