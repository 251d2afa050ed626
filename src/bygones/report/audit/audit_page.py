"""An audit as a page: who is owed what, how it came to that, and what depends on the half-life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bygones._text import amount, counted
from bygones.audit import Audit, Trajectory
from bygones.ledger.watch import SETTLED
from bygones.report.audit.audit_charts import (
    agents_chart,
    half_life_chart,
    half_life_text,
    percent,
    replay_chart,
    series_chart,
    share_chart,
)
from bygones.report.page import Block, Page, Section, Table, asset, fragment, write

SHOWN = 30
"""As many agents have a row in a table or figure; of more, those most owed and those furthest ahead."""

LISTED = 8
"""As many conclusions are listed at once; the others on request."""

_EXACT = "Every number follows from sums over all events, decayed exactly: nothing is sampled or approximated."
_SEARCHED = (
    "Where a conclusion flips at a half-life, that half-life is known to one part in a thousand, from sums on both "
    "sides of it."
)
_NOT_SEARCHED = (
    "Where a conclusion flips is only known to lie between two half-lives asked for; with --refine yes it is searched "
    "for."
)


def write_audit(audit: Audit, path: Path) -> Path:
    """Writes the audit as one HTML file that needs nothing else."""
    return write(audit_page(audit), path)


def audit_page(audit: Audit) -> Page:
    """The page of an audit."""
    sections = [
        Section("Where everybody stands", _standings(audit)),
        Section("Over time", _over_time(audit)),
        Section("What depends on the half-life", _conclusions(audit), "half-life"),
    ]
    if audit.replays:
        sections.append(Section("Had the allocator decided", _replays(audit)))
    sections.append(Section("What was looked at", _method(audit)))
    clock = audit.clock
    until = f"{clock.day(audit.first)} to {clock.day(audit.periods.end)}"
    return Page(
        title="Who is owed what",
        lede=_lede(audit),
        sections=sections,
        kicker=f"{audit.label} · {counted(audit.n_events, 'event')} of {counted(len(audit.names), 'agent')} · {until}",
        footer="Made by bygones audit.",
        styles=[asset("audit.css")],
    )


def _lede(audit: Audit) -> str:
    most = next((each for each in audit.conclusions.found if each.kind == "most"), None)
    if most is None:
        return "Nobody takes part at the moment of the audit."
    sentence = most.sentence(audit.clock.length_text)
    if not most.answers[min(most.answers)]:
        sentence = sentence[0].upper() + sentence[1:]  # it begins with nobody, not with a name
    if len(most.flips) > 2:
        others = len({flip.after for flip in most.flips} - {most.flips[0].before, most.flips[-1].after})
        between = f", and {counted(others, 'other')} between" if others else ""
        sentence = (
            f"Who is owed most depends on the half-life: {most.flips[0].before} at the shortest, "
            f"{most.flips[-1].after} at the longest{between}."
        )
    found = audit.conclusions
    if not found.pairs or len(audit.standings) < 2:
        return sentence
    share = (found.pairs - (found.pairs_flip or 0)) / found.pairs
    kept = "All" if share == 1 else "None" if share == 0 else f"{share:.0%}"
    who = f"{kept} of the pairs of agents keep" if found.pairs > 1 else f"The two {'' if share else 'do not '}keep"
    return f"{sentence} {who} their order at every half-life asked for."


def _standings(audit: Audit) -> list[Block]:
    return [
        "What is remembered of each agent as a share of all, against the share each is entitled to (the upright mark). "
        "To the left of the mark somebody has had too little lately, to the right too much; what lately means is the "
        "half-life.",
        share_chart(audit, _some(audit, audit.standings[0], present=True)),
        fragment("audit_standings.html.jinja", standings=[_standing_table(audit, stood) for stood in audit.standings]),
    ]


def _standing_table(audit: Audit, stood: Trajectory) -> dict[str, Any]:
    ranked, rows = audit.ranked(stood), _some(audit, stood)
    first = ranked[0]
    since = audit.since(stood, first)
    alike = int((stood.owed >= stood.owed[first] * (1 - SETTLED)).sum()) - 1
    who = f"{audit.names[first]} and {counted(alike, 'other')} are" if alike else f"{audit.names[first]} is"
    most = f"{who} owed most, since {audit.clock.day(since)}" if since is not None else "nobody is owed"
    some = f"The {SHOWN // 2} most owed and the {SHOWN // 2} furthest ahead." if len(rows) < len(ranked) else ""
    return {
        "title": half_life_text(audit, stood).capitalize(),
        "summary": most,
        "note": " ".join(
            filter(
                None,
                (
                    "Owed: what is missing (+) or in excess (−) of the entitled share of all that is remembered.",
                    audit.since_note(),
                    _unit(audit),
                    some,
                ),
            )
        ),
        "rows": [_standing_row(audit, stood, row) for row in rows],
    }


def _unit(audit: Audit) -> str:
    return "" if audit.utility in ("utility", "amount") else f"Amounts: {audit.utility}."


def _standing_row(audit: Audit, stood: Trajectory, row: int) -> dict[str, Any]:
    since = audit.since(stood, row)
    return {
        "agent": audit.names[row],
        "owed": _signed(stood.owed[row], bool(audit.is_present[row])),
        "side": _side(float(stood.owed[row]), float(stood.remembered.sum())),
        "since": "" if since is None else audit.clock.day(since),
        "share": percent(stood.share[row]),
        "entitled": percent(audit.entitled[row]),
        "remembered": _visible(stood.remembered[row], stood.remembered.max()),
        "received": float(audit.received[row]),
    }


def _side(owed: float, total: float) -> str:
    """On which side of the entitled share somebody is: neither, where they are away or next to it."""
    return "owed" if owed > SETTLED * total else "ahead" if owed < -SETTLED * total else ""


def _over_time(audit: Audit) -> list[Block]:
    blocks: list[Block] = [
        f"How equal what is remembered was at the end of each {audit.clock.length_text(audit.periods.length)}, under "
        "each half-life. Welfare is drawn relative to the mean, since a longer half-life remembers more: 1 is equality."
    ]
    for name, title in (
        ("gini", "Gini coefficient: 0 is equality"),
        ("egalitarian", "Egalitarian welfare: the least that is remembered of anybody, relative to the mean"),
        ("nash", "Nash welfare: the geometric mean of what is remembered, relative to the mean"),
    ):
        blocks.append(series_chart(audit, name, title))
    blocks.append(agents_chart(audit))
    return blocks


def _conclusions(audit: Audit) -> list[Block]:
    found, text = audit.conclusions, audit.clock.length_text
    blocks: list[Block] = []
    if len(found.asked) > 2 and found.notable:
        blocks.append(half_life_chart(audit))
    groups = [
        ("Depends on the half-life", [each.sentence(text) for each in found.flip]),
        ("Holds at every half-life asked for", [f"{each.claim}." for each in found.informative]),
    ]
    blocks.append(fragment("audit_conclusions.html.jinja", groups=[group for group in groups if group[1]], most=LISTED))
    if found.pairs and found.pairs > 1 and len(audit.standings) > 1:
        kept = found.pairs - (found.pairs_flip or 0)
        blocks.append(
            f"Of {found.pairs:,} pairs of agents {kept:,} are in the same order at every half-life asked for."
        )
    return blocks


def _replays(audit: Audit) -> list[Block]:
    text = audit.clock.length_text
    came_to: list[list[object]] = []
    for each in audit.replays:
        for what, outcome in (("as it was", each.actual), ("allocator", each.instead)):
            numbers = [outcome.gini, outcome.egalitarian, outcome.nash, outcome.total]
            came_to.append([text(each.half_life), what, *numbers, None if what == "as it was" else each.differ])
    rows = _some(audit, audit.standings[-1])
    received = [
        [audit.names[row], float(audit.replays[0].actual.received[row]),
         *(float(each.instead.received[row]) for each in audit.replays)]
        for row in rows
    ]  # fmt: skip
    return [
        "The same needs, and as many served each time, but chosen by the allocator from what it would have remembered "
        f"of its own decisions. There were {audit.replays[0].decisions:,} decisions.",
        replay_chart(audit),
        Table(
            "What it came to in the end: Gini, least and Nash (the geometric mean) of what is remembered.",
            ["half-life", "decided", "Gini", "least", "Nash", "received, all", "decisions that differ"],
            came_to,
        ),
        Table(
            "What each received in all, as it was and had the allocator decided with a memory of each half-life.",
            ["agent", "as it was", *(text(each.half_life) for each in audit.replays)],
            received,
        ),
    ]


def _method(audit: Audit) -> list[Block]:
    clock = audit.clock
    late = audit.newcomers()
    newcomers = (
        f"{len(late):,} of {len(audit.names):,} agents came after the first period; newcomers start with "
        f"{audit.members.newcomers}."
        if late
        else "All agents were there from the first period on."
    )
    return [
        " ".join(audit.notes),
        f"Looked at up to {clock.shown(audit.periods.end)}, in {audit.periods.count:,} periods of "
        f"{clock.length_text(audit.periods.length)}. {newcomers}",
        f"{_EXACT} {_SEARCHED if audit.conclusions.searched else _NOT_SEARCHED}",
    ]


def _some(audit: Audit, stood: Trajectory, *, present: bool = False) -> list[int]:
    """The rows that are shown, the most owed first; of many, the two ends."""
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row] or not present]
    return ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], *ranked[-SHOWN // 2 :]]


def _visible(value: float, most: float) -> float:
    """The value, or zero where it is next to nothing beside the largest."""
    return float(value) if value > 1e-6 * most else 0.0


def _signed(owed: float, is_present: bool) -> str:
    return amount(owed, digits=4, sign=True).replace("-", "−") if is_present else ""
