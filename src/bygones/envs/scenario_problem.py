r"""A scenario with a memory, a welfare and the paper's reward on top: the equations of an episode, for NumPy and JAX.

$$ r_t = (1-\lambda)\sum_i u_i^t + \lambda\,\bigl(c\,W(Z^t) - W(Z^{t-1})\bigr) $$

Where agents come and go, both terms of the second part judge those who were present at the decision: an absent agent
counts as if it had the mean of those present, so it neither helps nor hurts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bygones._arrays import Array, Condition, Floats, Number, namespace
from bygones.envs.fair_problem import MOST_ACTIONS, End, FairParams, FairProblem, Scale
from bygones.envs.problem import observe as observed
from bygones.envs.problem import reward
from bygones.envs.scenario import Scenario
from bygones.memory import Discounted, Memory
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare, Welfare


class ScenarioParams(NamedTuple):
    """The numbers of a problem that may change without compiling again; those of the scenario are compiled in."""

    memory: Memory
    welfare: Welfare
    actions: Array | None
    """The rows of `Scenario.actions`; None where they are not enumerated."""
    weight: Number
    horizon: Number
    observe_memory: Number
    relative: Condition
    memory_scale: Number
    denominator_scale: Number | None
    shaping: Number
    terminates: Condition


@dataclass(frozen=True, eq=False)
class ScenarioProblem(FairProblem):
    """A scenario to be fair in. All settings but the scenario are those of `AllocationProblem`, which explains them.

    Attributes:
        scenario: what happens, such as `bygones.envs.scenarios.donut.Donut()`. It sets agents, actions and horizon.
        memory: how the past is remembered.
        welfare: how a memory is judged.
        weight: λ, the weight of fairness in the reward.
        horizon: T, the scenario's.
    """

    scenario: Scenario
    memory: Memory = field(default_factory=lambda: Discounted(gamma=0.99))
    welfare: AnyWelfare = "nash"
    weight: float = 0.9
    observation_scale: Scale = "none"
    fixed_scale: float = 100.0
    observe_memory: bool | None = None
    observe_denominator: bool = False
    ends: End = "truncation"
    shaping_discount: float = 1.0
    horizon: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.scenario, Scenario):
            raise ValueError(f"scenario must be a Scenario such as Donut(), got {self.scenario!r}")
        object.__setattr__(self, "horizon", self.scenario.horizon)
        self._check()
        assert isinstance(self.welfare, Welfare)
        if self.welfare.needs_non_negative and np.min(self.scenario.utility_bounds[0]) < 0:
            raise ValueError(
                f"welfare {self.welfare} needs utilities of at least 0, but in this scenario they can be negative: "
                "use egalitarian welfare"
            )

    @property
    def n_agents(self) -> int:
        return self.scenario.n_agents

    @property
    def n_actions(self) -> int:
        return self.scenario.n_actions

    @property
    def is_enumerable(self) -> bool:
        return self.n_actions <= MOST_ACTIONS

    @property
    def u_max(self) -> float:
        return float(np.abs(self.scenario.utility_bounds).max())

    @property
    def expected_utility(self) -> float:
        return self.scenario.expected_utility

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        return self.scenario.seen_bounds

    def check_enumerable(self, instead: str) -> None:
        if not self.is_enumerable:
            raise ValueError(
                f"this scenario has {self.n_actions:,} actions, more than the {MOST_ACTIONS:,} that can be enumerated; "
                f"{instead}"
            )

    def params(self, enumerates: bool | None = None) -> ScenarioParams:
        """The numbers of this problem; `enumerates` says whether actions are listed, by default where they can be."""
        assert isinstance(self.welfare, Welfare)
        return ScenarioParams(
            memory=self.memory.canonical(),
            welfare=self.welfare,
            actions=self.scenario.actions() if (self.is_enumerable if enumerates is None else enumerates) else None,
            **self._numbers(),
        )


def most_welfare(problem: ScenarioProblem) -> float | None:
    r"""The expected fairness score of an episode that no policy exceeds; None where no bound is known.

    A concave welfare of what is received is, on average, at most the welfare of its mean (Jensen), and the mean is
    below the limits of `Scenario.most`. Among vectors within them, the one that is as equal as the limits allow is
    best under every form of welfare for goods.
    """
    most, welfare = problem.scenario.most(), problem.welfare
    assert isinstance(welfare, Welfare)
    if most is None or welfare.form is None or not welfare.form.judges("good"):
        return None
    level = _as_equal_as_possible(most.total, most.each)
    return float(welfare.judge(level if problem.memory.average else level * problem.horizon))


def _as_equal_as_possible(total: float, each: Floats) -> Floats:
    """The total shared out so that nobody has more than its limit, and the least are as large as they can be."""
    left, level = min(total, float(each.sum())), np.zeros(len(each))
    order = np.argsort(each)
    for done, agent in enumerate(order):
        level[agent] = min(each[agent], left / (len(each) - done))
        left -= level[agent]
    return level


class ScenarioState(NamedTuple):
    """Where an episode stands before the decision of step t + 1."""

    t: Array
    world: Any
    """The scenario's own state."""
    memory: AnyState
    cumulative: Array
    """The true, undiscounted utilities of the episode so far."""
    utilities: Array
    """Those of the last step."""


