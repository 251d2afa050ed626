r"""The paper's reward from vector rewards, $(1-\lambda)\sum_i u_i^t + \lambda\,(\delta\,W(Z^t) - W(Z^{t-1}))$.

As the paper writes it $\delta = 1$. With $\delta$ the discount factor of the learner, the second term is
potential-based shaping in the strict sense.

Rewards of at least 0 are goods. Rewards of at most 0 are burdens, whose loads are the rewards with their sign turned.
Welfare functions of loads judge them, the others judge the rewards, and inequality is that of the loads.

The welfare of a step is that of the agents that took part in it, before and after. As in `bygones.envs.episode`, an
absent agent counts as if it had the mean of those present.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from gymnasium.spaces import Box

from bygones import inequality
from bygones._arrays import Array, Bools, Floats, check_between
from bygones.envs.batches import Info
from bygones.envs.episode import among
from bygones.envs.wrappers.recall import Recall, over
from bygones.forms import Form
from bygones.kinds import Kind
from bygones.memory import Memory
from bygones.welfare import AnyWelfare, Welfare, as_judge, check_axis, judged, parse_welfare


@dataclass(frozen=True)
class Judge:
    """How rewards are judged, by arrays of NumPy and JAX alike.

    Attributes:
        welfare: W.
        weight: λ.
        discount: δ.
        kind: what the rewards are; None if they may have either sign.
        form: of W, if it has one.
    """

    welfare: Welfare
    weight: float
    discount: float
    kind: Kind | None
    form: Form | None

    @classmethod
    def of(
        cls, memory: Memory, welfare: AnyWelfare, weight: float, shaping_discount: float, reward_space: Box
    ) -> Judge:
        """The judge of rewards within `reward_space`, refused if W has no value for some of them."""
        weight = float(check_between("weight", weight, 0.0, 1.0, "between 0 and 1"))
        discount = float(check_between("shaping_discount", shaping_discount, 0.0, 1.0, "between 0 and 1"))
        chosen = as_judge(welfare)
        judge = cls(chosen, weight, discount, _kind_of(reward_space), chosen.form)
        _check_signs(judge, str(parse_welfare(welfare)), memory, reward_space)
        return judge

    def welfare_of(self, Z: Array, present: Array | None = None) -> Array:
        """W(Z), or that of the agents present."""
        Z = Z if present is None else among(present, Z)
        return self.welfare.judge(-Z if self.form is not None and self.form.of_loads else Z)

    def gain(self, before: Array, after: Array) -> Array:
        """The part of the reward that is about fairness, from the welfare before and after a step."""
        return self.weight * (self.discount * after - before)


class Fairness:
    """Judges the vector rewards of the running episodes, and keeps the record that the judgement rests on.

    Attributes:
        judge: how.
        recall: the memory that is judged.
    """

    def __init__(self, judge: Judge, recall: Recall) -> None:
        self.judge, self.recall = judge, recall
        if recall.shape[:-1]:
            check_axis(judge.welfare, recall.shape[-1])
        self._needs_sign = judge.form is not None and judge.form.needs_non_negative
        # A number where it can be: arithmetic with arrays without axes takes NumPy ten times as long.
        self._welfare_of_nothing = judged(judge.welfare, recall.values)
        self._Z, self._welfare = recall.values, self._welfare_of_nothing
        self._judged: Bools | None = None
        self._cumulative: Floats = np.zeros(recall.shape)
        self._steps: Floats | float = np.zeros(recall.shape[:-1]) if recall.shape[:-1] else 0.0
        self._missed: Floats = np.zeros(recall.shape)

    def reward(self) -> Floats:
        """The scalar reward of the step that the memory has received last."""
        return cast(Floats, (1.0 - self.judge.weight) * self.recall.total + self.gain())

    def gain(self) -> Floats:
        """The part of this reward that is about fairness."""
        judge, recall = self.judge, self.recall
        Z, utilities, present = recall.values, recall.utilities, recall.present
        if self._needs_sign and _is_wrong(utilities, judge.kind):
            sign = "at least 0" if judge.kind == "good" else "at most 0"
            raise ValueError(f"reward must be {sign}, as the reward space has it, got {utilities}")
        is_alike = present is None and self._judged is None
        before = self._welfare if is_alike else judge.welfare_of(self._Z, present)
        after = judge.welfare_of(Z, present)
        self._Z, self._judged, self._welfare = Z, present, after
        self._cumulative = self._cumulative + utilities
        self._steps = self._steps + 1.0
        if present is not None:
            self._missed = self._missed + ~present
        return cast(Floats, judge.gain(before, after))

    def begin(self, which: Bools | None = None) -> None:
        """Starts new episodes, in these entries of the batch or in all."""
        self.recall.forget(which)
        self._Z = self.recall.values
        if which is None:
            self._welfare, self._judged = self._welfare_of_nothing, None
            self._cumulative, self._missed = np.zeros(self.recall.shape), np.zeros(self.recall.shape)
            self._steps = self._steps * 0.0
            return
        self._welfare = np.where(which, self._welfare_of_nothing, self._welfare)
        self._cumulative = np.where(over(which, self._cumulative), 0.0, self._cumulative)
        self._steps = np.where(which, 0.0, self._steps)
        self._missed = np.where(over(which, self._missed), 0.0, self._missed)

    def step_record(self) -> dict[str, Floats]:
        """The `info` of a step, in new arrays."""
        return {
            "utilities": self.recall.utilities,
            "cumulative": self._cumulative.copy(),
            "memory": self.recall.values.copy(),
            "welfare_memory": cast(Floats, +self._welfare),
        }

    def episode_record(self) -> dict[str, Floats]:
        """The metrics of an episode, the `episode_metrics` in the `info` of its last step.

        They are about the agents that took part in a step of it.
        """
        taken = np.asarray(self._steps)[..., None] - self._missed
        is_mean, took_part = bool(self.recall.memory.average), taken > 0
        received = self._cumulative / np.maximum(taken, 1.0) if is_mean else self._cumulative
        record = {"welfare": np.asarray(self.judge.welfare_of(received, took_part))}
        if self.judge.kind is not None:
            loads = -self._cumulative if self.judge.kind == "burden" else self._cumulative
            record["gini"] = _gini_among(took_part, loads + 0.0)
        return record


def _is_wrong(utilities: Floats, kind: Kind | None) -> bool:
    """Whether a utility has the other sign than its kind."""
    if kind == "good":
        return bool(np.minimum.reduce(utilities, axis=None) < 0)
    return bool(np.maximum.reduce(utilities, axis=None) > 0)


def _gini_among(who: Bools, shares: Floats) -> Floats:
    """The Gini coefficient of these agents' shares, agents along the last axis."""
    if (who.all(axis=-1) == who.any(axis=-1)).all():
        return np.asarray(inequality.gini(shares))
    rows = zip(who.reshape(-1, who.shape[-1]), shares.reshape(-1, who.shape[-1]), strict=True)
    return np.array([inequality.gini(row[there]) if there.any() else 0.0 for there, row in rows]).reshape(
        who.shape[:-1]
    )


