"""`Ledger`: a fairness memory that lives on disk between decisions.

An event counts from its own time on, and events that lie ahead wait. Holds, resumes, joins, leaves and rule changes
can be recorded up to a year ahead, but amounts only after they were received. Any event can be made void by a further
event. Everything then reads as if it had not been recorded, and earlier knowledge can still be asked for.

Events can be recorded late, with these limits. Amounts (received, offset, correction) can be recorded for any time
between the agent's joining and leaving, in any order, and count exactly as if they had been recorded in time. Hold and
resume can be recorded late if the order of holds still makes sense; the agent's events are then read again. Joining and
leaving cannot be earlier than the agent's latest event. A change of the half-life, or of the effect of a hold on the
clock, cannot be earlier than the latest event of any agent so far, since decisions have been based on the earlier
rules. Other rule changes can. The start of a newcomer is computed once, when the join takes effect or, if that is
later, when the join is recorded. It is recorded and stays.

A decision is made at its own time, from the events in effect then. It cannot be earlier than anything received or
decided so far, so it takes everything into account. `redecide` decides a past period again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from bygones.allocation.problem_contract import Problem
from bygones.ledger.actions import decisions, imports, records, redecisions, remade
from bygones.ledger.actions.decisions import Proposal
from bygones.ledger.actions.redecisions import Redecision
from bygones.ledger.model.events import Entry, Event
from bygones.ledger.model.rules import Rules
from bygones.ledger.model.times import When
from bygones.ledger.plans.plans import Plans
from bygones.ledger.reading import Readable
from bygones.ledger.storage import dialects, keys, rows, schema
from bygones.ledger.storage.store import TIMEOUT, Store
from bygones.ledger.storage.transaction import Recorder, Transaction, begin


class Ledger(Readable):
    """Rules and an append-only list of events, from which the standing at any instant follows."""

    def __init__(self, store: Store, author: str | None = None) -> None:
        super().__init__(store)
        self._recorder = Recorder(store, dialects.author_of(author))

    @classmethod
    def new(
        cls,
        target: str | os.PathLike[str],
        rules: Rules | None = None,
        *,
        began: When | None = None,
        author: str | None = None,
        timeout: float = TIMEOUT,
    ) -> Ledger:
        """A new ledger in a new SQLite file, or in an empty PostgreSQL database by its URL.

        Args:
            target: a path or a URL such as `postgresql://user@host/name`.
            rules: the rules of the ledger.
            began: the earliest instant that can be recorded; by default now.
            author: who records; by default `BYGONES_AUTHOR`, else the user of the operating system.
            timeout: seconds to wait for other writers.
        """
        if not isinstance(rules, Rules | None):
            raise ValueError(f"rules must be Rules, such as Rules(half_life='30d'), got {rules!r}")
        with ExitStack() as stack:
            store = Store(target, timeout)
            stack.callback(store.close)
            with store.creating() as connection:
                begin(connection, rules or Rules(), began, dialects.author_of(author))
            stack.pop_all()
        return cls(store, author)

    @classmethod
    def open(cls, target: str | os.PathLike[str], *, author: str | None = None, timeout: float = TIMEOUT) -> Ledger:
        """An existing ledger, and who records in it; tables of an older version are migrated."""
        with ExitStack() as stack:
            store = Store(target, timeout)
            stack.callback(store.close)
            store.check()
            stack.pop_all()
        return cls(store, author)

    def close(self) -> None:
        """Closes the database."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------ recording

    def join(
        self,
        agent: str,
        *,
        at: When | None = None,
        entitlement: float | None = None,
        newcomers: str | float | None = None,
        distinct: bool = False,
        note: str = "",
        key: str | None = None,
    ) -> Event:
        """An agent joins.

        Args:
            agent: the agent's name.
            at: the time of joining; by default now.
            entitlement: relative to the others'; by default 1. For burdens it is the share of the load, 0 for exempt.
            newcomers: the start, instead of the ledger's newcomer rule. An agent who returns keeps their recent total,
                and is topped up to the start if that is more.
            distinct: whether a new agent may have the name of another but for capitals, accents, spaces and signs.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first event.
        """
        return self.join_all(
            [agent], at=at, entitlement=entitlement, newcomers=newcomers, distinct=distinct, note=note, key=key
        )[0]

    def join_all(
        self,
        agents: Sequence[str],
        *,
        at: When | None = None,
        entitlement: float | None = None,
        newcomers: str | float | None = None,
        distinct: bool = False,
        note: str = "",
        key: str | None = None,
    ) -> list[Event]:
        """Several agents join at once; their start depends on the agents already present, not on one another."""
        rule = None if newcomers is None else str(newcomers)
        return self._recorder.once(
            key,
            lambda book: ["join", book.maybe(at), list(agents), entitlement, rule, note],
            lambda tx: records.join(
                tx, agents, at, entitlement=entitlement, newcomers=newcomers, distinct=distinct, note=note
            ),
            lambda _, events: [event for event in events if event.kind == "join"],
        )

    def leave(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent leaves; their recent total continues to fade, and holds and resumes ahead become void."""
        return self._take_part("leave", agent, at, note, key)

    def hold(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent goes on hold: they take no part in decisions, and the rules may stop the fading of their past."""
        return self._take_part("hold", agent, at, note, key)

    def resume(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent on hold takes part again."""
        return self._take_part("resume", agent, at, note, key)

    def _take_part(self, kind: str, agent: str, at: When | None, note: str, key: str | None) -> Event:
        return self._recorder.once(
            key,
            lambda book: [kind, book.maybe(at), agent, note],
            lambda tx: records.take_part(tx, kind, agent, at, note),
            lambda _, events: next(event for event in events if event.kind == kind),
        )

    def record(
        self,
        agent: str,
        amount: float,
        *,
        at: When | None = None,
        length: str = "",
        note: str = "",
        key: str | None = None,
    ) -> Event:
        """Records a utility of at least 0 that an agent received, for a turn that lasted so long, such as `10h`."""
        return self.record_all([Entry(agent, amount, at, note, key, length=length)])[0]

    def record_all(
        self,
        entries: Iterable[Entry],
        *,
        join: bool = False,
        distinct: bool = False,
        again: bool = True,
        key: str | None = None,
        source: str = "",
        keep: bool = True,
    ) -> list[Event]:
        """Records many utilities at once, all or none, which is faster than one by one.

        Args:
            entries: who received what, when; by default now. An entry with a key is recorded once only.
            join: whether unknown agents join with their first entry, starting with zero.
            distinct: whether they may have the name of another but for capitals, accents, spaces and signs.
            again: whether to record what the ledger has already: an equal agent, time and amount.
            key: one for all of them. The same entries with the same key are recorded once only.
            source: where they come from, such as a file; `undo_import` takes back entries with a source.
            keep: whether to record them; otherwise they are checked in every way, and nothing is recorded.
        """
        wanted = [Entry(*entry) for entry in entries]
        if key is not None and any(entry.key is not None for entry in wanted):
            raise ValueError("give one key for all entries, or a key for each entry, not both")

        def act(tx: Transaction) -> list[Event]:
            return imports.record(tx, wanted, join=join, distinct=distinct, again=again, source=source)

        def read(tx: Transaction, events: list[Event]) -> list[Event]:
            if source:
                imports.put_back(tx, events)
            return [event for event in events if event.kind == "received"]

        if not keep:
            return self._recorder.write(act, keep=False)
        return self._recorder.once(key, lambda book: imports.asked(wanted, book), act, read)

    def offset(
        self, agent: str, amount: float, *, at: When | None = None, note: str = "", key: str | None = None
    ) -> Event:
        """Adds an amount to an agent's recent total, without changing the total received; it may be negative."""
        entry = Entry(agent, amount, at, note)
        return self._recorder.once(
            key,
            lambda book: ["offset", book.maybe(at), agent, amount, note],
            lambda tx: records.amounts(tx, "offset", [entry])[0],
        )

    def correct(self, seq: int, amount: float = 0.0, *, note: str = "", key: str | None = None) -> Event:
        """Records a correction, after which event `seq` counts as if it had been recorded with this amount."""
        return self._recorder.once(
            key,
            lambda _: ["correct", None, seq, keys.number(amount), note],
            lambda tx: records.correct(tx, seq, amount, note),
        )

    def change_rules(self, *, at: When | None = None, note: str = "", key: str | None = None, **settings: Any) -> Event:
        """Changes these settings of `Rules` from an instant on, by default now."""

        def act(tx: Transaction) -> Event:
            records.check_agents(tx, settings)
            return records.change_rules(tx, tx.time(at), settings, note)

        return self._recorder.once(key, lambda book: ["rules", book.maybe(at), settings, note], act)

    def undo_import(self, seq: int, *, note: str = "", key: str | None = None) -> list[Event]:
        """Takes back everything that an import recorded, found by any of its events."""
        return self._recorder.once(
            key,
            lambda _: ["undo-import", None, seq, note],
            lambda tx: imports.undo(tx, seq, note),
            lambda _, events: events,
        )

    def void(self, seq: int, *, note: str = "", key: str | None = None) -> Event:
        """Makes event `seq` void: from here on everything reads as if it had not been recorded.

        With a decision, the amounts received through it are void too; with an amount, its corrections. To void a void
        puts the event back in effect. A void that would leave the ledger without sense is refused.
        """
        return self._recorder.once(
            key,
            lambda _: ["void", None, seq, note],
            lambda tx: records.void(tx, seq, note),
        )

    # ------------------------------------------------------------------------------------------------ deciding

    def propose(
        self, request: Problem, *, at: When | None = None, lengths: Mapping[str, str] = MappingProxyType({})
    ) -> Proposal:
        """The decision if it were made now; nothing is recorded. The same ledger and request give the same proposal.

        Args:
            request: the things to allocate, and everyone's needs.
            at: the time; by default now.
            lengths: how long each item lasts, such as `10h` or `20:00-06:00`; under the empty name, everything else.
        """
        with self._store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger)).one()
            book, now = rows.load_book(head.rules), rows.clock(connection)
            return decisions.propose(connection, book, int(head.head), request, at, now, lengths)

    def accept(self, proposal: Proposal, note: str = "", *, key: str | None = None) -> list[Event]:
        """Records a proposal; raises `StaleProposalError` if anything has been recorded since it was made."""
        return self._recorder.once(
            key,
            lambda _: ["decide", None, proposal.request.to_dict(), note],
            lambda tx: decisions.accept(tx, proposal, note),
            lambda _, events: events,
        )

    def decide(
        self,
        request: Problem,
        *,
        at: When | None = None,
        lengths: Mapping[str, str] = MappingProxyType({}),
        note: str = "",
        key: str | None = None,
    ) -> Proposal:
        """Proposes and accepts in one transaction: two decisions never use the same standing.

        With a key that was used for the same request, nothing is decided: it returns that decision.
        """

        def act(tx: Transaction) -> Proposal:
            # At the instant at which it is recorded: nothing of it waits for the next transaction.
            proposed = decisions.propose(tx.connection, tx.book, int(tx.head.head), request, at, tx.recorded, lengths)
            decisions.enact(tx, proposed, note)
            return proposed

        return self._recorder.once(
            key,
            lambda book: ["decide", book.maybe(at), request.to_dict(), note, *([dict(lengths)] if lengths else [])],
            act,
            lambda tx, events: remade.answer(tx.connection, events[0]),
        )

    def redecide(
        self,
        start: When,
        end: When | None = None,
        *,
        accept: bool = False,
        note: str = "",
        key: str | None = None,
    ) -> list[Redecision]:
        """Decides a past period again with today's knowledge.

        Decisions from `start` until before `end`, by default until now, become void and are made again if they would
        now be different. Later ones are only compared. Every decision keeps its random draw, and a decision for which
        nothing has changed stays.

        Args:
            start: the first instant of the period.
            end: the first instant after the period.
            accept: whether to record the result; otherwise nothing is recorded.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first answer.

        Returns:
            The decisions that would be different, in the order of time.
        """

        def act(tx: Transaction) -> list[Redecision]:
            return redecisions.redecide(tx, tx.book.instant(start, "from"), tx.book.maybe(end, "to"), note)

        if not accept:
            keys.check_unused(key)
            return self._recorder.write(act, keep=False)
        return self._recorder.once(
            key,
            lambda book: ["redecide", book.instant(start), book.maybe(end, "to"), note],
            act,
            redecisions.redecided,
        )

    @property
    def plans(self) -> Plans:
        """The plans for dates ahead."""
        return Plans(self._recorder)
