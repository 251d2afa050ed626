"""The paper's environment for Gymnasium, in NumPy: a thin layer over `bygones.envs.dynamics`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bygones._arrays import Array, Ints, check_one_of
from bygones.envs.actions import Action, action_space, named
from bygones.envs.dynamics import EnvState, Transition, account, begin, proceed
from bygones.envs.fair_problem import FairProblem
from bygones.envs.noise import Noise
from bygones.envs.problem import AllocationProblem, episode_metrics, observe, problem_of
from bygones.envs.render import Scene, Viewed

Observation = NDArray[np.float32]


class AllocationEnv(Viewed, gym.Env[Observation, Action]):
    r"""The paper's repeated allocation problem: serve a few agents at every step, and be fair over time.

    ## Description
    At each step t = 1, …, T each of n agents has a need, and k resources become available. The action picks the k
    agents that receive one; each of them receives a utility equal to its need. Some agents always have higher needs
    than the others, so a policy that serves the highest needs serves the same few agents for ever. The reward is a
    weighted sum of the step's utility and the change in the welfare of what is remembered.

    By default there are n = 10 agents and k = 2 resources. Agents 0 and 1 are advantaged: their needs come from
    U(0.8, 1), those of the others from U(0, 1). T = 1000, λ = 0.9, γ = 0.99, and the welfare is log-Nash.

    ## Observation Space
    A `Box` of 2n entries in float32 (2n + 1 with `observe_denominator`):

    | Entries | Content | Range |
    |---|---|---|
    | 0 … n−1 | the needs of this step | the bounds of the needs |
    | n … 2n−1 | the memory Zᵗ⁻¹ at the chosen scale | 0 to the largest value it can reach in T steps |
    | 2n | the denominator dₜ₋₁ at the chosen scale | 0 to the largest value it can reach in T steps |

    Every range is finite unless the needs are unbounded, as log-normal needs are. The ranges of memory and denominator
    follow from the paper's theorems, widened by one part in a million for rounding. A linear memory with negative
    entries may fall below 0, so its range is symmetric.

    ## Action Space
    `Discrete(n choose k)`: the subsets of k agents in lexicographic order. `env.unwrapped.problem.subsets()` lists the
    agents of each action.

    With more than 100,000 subsets it is a `Box` of n priorities from 0 to 1 instead, and the k agents with the highest
    priorities are served. An indicator, with a one for each of k agents, is such an action.

    Either way `step` also takes the k agents themselves, as an array of whole numbers in any order, which is what
    symmetric policies give.

    ## Rewards
    $r_t = (1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$ where $U_t$ is the total utility of the step, W is
    the welfare function, and c is `shaping_discount`, by default 1.

    ## Starting State
    The memory is empty, Z⁰ = 0 and d₀ = 0. The needs of the first step are drawn.

    ## Episode End
    The episode is truncated after T steps: a time limit, so learners bootstrap from the last observation. With
    `ends="termination"` it is terminated instead. A step after the end raises `ResetNeeded`.

    ## Information
    `reset` and `step` return these entries, in arrays that you may keep or change: `utilities` (of this step),
    `cumulative` (what was received so far), `memory` (Zᵗ, unscaled), `welfare_memory` (W of the memory) and
    `welfare_true` (W of what was received, or of its mean per step if the memory averages). The last step of an episode
    adds `episode_metrics`, a dictionary with `gini`, `welfare` (both of what was received) and `utility_per_step`.
    Vector environments batch it in the same way as the `episode` of `RecordEpisodeStatistics`.

    ## Arguments
    - `n_agents`, `n_advantaged`: n, and how many of the first agents are advantaged.
    - `needs`: a distribution from `bygones.envs.needs`, instead of `n_agents` and `n_advantaged`.
    - `n_resources`: k.
    - `horizon`: T.
    - `memory`: a memory of `bygones`, or the number γ of an additive discounted one. A memory with `average=True` is
      the paper's averaged aggregation.
    - `welfare`: `"nash"` (log-Nash, as the paper uses it), `"egalitarian"`, `"utilitarian"`, `"alpha_fair(alpha=2)"`, …
    - `weight`: λ.
    - `problem`: an `AllocationProblem`, instead of all other settings.
    - `render_mode`: `"rgb_array"`, `"human"` or None.

    The paper leaves some choices open. Each is a switch whose default is our reading of the paper; see
    `docs/decisions.md`.

    - `observation_scale`: how Z is scaled in the observation. `"none"` leaves it as it is. `"fixed"` divides by
      `fixed_scale`, the same for every memory. `"window"` divides by the largest value that Z can reach in an episode.
      `"expected"` divides by what an agent remembers on average at the end of an episode if all agents are served
      equally often. `"relative"` shows Z/mean(Z) − 1. The scale changes what a learner sees, never the reward. It
      decides how well perfect recall can be learned: dividing by something that grows with T bounds it as well.
      `"running"`, by the mean and variance of what was seen so far, is the learner's: here it is refused, and
      Stable-Baselines3's `VecNormalize` does it.
    - `observe_memory`: whether Z is observed. By default it is, except at γ = 0: the paper's myopic agent sees only
      needs, and zeros in place of Z. True or False overrides this.
    - `observe_denominator`: adds dₜ₋₁ as entry 2n. Without it, an averaged memory is not Markov in the early steps of
      an episode.
    - `ends`: `"truncation"` or `"termination"`; see Episode End.
    - `shaping_discount`: the factor c. 1 is the paper's formula. The learner's discount factor makes the fairness term
      potential-based shaping in the strict sense.

    ## Version History
    * v0: Initial version.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self, *, render_mode: str | None = None, problem: AllocationProblem | None = None, **settings: Any
    ) -> None:
        if problem is not None and settings:
            raise ValueError(f"pass either a problem or its settings, not both; got problem and {', '.join(settings)}")
        self.problem = problem_of(**settings) if problem is None else problem
        if render_mode is not None:
            check_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces_of(self.problem)
        self._params = self.problem.params()
        self._n_actions = self.problem.n_actions if self.problem.is_enumerable else None
        self._terminates = self.problem.ends == "termination"
        self._noise: Noise | None = None
        self._now: tuple[EnvState, Transition] | None = None
        self._needs_before: Array = np.zeros(self.problem.n_agents)
        self._over = False

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
        return self._observe(state, outcome), own(account(state, outcome))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._over or self._now is None or self._noise is None:
            raise ResetNeeded("call reset() before step(): no episode has begun, or the last one is over")
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
            self._observe(state, outcome),
            float(outcome.reward),
            self._over and self._terminates,
            self._over and not self._terminates,
            info,
        )

    def choose(self, policy: Callable[..., Any], rng: np.random.Generator) -> int | Ints:
        """The action that a policy such as `bygones.allocation.policies.OneStep` takes now."""
        if self._now is None:
            raise ResetNeeded("call reset() before choose(): no episode has begun")
        state = self._now[0]
        served = policy(state.needs, self.problem.n_resources, state.memory, int(state.t), rng)
        return self.problem.action(served) if self.problem.is_enumerable else np.asarray(served)

    def render(self) -> Any:
        """The image of this step as an array (`"rgb_array"`), or None after showing it in a window (`"human"`)."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render_mode: gym.make("bygones/Allocation-v0", render_mode="rgb_array")')
            return None
        if self._now is None:
            raise ResetNeeded("call reset() before render(): there is nothing to render yet")
        return self._drawn(scene_of(self.problem, *self._now, self._needs_before))

    def _observe(self, state: EnvState, outcome: Transition) -> Observation:
        return cast(Observation, observe(state.needs, state.memory, self._params, outcome.Z))

    def _checked(self, action: Any) -> int | Ints:
        try:
            chosen = operator.index(action)
        except TypeError:
            return named(action, self.problem)
        if self._n_actions is None or not 0 <= chosen < self._n_actions:
            return named(action, self.problem)
        return chosen


def spaces_of(problem: AllocationProblem) -> tuple[gym.Space[Observation], gym.Space[Action]]:
    """The observation and the action space of a problem."""
    if problem.observation_scale == "running":
        raise ValueError(
            "observation_scale 'running' is the learner's, not the environment's: train with bygones, or use "
            "observation_scale='none' and wrap the environment in Stable-Baselines3's VecNormalize(norm_reward=False)"
        )
    low, high = problem.observation_bounds()
    box: Any = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    return box, action_space(problem)


def own(info: dict[str, Any], arrays: tuple[str, ...] = ("utilities", "cumulative", "memory")) -> dict[str, Any]:
    """The info with copies of the environment's own arrays, so that the caller may keep or change them."""
    for name in arrays:
        info[name] = info[name].copy()
    return info


def scene_of(problem: AllocationProblem, state: EnvState, outcome: Transition, needs_before: Array) -> Scene:
    """What to draw of one episode after a step that chose from these needs, or before the first step."""
    return Scene(
        t=int(state.t),
        horizon=problem.horizon,
        needs=needs_before if state.t else state.needs,
        utilities=outcome.utilities,
        cumulative=state.cumulative,
        memory=outcome.Z,
        memory_name=name_of(problem),
    )


def name_of(problem: FairProblem) -> str:
    """The memory in a few words."""
    memory = problem.memory
    gamma = getattr(memory, "gamma", None)
    if gamma is None:
        return type(memory).__name__.lower()
    return f"γ = {gamma:.6g}" + (", averaged" if memory.average else "")
