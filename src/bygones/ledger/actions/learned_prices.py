"""Prices that a ledger learns from its own past decisions.

Every decision stores its request with everyone's needs, so the needs of the past are in the ledger. Prices are learned
from the latest of them at each decision, which takes a fraction of a second. Nothing else has to be kept: prices follow
from the recorded requests, no matter who joined, left or was on hold since. They fit the welfare in force now, and any
copy of the ledger computes the same prices. Only the needs count and not the assignments, so prices can be learned from
decisions that were made one step at a time, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import numpy as np
import sqlalchemy as sa

from bygones._text import counted
from bygones.allocation.calibration import Learned, calibrate_by_name
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import problem_from
from bygones.ledger.model.events import DECISIONS, RECEIVED
from bygones.ledger.model.rules import Rules
from bygones.ledger.storage import schema
from bygones.ledger.storage.revised_table import corrects, in_effect
from bygones.memory import PerfectRecall

LATEST = 300
"""As many decisions are learned from. More would make prices hardly better, and needs change."""


def learned(requests: Sequence[Problem], rules: Rules, agents: Sequence[str]) -> Learned | None:
    """The prices of these agents from past requests; None if there is nothing to learn from yet."""
    return calibrate_by_name(
        requests, agents, PerfectRecall(), rules.welfare, kind=rules.kind, entitlements=rules.entitlements
    )


def described(learned: Learned | None) -> str:
    """The decisions from which the prices were learned, in words."""
    count = 0 if learned is None else learned.requests
    if count == LATEST:
        return f"the last {LATEST} decisions"
    return "the decision before" if count == 1 else f"the {counted(count, 'decision')} before"


def steps_like(problem: Problem, remembered: np.ndarray) -> float:
    """How many decisions are remembered, in decisions like this one, whatever the days between them."""
    a_step = problem.worth_once * problem.share_served
    return float(remembered.mean()) / a_step if a_step > 0 else 0.0


def requests(connection: sa.Connection, at: int, head: int, without: Collection[int] = ()) -> list[Problem]:
    """The requests of the latest decisions up to an instant, in the order of time.

    Decisions of which everything has been taken back are left out.

    Args:
        connection: the ledger.
        at: the instant.
        head: the number of the last event that is known.
        without: decisions that are not to be learned from.
    """
    table = schema.events
    query = sa.select(table.c.seq, table.c.details).where(
        table.c.kind.in_(DECISIONS), table.c.time <= at, table.c.seq.not_in(without), in_effect(head=head)
    )
    latest = connection.execute(query.order_by(table.c.time.desc(), table.c.seq.desc()).limit(LATEST)).all()[::-1]
    taken_back = _taken_back(connection, [row.seq for row in latest], head)
    asked = [problem_from(json.loads(row.details)["request"]) for row in latest if row.seq not in taken_back]
    return [request for request in asked if request is not None]


def _taken_back(connection: sa.Connection, decisions: Sequence[int], head: int) -> set[int]:
    """The decisions of which everything received has been void or corrected to nothing since."""
    table, instead = schema.events, schema.revised
    counts = sa.func.coalesce(instead.c.amount, table.c.amount)
    query = (
        sa.select(table.c.refers, in_effect(head=head), instead.c.amount.is_(None) | (counts != 0.0))
        .outerjoin_from(table, instead, corrects(head=head))
        .where(table.c.kind.in_(RECEIVED), table.c.refers.in_(decisions), table.c.seq <= head)
    )
    stands: set[int] = set()
    back: set[int] = set()
    for decision, is_in_effect, is_something in connection.execute(query):
        (stands if is_in_effect and is_something else back).add(decision)
    return back - stands
