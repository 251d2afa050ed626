r"""A problem to be fair in: a scenario, a memory of the past, and a welfare that judges it.

At each step the allocator observes the scenario and the memory $Z^{t-1}$, takes an action that brings $u_i^t$ to each
agent $i$, and is rewarded by

$$ r_t = (1-\lambda)\,U_t + \lambda\,F_t, \qquad U_t = \sum_i u_i^t, \qquad F_t = W(Z^t) - W(Z^{t-1}). $$

`FairProblem` holds the settings, checks them and turns them into `Params`, the numbers that the equations of
`bygones.envs.episode` need. Every choice that the paper leaves open is a named switch; `docs/decisions.md` lists them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bygones._arrays import Array, Condition, Floats, Number, check_between, check_one_of
from bygones.envs import catalogue
from bygones.envs.scenario import Scenario
from bygones.envs.scenarios.allocation import Allocation
from bygones.memory import Discounted, Memory, parse_memory
from bygones.welfare import AnyWelfare, Welfare, as_judge, check_axis

Scale = Literal["none", "fixed", "window", "expected", "relative", "running"]
End = Literal["truncation", "termination"]

ROUNDING = 1e-6
"""How far rounding may push a remembered value beyond its bound, relative to the bound; float32 has steps of 1.2e-7."""


class Params(NamedTuple):
    """The numbers of a problem. A pytree whose leaves may be traced: changing one never recompiles.

    Only shapes and structure are fixed: the kind of scenario and its fields that are not traced, the kind of memory,
    the kind of welfare (utilitarian, log-Nash, α-fair and egalitarian are one), and whether d is observed.
    """

    scenario: Scenario
    memory: Memory
    welfare: Welfare
    actions: Array | None
    """The rows of `Scenario.actions`; None where they are not enumerated."""
    weight: Number
    relative: Condition
    """Whether the memory is observed relative to its mean."""
    memory_scale: Number
    """The factor of the memory in the observation; 0 if it is not observed."""
    denominator_scale: Number | None
    """None if the denominator is not observed."""
    shaping: Number
    """The factor of W(Zᵗ) in the fairness reward."""
    terminates: Condition

    @property
    def horizon(self) -> Number:
        """T, the steps of an episode."""
        return self.scenario.horizon


@dataclass(frozen=True, eq=False)
class FairProblem:
    """A scenario to be fair in; the defaults are the paper's problem and its settings.

    Rows refer to `docs/decisions.md`.

    Attributes:
        scenario: the world, such as `bygones.envs.scenarios.donut.Donut()`. It sets agents, actions and horizon.
        memory: how the past is remembered, a memory or its text; its `average` is the paper's aggregation.
        welfare: how a memory is judged: a name, a `Welfare`, or a function of Z over its last axis. The name `"nash"`
            is log-Nash, as in the paper's experiments.
        weight: λ, the weight of fairness in the reward.
        observation_scale: how Z is scaled in the observation (row 6). `"none"`: not at all. `"fixed"`: divided by
            `fixed_scale`, the same for every memory. `"window"`: divided by the largest value that Z can reach in an
            episode. `"expected"`: divided by the mean memory of an agent at the end of an episode if all agents are
            served equally often. `"relative"`: Z/mean(Z) − 1. `"running"`: the learner of bygones normalises the whole
            observation, needs and Z, by its mean and variance so far, as Stable-Baselines3's `VecNormalize` does;
            `observe` gives it as with `"none"`.
        fixed_scale: the divisor of `"fixed"`.
        observe_memory: whether Z is observed; by default yes, except for the instantaneous memory, whose agent
            "only observes immediate needs" (row 7). Entries of a memory that is not observed are zero.
        observe_denominator: whether d is observed as one more entry (row 5): the value that the memory would have if
            every utility had been one, on average over the agents (`Memory.denominator`). It is scaled like the memory:
            divided by `fixed_scale`, or by its largest value in an episode (`"window"`, `"expected"`, `"relative"`).
        ends: `"truncation"`, a time limit after which a learner bootstraps, or `"termination"` (row 14).
        shaping_discount: the factor c in F = c·W(Zᵗ) − W(Zᵗ⁻¹): 1 as the paper writes it, the learner's discount
            factor for potential-based shaping in the strict sense (row 10).
    """

    scenario: Scenario = field(default_factory=Allocation)
    memory: Memory = field(default_factory=lambda: Discounted(gamma=0.99))
    welfare: AnyWelfare = "nash"
    weight: float = 0.9
    observation_scale: Scale = "none"
    fixed_scale: float = 100.0
    observe_memory: bool | None = None
    observe_denominator: bool = False
    ends: End = "truncation"
    shaping_discount: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.scenario, Scenario):
            raise ValueError(f"scenario must be a Scenario such as Donut(), got {self.scenario!r}")
        if self.scenario.n_choices is not None:
            self.scenario.check_enumerable(
                "take fewer agents, or let them decide separately with bygones.envs.separate.SeparateAgents"
            )
        for name in ("weight", "shaping_discount", "fixed_scale"):
            if np.ndim(getattr(self, name)):
                raise ValueError(f"{name} must be a single number, got {getattr(self, name)!r}")
        if self.observe_memory not in (None, True, False) or self.observe_denominator not in (True, False):
            raise ValueError(
                "observe_memory must be True, False or None, and observe_denominator True or False, got "
                f"{self.observe_memory!r} and {self.observe_denominator!r}"
            )
        check_between("weight", self.weight, 0.0, 1.0, "between 0 and 1")
        check_between("shaping_discount", self.shaping_discount, 0.0, 1.0, "between 0 and 1")
        check_one_of("ends", self.ends, get_args(End))
        self._check_memory_and_welfare()
        self._check_scale()

    @property
    def n_agents(self) -> int:
        """n, the number of agents."""
        return self.scenario.n_agents

    @property
    def horizon(self) -> int:
        """T, the steps of an episode."""
        return self.scenario.horizon

    @property
    def judge(self) -> Welfare:
        """The welfare function."""
        assert isinstance(self.welfare, Welfare)
        return self.welfare

    @property
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        return len(self.scenario.seen_bounds[0]) + self.n_agents + self.observe_denominator

    @property
    def observes_memory(self) -> bool:
        """Whether Z is observed, the default resolved."""
        if self.observe_memory is not None:
            return self.observe_memory
        return not self.memory.forgets_at_once

    def params(self, enumerates: bool | None = None) -> Params:
        """The numbers of this problem.

        Args:
            enumerates: whether actions are listed and can be named by their numbers; by default where there are at most
                100,000. Where actions serve agents, the agents themselves are an action either way.
        """
        if enumerates is None:
            enumerates = self.scenario.is_enumerable
        return Params(
            scenario=self.scenario,
            memory=self.memory.canonical(),
            welfare=self.judge,
            actions=self.scenario.actions() if enumerates else None,
            weight=float(self.weight),
            relative=self.observation_scale == "relative",
            memory_scale=1.0 / self._divisor if self.observes_memory else 0.0,
            denominator_scale=1.0 / self._denominator_divisor if self.observe_denominator else None,
            shaping=float(self.shaping_discount),
            terminates=self.ends == "termination",
        )

    def observation_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest observation; infinite where needs have no bound.

        Rounding may push a remembered value a hair beyond the bound of the exact one, so the memory's bounds are
        wider by one part in a million.
        """
        low, high = self.scenario.seen_bounds
        # Gymnasium takes an interval of one point, such as a need that never changes, for a mistake.
        low = np.where(low < high, low, 0.0)
        high = np.where(low < high, high, 1.0)
        n = self.n_agents
        is_symmetric = self.memory.can_be_negative
        if self.observation_scale == "relative":
            Z_low, Z_high = -1.0, n * (1 + ROUNDING) - 1
        else:
            Z_high = self._reach / self._divisor * (1 + ROUNDING)
            Z_low = -Z_high if is_symmetric else 0.0
        parts_low, parts_high = [low, np.full(n, Z_low)], [high, np.full(n, Z_high)]
        if self.observe_denominator:
            d_high = self.memory.largest_denominator(self.horizon) / self._denominator_divisor * (1 + ROUNDING)
            parts_low.append(np.full(1, -d_high if is_symmetric else 0.0))
            parts_high.append(np.full(1, d_high))
        return np.concatenate(parts_low), np.concatenate(parts_high)

    def _check_memory_and_welfare(self) -> None:
        if isinstance(self.memory, str):
            object.__setattr__(self, "memory", parse_memory(self.memory))
        if not isinstance(self.memory, Memory):
            raise ValueError(f"memory must be a bygones memory such as Discounted(gamma=0.99), got {self.memory!r}")
        self.memory.init(self.n_agents)
        judge = as_judge(self.welfare)
        check_axis(judge, self.n_agents)
        if self.memory.can_be_negative and judge.needs_non_negative:
            raise ValueError(
                f"welfare {self.welfare} needs a memory that never falls below 0, which {type(self.memory).__name__} "
                "memory does not promise (can_be_negative): use another memory, or egalitarian welfare"
            )
        if judge.needs_non_negative and np.min(self.scenario.utility_bounds[0]) < 0:
            raise ValueError(
                f"welfare {self.welfare} needs utilities of at least 0, but in this scenario they can be negative: "
                "use egalitarian welfare"
            )
        object.__setattr__(self, "welfare", judge)

    def _check_scale(self) -> None:
        scale = check_one_of("observation_scale", self.observation_scale, get_args(Scale))
        check_between(
            "fixed_scale", self.fixed_scale, 0.0, math.inf, "finite and above 0", open_low=True, open_high=True
        )
        kind = type(self.memory).__name__
        if scale == "relative" and self.memory.can_be_negative:
            raise ValueError(
                f"observation_scale 'relative' needs a memory that never falls below 0, which {kind} memory does not "
                "promise (can_be_negative): use another memory, or another scale"
            )
        if scale == "window" and not math.isfinite(self._reach):
            raise ValueError(
                f"observation_scale 'window' divides Z by its largest value, but {kind} memory has none for "
                "these needs: use another scale"
            )
        if self.observe_denominator and self.memory.denominator(self.memory.init(self.n_agents)) is None:
            raise ValueError(f"observe_denominator must be False for {kind} memory, which keeps no denominator")
        divisors = [self._divisor, *([self._denominator_divisor] if self.observe_denominator else [])]
        for divisor in divisors:
            if not np.finfo(float).tiny <= divisor < math.inf:
                raise ValueError(
                    f"observation_scale {scale!r} needs a finite divisor above 0, but {kind} memory gives "
                    f"{divisor} for these needs: use another scale"
                )

    @property
    def _reach(self) -> float:
        """The bound of |Z| in an episode."""
        u_max = float(np.abs(self.scenario.utility_bounds).max())
        return self.memory.bound(u_max, self.horizon) if math.isfinite(u_max) else math.inf

    @property
    def _divisor(self) -> float:
        if self.observation_scale == "fixed":
            return self.fixed_scale
        if self.observation_scale == "window":
            return self._reach
        if self.observation_scale == "expected":
            return self.scenario.expected_utility * self.memory.after_ones(self.n_agents, self.horizon)
        return 1.0

    @property
    def _denominator_divisor(self) -> float:
        if self.observation_scale in ("none", "running"):
            return 1.0
        if self.observation_scale == "fixed":
            return self.fixed_scale
        return self.memory.largest_denominator(self.horizon)