def begin(noise: Array, scenario: Scenario, params: ScenarioParams) -> ScenarioState:
    """The start of an episode, from `scenario.n_noise` uniform numbers."""
    xp = namespace(noise)
    nothing = xp.zeros((scenario.n_agents,), dtype=noise.dtype)
    return ScenarioState(
        xp.zeros((), dtype=np.int32),
        scenario.start(noise),
        params.memory.init(scenario.n_agents),
        nothing,
        nothing,
    )


def proceed(
    noise: Array, state: ScenarioState, action: Array | int, scenario: Scenario, params: ScenarioParams
) -> ScenarioState:
    """One step. The action is the number of a row of `scenario.actions()`, or the k agents to serve, in any order."""
    world, utilities = scenario.advance(noise, state.world, chosen(action, noise, scenario, params))
    memory = params.memory.advance(state.memory, utilities)
    return ScenarioState(state.t + 1, world, memory, state.cumulative + utilities, utilities)


def chosen(action: Array | int, noise: Array, scenario: Scenario, params: ScenarioParams) -> Array:
    """The row of an action."""
    xp = namespace(action, noise)
    given = xp.asarray(action)
    if given.ndim == 1:
        is_served: Array = (xp.arange(scenario.n_agents)[:, None] == given).any(axis=-1)
        return is_served.astype(noise.dtype)
    if params.actions is None:
        raise ValueError("action must be the agents to serve: this problem does not enumerate its actions")
    return xp.asarray(params.actions)[given]


def observe(state: ScenarioState, scenario: Scenario, params: FairParams) -> Array:
    """What the scenario shows, the memory at the chosen scale, and d where it is observed, in float32."""
    return observed(scenario.observe(state.world), state.memory, params)


def fair_reward(before: ScenarioState, after: ScenarioState, scenario: Scenario, params: FairParams) -> Array:
    """The reward of the step between two states."""
    return reward_among(scenario.present(before.world), before.memory, after.memory, after.utilities, params)


def reward_among(
    present: Array | None, before: AnyState, after: AnyState, utilities: Array, params: FairParams
) -> Array:
    """The reward of a step, from who was present at the decision and from the memory's states before and after it."""
    Z_before, Z = (params.memory.read(state) for state in (before, after))
    judged = params.welfare.judge(namespace(Z).array([_among(present, Z_before), _among(present, Z)]))
    return reward(utilities.sum(axis=-1), judged[1], judged[0], params)


def _among(present: Array | None, Z: Array) -> Array:
    """What is remembered, with the mean of those present in place of the absent."""
    if present is None:
        return Z
    xp = namespace(Z)
    mean = xp.where(present, Z, 0.0).sum(axis=-1, keepdims=True) / xp.maximum(present.sum(axis=-1, keepdims=True), 1)
    return xp.where(present, Z, mean)
