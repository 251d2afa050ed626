"""Prints an audit in the terminal. Names are printed verbatim, never as markup."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.text import Text

from bygones._text import amount, counted, sentence
from bygones.audit.measure.findings import Audit
from bygones.audit.measure.groups import compared_note, grouped, settled
from bygones.audit.measure.pasts import Trajectory
from bygones.audit.replay.what_if import WhatIf
from bygones.cli.console import Column, print_fitting, print_sentences, print_table, say, say_bold
from bygones.document.terminal import _bar
from bygones.kinds import words

SHOWN = 20
"""The number of agents shown under each half-life: those owed most and those furthest ahead."""

FLIPS = 10
"""The number of conclusions shown of each kind; the page and JSON have them all."""

SHOWN_MEASURES = {
    "good": {"Gini": "gini", "least": "egalitarian", "Nash": "nash"},
    "burden": {"Gini": "gini", "heaviest": "heaviest"},
}
"""The measures that are shown, by their names in tables."""

_SPARK = "▁▂▃▄▅▆▇█"
_SPARKS = 12


def print_audit(audit: Audit) -> None:
    """Prints the audit for people: what it is about, what to conclude, then the numbers."""
    clock = audit.clock
    zone = "" if clock.steps else f" {clock.zone}"
    size = f"{counted(audit.n_events, 'event')} for {counted(len(audit.names), 'agent')}"
    span = f"from {clock.shown(audit.first)} to {clock.shown(audit.periods.end)}{zone}"
    print_sentences([f"{audit.label}: {size}, {span}.", audit.entitlement_note(), *audit.remarks, *audit.notes])
    print_sentences(audit.newcomer_notes())
    say()
    for trajectory in audit.standings:
        _print_standing(audit, trajectory)
    print_sentences([audit.owed_note()])
    if audit.rows(audit.standings[0], [0])[0].factors:
        print_sentences([
            "Fair tree: Slurm's factor from what is remembered, the largest first; sshare: the factor that it reports.",
        ])  # fmt: skip
    print_sentences([f"{audit.since_note()}{f' Amounts are in {audit.unit}.' if audit.unit else ''}"])
    say()
    _print_welfare(audit)
    _print_conclusions(audit)
    if audit.what_if is not None:
        _print_what_if(audit, audit.what_if)


def _print_standing(audit: Audit, trajectory: Trajectory) -> None:
    counts = (
        "nothing fades"
        if math.isinf(trajectory.half_life)
        else f"half-life {audit.clock.length_text(trajectory.half_life)}"
    )
    word, ranked = words(audit.kind), audit.ranked(trajectory)
    hidden = len(ranked) - SHOWN
    shown = audit.rows(trajectory, ranked if hidden <= 0 else [*ranked[: SHOWN // 2], *ranked[-SHOWN // 2 :]])
    entitled = "of the load" if audit.kind == "burden" else "entitled"
    columns = [
        Column("agent", "left", folds=True), Column(word.received, gives_way=3), Column("remembered", gives_way=4),
        Column("", "left", gives_way=1), Column("share"), Column(entitled, gives_way=2), Column(word.owed),
        *([Column("per unit")] if audit.per_unit else []), Column(f"{word.owed} since", "left"),
        *(Column(name.replace("_", " ")) for name in shown[0].factors),
    ]  # fmt: skip
    most, total = max([0.0, *trajectory.remembered.tolist()]), float(trajectory.remembered.sum())
    unit = total / audit.members.entitlements.sum()
    rows: list[list[str | Text]] = []
    for row in shown:
        rows.append([
            row.agent, settled(row.received, total), settled(row.remembered, total),
            Text(_bar(row.remembered / most if most else 0.0), style="cyan"), _percent(row.share, row.status),
            _percent(row.entitled_share, ""), _signed(row.owed, total),
            *([_signed(row.owed_per_unit, unit)] if audit.per_unit else []),
            "" if row.owed_since is None else audit.clock.day(row.owed_since),
            *("" if factor is None else f"{factor:.2f}" for factor in row.factors.values()),
        ])  # fmt: skip
    if hidden > 0:
        rows.insert(SHOWN // 2, [Text(f"… {hidden:,} more", style="dim"), *[""] * (len(columns) - 1)])
    print_fitting(f"Standing, {counts}", columns, rows)


def _print_welfare(audit: Audit) -> None:
    columns = [Column("half-life", "left")]
    for name in SHOWN_MEASURES[audit.kind]:
        columns += [Column(name), Column("", "left", gives_way=1)]
    rows: list[list[str | Text]] = []
    for trajectory in audit.standings:
        rows.append([audit.clock.length_text(trajectory.half_life)])
        for measure in SHOWN_MEASURES[audit.kind].values():
            series = getattr(trajectory, measure)
            rows[-1] += [_measure(series[-1]), Text(spark(series.tolist()), style="cyan")]
    print_fitting(f"Over time, at the end of each {audit.clock.length_text(audit.periods.length)}", columns, rows)
    per = " per unit of entitlement" if len(set(audit.members.entitlements.tolist())) > 1 else ""
    means = "heaviest load" if audit.kind == "burden" else "least (egalitarian), geometric mean (Nash)"
    print_sentences([f"What is remembered{per}: Gini coefficient (0 is equal), {means}."])
    say()


def _print_conclusions(audit: Audit) -> None:
    if len(audit.names) == 1:
        say(f"{sentence(f'{audit.names[0]} is the only agent, so there is nobody to compare with')}")
        return
    for title, sentences, more in grouped(audit):
        say_bold(title)
        print_sentences(f"- {each}" for each in sentences[:FLIPS])
        hidden = max(0, len(sentences) - FLIPS) + more
        if hidden:
            which = f"the {len(sentences):,} largest" if more else "them"
            say(f"- and {hidden:,} more: --page and --json list {which}")
        say()
    if audit.conclusions.pairs is None:
        print_sentences([compared_note(audit)])
    if len(audit.standings) > 1 and not audit.conclusions.searched:
        say("Use --refine yes to look between these half-lives for those at which conclusions flip.")


def _print_what_if(audit: Audit, what_if: WhatIf) -> None:
    length = audit.clock.length_text
    rows: list[list[object]] = []
    for course in what_if.courses:
        (run,) = course.runs
        numbers = [_measure(getattr(run, measure)) for measure in SHOWN_MEASURES[audit.kind].values()]
        rows.append([length(course.memory.length), "actual" if course.is_actual else "rule", *numbers, run.total])
    say()
    columns = ["half-life", "decisions", *SHOWN_MEASURES[audit.kind], f"total {words(audit.kind).received}"]
    print_table("Actual decisions and the rule's, on the same needs", columns, rows)
    for course in what_if.alternatives():
        say(
            f"With a half-life of {length(course.memory.length)}, the rule makes {int(course.differ.low):,} of "
            f"{what_if.decisions:,} decisions differently."
        )


def spark(values: Sequence[float], width: int = _SPARKS) -> str:
    """A sparkline of the values in order, with zero at the bottom."""
    numbers = [value for value in values if math.isfinite(value)]
    if not numbers:
        return ""
    if len(numbers) > width:
        # Each bar is the last value of its stretch, so that the line ends with the latest value.
        numbers = [numbers[(i + 1) * len(numbers) // width - 1] for i in range(width)]
    most = max(numbers)
    return "".join(_SPARK[round(7 * max(value, 0.0) / most) if most > 0 else 0] for value in numbers)


def _measure(value: float) -> str:
    return "–" if math.isnan(value) else amount(value)


def _percent(share: float | None, away: str) -> str:
    if share is None:
        return away
    return f"{100 * share:.1f}%" if share >= 0.01 else f"{100 * share:.1g}%" if share > 1e-6 else "0%"


def _signed(owed: float | None, total: float) -> Text:
    if owed is None:
        return Text("")
    text = settled(owed, total, sign=True)
    return Text(text, style="" if text == "0" else "green" if owed > 0 else "yellow")
