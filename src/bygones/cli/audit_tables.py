"""What an audit says in the terminal. Names are shown as they are, never as markup."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bygones._text import amount
from bygones.audit.auditing import Audit, counted
from bygones.audit.trajectory import Trajectory
from bygones.cli.console import Column, print_fitting, print_table
from bygones.cli.ledger_tables import bar

SHOWN = 20
"""As many agents are shown under each half-life: the most owed, and the furthest ahead."""

FLIPS = 10
"""As many conclusions that flip, and as many that hold, are told; the page and JSON have all."""

_SPARK = "▁▂▃▄▅▆▇█"
_SPARKS = 12


def print_audit(audit: Audit) -> None:
    """Prints the audit for people."""
    clock = audit.clock
    zone = "" if clock.steps else f" {clock.zone}"
    size = f"{counted(audit.n_events, 'event')} of {counted(len(audit.names), 'agent')}"
    print(f"{audit.label}: {size}, {clock.shown(audit.first)} to {clock.shown(audit.periods.end)}{zone}.")
    for note in audit.notes:
        print(note)
    late = audit.newcomers()
    if late:
        came = f"{counted(len(late), 'agent')} came after the first {clock.said(audit.periods.length)}"
        print(f"{came}: newcomers start with {audit.members.newcomers}.")
    print()
    for stood in audit.standings:
        _print_standing(audit, stood)
    print("Owed: what is missing (+) or in excess (-) of the entitled share of all that is remembered.")
    print(f"{audit.since_means()}\n")
    _print_welfare(audit)
    _print_conclusions(audit)
    if audit.replays:
        _print_replays(audit)


def _print_standing(audit: Audit, stood: Trajectory) -> None:
    counts = "nothing fades" if math.isinf(stood.half_life) else f"half-life {audit.clock.said(stood.half_life)}"
    columns = [
        Column("agent", "left", folds=True), Column("received", gives_way=3), Column("remembered", gives_way=4),
        Column("", "left", gives_way=1), Column("share"), Column("entitled", gives_way=2), Column("owed"),
        Column("owed since", "left"),
    ]  # fmt: skip
    ranked = audit.ranked(stood)
    most = max([0.0, *stood.remembered.tolist()])
    shown = ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], -1, *ranked[len(ranked) - SHOWN // 2 :]]
    rows: list[list[str | Text]] = []
    for row in shown:
        if row < 0:
            rows.append([Text(f"… {len(ranked) - SHOWN:,} more", style="dim"), *[""] * (len(columns) - 1)])
            continue
        since = audit.since(stood, row)
        rows.append([
            audit.names[row],
            _number(float(audit.received[row]), most),
            _number(float(stood.remembered[row]), most),
            Text(bar(float(stood.remembered[row]), most), style="cyan"),
            _percent(stood.share[row]),
            _percent(audit.entitled[row]),
            _signed(float(stood.owed[row]), most),
            "" if since is None else audit.clock.day(since),
        ])  # fmt: skip
    print_fitting(f"Standing, {counts}", columns, rows)


def _print_welfare(audit: Audit) -> None:
    columns = [Column("half-life", "left")]
    for name in ("Gini", "least", "Nash"):
        columns += [Column(name), Column("", "left", gives_way=1)]
    rows: list[list[str | Text]] = []
    for stood in audit.standings:
        rows.append([audit.clock.said(stood.half_life)])
        for series in (stood.gini, stood.egalitarian, stood.nash):
            rows[-1] += [amount(series[-1]), Text(spark(series.tolist()), style="cyan")]
    print_fitting(f"Over time, at the end of each {audit.clock.said(audit.periods.length)}", columns, rows)
    per = " per unit of entitlement" if len(set(audit.members.entitlements.tolist())) > 1 else ""
    print(f"Of what is remembered{per}: Gini (0 is equal), the least (egalitarian), the geometric mean (Nash).\n")


def _print_conclusions(audit: Audit) -> None:
    found, said = audit.conclusions, audit.clock.said
    held = [f"{each.claim}." for each in found.telling]
    for title, some in (
        (f"Holds at {_range(audit)}", held),
        ("Depends on the half-life", [each.sentence(said) for each in found.flip]),
    ):
        if some:
            Console().print(Text(title, style="bold"))
            for sentence in some[:FLIPS]:
                print(f"- {sentence}")
            if len(some) > FLIPS:
                print(f"- and {len(some) - FLIPS} more (see --page or --json)")
            print()
    if found.flip and not found.searched:
        print("Flips between two half-lives can be found more closely with --refine yes.")
    if found.pairs and found.pairs > 1 and len(audit.standings) > 1:
        kept = found.pairs - (found.pairs_flip or 0)
        print(f"Of {found.pairs:,} pairs of agents, {kept:,} are in the same order at every half-life asked for.")


def _print_replays(audit: Audit) -> None:
    said = audit.clock.said
    rows: list[list[object]] = []
    for each in audit.replays:
        for what, outcome in (("as it was", each.actual), ("allocator", each.instead)):
            numbers = (outcome.gini, outcome.egalitarian, outcome.nash)
            rows.append([said(each.half_life), what, *(float(f"{number:.3g}") for number in numbers), outcome.total])
    print()
    columns = ["half-life", "", "Gini", "least", "Nash", "received, all"]
    print_table("Had the allocator decided instead, on the same needs", columns, rows)
    for each in audit.replays:
        print(f"Half-life {said(each.half_life)}: {each.differ:,} of {each.decisions:,} decisions would differ.")


def _range(audit: Audit) -> str:
    half_lives = [audit.clock.said(stood.half_life) for stood in audit.standings]
    if len(half_lives) == 1:
        return f"a half-life of {half_lives[0]}"
    return f"every half-life from {half_lives[0]} to {half_lives[-1]}"


def spark(values: Sequence[float], width: int = _SPARKS) -> str:
    """A line of small bars, from the first value to the last, zero at the bottom."""
    numbers = [value for value in values if math.isfinite(value)]
    if not numbers:
        return ""
    if len(numbers) > width:
        # The last value of each stretch, so that the line ends with the present.
        numbers = [numbers[(i + 1) * len(numbers) // width - 1] for i in range(width)]
    most = max(numbers)
    return "".join(_SPARK[round(7 * max(value, 0.0) / most) if most > 0 else 0] for value in numbers)


def _number(value: float, most: float, *, sign: bool = False) -> str:
    """An amount; what is next to nothing beside the largest is 0."""
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
