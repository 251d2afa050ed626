"""A decision as notebooks show it: who gets what, where everybody stood and stands, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bygones._html import bullets, card, table

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision


def as_html(decision: Decision, reasons: Sequence[str]) -> str:
    """The decision as a table with a row per agent, those who are served first, and its reasons."""
    before, after = np.asarray(decision.before, dtype=float), np.asarray(decision.after, dtype=float)
    names, gets, served = decision.agent_names, decision.gets, set(decision.served.tolist())
    order = sorted(range(len(names)), key=lambda agent: (agent not in served, before[agent]))
    carried = decision.problem.is_burden
    columns = ["agent", "carries" if carried else "gets", "remembered before", "after"]
    extra: dict[str, np.ndarray] = {}
    if decision.entitlements is not None:
        extra["share of the load" if carried else "entitlement"] = decision.entitlements
    if decision.prices is not None:
        extra["price"] = decision.prices
    rows = [
        [
            names[agent],
            gets[names[agent]] if agent in served else "",
            float(before[agent]),
            float(after[agent]),
            *(float(values[agent]) for values in extra.values()),
        ]
        for agent in order
    ]
    title, *why = reasons
    return card(title, table([*columns, *extra], rows), bullets(why), name="Decision")
