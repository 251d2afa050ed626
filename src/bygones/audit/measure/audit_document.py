"""An audit as people read it: who is owed most, next steps, conclusions, and all numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bygones._files import file_name
from bygones._text import capitalized, counted, listed
from bygones.audit.measure.audit_charts import (
    agents_chart,
    half_life_chart,
    half_life_name,
    measure_chart,
    replay_chart,
    share_chart,
)
from bygones.audit.measure.conclusions import TIED
from bygones.audit.measure.groups import NAMED, compared_note, first_in_tree, grouped, next_steps
from bygones.audit.measure.pasts import Trajectory
from bygones.audit.read.formats import Demand
from bygones.audit.replay.what_if import WhatIf
from bygones.document.document import (
    Bar,
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Faint,
    OneOf,
    Section,
    Share,
    Signed,
    Table,
    Terms,
    Trend,
)
from bygones.kinds import words
from bygones.ledger.model.owed_since import SETTLED

if TYPE_CHECKING:
    from bygones.audit.measure.findings import Audit

SHOWN = 20
"""The number of agents that a terminal shows under each half-life: those owed most and those furthest ahead."""

CONCLUSIONS = 10
"""The number of conclusions of each kind that are shown at once."""

NO_SHARE = 0.0005
"""Smaller shares of the recent total are shown as none."""

SHOWN_MEASURES = {
    "good": {"Gini": "gini", "least": "egalitarian", "Nash": "nash"},
    "burden": {"Gini": "gini", "heaviest": "heaviest"},
}
"""The measures that are shown, by their names in tables."""

TERMS = {
    "good": {
        "agent": "Someone or something that may receive: a person, a team, a place.",
        "received": "The true total. It never fades.",
        "half-life": "The time after which something received counts half. With perfect recall, it is inf.",
        "recent total": "What an agent received, faded by the half-life.",
        "entitlement": "How much an agent may expect relative to the others. Its entitled share is its part of all.",
        "owed": "How far an agent is below its entitled share of the recent total.",
        "ahead": "How far an agent is above that share.",
        "per unit": "Per unit of entitlement, such as per head. Agents are ranked by it.",
        "comes before": "Is owed more per unit of entitlement, or is less far ahead, and would be served first.",
        "Gini coefficient": "How unequal shares are: 0 if all have the same per unit of entitlement.",
    },
    "burden": {
        "agent": "Someone who may do the work: a person, a team.",
        "worked": "The true total. It never fades.",
        "half-life": "The time after which work counts half. With perfect recall, it is inf.",
        "recent work": "What an agent worked, faded by the half-life.",
        "share of the load": "How much an agent is to work relative to the others. 0 is exempt.",
        "due": "How far an agent is below its share of the recent work. Those who are due work next.",
        "ahead": "How far an agent is above that share, having worked more.",
        "per unit": "Per unit of the share of the load. Agents are ranked by it.",
        "due before": "Is further below its share, and so works first.",
        "Gini coefficient": "How unequal loads are: 0 if all have worked the same for their share.",
    },
}
"""The words of an audit of goods and of burdens."""


def audit_document(audit: Audit) -> Document:
    """The audit as people read it."""
    has_half_lives = len(audit.conclusions.asked) > 2 and bool(audit.conclusions.notable)
    sections = [
        Section("What to do next", [Bullets(next_steps(audit))]),
        Section("Conclusions", _conclusions(audit)),
        Section("Where everyone stands", _standings(audit), "standings"),
        Section("What depends on the half-life", [half_life_chart(audit)] if has_half_lives else [], "half-life"),
        Section("Over time", _over_time(audit)),
        *(
            []
            if audit.what_if is None
            else [Section("If the rule had decided", _what_if(audit, audit.what_if), "rule")]
        ),
        Section("Data", [Bullets(list(audit.notes))]),
        Section("Method", _method(audit), background=True),
        Section("Words", [Terms(TERMS[audit.kind])], background=True),
    ]
    title = audit.title or ("Who is due what" if audit.kind == "burden" else "Who is owed what")
    filled = [section for section in sections if any(not isinstance(b, Bullets) or b.sentences for b in section.blocks)]
    return Document(_headline(audit), [*_opening(audit), *filled], "Audit", title)


def _headline(audit: Audit) -> str:
    present = int(audit.is_present.sum())
    if present < 2:
        return (
            "Only one agent takes part, so there is no one to compare with."
            if present
            else "No agent is present at the time of the audit."
        )
    most = next(each for each in audit.conclusions.found if each.kind == "most")
    return first_in_tree(audit) or most.sentence(audit.clock.length_text)


def _opening(audit: Audit) -> list[Block]:
    """The history, the assumptions, and notes for the reader."""
    clock = audit.clock
    size = f"{counted(audit.n_events, 'event')} for {counted(len(audit.names), 'agent')}"
    zone = "" if clock.steps else f" {clock.zone}"
    span = f"from {clock.shown(audit.first)} to {clock.shown(audit.periods.end)}{zone}"
    sentences = [f"{file_name(audit.label)}: {size}, {span}.", audit.entitlement_note(), *audit.newcomer_notes()]
    if audit.idle:
        idle = [f"{name} (the administrator)" if name == "root" else name for name in audit.idle]
        sentences.append(
            f"{listed(idle, NAMED)} asked for nothing in this log, so nothing is owed that could be given, and no "
            "conclusion is drawn about them."
        )
    return [*sentences, *audit.remarks]


def _conclusions(audit: Audit) -> list[Block]:
    if int(audit.is_present.sum()) < 2:
        return []
    blocks: list[Block] = [
        Section(group.title, [Bullets(group.sentences, CONCLUSIONS, group.unlisted)]) for group in grouped(audit)
    ]
    if audit.conclusions.pairs is None:
        blocks.append(compared_note(audit))
    if len(audit.standings) > 1 and not audit.conclusions.searched:
        blocks.append("Use --refine yes to look between these half-lives for those at which conclusions flip.")
    return blocks


def _standings(audit: Audit) -> list[Block]:
    tables = {half_life_name(audit, each.half_life): _standing(audit, each) for each in audit.standings}
    notes = [audit.owed_note(), audit.since_note()]
    if audit.per_unit:
        weight = "share of the load" if audit.kind == "burden" else "entitlement"
        notes.append(f"Per unit: the same divided by the agent's {weight}.")
    if audit.factors(audit.standings[0]):
        notes.append(
            "Fair tree: Slurm's factor from the recent total, the largest first. Sshare: the factor in its output."
        )
    if audit.unit:
        notes.append(f"Amounts are in {audit.unit}.")
    chart: list[Block] = [share_chart(audit)] if audit.is_present.any() else []
    return [*chart, OneOf("half-life", tables), " ".join(notes), *_demand(audit)]


def _demand(audit: Audit) -> list[Block]:
    """The demand of every agent, its mean wait and its total, if the history is a log that tells."""
    demand = audit.demand
    if demand is None:
        return []
    rows: list[list[Cell]] = [
        [
            audit.names[row],
            each.jobs,
            each.pending,
            None if math.isnan(each.wait) else each.wait,
            float(audit.received[row]),
        ]
        for row in audit.ranked(audit.standings[-1])
        if (each := demand.get(audit.names[row], Demand(0, 0, math.nan)))
    ]
    columns = [
        Column("agent", folds=True), Column("jobs"), Column("pending"), Column("mean wait (h)"), Column("received"),
    ]  # fmt: skip
    return [Table("Asked, waited and received", columns, rows, most=SHOWN, ends=True).without_empty()]


def _standing(audit: Audit, stood: Trajectory) -> Table:
    """All agents under a half-life, the most owed first."""
    word, total = words(audit.kind), float(stood.remembered.sum())
    longest = max(stood.remembered.max(initial=0.0), 0.0) or 1.0
    per_unit = total / audit.members.entitlements.sum() if total else 0.0
    factors = list(audit.factors(stood))
    # Where entitlements differ, they matter more than since when an agent is owed.
    entitled, since = (0, 2) if audit.per_unit else (2, 0)
    columns: list[Column | str] = [
        Column("agent", folds=True), Column(word.received, 3), Column(audit.recent, 4, measure="recent"),
        Column("", 1), "share", Column("of the load" if audit.kind == "burden" else "entitled", entitled),
        Column(word.owed, measure="recent"), *(["per unit"] if audit.per_unit else []),
        Column(f"{word.owed} since", since), *(name.replace("_", " ") for name in factors),
    ]  # fmt: skip
    standings = audit.rows(stood)
    decimals = _decimals([each for row in standings for each in (row.remembered, row.owed)])
    decimals_per_unit = _decimals([row.owed_per_unit for row in standings])
    rows: list[list[Cell]] = [
        [
            row.agent, _settled(row.received, total), round(_settled(row.remembered, total), decimals),
            Bar(row.remembered / longest),
            Faint(row.status) if row.share is None else Share(row.share if row.share > NO_SHARE else 0.0),
            None if row.entitled_share is None else Share(row.entitled_share), _signed(row.owed, total, decimals),
            *([_signed(row.owed_per_unit, per_unit, decimals_per_unit)] if audit.per_unit else []),
            None if row.owed_since is None else audit.clock.day(row.owed_since),
            *(row.factors.get(name) for name in factors),
        ]
        for row in standings
    ]  # fmt: skip
    return Table(f"Standing, {half_life_name(audit, stood.half_life)}", columns, rows, most=SHOWN, ends=True)


def _settled(value: float, total: float) -> float:
    """An amount; a rounding error of the total is 0."""
    return 0.0 if abs(value) <= SETTLED * abs(total) else value


def _signed(value: float | None, total: float, decimals: int) -> Cell:
    return None if value is None else Signed(round(_settled(value, total), decimals))


def _decimals(values: Sequence[float | None], scale: Sequence[float | None] = ()) -> int:
    """With how many decimals faded amounts are shown: three digits of the largest, or one more to tell some apart.

    Smaller amounts hardly count any more, so they are shown as 0.

    Args:
        values: the amounts.
        scale: amounts that are not shown but count for the largest.
    """
    known, seen = ([abs(x) for x in each if x is not None and math.isfinite(x)] for each in (values, scale))
    largest = max([*known, *seen], default=0.0)
    least = max(0, 2 - math.floor(math.log10(largest))) if largest else 0
    seen_at_all = [value for value in known if round(value, least)]
    return max((least, least + 1), key=lambda decimals: len({round(value, decimals) for value in seen_at_all}))


def _rounded(rows: Sequence[list[Cell]]) -> list[list[Cell]]:
    """Rows in which the numbers of each column have three digits of its largest."""
    decimals = [_decimals([cell for cell in column if isinstance(cell, float)]) for column in zip(*rows, strict=True)]
    return [
        [round(cell, places) if isinstance(cell, float) else cell for cell, places in zip(row, decimals, strict=True)]
        for row in rows
    ]


def _over_time(audit: Audit) -> list[Block]:
    measures = SHOWN_MEASURES[audit.kind]
    columns: list[Column | str] = ["half-life"]
    for name in measures:
        columns += [name, Column("", 1)]
    rows: list[list[Cell]] = [[audit.clock.length_text(each.half_life)] for each in audit.standings]
    for measure in measures.values():
        courses = [getattr(each, measure) for each in audit.standings]
        decimals = _decimals(
            [float(course[-1]) for course in courses], [float(x) for course in courses for x in course]
        )
        for row, course in zip(rows, courses, strict=True):
            row += [round(float(course[-1]), decimals), Trend(tuple(course.tolist()))]
    per = (
        f" per unit of {'the share of the load' if audit.kind == 'burden' else 'entitlement'}" if audit.per_unit else ""
    )
    means = "heaviest load" if audit.kind == "burden" else "least (egalitarian), geometric mean (Nash)"
    note = f"{capitalized(audit.recent)}{per}: Gini coefficient (0 is equal), {means}."
    title = f"At the end of each {audit.clock.length_text(audit.periods.length)}"
    charts = [measure_chart(audit, measure) for measure in measures.values()]
    return [Table(title, columns, rows, note=note), *charts, agents_chart(audit)]


def _what_if(audit: Audit, what_if: WhatIf) -> list[Block]:
    """The decisions of the rule one-step, under each half-life."""
    length, received, measures = audit.clock.length_text, words(audit.kind).received, SHOWN_MEASURES[audit.kind]
    rows: list[list[Cell]] = []
    for course in what_if.courses:
        (run,) = course.runs
        numbers = [float(getattr(run, measure)) for measure in measures.values()]
        rows.append([length(course.memory.length), "actual" if course.is_actual else "rule", *numbers, run.total])
    actual, by_rule = what_if.courses[0], what_if.alternatives()
    totals: list[list[Cell]] = [
        [audit.names[row], *(float(course.received[row]) for course in (actual, *by_rule))]
        for row in audit.ranked(audit.standings[-1])
    ]
    columns = ["half-life", "decisions", *measures, f"total {received}"]
    by_half_life = ["agent", "actual", *(length(course.memory.length) for course in by_rule)]
    ginis = [[what_if.actual(course).gini.low for course in by_rule], [course.gini.low for course in by_rule]]
    return [
        f"A replay of the {counted(what_if.decisions, 'decision')} with the same needs and the same number of agents "
        f"served each time. The rule chooses by the {audit.recent} from its own decisions.",
        Table("Actual decisions and the rule's, on the same needs", columns, _rounded(rows)),
        Bullets([
            f"{course.memory.phrase}, the rule makes {int(course.differ.low):,} of "
            f"{what_if.decisions:,} decisions differently." for course in by_rule
        ]),
        replay_chart(audit, *ginis),
        Table(f"What each agent {received}: actual, and by the rule with each half-life", by_half_life, totals,
              most=CONCLUSIONS, ends=True),
    ]  # fmt: skip


def _method(audit: Audit) -> list[Block]:
    clock, conclusions = audit.clock, audit.conclusions
    searched = (
        "A half-life at which a conclusion changes is accurate to one part in a thousand if it is a single number"
        f"{'.' if conclusions.all_exact else '; if it is a range, it lies somewhere in it.'}"
        if conclusions.searched
        else "A half-life at which a conclusion changes is known only to lie between two of the given half-lives; "
        "--refine yes searches for it."
    )
    everyone = "" if audit.newcomers() else " All agents were present from the first period."
    return [
        f"The audit covers the time up to {clock.shown(audit.periods.end)}, in {audit.periods.count:,} periods of "
        f"{clock.length_text(audit.periods.length)}.{everyone}",
        "All numbers are exact sums over all events with exact decay. Nothing is sampled. Usage that lasts is "
        "integrated over the time it lasts.",
        f"{searched} Differences below {TIED:.1%} of an average share count as ties, and no conclusion is drawn from "
        "them.",
    ]
