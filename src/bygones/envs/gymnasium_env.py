"""The paper's environment for Gymnasium, in NumPy: a thin shell over `bygones.envs.dynamics`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bygones._arrays import check_one_of
from bygones.envs.dynamics import EnvState, Transition, account, begin, proceed
from bygones.envs.noise import Noise
from bygones.envs.problem import AllocationProblem, episode_metrics, observe, problem_of
from bygones.envs.render import Scene, Viewer

Observation = NDArray[np.float32]


class AllocationEnv(gym.Env[Observation, np.int64]):
    r"""The paper's repeated allocation problem: serve a few agents at every step, and be fair over time.

    ## Description
    At each step t = 1, …, T every one of n agents has a need. k resources become available; the allocator picks the k
    agents who receive one, and each of them has a utility equal to its need. Some agents always need more than the
    others, so that serving the greatest need serves the same few for ever. The reward weighs the utility of the step
    against the change in a welfare function of what is remembered of everyone's utilities.

    By default there are n = 10 agents and k = 2 resources; agents 0 and 1 are the advantaged ones, with needs from
    U(0.8, 1), the others' needs come from U(0, 1); T = 1000, λ = 0.9, γ = 0.99, log-Nash welfare.

    ## Observation Space
    A `Box` of 2n entries in float32 (2n + 1 with `observe_denominator`):

    | Entries | What | Range |
    |---|---|---|
    | 0 … n−1 | the needs of this step | those of the needs |
    | n … 2n−1 | the memory Zᵗ⁻¹ at the chosen scale | 0 to the most it can reach in T steps |
    | 2n | the denominator dₜ₋₁ at the chosen scale | 0 to the most it can reach in T steps |

    Every range is finite unless needs have no largest value (log-normal ones). The ranges of memory and denominator
    are those of the paper's theorems, wider by one part in a million to leave room for rounding. A linear memory
    with negative entries may fall below 0; its range is symmetric.

    ## Action Space
    `Discrete(n choose k)`: the subsets of k agents in lexicographic order. `env.unwrapped.problem.subsets()` lists the
    agents of each action. More than 100,000 subsets are refused.

    ## Rewards
    $r_t = (1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$ with $U_t$ the total utility of the step, W the
    welfare function and c = 1 unless `shaping_discount` says otherwise.

    ## Starting State
    The memory is empty, Z⁰ = 0 and d₀ = 0, and the first needs are drawn.

    ## Episode End
    After T steps, as a truncation (a time limit, from whose last observation a learner bootstraps) or, with
    `ends="termination"`, as a termination. A step after the end raises `ResetNeeded`.

    ## Information
    `reset` and `step` give, as arrays that are the caller's to keep: `utilities` (of this step), `cumulative` (true
    utilities so far), `memory` (Zᵗ unscaled), `welfare_memory` (W of the memory) and `welfare_true` (W of the true
    utilities, or of their mean if the memory averages). The last step of an episode adds `episode_metrics`, a
    dictionary with `gini`, `welfare` (both of the true utilities) and `utility_per_step`; it sits beside the `episode`
    of `RecordEpisodeStatistics` and is batched in the same way in vector environments.

    ## Arguments
    - `n_agents`, `n_advantaged`: n and how many of the first agents are advantaged. Instead of these:
    - `needs`: a distribution from `bygones.envs.needs`, which also says who is advantaged, and by how much.
    - `n_resources`: k.
    - `horizon`: T.
    - `memory`: a memory of `bygones`, or the number γ of an additive discounted one. `average=True` of a memory is
      the paper's averaged aggregation.
    - `welfare`: `"nash"` (log-Nash, as the paper uses it), `"egalitarian"`, `"utilitarian"`, `"alpha_fair(alpha=2)"`, …
    - `weight`: λ.
    - `problem`: an `AllocationProblem` in place of all the settings here.
    - `render_mode`: `"rgb_array"`, `"human"` or None.

    The paper leaves some choices unsaid. Each is a switch whose default is our reading of the paper:

    - `observation_scale`: what Z is divided by before it is observed. `"none"` leaves it as it is; `"fixed"` divides by
      `fixed_scale` whatever the memory; `"window"` by the most it can reach in an episode; `"expected"` by what an
      agent expects to remember at the end of one if all are served equally often; `"relative"` shows Z/mean(Z) − 1,
      free of any scale. It changes what a learner sees, never the reward, and decides how well perfect recall can
      be learnt: dividing by something that grows with T bounds it as well.
    - `observe_memory`: whether Z is observed. By default it is, except at γ = 0: the paper's myopic agent sees needs
      only, and zeros in place of Z. Give True or False to decide otherwise.
    - `observe_denominator`: adds dₜ₋₁ as entry 2n. Without it, the averaged memory of an episode's early steps is
      not Markov.
    - `ends`: `"truncation"` or `"termination"`, see Episode End.
    - `shaping_discount`: the factor c. 1 is the paper's formula; the learner's own discount factor makes the fairness
      term potential-based shaping in the strict sense.

    ## Version History
    * v0: Initial version.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self, *, render_mode: str | None = None, problem: AllocationProblem | None = None, **settings: Any
    ) -> None:
        if problem is not None and settings:
            raise ValueError(f"give a problem or its settings, not both; got problem and {', '.join(settings)}")
        self.problem = problem_of(**settings) if problem is None else problem
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces_of(self.problem)
        self._params = self.problem.params()
        self._n_actions = self.problem.n_actions
        self._terminates = self.problem.ends == "termination"
        self._noise: Noise | None = None
        self._now: tuple[EnvState, Transition] | None = None
        self._needs_before = np.zeros(self.problem.n_agents)
        self._over = False
        self._viewer: Viewer | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        if self._noise is None or self._noise.generator is not self.np_random:
            self._noise = Noise(self.np_random, self.problem.n_agents)
        state, outcome = begin(np.array([self._noise.row(), self._noise.row()]), self._params)
        self._now, self._over = (state, outcome), False
        if self.render_mode == "human":
            self.render()
        return observe(state.needs, state.memory, self._params, outcome.Z), own(account(state, outcome))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._over or self._now is None or self._noise is None:
            raise ResetNeeded("this episode has not begun or is over: call reset() before step()")
        chosen, before, params = self._checked(action), self._now[0], self._params
        state, outcome = proceed(self._noise.row(), before, chosen, params)
        self._now, self._needs_before, self._over = (state, outcome), before.needs, bool(outcome.over)
        info = own(account(state, outcome))
        if self._over:
            metrics = episode_metrics(state.cumulative, state.t, params)
            info["episode_metrics"] = {name: float(value) for name, value in metrics.items()}
        if self.render_mode == "human":
            self.render()
        return (
            observe(state.needs, state.memory, params, outcome.Z),
            float(outcome.reward),
            self._over and self._terminates,
            self._over and not self._terminates,
            info,
        )

    def choose(self, policy: Callable[..., Any], rng: np.random.Generator) -> int:
        """The action by which a policy such as `bygones.allocation.policies.OneStep` would serve now."""
        if self._now is None:
            raise ResetNeeded("there is nothing to choose yet: call reset() before choose()")
        state = self._now[0]
        served = policy(state.needs, self.problem.n_resources, state.memory, int(state.t), rng)
        return self.problem.action(served)

    def render(self) -> Any:
        """The picture of this step as an array (`"rgb_array"`), or None after showing it (`"human"`)."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render_mode: gym.make("bygones/Allocation-v0", render_mode="rgb_array")')
            return None
        if self._now is None:
            raise ResetNeeded("there is nothing to render yet: call reset() before render()")
        shows = self.render_mode == "human"
        if self._viewer is None:
            self._viewer = Viewer(self.metadata["render_fps"] if shows else None)
        frame = self._viewer.draw(scene_of(self.problem, *self._now, self._needs_before))
        return None if shows else frame

    def close(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None

    def __getstate__(self) -> dict[str, Any]:
        # A window cannot be pickled or copied; a copy opens its own when it is asked to render.
        return {**self.__dict__, "_viewer": None}

    def __copy__(self) -> AllocationEnv:
        # A shallow copy would draw from the same generator: stepping one would change the other's future.
        return deepcopy(self)

    def _checked(self, action: Any) -> int:
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = -1
        if not 0 <= chosen < self._n_actions:
            raise ValueError(f"action must be a whole number from 0 to {self._n_actions - 1}, got {action!r}")
        return chosen


def spaces_of(problem: AllocationProblem) -> tuple[gym.Space[Observation], gym.Space[np.int64]]:
    """The observation and the action space of a problem."""
    low, high = problem.observation_bounds()
    box: Any = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    return box, gym.spaces.Discrete(problem.n_actions)


def own(info: dict[str, Any], arrays: tuple[str, ...] = ("utilities", "cumulative", "memory")) -> dict[str, Any]:
    """The info with copies of the arrays that the environment works with, the caller's to keep or change."""
    for name in arrays:
        info[name] = info[name].copy()
    return info


def scene_of(problem: AllocationProblem, state: EnvState, outcome: Transition, needs_before: Any) -> Scene:
    """What there is to see of one episode after a step that chose among these needs, or before the first."""
    return Scene(
        t=int(state.t),
        horizon=problem.horizon,
        needs=needs_before if state.t else state.needs,
        utilities=outcome.utilities,
        cumulative=state.cumulative,
        memory=outcome.Z,
        memory_name=name_of(problem),
    )


def name_of(problem: AllocationProblem) -> str:
    """The memory in a few words."""
    memory = problem.memory
    gamma = getattr(memory, "gamma", None)
    if gamma is None:
        return type(memory).__name__.lower()
    return f"γ = {gamma:.6g}" + (", averaged" if memory.average else "")
