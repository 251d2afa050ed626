"""An audit as a page: who is owed what, how it developed, and what depends on the half-life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bygones._text import amount, counted
from bygones.audit import Audit, Trajectory
from bygones.kinds import words
from bygones.ledger.watch import SETTLED
from bygones.report.audit.audit_charts import (
    agents_chart,
    half_life_chart,
    half_life_name,
    percent,
    replay_chart,
    series_chart,
    share_chart,
)
from bygones.report.page import Block, Page, Section, Table, asset, fragment, write

SHOWN = 30
"""The most agents that have a row in a table or figure; of more, the most owed and the furthest ahead are shown."""

LISTED = 8
"""The number of conclusions that are listed at once; the others can be opened."""

_EXACT = "All numbers are exact sums over all events with exact decay; nothing is sampled or approximated."
_SEARCHED = (
    "Half-lives at which a conclusion changes are accurate to one part in a thousand, from sums on both sides of them."
)
_NOT_SEARCHED = (
    "A half-life at which a conclusion changes is known only to lie between two of the given half-lives; --refine yes "
    "searches for it."
)


def write_audit(audit: Audit, path: Path) -> Path:
    """Writes the audit as a self-contained HTML file."""
    return write(audit_page(audit), path)


def audit_page(audit: Audit) -> Page:
    """The page of an audit."""
    sections = [
        Section("Where everybody stands", _standings(audit)),
        Section("Over time", _over_time(audit)),
        Section("What depends on the half-life", _conclusions(audit), "half-life"),
    ]
    if audit.replays:
        sections.append(Section("If the allocator had decided", _replays(audit)))
    sections.append(Section("Data and method", _method(audit)))
    clock = audit.clock
    until = f"{clock.day(audit.first)} to {clock.day(audit.periods.end)}"
    return Page(
        title="Who is due what" if audit.kind == "burden" else "Who is owed what",
        lede=_lede(audit),
        sections=sections,
        kicker=f"{audit.label} · {counted(audit.n_events, 'event')} of {counted(len(audit.names), 'agent')} · {until}",
        footer="Made by bygones audit.",
        styles=[asset("audit/templates/audit.css")],
    )


def _lede(audit: Audit) -> str:
    most = next((each for each in audit.conclusions.found if each.kind == "most"), None)
    if most is None:
        return "No agent is present at the time of the audit."
    sentence = most.sentence(audit.clock.length_text)
    if not most.answers[min(most.answers)]:
        sentence = sentence[0].upper() + sentence[1:]  # it begins with "nobody", not with a name
    if len(most.flips) > 2:
        others = len({flip.after for flip in most.flips} - {most.flips[0].before, most.flips[-1].after})
        between = f", and {counted(others, 'other')} in between" if others else ""
        sentence = (
            f"Who is {_first(audit)} depends on the half-life: {most.flips[0].before} at the shortest, "
            f"{most.flips[-1].after} at the longest{between}."
        )
    found = audit.conclusions
    if not found.pairs or len(audit.standings) < 2:
        return sentence
    share = (found.pairs - (found.pairs_flip or 0)) / found.pairs
    kept = "All" if share == 1 else "None" if share == 0 else f"{share:.0%}"
    who = f"{kept} of the pairs of agents keep" if found.pairs > 1 else f"The two {'' if share else 'do not '}keep"
    return f"{sentence} {who} their order at all of the given half-lives."


def _standings(audit: Audit) -> list[Block]:
    return [
        f"Each agent's share of what is remembered, compared with {_share(audit)} (the vertical mark). An "
        f"agent to the left of its mark is {words(audit.kind).owed}; an agent to the right is ahead. The half-life "
        "determines how quickly the past fades.",
        share_chart(audit, _some(audit, audit.standings[0], present=True)),
        fragment(
            "audit/templates/standings.html.jinja",
            standings=[_standing_table(audit, stood) for stood in audit.standings],
            word=words(audit.kind),
            entitled="of the load" if audit.kind == "burden" else "entitled",
        ),
    ]


def _standing_table(audit: Audit, stood: Trajectory) -> dict[str, Any]:
    ranked, rows = audit.ranked(stood), _some(audit, stood)
    first = ranked[0]
    since = audit.since(stood, first)
    alike = int((stood.owed >= stood.owed[first] * (1 - SETTLED)).sum()) - 1
    who = f"{audit.names[first]} and {counted(alike, 'other')} are" if alike else f"{audit.names[first]} is"
    owed = words(audit.kind).owed
    most = f"{who} {_first(audit)}, since {audit.clock.day(since)}" if since is not None else f"nobody is {owed}"
    some = (
        f"The table shows the {SHOWN // 2} most {owed} and the {SHOWN // 2} furthest ahead."
        if len(rows) < len(ranked)
        else ""
    )
    return {
        "title": half_life_name(audit, stood).capitalize(),
        "summary": most,
        "note": " ".join(
            filter(
                None,
                (
                    audit.owed_note().replace("(-)", "(−)"),
                    audit.since_note(),
                    _unit(audit),
                    some,
                ),
            )
        ),
        "rows": [_standing_row(audit, stood, row) for row in rows],
    }


def _first(audit: Audit) -> str:
    return "due next" if audit.kind == "burden" else "owed most"


def _share(audit: Audit) -> str:
    return "its share of the load" if audit.kind == "burden" else "the share it is entitled to"


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
    """Whether an agent is owed or ahead; empty if it is away or at its entitled share."""
    return "owed" if owed > SETTLED * total else "ahead" if owed < -SETTLED * total else ""


def _over_time(audit: Audit) -> list[Block]:
    period = audit.clock.length_text(audit.periods.length)
    burden = audit.kind == "burden"
    what = "The lightest load and the geometric mean are" if burden else "Welfare is"
    blocks: list[Block] = [
        f"Inequality {'' if burden else 'and welfare '}of what is remembered, at the end of each period "
        f"({period}), under each half-life. {what} relative to the mean, since a "
        "longer half-life remembers more; 1 is equality."
    ]
    least = "The lightest load" if burden else "Egalitarian welfare: the smallest amount remembered"
    middle = (
        "The geometric mean of the loads" if burden else "Nash welfare: the geometric mean of the amounts remembered"
    )
    for name, title in (
        ("gini", "Gini coefficient: 0 is equality"),
        ("egalitarian", f"{least} remembered, relative to the mean"),
        ("nash", f"{middle} remembered, relative to the mean"),
    ):
        blocks.append(series_chart(audit, name, title))
    blocks.append(agents_chart(audit))
    return blocks


def _conclusions(audit: Audit) -> list[Block]:
    found = audit.conclusions
    blocks: list[Block] = []
    if len(found.asked) > 2 and found.notable:
        blocks.append(half_life_chart(audit))
    groups = [
        ("Depends on the half-life", [each.sentence(audit.clock.length_text) for each in found.flip]),
        ("Holds at all of the given half-lives", [f"{each.claim}." for each in found.informative]),
    ]
    shown = [group for group in groups if group[1]]
    blocks.append(fragment("audit/templates/conclusions.html.jinja", groups=shown, most=LISTED))
    if found.pairs and found.pairs > 1 and len(audit.standings) > 1:
        kept = found.pairs - (found.pairs_flip or 0)
        blocks.append(
            f"Of {found.pairs:,} pairs of agents, {kept:,} have the same order at all of the given half-lives."
        )
    return blocks


def _replays(audit: Audit) -> list[Block]:
    duration, received_word = audit.clock.length_text, words(audit.kind).received
    outcomes: list[list[object]] = []
    for each in audit.replays:
        for what, outcome in (("actual", each.actual), ("allocator", each.instead)):
            numbers = [outcome.gini, outcome.egalitarian, outcome.nash, outcome.total]
            outcomes.append([duration(each.half_life), what, *numbers, None if what == "actual" else each.differ])
    rows = _some(audit, audit.standings[-1])
    received = [
        [audit.names[row], float(audit.replays[0].actual.received[row]),
         *(float(each.instead.received[row]) for each in audit.replays)]
        for row in rows
    ]  # fmt: skip
    return [
        f"A replay of the {audit.replays[0].decisions:,} decisions with the same needs and the same number of agents "
        "served each time. The allocator chooses from what it would have remembered of its own decisions.",
        replay_chart(audit),
        Table(
            "The final result: Gini coefficient, minimum and geometric mean (Nash) of what is remembered.",
            ["half-life", "decisions", "Gini", "minimum", "Nash", f"total {received_word}", "different decisions"],
            outcomes,
        ),
        Table(
            f"What each agent {received_word} in total: actually, and from an allocator whose memory has each "
            "half-life.",
            ["agent", "actual", *(duration(each.half_life) for each in audit.replays)],
            received,
        ),
    ]


def _method(audit: Audit) -> list[Block]:
    clock = audit.clock
    late = audit.newcomers()
    newcomers = (
        f"{len(late):,} of {len(audit.names):,} agents joined after the first period; the newcomer rule is "
        f"{audit.members.newcomers}."
        if late
        else "All agents were present from the first period."
    )
    return [
        " ".join(audit.notes),
        f"The audit covers the time up to {clock.shown(audit.periods.end)}, in {audit.periods.count:,} periods of "
        f"{clock.length_text(audit.periods.length)}. {newcomers}",
        f"{_EXACT} {_SEARCHED if audit.conclusions.searched else _NOT_SEARCHED}",
    ]


def _some(audit: Audit, stood: Trajectory, *, present: bool = False) -> list[int]:
    """The rows to show, the most owed first; of many, those at both ends."""
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row] or not present]
    return ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], *ranked[-SHOWN // 2 :]]


def _visible(value: float, most: float) -> float:
    """The value, or zero if it is negligible beside the largest."""
    return float(value) if value > 1e-6 * most else 0.0


def _signed(owed: float, is_present: bool) -> str:
    return amount(owed, digits=4, sign=True).replace("-", "−") if is_present else ""
