"""`Ledger`: a fairness memory that lives on disk between decisions.

An event counts from its own time on, and events that lie ahead wait: holds, resumes, joins, leaves and rule changes can
be recorded up to a year ahead, what was received only once it was. Any event can be made void by a further event;
everything then reads as if it had not been recorded, and what was known before can still be asked for.

Events can be recorded late, with these limits. Amounts (received, offset, correction) can be recorded for any time
between the agent's joining and leaving, in any order, and count exactly as if they had been recorded in time. Hold and
resume can be recorded late if the order of holds still makes sense; the agent's events are then read again. Joining and
leaving cannot be earlier than the agent's latest event. A change of the half-life, or of what a hold does to the clock,
cannot be earlier than the latest event of any agent so far, since decisions have been based on the earlier rules; other
rule changes can. What a newcomer starts with is computed when the join takes effect or, if that is later, is recorded,
from what is known then; it is recorded, and stays.

A decision is made at its own time and sees what is in effect then. It cannot be earlier than anything received or
decided so far, so that it takes everything into account; `redecide` decides a past period again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import sqlalchemy as sa

from bygones._text import check_text
from bygones.allocation.requests import Request
from bygones.allocation.settling import check_known
from bygones.ledger import deciding, keys, rows, schema, voiding
from bygones.ledger.authors import author_of, in_database
from bygones.ledger.deciding import PastDecision, Proposal
from bygones.ledger.events import Event, check_event
from bygones.ledger.importing import check_distinct, put_back, undo
from bygones.ledger.plans import Plans
from bygones.ledger.reading import Readable
from bygones.ledger.recording import Recorder
from bygones.ledger.redeciding import Redecision, redecide
from bygones.ledger.rules import RuleBook, Rules, check_entitlement, check_newcomers
from bygones.ledger.standing import newcomer_start, standing
from bygones.ledger.store import TIMEOUT, Store
from bygones.ledger.times import When
from bygones.ledger.writing import Entry, LedgerWriter, begin


class Ledger(Readable):
    """Rules and an append-only list of events, from which everybody's standing at any instant follows."""

    def __init__(self, store: Store, author: str | None = None) -> None:
        super().__init__(store)
        self._recorder = Recorder(store, author_of(author))

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
                begin(connection, rules or Rules(), began, in_database(connection, author_of(author)))
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
            entitlement: relative to the others'; by default 1. Of burdens it is the share of the load, 0 for exempt.
            newcomers: what to start with, instead of the ledger's newcomer rule. An agent who returns keeps what is
                still remembered and is raised to the start, never lowered.
            distinct: whether a new agent may have the name of another but for capitals, accents, spaces and signs.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first event.
        """
        shared: dict[str, Any] = {"entitlement": entitlement, "newcomers": newcomers, "distinct": distinct}
        return self.join_all([agent], at=at, note=note, key=key, **shared)[0]

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
        """Several agents join at once; what they start with depends on those already present, not on one another."""

        def write(writer: LedgerWriter) -> list[Event]:
            names = [check_text("agent", agent, empty=False) for agent in agents]
            if not distinct:
                check_distinct(writer.connection, names)
            time = writer.time(at)
            if entitlement is not None:
                kind = writer.book.at(time).kind
                weights = {name: check_entitlement(entitlement, name, kind) for name in names}
                writer.change_rules(time, {"entitlements": weights}, note)
            others = standing(writer.connection, writer.book, time)
            own = None if newcomers is None else check_newcomers(newcomers)
            rule = own or others.rules.newcomers
            kept = dict(zip(others.names, others.remembered.tolist(), strict=True))
            weight = others.rules.entitlements
            starts = [newcomer_start(others, rule, weight.get(name, 1.0)) - kept.get(name, 0.0) for name in names]
            return [writer.join(name, time, max(s, 0.0), own, note) for name, s in zip(names, starts, strict=True)]

        asked = ("join", at, list(agents), entitlement, None if newcomers is None else str(newcomers), note)
        return [event for event in self._recorder.events(write, key, *asked) if event.kind == "join"]

    def leave(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent leaves; what is remembered of them continues to fade."""
        return self._turn("leave", agent, at, note, key)

    def hold(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent goes on hold: they take no part in decisions, and their past stops fading if the rules say so."""
        return self._turn("hold", agent, at, note, key)

    def resume(self, agent: str, *, at: When | None = None, note: str = "", key: str | None = None) -> Event:
        """An agent on hold takes part again."""
        return self._turn("resume", agent, at, note, key)

    def _turn(self, kind: str, agent: str, at: When | None, note: str, key: str | None) -> Event:
        return self._recorder.events(
            lambda writer: [writer.turn(kind, agent, writer.time(at), note)], key, kind, at, agent, note
        )[0]

    def record(
        self, agent: str, amount: float, *, at: When | None = None, note: str = "", key: str | None = None
    ) -> Event:
        """Records a utility of at least 0 that an agent received."""
        return self.record_all([Entry(agent, amount, at, note, key)])[0]

    def record_all(
        self,
        entries: Iterable[Entry],
        *,
        join: bool = False,
        distinct: bool = False,
        key: str | None = None,
        source: str = "",
        keep: bool = True,
    ) -> list[Event]:
        """Records many utilities at once, all or none, which is faster than one by one.

        Args:
            entries: who received what, when; by default now. An entry with a key of its own is recorded once only.
            join: whether unknown agents join with their first entry, starting with zero.
            distinct: whether they may have the name of another but for capitals, accents, spaces and signs.
            key: of all of them together. The same entries with the same key are recorded once only.
            source: where they come from, such as a file; `undo_import` takes back what has a source.
            keep: whether to record them; otherwise they are checked in every way, and nothing is recorded.
        """
        wanted = [Entry(*entry) for entry in entries]
        if key is not None and any(entry.key is not None for entry in wanted):
            raise ValueError("give a key for all entries together, or keys of their own, not both")

        def write(writer: LedgerWriter) -> list[Event]:
            known = keys.recorded_entries(writer.connection, wanted, writer.book.instant)
            new = [entry for entry in wanted if entry.key is None or keys.check_key(entry.key) not in known]
            if source:
                put_back(writer, list(known.values()))
            if join and not distinct:
                check_distinct(writer.connection, [entry.agent for entry in new])
            written = iter(writer.amounts("received", new, join=join))
            if source:
                writer.together(source=source)
            # In the order of the entries, what was recorded before in its place.
            return [known.get(str(entry.key)) or next(written) for entry in wanted]

        if key is None or not keep:
            return self._recorder.write(write, keep=keep)

        def asked(book: RuleBook) -> list[list[Any]]:
            times = [None if entry.at is None else book.instant(entry.at) for entry in wanted]
            return [
                [entry.agent, keys.number(entry.amount), time, entry.note]
                for time, entry in zip(times, wanted, strict=True)
            ]

        again = put_back if source else None
        found = self._recorder.events(write, key, "record", None, asked, again=again)
        return [event for event in found if event.kind == "received"]

    def offset(
        self, agent: str, amount: float, *, at: When | None = None, note: str = "", key: str | None = None
    ) -> Event:
        """Adds an amount to what is remembered of an agent, without changing what was received; it may be negative."""
        entry = Entry(agent, amount, at, note)
        return self._recorder.events(
            lambda writer: writer.amounts("offset", [entry]), key, "offset", at, agent, amount, note
        )[0]

    def correct(self, seq: int, amount: float = 0.0, *, note: str = "", key: str | None = None) -> Event:
        """Records a correction, after which event `seq` counts as if it had been recorded with this amount."""
        return self._recorder.events(
            lambda writer: [writer.correct(check_event(seq), amount, note)],
            key,
            "correct",
            None,
            seq,
            keys.number(amount),
            note,
        )[0]

    def change_rules(self, *, at: When | None = None, note: str = "", key: str | None = None, **settings: Any) -> Event:
        """Changes these settings of `Rules` from an instant on, by default now."""

        def write(writer: LedgerWriter) -> list[Event]:
            named = list(settings.get("entitlements", ()))
            known = rows.load_agents(writer.connection, named)[1].names if named else ()
            check_known(named, known, "entitlements", "the ledger")
            return [writer.change_rules(writer.time(at), settings, note)]

        return self._recorder.events(write, key, "rules", at, settings, note)[0]

    def undo_import(self, seq: int, *, note: str = "", key: str | None = None) -> list[Event]:
        """Takes back everything that an import recorded, found by any of its events."""
        seq = check_event(seq)
        return self._recorder.events(lambda writer: undo(writer, seq, note), key, "undo-import", None, seq, note)

    def void(self, seq: int, *, note: str = "", key: str | None = None) -> Event:
        """Makes event `seq` void: from here on everything reads as if it had not been recorded.

        With a decision, what was received through it is void too; with an amount, its corrections. To void a void puts
        the event back in effect. What would leave the ledger without sense is refused.
        """
        seq = check_event(seq)
        return self._recorder.events(lambda writer: [voiding.void(writer, seq, note)], key, "void", None, seq, note)[0]

    # ------------------------------------------------------------------------------------------------ deciding

    def propose(self, request: Request, *, at: When | None = None) -> Proposal:
        """What would be decided now; nothing is recorded. The same ledger and request give the same proposal."""
        with self._store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger)).one()
            return deciding.propose(connection, head, request, at)

    def accept(self, proposal: Proposal, note: str = "", *, key: str | None = None) -> list[Event]:
        """Records a proposal; raises `StaleProposalError` if anything has been recorded since it was made."""
        asked = ("decide", None, proposal.request.to_dict(), note)
        return self._recorder.events(lambda writer: deciding.accept(writer, proposal, note), key, *asked)

    def decide(
        self, request: Request, *, at: When | None = None, note: str = "", key: str | None = None
    ) -> Proposal | PastDecision:
        """Proposes and accepts in one transaction, so that no two decisions use the same standing.

        With a key that was used for the same request, nothing is decided: it returns what was decided then.
        """

        def write(writer: LedgerWriter) -> Proposal | PastDecision:
            # At the instant at which it is recorded, so that nothing of it waits for the next transaction.
            proposed = deciding.propose(writer.connection, writer.head, request, at, writer.recorded)
            deciding.accept(writer, proposed, note)
            return proposed

        return self._recorder.answer(
            write, key, "decide", at, request.to_dict(), note,
            tell=lambda made: made.besides(),
            read=lambda events, _: PastDecision(events[0]),
        )  # fmt: skip

    def redecide(
        self,
        start: When,
        end: When | None = None,
        *,
        accept: bool = False,
        note: str = "",
        key: str | None = None,
    ) -> list[Redecision]:
        """Decides a past period again, with what is known now.

        Of the decisions from `start` until before `end`, by default until now, those that would now be different become
        void and are made again; later ones are only compared. Every decision keeps its lot, so that one for which
        nothing has changed stays as it is.

        Args:
            start: the first instant of the period.
            end: the first instant after the period.
            accept: whether to record the result; otherwise nothing is recorded.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first answer.

        Returns:
            The decisions that would be different, in the order of time.
        """

        def until(book: RuleBook) -> int | None:
            return None if end is None else book.instant(end, "to")

        def write(writer: LedgerWriter) -> list[Redecision]:
            return redecide(writer, writer.book.instant(start, "from"), until(writer.book), note)

        if not accept:
            keys.check_unused(key)
            return self._recorder.write(write, keep=False)
        return self._recorder.answer(
            write, key, "redecide", start, until, note,
            tell=lambda found: [each.stored() for each in found],
            read=lambda _, told: [Redecision.from_stored(each) for each in told],
        )  # fmt: skip

    @property
    def plans(self) -> Plans:
        """What is planned for dates ahead."""
        return Plans(self._store, self._recorder)
