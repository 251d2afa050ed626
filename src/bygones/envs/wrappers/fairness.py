r"""The paper's reward from vector rewards, $(1-\lambda)\sum_i u_i^t + \lambda\,(\delta\,W(Z^t) - W(Z^{t-1}))$.

As the paper writes it $\delta = 1$. With $\delta$ the discount factor of the learner, the second term is
potential-based shaping in the strict sense.
"""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from bygones import inequality
from bygones._arrays import Bools, Floats, check_between
from bygones.envs.batches import Info
from bygones.envs.wrappers.recall import Recall, over
from bygones.memory import Memory, PerfectRecall
from bygones.welfare import AnyWelfare, Welfare, as_judge, check_axis, judged, parse_welfare


class Fairness:
    """Judges the vector rewards of the running episodes, and keeps the record that the judgement rests on."""

    def __init__(
        self,
        memory: Memory,
        welfare: AnyWelfare,
        weight: float,
        shaping_discount: float,
        reward_space: Box,
        batch: tuple[int, ...] = (),
    ) -> None:
        n_agents = reward_space.shape[0]
        self.weight = float(check_between("weight", weight, 0.0, 1.0, "between 0 and 1"))
        self.discount = float(check_between("shaping_discount", shaping_discount, 0.0, 1.0, "between 0 and 1"))
        self.welfare = as_judge(welfare)
        self._remembered = Recall(memory, n_agents, batch)
        # The truth on the memory's own scale: totals, or means where the memory is an average.
        self._true = Recall(PerfectRecall(average=memory.average), n_agents, batch)
        _check_signs(self.welfare, str(parse_welfare(welfare)), memory, reward_space)
        self._has_shares = bool((reward_space.low >= 0).all())
        if batch:
            check_axis(self.welfare, n_agents)
        self._welfare_of_nothing = np.asarray(judged(self.welfare, self._remembered.values))
        self._welfare = self._welfare_of_nothing
        self._utilities: Floats = np.zeros(self._remembered.shape)

    def reward(self, rewards: ArrayLike) -> Floats:
        """The scalar reward of a step that brought this vector reward."""
        utilities = self._utilities = self._remembered.receive(rewards)
        self._true.receive(utilities)
        before, self._welfare = self._welfare, np.asarray(self.welfare(self._remembered.values))
        gained = self.discount * self._welfare - before
        return np.asarray((1 - self.weight) * utilities.sum(axis=-1) + self.weight * gained)

    def begin(self, which: Bools | bool = True) -> None:
        """Starts new episodes, in these entries of the batch."""
        self._remembered.forget(which)
        self._true.forget(which)
        self._welfare = np.where(over(which, self._welfare), self._welfare_of_nothing, self._welfare)

    def step_record(self) -> dict[str, Floats]:
        """The `info` of a step, in new arrays."""
        return {
            "utilities": self._utilities.copy(),
            "cumulative": np.array(self._true.state.Z),
            "memory": self._remembered.values,
            "welfare_memory": self._welfare.copy(),
        }

    def episode_record(self) -> dict[str, Floats]:
        """The metrics of an episode, the `episode_metrics` in the `info` of its last step."""
        record = {"welfare": np.asarray(self.welfare(self._true.values))}
        if self._has_shares:
            record["gini"] = np.asarray(inequality.gini(self._true.state.Z))
        return record


def _check_signs(welfare: Welfare, name: str, memory: Memory, reward_space: Box) -> None:
    """Refuses a welfare that has no value below zero where the memory can get there."""
    negative = np.flatnonzero(reward_space.low < 0)
    if not welfare.needs_non_negative or not (len(negative) or memory.can_be_negative):
        return
    cause = (
        f"the reward space allows negative rewards in component{'s' * (len(negative) > 1)} "
        f"{', '.join(f'{i} (from {reward_space.low[i]:g})' for i in negative)}"
        if len(negative)
        else "this memory can fall below zero"
    )
    raise ValueError(
        f"welfare {name} needs utilities of at least 0, but {cause}; "
        "use 'egalitarian' or 'utilitarian', which take any sign"
    )


def plain(record: Info) -> Info:
    """The record with numbers in place of arrays without axes."""
    return {key: value if value.ndim else float(value) for key, value in record.items()}
