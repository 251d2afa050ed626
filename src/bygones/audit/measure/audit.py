"""The audit: who is owed under several half-lives, how equal it was over time, and which conclusions hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bygones._arrays import check_between
from bygones._names import alike
from bygones._text import check_text, listed
from bygones.allocation.objective import check_form
from bygones.allocation.problem_contract import NAMED
from bygones.audit.measure.findings import Audit
from bygones.audit.measure.flips import SEARCHED, Ask, conclude
from bygones.audit.measure.ledger_past import LedgerPast
from bygones.audit.measure.pasts import Past, TablePast, relative
from bygones.audit.measure.sums import periods
from bygones.audit.read.entitlements import Shares
from bygones.audit.read.history import History
from bygones.audit.replay.memories import of_length
from bygones.audit.replay.past_decisions import decisions_among
from bygones.audit.replay.what_if import replay_all
from bygones.kinds import Kind, check_kind
from bygones.ledger.model.rules import NEWCOMER_RULES, check_entitlement, check_newcomers
from bygones.welfare import AnyWelfare, parse_welfare

HALF_LIVES = ("1d", "7d", "30d", "inf")
"""The default half-lives where times are instants."""

STEP_HALF_LIVES = ("10", "100", "1000", "inf")
"""The default half-lives where times are step numbers."""

_UNNAMED = ("utility", "amount", "need")

LARGEST_START = 1e15
"""The largest number with which newcomers can start, as in a ledger."""

FEW_EVENTS = 100_000
"""In a history of up to this many events, more flips are searched for."""

SEARCHED_EVENTS = 10_000_000
"""In a longer history, the search for the half-lives at which conclusions flip is off by default."""


def audit(
    history: History,
    half_lives: Sequence[str | float] | None = None,
    *,
    entitlements: Mapping[str, float] | Shares | None = None,
    others: str | float | None = None,
    newcomers: str | float | None = None,
    gone_after: str | None = None,
    every: str | None = None,
    at: str | None = None,
    refine: bool | None = None,
    welfare: AnyWelfare = "egalitarian",
    kind: Kind | None = None,
    title: str = "",
    unit: str = "",
    remarks: Sequence[str] = (),
) -> Audit:
    """Audits a history under several half-lives.

    Args:
        history: the events, see `read_history`. A ledger is replayed by its own rules under each half-life.
        half_lives: durations such as `7d`, or numbers of steps; `inf` is perfect recall. By default 1d, 7d, 30d and
            inf, or 10, 100, 1000 and inf steps; of a ledger also its own.
        entitlements: the entitlement of each agent, or what `read_shares` read. Agents without events take part from
            the beginning. By default those in a ledger's rules at the moment of the audit, or the same for everyone.
        others: the entitlement of agents that `entitlements` does not name: a number, or `proportional`, which entitles
            them to their true totals, so they are neither owed nor ahead in total. By default they are refused.
        newcomers: the newcomer rule: with how much remembered utility an agent who joins later starts, as in the
            ledger. By default zero, so only amounts received count; for a ledger, its own rule.
        gone_after: an agent without an event for this long counts as away. By default never, because an audit
            should show agents who receive nothing.
        every: the length of a period.
        at: the moment of the audit; later events are left out. By default the time of the last event.
        refine: whether to search for the half-lives at which conclusions flip, which queries the engine a few more
            times. By default true for histories of up to ten million events.
        welfare: what the rule maximises when decisions are replayed, where the history records who asked.
        kind: `good` or `burden`; by default that of a ledger's rules, or goods. Of burdens an entitlement is the share
            of the load, and agents with 0 are exempt: they are left out.
        title: a title for the page.
        unit: the unit of the amounts, such as doses; by default that of a ledger, or the name of its column.
        remarks: notes for the reader.

    Returns:
        Standings, measures over time and conclusions under each half-life.
    """
    clock = history.clock
    end = history.last if at is None else clock.moment(at)
    if end < history.first:
        raise ValueError(f"at must not be before the first event ({clock.shown(history.first)}), got {at!r}")
    book = history.book
    own = None if book is None else book.at(max(int(end), book.began))
    defaults = STEP_HALF_LIVES if clock.steps else HALF_LIVES
    wanted = half_lives or (defaults if own is None else (*defaults, own.half_life))
    chosen = sorted({clock.length(each) for each in wanted})
    rule = None if newcomers is None else check_newcomers(newcomers)
    if rule is not None and rule not in NEWCOMER_RULES:
        check_between("newcomers", float(rule), 0.0, LARGEST_START, f"at most {LARGEST_START:g}")
    about: Kind = check_kind(kind) if kind is not None else "good" if own is None else own.kind
    judge = parse_welfare(welfare)
    check_form(judge, about)
    shares = Shares(dict(entitlements)) if isinstance(entitlements, Mapping) else entitlements
    given = None
    if shares is not None:
        given = {name: check_entitlement(weight, name, about) for name, weight in shares.entitlements.items()}
    cut = periods(clock, history.first, end, every)
    if history.ledger is not None and book is not None:
        if gone_after is not None:
            raise ValueError("gone_after does not apply to a ledger, which records who leaves and when")
        past: Past = LedgerPast(history, history.ledger, book, cut, given, others, rule)
    else:
        away = math.inf if gone_after is None else clock.length(gone_after, "gone_after")
        past = TablePast(history, cut, chosen, given, others, rule or "zero", away)
    who, standings = past.who, tuple(past.standing(half_life) for half_life in chosen)
    is_present = ~np.isnan(standings[0].owed)
    weights = np.where(is_present, who.entitlements, math.nan)
    searched = past.n_events <= SEARCHED_EVENTS if refine is None else refine
    asked = np.array([history.demand is None or name in history.demand for name in who.names], dtype=bool)

    def among_asking(ask: Ask) -> Ask:
        """No conclusion is drawn about agents who asked for nothing."""
        return lambda wanted: {each: np.where(asked, owed, math.nan) for each, owed in ask(wanted).items()}

    guess = past.guess(chosen, is_present) if searched and len(chosen) > 1 else None
    conclusions = conclude(
        who.names,
        {
            each.half_life: np.where(asked, relative(each.owed, each.remembered, who.entitlements), math.nan)
            for each in standings
        },
        among_asking(lambda wanted: past.owed_at(wanted, is_present)) if searched else None,
        guess=None if guess is None else among_asking(guess),
        kind=about,
        per_unit=len(set(weights[is_present].tolist())) > 1,
        searched=SEARCHED if past.n_events > FEW_EVENTS else 4 * SEARCHED,
    )
    what_if = None
    if history.requests is not None:
        decisions, memories = decisions_among(history, who, end), [of_length(clock, each) for each in chosen]
        what_if = replay_all(history, decisions, memories, ["one-step"], judge, about, until=end)
    statuses = tuple(
        past.status(row, bool(is_present[row])) if who.entitlements[row] else "exempt" for row in range(len(who.names))
    )
    exempt = [name for name, status in zip(who.names, statuses, strict=True) if status == "exempt"]
    utility = history.columns["utility"]
    return Audit(
        label=history.source.label,
        clock=clock,
        utility=utility,
        n_events=past.n_events,
        first=history.first,
        periods=cut,
        members=who,
        received=past.received,
        is_present=is_present,
        entitled=weights / np.nansum(weights),
        standings=standings,
        conclusions=conclusions,
        what_if=what_if,
        statuses=statuses,
        equal_assumed=given is None and not (own is not None and own.entitlements),
        past=past,
        demand=history.demand,
        notes=(
            clock.sentence(),
            *history.notes,
            *past.notes,
            *([f"Left out, since exempt from the load: {listed(exempt, NAMED)}."] if exempt else []),
            *alike(who.names),
            *(() if shares is None else shares.notes),
        ),
        shares=shares,
        kind=about,
        is_ledger=history.ledger is not None,
        title=check_text("title", title),
        unit=check_text("unit", unit) or (own.unit if own else "") or ("" if utility in _UNNAMED else utility),
        remarks=tuple(check_text("note", remark) for remark in remarks),
    )
