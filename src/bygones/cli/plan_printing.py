"""What the commands about plans print for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from bygones._text import amount, counted
from bygones.cli.console import Column, print_fitting, say
from bygones.kinds import words
from bygones.ledger.model.participation import PRESENT
from bygones.ledger.model.times import day, shown
from bygones.ledger.plans.plan_changes import Replanned
from bygones.ledger.plans.planned_dates import Plan, PlannedTurn, Turn


def print_plan(plan: Plan, *, recorded: bool) -> None:
    """Prints who gets what on which date, and everybody's standing before and after."""
    zone = plan.after.zone
    columns = [
        Column("date", "left"), Column("turns", "left", folds=True), Column("left out", "left", folds=True),
    ]  # fmt: skip
    rows: list[list[str | Text]] = [
        [when(each.needs.at, each.needs.all_day, zone), _turns(each.turns), _reasons(each.left_out)]
        for each in plan.dates
    ]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    print_fitting(f"Plan for {counted(len(plan.dates), 'date')} (times in {zone})", columns, rows)
    _print_standings(plan)
    say("Published." if recorded else "Nothing was recorded: bygones ledger plan --publish records a plan.")


def print_turns(turns: Sequence[PlannedTurn], zone: str) -> None:
    """Prints what is planned; a turn that its agent cannot take is marked."""
    if not turns:
        say("Nothing is planned.")
        return
    columns = [
        Column("event"), Column("date", "left"), Column("agent", "left", folds=True),
        Column("what", "left", folds=True), Column("amount", gives_way=1), Column("", "left"),
    ]  # fmt: skip
    rows: list[list[str | Text]] = [
        [str(t.seq), when(t.at, t.all_day, zone), t.agent, t.what, f"{t.amount:.6g}", _status(t)] for t in turns
    ]
    cannot = sum(turn.status != PRESENT for turn in turns)
    if not cannot:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    print_fitting(f"{counted(len(turns), 'planned turn')} (times in {zone})", columns, rows)
    if cannot:
        say(f"{counted(cannot, 'turn')} cannot be taken: decide again with bygones ledger replan.")


def print_replanned(found: Sequence[Replanned], zone: str, *, recorded: bool) -> None:
    """Prints the dates that change, and why."""
    if not found:
        say("Everybody can take their planned turns: nothing changes.")
        return
    columns = [
        Column("date", "left"), Column("was", "left", folds=True),
        Column("now" if recorded else "would be", "left", folds=True), Column("because", "left", folds=True),
    ]  # fmt: skip
    rows: list[list[str | Text]] = [
        [when(each.at, each.all_day, zone), _turns(each.before), _turns(each.after), "; ".join(each.why)]
        for each in found
    ]
    changed = sum(each.changed for each in found)
    title = f"{counted(changed, 'turn')} reassigned on {counted(len(found), 'date')} (times in {zone})"
    print_fitting(title, columns, rows)
    say("Recorded." if recorded else "Nothing was recorded: add --accept to record this.")


def when(at: int, all_day: bool, zone: str) -> str:
    """A date of a plan, with its time if it has one."""
    return day(at, zone) if all_day else shown(at, zone)


def _print_standings(plan: Plan) -> None:
    word = words(plan.after.rules.kind)
    given: dict[str, float] = {}
    for each in plan.dates:
        for turn in each.turns:
            given[turn.agent] = given.get(turn.agent, 0.0) + turn.amount
    before = {name: i for i, name in enumerate(plan.before.names)}
    columns = [
        Column("agent", "left", folds=True), Column("planned"), Column("remembered", gives_way=2),
        Column("after", gives_way=2), Column(word.owed), Column("after"),
    ]  # fmt: skip
    rows: list[list[str | Text]] = []
    for i, name in enumerate(plan.after.names):
        was = before.get(name)
        rows.append([
            name,
            amount(given.get(name, 0.0)),
            "" if was is None else amount(plan.before.remembered[was]),
            amount(plan.after.remembered[i]),
            "" if was is None else plan.before.owed_text(was),
            plan.after.owed_text(i),
        ])  # fmt: skip
    print_fitting("Standing now, and after the plan", columns, rows)


def _turns(turns: Iterable[Turn]) -> str:
    return "; ".join(f"{turn.agent}: {turn.what}" for turn in turns) or "nobody"


def _reasons(left_out: dict[str, str]) -> str:
    return "; ".join(f"{agent}: {why}" for agent, why in left_out.items())


def _status(turn: PlannedTurn) -> str:
    return "" if turn.status == PRESENT else turn.status
