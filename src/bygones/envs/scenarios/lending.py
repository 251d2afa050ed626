"""Loans for two groups of people, whose credit follows from whether they repay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_one_of, namespace
from bygones.envs.scenario import Most, Scenario, check_chances

BEST = 7
"""The highest credit."""


class Bank(NamedTuple):
    """Who applies, and the credit of each person."""

    applies: Array
    credit: Array


@dataclass(frozen=True)
class Lending(Scenario):
    r"""One loan at every step to one of four people, in two groups. People who repay have better credit tomorrow.

    ## Description
    Each person applies with probability $p_i$. The loan goes to one person, and is lost if that person did not apply. A
    person with credit c repays with probability (c + 2)/10 and then has credit c + 1, at most 7; otherwise c − 1, at
    least 0. The agents that are treated fairly are the two groups: the first half of the people and the second half.

    ## Source
    Alamdari, Klassen, Toro Icarte and McIlraith, "Remembering to Be Fair", 2024; `envs/lending.py` of
    praal/remembering-to-be-fair.

    ## Observation Space
    Who applies (0 or 1), the credit of each person divided by 7; then the memory, of the two groups.

    ## Action Space
    The person who is offered the loan.

    ## Utilities
    For each group, 1 if one of its people was given a loan, or with `counts="repaid"` if it was repaid.

    ## Starting State
    The credits of `credits`; each person applies with probability $p_i$.

    ## Arguments
    - `credits`: the credit of each person at the start, from 0 to 7.
    - `chances`: the probability of each person to apply.
    - `counts`: whether `"loans"` or `"repaid"` loans are utilities.

    ## Bound
    Per step no more loans than the probability that anybody applies, and for a group that anybody of it does.

    ## The original
    It rewards a step by minus the difference between the two groups' loans, by −T for a loan to someone who did not
    apply, and by −10T at the end if repaid loans less failed ones are fewer than T/10. Here the repayment matters only
    through the credit and `counts="repaid"`. Its experiments pass five probabilities for four people; the fifth is
    never used.
    """

    horizon: int = 100
    credits: tuple[int, ...] = (4, 4, 7, 7)
    chances: tuple[float, ...] = (0.9,) * 4
    counts: Literal["loans", "repaid"] = "loans"

    n_agents = 2
    n_noise = 5
    largest_utility, largest_seen = 1.0, 1.0
    features = ()
    shared = (*(f"person {i} applies" for i in range(4)), *(f"credit of person {i}" for i in range(4)))

    def check(self) -> None:
        check_chances("chances", self.chances)
        check_one_of("counts", self.counts, ("loans", "repaid"))
        for credit in self.credits:
            check_count("credits", credit, 0, BEST)
        if len(self.credits) != 4 or len(self.chances) != 4:
            raise ValueError(f"credits and chances must have four numbers, got {self.credits} and {self.chances}")

    def actions(self) -> Floats:
        """One row per person."""
        return np.eye(4)

    def start(self, noise: Array) -> Bank:
        xp = namespace(noise)
        return Bank(self._apply(noise), xp.asarray(self.credits, dtype=noise.dtype))

    def observe(self, state: Bank) -> Array:
        return namespace(state.credit).concatenate([state.applies, state.credit / BEST])

    def advance(self, noise: Array, state: Bank, action: Array) -> tuple[Bank, Array]:
        xp = namespace(noise)
        lent = action * state.applies
        repaid = noise[0] <= (state.credit + 2) / 10
        moved = xp.clip(state.credit + xp.where(repaid, 1.0, -1.0), 0, BEST)
        counted = lent * repaid if self.counts == "repaid" else lent
        bank = Bank(self._apply(noise), xp.where(lent > 0, moved, state.credit).astype(noise.dtype))
        return bank, counted.reshape((2, 2)).sum(axis=-1).astype(noise.dtype)

    def revealed(self, seen: Array, guess: Bank) -> Bank | None:
        return None if self.counts == "repaid" else Bank(seen[:4], seen[4:] * BEST)

    def brings(self, seen: Floats) -> Floats | None:
        if self.counts == "repaid":
            return None
        lent = self.actions() * seen[:, None, :4]
        return np.asarray(lent.reshape((*lent.shape[:2], 2, 2)).sum(axis=-1))

    def most(self) -> Most:
        nobody = 1 - np.array(self.chances).reshape(2, 2)
        return Most(float(1 - nobody.prod()), 1 - nobody.prod(axis=1))

    def _apply(self, noise: Array) -> Array:
        """Who applies: the first number of the noise is for the repayment, the others are for the people."""
        return (noise[1:] <= namespace(noise).asarray(self.chances, dtype=noise.dtype)).astype(noise.dtype)
