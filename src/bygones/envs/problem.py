r"""The paper's learning problem in equations, for NumPy and JAX alike.

At each step $t = 1, \dots, T$ every agent $i$ has a need $x_i^t$; an action serves a subset of $k$ of the $n$ agents,
each of whom receives a utility equal to its need. The allocator observes the needs and the memory $Z^{t-1}$ and is
rewarded by

$$ r_t = (1-\lambda)\,U_t + \lambda\,F_t, \qquad U_t = \sum_i u_i^t, \qquad F_t = W(Z^t) - W(Z^{t-1}). $$

`AllocationProblem` holds the settings, checks them and turns them into `AllocationParams`, the numbers that the
equations below need. Every choice that the paper leaves unsaid is a named switch.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from bygones import inequality
from bygones import welfare as welfares
from bygones._arrays import Array, Number, check_between, check_count, check_one_of, namespace, select
from bygones.decay import denominator
from bygones.envs.needs import Needs, advantaged
from bygones.memory import Discounted, Memory, MemoryState
from bygones.welfare import Welfare

Scale = Literal["none", "fixed", "window", "expected", "relative"]
End = Literal["truncation", "termination"]

MOST_ACTIONS = 100_000


class AllocationParams(NamedTuple):
    """The numbers of a problem. A pytree whose leaves may be traced: changing one never recompiles.

    Only shapes and structure are fixed: the number of agents and resources, the kind of memory, of welfare (all of
    utilitarian, log-Nash, α-fair and egalitarian are one kind) and of needs, and whether d is observed.
    """

    memory: Memory
    welfare: Welfare
    needs: Needs
    served: Array
    """One row per action: 1 for the agents it serves, else 0."""
    weight: Number
    horizon: Number
    observe_memory: Number
    """1 if the memory is observed, 0 if its entries are zero."""
    relative: Number
    """Whether the memory is observed relative to its mean."""
    memory_scale: Number
    denominator_scale: Number | None
    """None if the denominator is not observed."""
    shaping: Number
    """The factor of W(Zᵗ) in the fairness reward."""
    terminates: Number


@dataclass(frozen=True)
class AllocationProblem:
    """The settings of the paper's problem; the defaults are the paper's.

    Attributes:
        n_resources: k, how many agents are served at a step.
        horizon: T, steps in an episode.
        memory: how the past is remembered; its `average` is the paper's aggregation.
        welfare: how a memory is judged; `"nash"` is log-Nash, as in the paper's experiments.
        weight: λ, the weight of fairness in the reward.
        needs: where needs come from; the number of agents n is theirs. The default is ten agents, of whom agents 0
            and 1 are advantaged (row 17: choose others with `bygones.envs.needs`).
        observation_scale: how Z is observed (row 6): `"none"` as it is; `"fixed"` divided by `fixed_scale`
            whatever the memory; `"window"` divided by the largest value it can reach in an episode; `"expected"`
            divided by what an agent expects to remember at the end of one if all are served equally often;
            `"relative"` as Z/mean(Z) − 1, free of scale.
        fixed_scale: the one divisor of `"fixed"`.
        observe_memory: whether Z is observed; by default yes, except for the instantaneous memory, whose agent
            "only observes immediate needs" (row 7).
        observe_denominator: whether d is observed as one more entry (row 5).
        ends: `"truncation"`, a time limit after which a learner bootstraps, or `"termination"` (row 14).
        shaping_discount: the factor c in F = c·W(Zᵗ) − W(Zᵗ⁻¹): 1 as the paper writes it, the learner's discount
            factor for potential-based shaping in the strict sense (row 10).
    """

    n_resources: int = 2
    horizon: int = 1000
    memory: Memory = field(default_factory=lambda: Discounted(gamma=0.99))
    welfare: Welfare | str = "nash"
    weight: float = 0.9
    needs: Needs = field(default_factory=advantaged)
    observation_scale: Scale = "none"
    fixed_scale: float = 100.0
    observe_memory: bool | None = None
    observe_denominator: bool = False
    ends: End = "truncation"
    shaping_discount: float = 1.0

    def __post_init__(self) -> None:
        if check_count("n_resources", self.n_resources) > self.n_agents:
            raise ValueError(
                f"n_resources must be at most the number of agents ({self.n_agents}), got {self.n_resources}"
            )
        check_count("horizon", self.horizon)
        check_between("weight", self.weight, 0.0, 1.0, "between 0 and 1")
        check_between(
            "fixed_scale", self.fixed_scale, 0.0, math.inf, "finite and above 0", open_low=True, open_high=True
        )
        check_between("shaping_discount", self.shaping_discount, 0.0, 1.0, "between 0 and 1")
        check_one_of("observation_scale", self.observation_scale, get_args(Scale))
        check_one_of("ends", self.ends, get_args(End))
        if not isinstance(self.memory, Memory):
            raise ValueError(f"memory must be a bygones memory such as Discounted(gamma=0.99), got {self.memory!r}")
        self.memory.init(self.n_agents)
        object.__setattr__(self, "welfare", as_judge(self.welfare))
        if self.n_actions > MOST_ACTIONS:
            raise ValueError(
                f"choosing {self.n_resources} of {self.n_agents} agents gives {self.n_actions} actions, more than the "
                f"{MOST_ACTIONS} that can be enumerated: use fewer agents or resources"
            )
        if self.observation_scale in ("window", "expected") and not math.isfinite(self._reach):
            raise ValueError(
                f"observation_scale {self.observation_scale!r} needs needs with a largest value, or a memory bound"
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
    def observes_memory(self) -> bool:
        """Whether Z is observed, the default resolved."""
        if self.observe_memory is not None:
            return self.observe_memory
        return not (isinstance(self.memory, Discounted) and self.memory.gamma == 0)

    @property
    def u_max(self) -> float:
        """The largest utility of a step; infinite for unbounded needs."""
        return float(np.max(self.needs.bounds[1]))

    def params(self) -> AllocationParams:
        """The numbers of this problem."""
        n, divisor = self.n_agents, self._divisor
        served = np.zeros((self.n_actions, n))
        np.put_along_axis(served, np.array(list(itertools.combinations(range(n), self.n_resources))), 1.0, axis=1)
        memory = self.memory
        if isinstance(memory, Discounted):
            memory = Discounted(gamma=memory.gamma, average=memory.average)
        assert isinstance(self.welfare, Welfare)
        return AllocationParams(
            memory=memory,
            welfare=self.welfare,
            needs=self.needs,
            served=served,
            weight=self.weight,
            horizon=self.horizon,
            observe_memory=float(self.observes_memory),
            relative=self.observation_scale == "relative",
            memory_scale=1.0 / divisor,
            denominator_scale=1.0 / self._denominator_divisor if self.observe_denominator else None,
            shaping=self.shaping_discount,
            terminates=self.ends == "termination",
        )

    def observation_bounds(self) -> tuple[Array, Array]:
        """The least and the largest observation; infinite where needs or memory have no bound."""
        low, high = (np.asarray(b, dtype=float) for b in self.needs.bounds)
        n = self.n_agents
        if not self.observes_memory:
            least, most = 0.0, 0.0
        elif self.observation_scale == "relative":
            least, most = -1.0, n - 1.0
        else:
            least, most = 0.0, self._reach / self._divisor
        parts_low, parts_high = [low, np.full(n, least)], [high, np.full(n, most)]
        if self.observe_denominator:
            parts_low.append(np.zeros(1))
            parts_high.append(np.full(1, self._largest_denominator / self._denominator_divisor))
        return np.concatenate(parts_low), np.concatenate(parts_high)

    @property
    def _reach(self) -> float:
        return self.memory.bound(self.u_max, self.horizon) if math.isfinite(self.u_max) else math.inf

    @property
    def _largest_denominator(self) -> float:
        if isinstance(self.memory, Discounted):
            return float(denominator(self.memory.gamma, self.horizon))
        return self.memory.bound(1.0, self.horizon)

    @property
    def _divisor(self) -> float:
        if self.observation_scale == "fixed":
            return self.fixed_scale
        if self.observation_scale == "window":
            return self._reach
        if self.observation_scale == "expected":
            expected_utility = self.n_resources / self.n_agents * float(np.mean(self.needs.mean))
            return self._reach / self.u_max * expected_utility
        return 1.0

    @property
    def _denominator_divisor(self) -> float:
        if self.observation_scale == "none":
            return 1.0
        return self.fixed_scale if self.observation_scale == "fixed" else self._largest_denominator


def as_judge(welfare: Welfare | str) -> Welfare:
    """The welfare that judges a memory, in the form in which all of the α-fair family are one structure.

    `"nash"` becomes log-Nash, as in the paper's experiments. Utilitarian, log-Nash and egalitarian welfare are α-fair
    welfare at α = 0, 1 and ∞.
    """
    chosen = welfares.named("log_nash" if welfare == "nash" else welfare)
    alphas = {
        "utilitarian": 0.0,
        "log_nash": 1.0,
        "egalitarian": math.inf,
        "alpha_fair": chosen.parameters.get("alpha"),
    }
    if chosen.name not in alphas:
        return chosen
    alpha, eps = alphas[chosen.name], chosen.parameters.get("eps", 1e-6)
    return welfares.named("alpha_fair", alpha=float(alpha), eps=float(eps))  # type: ignore[arg-type]


def observe(needs: Array, state: MemoryState, params: AllocationParams) -> Array:
    """The observation: needs, the memory Zᵗ⁻¹ at the chosen scale, and d where it is observed."""
    xp = namespace(needs, state.Z)
    Z = params.memory.read(state)
    seen = Z * params.memory_scale
    if params.relative is not False:
        mean = Z.mean(axis=-1, keepdims=True)
        relative = xp.where(mean > 0, Z / xp.where(mean > 0, mean, 1.0) - 1.0, 0.0)
        seen = select(params.relative, relative, seen)
    parts = [needs, seen * params.observe_memory]
    if params.denominator_scale is not None:
        d = state.d if state.d.ndim == needs.ndim else state.d[..., None]
        parts.append(d[..., :1] * params.denominator_scale)
    return xp.concatenate(parts, axis=-1)


def reward(total: Number, welfare: Number, welfare_before: Number, params: AllocationParams) -> Number:
    r"""The reward $(1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$ of a step with total utility $U_t$."""
    return (1 - params.weight) * total + params.weight * (params.shaping * welfare - welfare_before)


def true_welfare(cumulative: Array, t: Number, params: AllocationParams) -> Array:
    """The fairness score: the welfare of the true, undiscounted utilities; of their mean if the memory averages."""
    average = getattr(params.memory, "average", False)
    return params.welfare(cumulative / select(average, t, 1))


def episode_metrics(cumulative: Array, t: Number, params: AllocationParams) -> dict[str, Array]:
    """What an episode comes to: Gini and welfare of the true utilities, and utility per step."""
    return {
        "gini": inequality.gini(cumulative),
        "welfare": true_welfare(cumulative, t, params),
        "utility_per_step": cumulative.sum(axis=-1) / t,
    }
