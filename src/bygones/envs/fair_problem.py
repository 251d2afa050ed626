r"""What every learning problem has: a memory, a welfare that judges it, a horizon and an observation.

`AllocationProblem` (`problem.py`) is the paper's, in which needs do not depend on what was done. `ScenarioProblem`
(`scenario_problem.py`) is any other: there an action may change the future.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, Protocol, get_args

import numpy as np

from bygones._arrays import Condition, Floats, Number, check_between, check_count, check_one_of
from bygones.memory import Memory
from bygones.welfare import AnyWelfare, Welfare, as_judge, check_axis

Scale = Literal["none", "fixed", "window", "expected", "relative", "running"]
End = Literal["truncation", "termination"]

MOST_ACTIONS = 100_000
"""The most actions that are enumerated."""

ROUNDING = 1e-6
"""How far rounding may push a remembered value beyond its bound, relative to the bound; float32 has steps of 1.2e-7."""


class FairParams(Protocol):
    """The numbers of a problem that its memory, reward and observation depend on."""

    @property
    def memory(self) -> Memory: ...
    @property
    def welfare(self) -> Welfare: ...
    @property
    def weight(self) -> Number: ...
    @property
    def horizon(self) -> Number: ...
    @property
    def observe_memory(self) -> Number: ...
    @property
    def relative(self) -> Condition: ...
    @property
    def memory_scale(self) -> Number: ...
    @property
    def denominator_scale(self) -> Number | None: ...
    @property
    def shaping(self) -> Number: ...
    @property
    def terminates(self) -> Condition: ...


class FairProblem(ABC):
    """The settings that all learning problems share; `AllocationProblem` explains them. Subclasses are dataclasses."""

    horizon: int
    memory: Memory
    welfare: AnyWelfare
    weight: float
    observation_scale: Scale
    fixed_scale: float
    observe_memory: bool | None
    observe_denominator: bool
    ends: End
    shaping_discount: float

    @property
    @abstractmethod
    def n_agents(self) -> int:
        """n, the number of agents."""

    @property
    @abstractmethod
    def n_actions(self) -> int:
        """How many actions there are."""

    @property
    @abstractmethod
    def is_enumerable(self) -> bool:
        """Whether there are few enough actions for each to have a number."""

    @property
    @abstractmethod
    def u_max(self) -> float:
        """The largest utility of a step; infinite if there is none."""

    @property
    @abstractmethod
    def expected_utility(self) -> float:
        """What an agent receives at a step if all are served equally often: the unit of the scale "expected"."""

    @property
    @abstractmethod
    def seen_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value of all that is observed besides the memory."""

    @abstractmethod
    def check_enumerable(self, instead: str) -> None:
        """Refuses a problem with too many actions; `instead` says what they are needed for, and what to do."""

    @abstractmethod
    def params(self, enumerates: bool | None = None) -> Any:
        """The numbers of this problem, with the actions listed or not."""

    def _check(self) -> None:
        check_count("horizon", self.horizon)
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

    def _numbers(self) -> dict[str, Any]:
        """The part of the params that is the same for all problems, beside memory and welfare."""
        return {
            "weight": float(self.weight),
            "horizon": int(self.horizon),
            "observe_memory": float(self.observes_memory),
            "relative": self.observation_scale == "relative",
            "memory_scale": 1.0 / self._divisor,
            "denominator_scale": 1.0 / self._denominator_divisor if self.observe_denominator else None,
            "shaping": float(self.shaping_discount),
            "terminates": self.ends == "termination",
        }

    def _check_memory_and_welfare(self) -> None:
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
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        return len(self.seen_bounds[0]) + self.n_agents + self.observe_denominator

    @property
    def observes_memory(self) -> bool:
        """Whether Z is observed, the default resolved."""
        if self.observe_memory is not None:
            return self.observe_memory
        return not self.memory.forgets_at_once

    def observation_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest observation; infinite where needs have no bound.

        Rounding may push a remembered value a hair beyond the bound of the exact one, so the memory's bounds are
        wider by one part in a million.
        """
        low, high = self.seen_bounds
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

    @property
    def _reach(self) -> float:
        return self.memory.bound(self.u_max, self.horizon) if math.isfinite(self.u_max) else math.inf

    @property
    def _divisor(self) -> float:
        if self.observation_scale == "fixed":
            return self.fixed_scale
        if self.observation_scale == "window":
            return self._reach
        if self.observation_scale == "expected":
            return self.expected_utility * self.memory.after_ones(self.n_agents, self.horizon)
        return 1.0

    @property
    def _denominator_divisor(self) -> float:
        if self.observation_scale in ("none", "running"):
            return 1.0
        if self.observation_scale == "fixed":
            return self.fixed_scale
        return self.memory.largest_denominator(self.horizon)