SETTINGS = frozenset(each.name for each in fields(FairProblem)) - {"scenario"}
"""The names of the settings of a problem besides its scenario."""

PLAIN = tuple(each.name for each in fields(FairProblem) if each.name not in ("scenario", "memory", "welfare"))
"""The settings of a problem that are plain names and numbers."""


def problem_of(scenario: Scenario | str = "allocation", **settings: Any) -> FairProblem:
    """The problem with these settings, the arguments of `gym.make`.

    Args:
        scenario: a scenario, or the name of one; by default the paper's.
        settings: the settings of `FairProblem`, and the parameters of a scenario that is given by name. The memory may
            also be the number γ of a discounted one.
    """
    arguments = {name: value for name, value in settings.items() if name not in SETTINGS}
    own = {name: value for name, value in settings.items() if name in SETTINGS}
    memory = own.get("memory")
    if isinstance(memory, int | float) and not isinstance(memory, bool):
        own["memory"] = Discounted(gamma=memory)
    if isinstance(scenario, str):
        scenario = catalogue.made(scenario, arguments)
    elif arguments:
        raise ValueError(f"give the parameters of a scenario to the scenario itself, got {', '.join(arguments)}")
    return FairProblem(scenario, **own)


def most_welfare(problem: FairProblem) -> float | None:
    r"""The expected fairness score of an episode that no policy exceeds; None where no bound is known.

    The mean of a concave welfare of totals is at most the welfare of the mean total (Jensen), and the mean is below the
    limits of `Scenario.most`. Among vectors within them, the one that is as equal as the limits allow is best under
    every form of welfare for goods.
    """
    most, welfare = problem.scenario.most(), problem.judge
    if most is None or welfare.form is None or not welfare.form.judges("good"):
        return None
    level = _as_equal_as_possible(most.total, most.each)
    return float(welfare.judge(level if problem.memory.average else level * problem.horizon))


def _as_equal_as_possible(total: float, each: Floats) -> Floats:
    """The total shared out as equally as the limits allow."""
    left, level = min(total, float(each.sum())), np.zeros(len(each))
    order = np.argsort(each)
    for done, agent in enumerate(order):
        level[agent] = min(each[agent], left / (len(each) - done))
        left -= level[agent]
    return level