def _kind_of(reward_space: Box) -> Kind | None:
    if (reward_space.low >= 0).all():
        return "good"
    return "burden" if (reward_space.high <= 0).all() else None


def _check_signs(judge: Judge, name: str, memory: Memory, reward_space: Box) -> None:
    """Refuses a welfare that has no value where the rewards or the memory can get."""
    form = judge.form
    if form is None or not form.needs_non_negative:
        return
    wanted = "burden" if form.of_loads else "good"
    if judge.kind == wanted and not memory.can_be_negative:
        return
    needed = "rewards of at most 0, which are loads" if form.of_loads else "utilities of at least 0"
    if judge.kind == wanted:
        cause = f"this memory can {'have either sign' if form.of_loads else 'fall below zero'}"
    else:
        sign, bound, side = (
            ("positive", reward_space.high, "up to") if form.of_loads else ("negative", reward_space.low, "from")
        )
        wrong = np.flatnonzero(bound > 0 if form.of_loads else bound < 0)
        named = [f"{i} ({side} {bound[i]:g})" for i in wrong]
        listed = ", ".join(named if len(named) < 6 else [*named[:3], f"and {len(named) - 3} more"])
        cause = f"the reward space allows {sign} rewards in component{'s' * (len(wrong) > 1)} {listed}"
    if judge.kind == "burden" and not memory.can_be_negative:
        way_out = "these rewards are burdens: use 'power_burden', 'generalized_gini', 'egalitarian' or 'utilitarian'"
    else:
        way_out = "use 'egalitarian', 'generalized_gini' or 'utilitarian', which take any sign"
    if not np.isfinite(reward_space.low).all() or not np.isfinite(reward_space.high).all():
        way_out += "; or pass the bounds of the rewards as reward_space, if they are known"
    raise ValueError(f"welfare {name} needs {needed}, but {cause}; {way_out}")


def plain(record: Info) -> Info:
    """The record with numbers in place of arrays without axes."""
    return {key: value if value.ndim else float(value) for key, value in record.items()}
