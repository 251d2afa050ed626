"""An audit as a page: who is owed what, how it developed, and what depends on the half-life."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bygones._text import amount, counted, listed
from bygones.audit import Audit, Clock, Trajectory, WhatIf
from bygones.audit.measure.conclusions import TIED
from bygones.audit.measure.findings import MEASURES, AgentStanding
from bygones.audit.measure.groups import Group, compared_note, grouped, settled
from bygones.kinds import words
from bygones.ledger.model.owed_since import SETTLED
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
"""The most agents in a figure; of more, the most owed and the furthest ahead are drawn. Tables have all agents."""

ROWS = 50
"""The number of agents that the table shows at once; the others are found by searching, sorting or `show all`."""

LISTED = 3
"""The most conclusions of a group that are listed at once; the others can be opened."""

AT_ONCE = 400
"""How many characters of conclusions are shown at once: what fits on the screen of a phone beside the headings."""

_EXACT = "All numbers are exact sums over all events with exact decay; nothing is sampled."
_LASTING = " Usage that lasts is integrated over the time it lasts."
_SEARCHED = "A half-life at which a conclusion changes, given as one number, is accurate to one part in a thousand"
_RANGES = "; where a range is given, it lies somewhere in it"
_NOT_SEARCHED = (
    "A half-life at which a conclusion changes is known only to lie between two of the given half-lives; --refine yes "
    "searches for it."
)

GLOSSARY = {
    "good": {
        "agent": "Someone or something that may receive: a person, a team, a place.",
        "received": "The true total. It never fades.",
        "half-life": "The time after which something received counts half.",
        "remembered": "What of the past still counts under a half-life.",
        "entitlement": "How much an agent may expect relative to the others; its entitled share is its part of all.",
        "owed": "How far an agent is below its entitled share of everything remembered.",
        "ahead": "How far it is above that share.",
        "per unit": "Per unit of entitlement, such as per head. Agents are ranked by it.",
        "comes before": "Is owed more per unit of entitlement, or is less far ahead: it would be served first.",
        "Gini coefficient": "How unequal it is: 0 if all have the same per unit of entitlement.",
    },
    "burden": {
        "agent": "Someone who may carry: a person, a team.",
        "carried": "The true total. It never fades.",
        "half-life": "The time after which something carried counts half.",
        "remembered": "What of the past still counts under a half-life.",
        "share of the load": "How much an agent is to carry relative to the others; 0 is exempt.",
        "due": "How far an agent is below its share of everything remembered: it carries next.",
        "ahead": "How far it is above that share: it has carried more.",
        "per unit": "Per unit of the share of the load. Agents are ranked by it.",
        "due before": "Is further below its share, and so carries first.",
        "Gini coefficient": "How unequal it is: 0 if all have carried the same for their share.",
    },
}
"""What the words of the page mean, for goods and for burdens."""


def write_audit(audit: Audit, path: Path) -> Path:
    """Writes the audit as a self-contained HTML file."""
    return write(audit_page(audit), path)


def audit_page(audit: Audit) -> Page:
    """The page of an audit."""
    sections = [
        Section("In short", _conclusions(audit)),
        Section("Where everybody stands", _standings(audit)),
        Section("What depends on the half-life", _half_lives(audit), "half-life"),
        Section("Over time", _over_time(audit)),
    ]
    if audit.what_if is not None:
        sections.append(Section("If the rule had decided", _what_if(audit, audit.what_if)))
    sections.append(Section("Data and method", _method(audit)))
    words_used = fragment("audit/templates/glossary.html.jinja", words=GLOSSARY[audit.kind])
    sections.append(Section("Words", [words_used], "words"))
    clock = audit.clock
    until = f"{clock.day(audit.first)} to {clock.day(audit.periods.end)}"
    return Page(
        title=audit.title or ("Who is due what" if audit.kind == "burden" else "Who is owed what"),
        lede=_lede(audit),
        sections=[section for section in sections if section.blocks],
        kicker=f"{audit.label} · {counted(audit.n_events, 'event')} of {counted(len(audit.names), 'agent')} · {until}",
        footer="Made by bygones audit.",
        data={"standings": _standings_data(audit)},
        scripts=[asset("audit/templates/standings.js")],
        styles=[asset("audit/templates/audit.css")],
    )


def _lede(audit: Audit) -> str:
    most = next((each for each in audit.conclusions.found if each.kind == "most"), None)
    if most is None:
        return "No agent is present at the time of the audit."
    if int(audit.is_present.sum()) == 1:
        return "Only one agent takes part, so there is nobody to compare with."
    first = most.sentence(audit.clock.length_text)
    if first.startswith(("nobody", "no agent")):
        first = first[0].upper() + first[1:]
    assumed = f"{audit.entitlement_note()} " if audit.equal_assumed else ""
    found = audit.conclusions
    if not found.pairs or len(audit.standings) < 2:
        return f"{assumed}{first}"
    flips, every = found.pairs_flip or 0, "every half-life" if found.searched else "each half-life compared"
    if found.pairs == 1:
        order = f"Their order {'depends on the half-life' if flips else f'is the same at {every}'}."
    elif flips:
        order = f"The order of {flips:,} of the {found.pairs:,} pairs of agents depends on the half-life."
    else:
        order = f"All {found.pairs:,} pairs of agents have the same order at {every}."
    return f"{assumed}{first} {order}"


def _standings(audit: Audit) -> list[Block]:
    return [
        f"Each agent's share of what is remembered, compared with {_share(audit)} (the vertical mark). An "
        f"agent to the left of its mark is {words(audit.kind).owed}; an agent to the right is ahead. The half-life "
        "determines how quickly the past fades.",
        share_chart(audit, _some(audit, audit.standings[0], present=True)),
        fragment(
            "audit/templates/standings.html.jinja",
            half_lives=[half_life_name(audit, stood) for stood in audit.standings],
            word=words(audit.kind),
            entitled="of the load" if audit.kind == "burden" else "entitled",
            per_unit=audit.per_unit,
            factors=[(column, column.replace("_", " ")) for column in audit.rows(audit.standings[0], [0])[0].factors],
            note=" ".join(filter(None, (audit.owed_note().replace("(-)", "(−)"), audit.since_note(), _unit(audit)))),
            rows=_standing_rows(audit, audit.standings[0])[:ROWS],
            shown=ROWS,
            n_agents=len(audit.names),
        ),
    ]


def _standings_data(audit: Audit) -> dict[str, Any]:
    """All agents under all half-lives, for the table that can be searched, sorted and downloaded."""
    return {
        "shown": ROWS,
        "half_lives": [audit.clock.length_text(stood.half_life) for stood in audit.standings],
        "unit": audit.unit,
        "words": {"owed": words(audit.kind).owed, "received": words(audit.kind).received},
        "per_unit": audit.per_unit,
        "rows": [_standing_rows(audit, stood) for stood in audit.standings],
    }


def _share(audit: Audit) -> str:
    return "its share of the load" if audit.kind == "burden" else "the share it is entitled to"


def _unit(audit: Audit) -> str:
    return f"Amounts: {audit.unit}." if audit.unit else ""


def _standing_rows(audit: Audit, stood: Trajectory) -> list[dict[str, Any]]:
    """All agents under a half-life, the most owed first, for people and as numbers."""
    total = float(stood.remembered.sum())
    return [_standing_row(row, total, audit.clock) for row in audit.rows(stood)]


def _standing_row(row: AgentStanding, total: float, clock: Clock) -> dict[str, Any]:
    owed = None if row.owed is None else 0.0 if abs(row.owed) <= SETTLED * total else row.owed
    return {
        "agent": row.agent,
        "side": "owed" if owed and owed > 0 else "ahead" if owed else "",
        "shown": {
            "owed": _signed(owed),
            "per_unit": _signed(row.owed_per_unit if owed else owed),
            "since": "" if row.owed_since is None else clock.day(row.owed_since),
            "share": percent(row.share, row.status),
            "entitled": percent(row.entitled_share),
            "remembered": settled(row.remembered, total, digits=4),
            "received": settled(row.received, total, digits=4),
            **{column: "" if factor is None else f"{factor:.2f}" for column, factor in row.factors.items()},
        },
        "number": {
            "owed": owed,
            "per_unit": row.owed_per_unit,
            "since": None if row.owed_since is None else clock.json_time(row.owed_since),
            "share": row.share,
            "entitled": row.entitled_share,
            "remembered": row.remembered,
            "received": row.received,
            **row.factors,
        },
    }


def _over_time(audit: Audit) -> list[Block]:
    period = audit.clock.length_text(audit.periods.length)
    burden = audit.kind == "burden"
    what = "The heaviest load is" if burden else "Welfare is"
    blocks: list[Block] = [
        f"Inequality {'and the heaviest load' if burden else 'and welfare'} of what is remembered, at the end of each "
        f"period ({period}), under each half-life. {what} relative to the mean, since a longer half-life remembers "
        "more; 1 is equality."
    ]
    measures = {
        "gini": "Gini coefficient: 0 is equality",
        "heaviest": "The heaviest load remembered, relative to the mean",
        "egalitarian": "Egalitarian welfare: the smallest amount remembered, relative to the mean",
        "nash": "Nash welfare: the geometric mean of the amounts remembered, relative to the mean",
    }
    blocks += [series_chart(audit, name, measures[name]) for name in MEASURES[audit.kind] if name != "mean"]
    blocks.append(agents_chart(audit))
    return blocks


def _conclusions(audit: Audit) -> list[Block]:
    groups = grouped(audit) if int(audit.is_present.sum()) > 1 else []
    blocks: list[Block] = [*audit.remarks]
    if not audit.equal_assumed:
        blocks.append(audit.entitlement_note())
    if groups:
        blocks.append(fragment("audit/templates/conclusions.html.jinja", groups=opened(groups)))
    if audit.conclusions.pairs is None:
        blocks.append(compared_note(audit))
    return blocks


def opened(groups: Sequence[Group]) -> list[tuple[Group, int]]:
    """How many sentences of each group are shown at once: as many as fit, the first group first, and at least one."""
    left = AT_ONCE
    found: list[tuple[Group, int]] = []
    for group in groups:
        most = 0
        while most < min(LISTED, len(group.sentences)) and (len(group.sentences[most]) <= left or not (found or most)):
            left -= len(group.sentences[most])
            most += 1
        # What follows is less important, so it does not take the room that was too small here.
        left = left if most == len(group.sentences) or most == LISTED else 0
        found.append((group, most))
    return found


def _half_lives(audit: Audit) -> list[Block]:
    found = audit.conclusions
    return [half_life_chart(audit)] if len(found.asked) > 2 and found.notable else []


def _what_if(audit: Audit, what_if: WhatIf) -> list[Block]:
    duration, received_word = audit.clock.length_text, words(audit.kind).received
    burden = audit.kind == "burden"
    measures = {"gini": "Gini", "heaviest": "heaviest"} if burden else {"gini": "Gini", "egalitarian": "minimum"}
    measures |= {} if burden else {"nash": "Nash"}
    outcomes: list[list[object]] = []
    for course in what_if.courses:
        (run,) = course.runs
        numbers = [*(getattr(run, name) for name in measures), run.total]
        what, differ = ("actual", None) if course.is_actual else ("rule", int(course.differ.low))
        outcomes.append([duration(course.memory.length), what, *numbers, differ])
    actual, alternatives = what_if.courses[0], what_if.alternatives()
    received = [
        [audit.names[row], *(float(course.received[row]) for course in (actual, *alternatives))]
        for row in _some(audit, audit.standings[-1])
    ]
    return [
        f"A replay of the {what_if.decisions:,} decisions with the same needs and the same number of agents "
        "served each time. The rule chooses from what it would have remembered of its own decisions.",
        replay_chart(what_if),
        Table(
            f"The final result, of what is remembered: {listed(list(measures.values()))}.",
            ["half-life", "decisions", *measures.values(), f"total {received_word}", "different decisions"],
            outcomes,
        ),
        Table(
            f"What each agent {received_word} in total: actually, and from a rule whose memory has each half-life.",
            ["agent", "actual", *(duration(course.memory.length) for course in alternatives)],
            received,
        ),
    ]


def _method(audit: Audit) -> list[Block]:
    clock = audit.clock
    newcomers = " ".join(audit.newcomer_notes()) or "All agents were present from the first period."
    found = audit.conclusions
    searched = f"{_SEARCHED}{'' if found.all_exact else _RANGES}." if found.searched else _NOT_SEARCHED
    return [
        " ".join((audit.entitlement_note(), *audit.notes)),
        f"The audit covers the time up to {clock.shown(audit.periods.end)}, in {audit.periods.count:,} periods of "
        f"{clock.length_text(audit.periods.length)}. {newcomers}",
        f"{_EXACT}{_LASTING} {searched} A difference below {TIED:.1%} of an average share is a tie, and a tie is no "
        "conclusion.",
    ]


def _some(audit: Audit, stood: Trajectory, *, present: bool = False) -> list[int]:
    """The rows to show, the most owed first; of many, those at both ends."""
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row] or not present]
    return ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], *ranked[-SHOWN // 2 :]]


def _signed(owed: float | None) -> str:
    return "" if owed is None else amount(owed, digits=4, sign=True).replace("-", "−")
