r"""The paper's learning problem in equations, for NumPy and JAX alike.

At each step $t = 1, \dots, T$ every agent $i$ has a need $x_i^t$; an action serves a subset of $k$ of the $n$ agents,
each of whom receives a utility equal to its need. The allocator observes the needs and the memory $Z^{t-1}$ and is
rewarded by

$$ r_t = (1-\lambda)\,U_t + \lambda\,F_t, \qquad U_t = \sum_i u_i^t, \qquad F_t = W(Z^t) - W(Z^{t-1}). $$

`AllocationProblem` holds the settings, checks them and turns them into `AllocationParams`, the numbers that the
equations below need. Every choice that the paper leaves open is a named switch; `docs/decisions.md` lists them by row.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bygones import inequality
from bygones._arrays import (
    Array,
    Condition,
    Floats,
    Ints,
    Number,
    check_count,
    namespace,
    select,
)
from bygones.envs.fair_problem import MOST_ACTIONS, End, FairParams, FairProblem, Scale
from bygones.envs.needs import Needs, advantaged
from bygones.memory import Discounted, Memory
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare, Welfare


class AllocationParams(NamedTuple):
    """The numbers of a problem. A pytree whose leaves may be traced: changing one never recompiles.

    Only shapes and structure are fixed: the number of agents and resources, the kind of memory, of welfare (all of
    utilitarian, log-Nash, α-fair and egalitarian are one kind) and of needs, and whether d is observed.
    """

    memory: Memory
    welfare: Welfare
    needs: Needs
    served: Array | None
    """One row per subset of k agents: 1 for the agents it serves, else 0. None where subsets are not enumerated."""
    weight: Number
    horizon: Number
    observe_memory: Number
    """1 if the memory is observed, 0 if its entries are zero."""
    relative: Condition
    """Whether the memory is observed relative to its mean."""
    memory_scale: Number
    denominator_scale: Number | None
    """None if the denominator is not observed."""
    shaping: Number
    """The factor of W(Zᵗ) in the fairness reward."""
    terminates: Condition


@dataclass(frozen=True, eq=False)
class AllocationProblem(FairProblem):
    """The settings of the paper's problem; the defaults are the paper's.

    Rows refer to `docs/decisions.md`.

    Attributes:
        n_resources: k, how many agents are served at a step.
        horizon: T, steps in an episode.
        memory: how the past is remembered; its `average` is the paper's aggregation.
        welfare: how a memory is judged: a name, a `Welfare`, or a function of Z over its last axis. The name `"nash"`
            is log-Nash, as in the paper's experiments.
        weight: λ, the weight of fairness in the reward.
        needs: the distribution of needs, which also sets the number of agents n. By default there are ten agents, and
            agents 0 and 1 are advantaged (row 17). `bygones.envs.needs` has other distributions.
        observation_scale: how Z is scaled in the observation (row 6). `"none"`: not at all. `"fixed"`: divided by
            `fixed_scale`, the same for every memory. `"window"`: divided by the largest value that Z can reach in an
            episode. `"expected"`: divided by what an agent remembers on average at the end of an episode if all agents
            are served equally often. `"relative"`: Z/mean(Z) − 1. `"running"`: the learner of bygones normalises the
            whole observation, needs and Z, by its mean and variance so far, as Stable-Baselines3's `VecNormalize`
            does; `observe` gives it as with `"none"`.
        fixed_scale: the divisor of `"fixed"`.
        observe_memory: whether Z is observed; by default yes, except for the instantaneous memory, whose agent
            "only observes immediate needs" (row 7). Entries of a memory that is not observed are zero.
        observe_denominator: whether d is observed as one more entry (row 5): what the memory would hold had every
            utility been one, on average over the agents (`Memory.denominator`). It is scaled like the memory: divided
            by `fixed_scale`, or by its largest value in an episode (`"window"`, `"expected"`, `"relative"`).
        ends: `"truncation"`, a time limit after which a learner bootstraps, or `"termination"` (row 14).
        shaping_discount: the factor c in F = c·W(Zᵗ) − W(Zᵗ⁻¹): 1 as the paper writes it, the learner's discount
            factor for potential-based shaping in the strict sense (row 10).
    """

    n_resources: int = 2
    horizon: int = 1000
    memory: Memory = field(default_factory=lambda: Discounted(gamma=0.99))
    welfare: AnyWelfare = "nash"
    weight: float = 0.9
    needs: Needs = field(default_factory=advantaged)
    observation_scale: Scale = "none"
    fixed_scale: float = 100.0
    observe_memory: bool | None = None
    observe_denominator: bool = False
    ends: End = "truncation"
    shaping_discount: float = 1.0

    def __post_init__(self) -> None:
        self._check_needs()
        if check_count("n_resources", self.n_resources) > self.n_agents:
            raise ValueError(
                f"n_resources must be at most the number of agents ({self.n_agents}), got {self.n_resources}"
            )
        self._check()

    def _check_needs(self) -> None:
        if not all(hasattr(self.needs, name) for name in ("n_agents", "bounds", "mean", "start", "draw")):
            raise ValueError(f"needs must be a distribution such as bygones.envs.needs.uniform(10), got {self.needs!r}")
        low, high = self.needs.bounds
        if not (np.min(low) >= 0 and np.max(high) > 0):
            raise ValueError(
                f"needs must have lower bounds of at least 0 and an upper bound above 0, got {low} and {high}"
            )

    @property
    def n_agents(self) -> int:
        """n, the number of agents."""
        return self.needs.n_agents

    @property
    def n_actions(self) -> int:
        """The number of subsets of k agents."""
        return math.comb(self.n_agents, self.n_resources)

    @property
    def u_max(self) -> float:
        """The largest utility of a step; infinite for unbounded needs."""
        return float(np.max(self.needs.bounds[1]))

    @property
    def expected_utility(self) -> float:
        """What an agent receives at a step on average, if all are served equally often."""
        return self.n_resources / self.n_agents * float(np.mean(self.needs.mean))

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        """The bounds of the needs."""
        low, high = (np.asarray(bound, dtype=float) for bound in self.needs.bounds)
        return low, high

    @property
    def is_enumerable(self) -> bool:
        """Whether there are few enough subsets for each to have a number."""
        k = min(self.n_resources, self.n_agents - self.n_resources)
        # The binomials of n and 1, 2, …, k grow; one with thousands of digits need not be reached.
        return all(math.comb(self.n_agents, j) <= MOST_ACTIONS for j in range(1, k + 1))

    def check_enumerable(self, instead: str) -> None:
        """Refuses a problem with too many subsets; `instead` says what they are needed for, and what to do."""
        if not self.is_enumerable:
            raise ValueError(
                f"choosing {self.n_resources} of {self.n_agents} agents gives more than the {MOST_ACTIONS:,} subsets "
                f"that can be enumerated; {instead}"
            )

    def subsets(self) -> Ints:
        """The agents that each action serves, one row of k agents per action, in lexicographic order.

        Raises:
            ValueError: there are more than 100,000.
        """
        self.check_enumerable("name the agents themselves instead of the number of a subset")
        return np.array(list(itertools.combinations(range(self.n_agents), self.n_resources)))

    def action(self, served: Iterable[int]) -> int:
        """The action that serves these agents."""
        wanted = sorted(int(agent) for agent in served)
        for action, subset in enumerate(self.subsets().tolist()):
            if subset == wanted:
                return action
        raise ValueError(f"served must be {self.n_resources} different agents of {self.n_agents}, got {served}")

    def params(self, enumerates: bool | None = None) -> AllocationParams:
        """The numbers of this problem.

        Args:
            enumerates: whether the subsets of agents are listed, so that the number of one is an action; by default
                where there are at most 100,000. The agents themselves are an action either way.
        """
        served = None
        if self.is_enumerable if enumerates is None else enumerates:
            subsets = self.subsets()
            served = np.zeros((len(subsets), self.n_agents))
            np.put_along_axis(served, subsets, 1.0, axis=1)
        assert isinstance(self.welfare, Welfare)
        return AllocationParams(
            memory=self.memory.canonical(),
            welfare=self.welfare,
            needs=self.needs,
            served=served,
            **self._numbers(),
        )


def problem_of(
    n_agents: int | None = None,
    n_advantaged: int | None = None,
    memory: Memory | float | None = None,
    scenario: str | None = None,
    **settings: Any,
) -> AllocationProblem:
    """The problem with these settings, with short forms for needs and memory.

    Args:
        n_agents: the number of agents with the paper's needs.
        n_advantaged: how many of them are advantaged.
        memory: a memory, or the number γ of an additive one.
        scenario: a function that returns the problem, as `module:function`; it is given all other arguments.
        settings: the other settings of `AllocationProblem`.
    """
    if scenario is not None:
        short = {"n_agents": n_agents, "n_advantaged": n_advantaged, "memory": memory}
        return _of_scenario(
            scenario, {**{name: value for name, value in short.items() if value is not None}, **settings}
        )
    if n_agents is not None or n_advantaged is not None:
        if "needs" in settings:
            raise ValueError("give needs, or n_agents and n_advantaged for the paper's needs, not both")
        settings["needs"] = advantaged(
            10 if n_agents is None else n_agents, 2 if n_advantaged is None else n_advantaged
        )
    if isinstance(memory, int | float) and not isinstance(memory, bool):
        settings["memory"] = Discounted(gamma=memory)
    elif memory is not None:
        settings["memory"] = memory
    return AllocationProblem(**settings)


def _of_scenario(scenario: str, settings: dict[str, Any]) -> AllocationProblem:
    module, _, name = scenario.partition(":")
    make = getattr(importlib.import_module(module), name, None) if module else None
    if not callable(make):
        raise ValueError(f"scenario must be a function, as module:function, got {scenario!r}")
    problem = make(**settings)
    if not isinstance(problem, AllocationProblem):
        raise ValueError(f"scenario {scenario} must return an AllocationProblem, got {problem!r}")
    return problem


def observe(needs: Array, state: AnyState, params: FairParams, Z: Array | None = None) -> Array:
    """The observation: needs, the memory Zᵗ⁻¹ at the chosen scale, and d where it is observed, in float32.

    Whoever has read Z out of the state already can pass it on.
    """
    Z = params.memory.read(state) if Z is None else Z
    xp = namespace(needs, Z)
    seen = Z * (params.memory_scale * params.observe_memory)
    if params.relative is not False:
        mean = Z.mean(axis=-1, keepdims=True)
        # A mean so small has lost its digits; nothing to speak of is remembered.
        is_empty = mean < 1e-30
        relative = xp.where(is_empty, 0.0, Z / xp.where(is_empty, 1.0, mean) - 1.0)
        seen = select(params.relative, relative * params.observe_memory, seen)
    parts = [needs, seen]
    if params.denominator_scale is not None:
        d: Any = params.memory.denominator(state)
        parts.append(d[..., None] * params.denominator_scale)
    return xp.concatenate(parts, axis=-1, dtype=np.float32)


def ends(over: Array, params: FairParams) -> tuple[Array, Array]:
    """Whether the episode has terminated, and whether it was truncated, given whether it has reached its horizon."""
    xp = namespace(over, params.terminates)
    return over & params.terminates, over & xp.logical_not(params.terminates)


def reward(total: Array, welfare: Array, welfare_before: Array, params: FairParams) -> Array:
    r"""The reward $(1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$ of a step with total utility $U_t$."""
    return (1 - params.weight) * total + params.weight * (params.shaping * welfare - welfare_before)


def true_utilities(cumulative: Array, t: Array, params: FairParams) -> Array:
    """The true utilities as the fairness score sees them after t ≥ 1 steps: their mean if the memory averages."""
    average = params.memory.average
    if average is False:
        return cumulative
    steps = t if average is True else select(average, t, namespace(t).ones_like(t))
    return cumulative / (steps[..., None] if steps.ndim else steps)


def true_welfare(cumulative: Array, t: Array, params: FairParams) -> Array:
    """The fairness score: the welfare of the true, undiscounted utilities; of their mean if the memory averages."""
    return params.welfare.judge(true_utilities(cumulative, t, params))


def episode_metrics(cumulative: Array, t: Array, params: FairParams) -> dict[str, Array]:
    """What an episode comes to: Gini and welfare of the true utilities, and utility per step."""
    return {
        "gini": inequality.gini(cumulative),
        "welfare": true_welfare(cumulative, t, params),
        "utility_per_step": cumulative.sum(axis=-1) / t,
    }
