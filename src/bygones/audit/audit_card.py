"""An audit as notebooks show it: what to conclude, and the numbers behind it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bygones._html import Markup, bar, bullets, card, heading, note, table
from bygones._text import counted
from bygones.audit.groups import grouped, settled
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.audit.findings import Audit
    from bygones.audit.trajectory import Trajectory

MOST_SENTENCES = 5
"""The most conclusions that are shown of each kind."""


def audit_html(audit: Audit) -> str:
    """The audit: what to do next, what holds, what depends on the half-life, and the standing under each half-life."""
    clock = audit.clock
    size = f"{counted(audit.n_events, 'event')} for {counted(len(audit.names), 'agent')}"
    title = f"{audit.label}: {size}, from {clock.shown(audit.first)} to {clock.shown(audit.periods.end)}"
    parts = [note(audit.entitlement_note())]
    for group in grouped(audit):
        more = max(0, len(group.sentences) - MOST_SENTENCES) + group.unlisted
        parts += [heading(group.title), bullets(group.sentences[:MOST_SENTENCES])]
        parts += [note(f"and {more:,} more")] if more else []
    for trajectory in audit.standings:
        counts = "nothing fades" if math.isinf(trajectory.half_life) else clock.length_text(trajectory.half_life)
        parts += [heading(f"Standing, half-life {counts}" if counts[0].isdigit() else f"Standing, {counts}")]
        parts += [_standing(audit, trajectory)]
    return card(title, *parts, name="Audit")


def _standing(audit: Audit, trajectory: Trajectory) -> Markup:
    word, total = words(audit.kind), float(trajectory.remembered.sum())
    most = max(trajectory.remembered.max(initial=0.0), 0.0) or 1.0
    rows = []
    for row in audit.ranked(trajectory):
        since, owed = audit.since(trajectory, row), float(trajectory.owed[row])
        rows.append([
            audit.names[row],
            settled(float(audit.received[row]), total),
            settled(float(trajectory.remembered[row]), total),
            bar(trajectory.remembered[row] / most),
            audit.statuses[row] if math.isnan(owed) else settled(owed, total, sign=True),
            "" if since is None else audit.clock.day(since),
        ])  # fmt: skip
    return table(["agent", word.received, "remembered", "", word.owed, f"{word.owed} since"], rows)
