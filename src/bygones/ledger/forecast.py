"""Forecasts of the next decisions for a newcomer, one for each newcomer rule.

The forecast assumes that places worth the same to everyone are assigned again and again, and that every agent present
asks for one. For burdens, it assumes that every agent present can take one. A newcomer who starts with zero gets more
than their share until they have caught up. That is welcome for goods and unwelcome for burdens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bygones._arrays import check_between, check_count
from bygones._text import counted
from bygones.allocation import ChooseK, allocate
from bygones.document.document import Cell, Column, Document, Table
from bygones.kinds import words
from bygones.ledger.actions.decisions import memory_of
from bygones.ledger.model.rules import NEWCOMER_RULES, Rules, check_entitlement, check_newcomers
from bygones.ledger.model.standing import Standing, newcomer_start
from bygones.ledger.model.times import UNITS, duration
from bygones.memory import MemoryState


@dataclass(frozen=True)
class Forecast:
    """The effect of one newcomer rule, decision by decision; the first entry is before any decision.

    Attributes:
        rule: the rule.
        start: the remembered utility that the newcomer starts with.
        received: the newcomer's true total since joining.
        remembered: the newcomer's remembered utility.
        others: the mean remembered utility of the others.
    """

    rule: str
    start: float
    received: np.ndarray
    remembered: np.ndarray
    others: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """The forecast, of the types that JSON has."""
        lists = {name: getattr(self, name).tolist() for name in ("received", "remembered", "others")}
        return {"rule": self.rule, "start": self.start, **lists}


def foresee_all(stood: Standing, *, number: float | None = None, **future: Any) -> list[Forecast]:
    """The forecasts for every newcomer rule, and for starting with a number; see `foresee`."""
    rules = (*NEWCOMER_RULES, *(() if number is None else (check_newcomers(number),)))
    return [foresee(stood, rule, **future) for rule in rules]


def foresee(
    stood: Standing,
    rule: str,
    *,
    agent: str,
    decisions: int = 30,
    every: str = "1d",
    places: int = 1,
    worth: float = 1.0,
    entitlement: float = 1.0,
    seed: int = 0,
) -> Forecast:
    """The next decisions if an agent joined now under this rule.

    Args:
        stood: the standing now.
        rule: the newcomer rule.
        agent: who would join; must not be present.
        decisions: how many decisions to forecast.
        every: the time between two of them.
        places: how many are served each time.
        worth: the worth of a place.
        entitlement: the newcomer's.
        seed: draws among ties.
    """
    check_count("decisions", decisions, most=10_000)
    check_count("places", places, most=1_000_000)
    check_between("worth", worth, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)
    check_entitlement(entitlement, agent, stood.rules.kind)
    status = dict(zip(stood.names, stood.status, strict=True)).get(agent, "away")
    if status != "away":
        raise ValueError(f"agent must be someone who has not joined yet, got {agent!r}, who is {status}")
    if not stood.rules.fades_alike:
        raise ValueError(
            f"newcomer rules can be compared only with one half-life for all agents and no cap, got "
            f"{stood.rules.memory_in_words}"
        )
    present = stood.present
    start = newcomer_start(stood, rule, entitlement)
    if agent in stood.names:
        start = max(start, float(stood.remembered[stood.names.index(agent)]))
    weights = np.append(stood.entitlements[present], entitlement)
    memory, elapsed = memory_of(stood.rules), duration(every, "every") / UNITS["d"]
    Z = np.append(stood.remembered[present], start)
    state = MemoryState(Z, np.zeros(()), np.zeros_like(Z), np.zeros(()))
    needs, rng = np.full(len(Z), worth), np.random.default_rng(seed)
    received, remembered = [0.0], [Z]
    for _ in range(decisions):
        decision = allocate(
            ChooseK(needs, min(places, len(Z)), kind=stood.rules.kind), memory, state, stood.rules.welfare,
            elapsed=elapsed, entitlements=weights, rng=rng,
        )  # fmt: skip
        state = decision.state_after
        received.append(received[-1] + float(decision.utilities[-1]))
        remembered.append(np.asarray(memory.read(state)))
    history = np.array(remembered)
    others = history[:, :-1].mean(axis=1) if len(present) else np.zeros(len(history))
    return Forecast(rule, start, np.array(received), history[:, -1], others)


def forecasts_document(agent: str, forecasts: Sequence[Forecast], entitled: float, rules: Rules) -> Document:
    """The outcome of each newcomer rule, next to the newcomer's fair share."""
    word, thing = words(rules.kind), rules.handed_out
    columns = [
        Column("newcomer rule"), Column(thing.with_unit("starts with")),
        Column(thing.with_unit(f"would {word.receive}"), measure="total"),
        Column(thing.with_unit("fair share"), measure="total"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [[each.rule, each.start, float(each.received[-1]), entitled] for each in forecasts]
    chosen = frozenset(i for i, each in enumerate(forecasts) if each.rule == rules.newcomers)
    note = f"Fair share: the {word.share} in these decisions.{' The arrow marks the rule in force.' if chosen else ''}"
    decisions = counted(len(forecasts[0].received) - 1, "decision")
    return Document(f"{agent} over the next {decisions}", [Table("", columns, rows, chosen, note)], "Forecast")
