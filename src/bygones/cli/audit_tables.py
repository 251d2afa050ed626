"""Prints an audit in the terminal. Names are printed verbatim, never as markup."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bygones._text import amount, counted
from bygones.audit.auditing import Audit
from bygones.audit.trajectory import Trajectory
from bygones.cli.console import Column, print_fitting, print_table
from bygones.cli.ledger_tables import bar
from bygones.kinds import words

SHOWN = 20
"""The number of agents shown under each half-life: those owed most and those furthest ahead."""

FLIPS = 10
"""The number of conclusions shown of each kind; the page and JSON have them all."""

_SPARK = "▁▂▃▄▅▆▇█"
_SPARKS = 12


def print_audit(audit: Audit) -> None:
    """Prints the audit for people."""
    clock = audit.clock
    zone = "" if clock.steps else f" {clock.zone}"
    size = f"{counted(audit.n_events, 'event')} for {counted(len(audit.names), 'agent')}"
    print(f"{audit.label}: {size}, from {clock.shown(audit.first)} to {clock.shown(audit.periods.end)}{zone}.")
    for note in audit.notes:
        print(note)
    late = audit.newcomers()
    if late:
        joined = f"{counted(len(late), 'agent')} joined after the first {clock.length_text(audit.periods.length)}"
        print(f"{joined} (newcomer rule: {audit.members.newcomers}).")
    print()
    for trajectory in audit.standings:
        _print_standing(audit, trajectory)
    print(audit.owed_note())
    print(f"{audit.since_note()}\n")
    _print_welfare(audit)
    _print_conclusions(audit)
    if audit.replays:
        _print_replays(audit)


def _print_standing(audit: Audit, trajectory: Trajectory) -> None:
    counts = (
        "nothing fades"
        if math.isinf(trajectory.half_life)
        else f"half-life {audit.clock.length_text(trajectory.half_life)}"
    )
    word = words(audit.kind)
    entitled = "of the load" if audit.kind == "burden" else "entitled"
    columns = [
        Column("agent", "left", folds=True), Column(word.received, gives_way=3), Column("remembered", gives_way=4),
        Column("", "left", gives_way=1), Column("share"), Column(entitled, gives_way=2), Column(word.owed),
        Column(f"{word.owed} since", "left"),
    ]  # fmt: skip
    ranked = audit.ranked(trajectory)
    most = max([0.0, *trajectory.remembered.tolist()])
    shown = ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], -1, *ranked[len(ranked) - SHOWN // 2 :]]
    rows: list[list[str | Text]] = []
    for row in shown:
        if row < 0:
            rows.append([Text(f"… {len(ranked) - SHOWN:,} more", style="dim"), *[""] * (len(columns) - 1)])
            continue
        since = audit.since(trajectory, row)
        rows.append([
            audit.names[row],
            _number(float(audit.received[row]), most),
            _number(float(trajectory.remembered[row]), most),
            Text(bar(float(trajectory.remembered[row]), most), style="cyan"),
            _percent(trajectory.share[row]),
            _percent(audit.entitled[row]),
            _signed(float(trajectory.owed[row]), most),
            "" if since is None else audit.clock.day(since),
        ])  # fmt: skip
    print_fitting(f"Standing, {counts}", columns, rows)


def _print_welfare(audit: Audit) -> None:
    columns = [Column("half-life", "left")]
    for name in ("Gini", "lightest", "mean") if audit.kind == "burden" else ("Gini", "least", "Nash"):
        columns += [Column(name), Column("", "left", gives_way=1)]
    rows: list[list[str | Text]] = []
    for trajectory in audit.standings:
        rows.append([audit.clock.length_text(trajectory.half_life)])
        for series in (trajectory.gini, trajectory.egalitarian, trajectory.nash):
            rows[-1] += [amount(series[-1]), Text(spark(series.tolist()), style="cyan")]
    print_fitting(f"Over time, at the end of each {audit.clock.length_text(audit.periods.length)}", columns, rows)
    per = " per unit of entitlement" if len(set(audit.members.entitlements.tolist())) > 1 else ""
    means = "lightest load, geometric mean" if audit.kind == "burden" else "least (egalitarian), geometric mean (Nash)"
    print(f"What is remembered{per}: Gini coefficient (0 is equal), {means}.\n")


def _print_conclusions(audit: Audit) -> None:
    found, length = audit.conclusions, audit.clock.length_text
    held = [f"{each.claim}." for each in found.informative]
    for title, some in (
        (f"Holds at {_range(audit)}", held),
        ("Depends on the half-life", [each.sentence(length) for each in found.flip]),
    ):
        if some:
            Console().print(Text(title, style="bold"))
            for sentence in some[:FLIPS]:
                print(f"- {sentence}")
            if len(some) > FLIPS:
                print(f"- and {len(some) - FLIPS} more (see --page or --json)")
            print()
    if found.flip and not found.searched:
        print("Use --refine yes to find the half-lives at which these conclusions flip.")
    if found.pairs and found.pairs > 1 and len(audit.standings) > 1:
        kept = found.pairs - (found.pairs_flip or 0)
        print(f"{kept:,} of {found.pairs:,} pairs of agents are in the same order at all half-lives of this audit.")


def _print_replays(audit: Audit) -> None:
    length = audit.clock.length_text
    rows: list[list[object]] = []
    for each in audit.replays:
        for name, outcome in (("actual", each.actual), ("allocator", each.instead)):
            numbers = (outcome.gini, outcome.egalitarian, outcome.nash)
            rows.append([length(each.half_life), name, *(float(f"{number:.3g}") for number in numbers), outcome.total])
    print()
    columns = ["half-life", "decisions", "Gini", "least", "Nash", f"total {words(audit.kind).received}"]
    print_table("Actual decisions and the allocator's, on the same needs", columns, rows)
    for each in audit.replays:
        print(
            f"With a half-life of {length(each.half_life)}, the allocator makes {each.differ:,} of "
            f"{each.decisions:,} decisions differently."
        )


def _range(audit: Audit) -> str:
    half_lives = [audit.clock.length_text(trajectory.half_life) for trajectory in audit.standings]
    if len(half_lives) == 1:
        return f"a half-life of {half_lives[0]}"
    return f"every half-life from {half_lives[0]} to {half_lives[-1]}"


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


def _number(value: float, most: float, *, sign: bool = False) -> str:
    """Formats an amount; amounts that are tiny compared with the largest are printed as 0."""
    return "0" if abs(value) <= 5e-4 * most else amount(value, sign=sign)


def _percent(share: float) -> str:
    return (
        "away"
        if math.isnan(share)
        else f"{100 * share:.1f}%"
        if share >= 0.01
        else f"{100 * share:.1g}%"
        if share > 1e-6
        else "0%"
    )


def _signed(owed: float, most: float) -> Text:
    if math.isnan(owed):
        return Text("")
    text = _number(owed, most, sign=True)
    return Text(text, style="" if text == "0" else "green" if owed > 0 else "yellow")
