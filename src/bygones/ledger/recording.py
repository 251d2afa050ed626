"""Records in a ledger in an author's name, everything of a command in one transaction; with a key, once only.

A key that was used before for the same request records nothing: what came of it then is told again, however often and
by how many at once it is asked for, since writers wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from bygones.ledger import keys, rows
from bygones.ledger.authors import in_database
from bygones.ledger.events import Event
from bygones.ledger.store import Store
from bygones.ledger.times import When
from bygones.ledger.units import check_units
from bygones.ledger.writing import LedgerWriter

T = TypeVar("T")


class Recorder:
    """Records in one ledger in the name of one author."""

    def __init__(self, store: Store, author: str) -> None:
        self._store, self._author = store, author

    def write(self, what: Callable[[LedgerWriter], T], *, keep: bool = True) -> T:
        """Does something to the ledger in one transaction; unless it is to be kept, it is undone again."""
        with self._store.writing() as (connection, head):
            writer = LedgerWriter(connection, head, in_database(connection, self._author))
            result = what(writer)
            if keep and writer.recorded_something:
                writer.finish()
                check_units(connection, rows.load_book(head.rules), writer.book)
            else:
                # If nothing was recorded, waiting events would have been settled without a trace.
                connection.rollback()
        return result

    def events(
        self,
        what: Callable[[LedgerWriter], list[Event]],
        key: str | None,
        kind: str,
        at: When | None,
        *asked: Any,
        again: Callable[[LedgerWriter, list[Event]], object] | None = None,
    ) -> list[Event]:
        """Records something with a key or, if that was done before, returns all events that were recorded then.

        Args:
            what: records it; its events.
            key: chosen by the caller; without one it is recorded in any case.
            kind: the name of the request.
            at: its time; if left open, it stays open.
            asked: what else was asked for. It may be a function of the rules, which know the time zone.
            again: what to do if it was recorded before, by default nothing.
        """
        return self.write(what) if key is None else self._once(what, key, kind, at, asked, again=again)

    def answer(
        self,
        what: Callable[[LedgerWriter], T],
        key: str | None,
        kind: str,
        at: When | None,
        *asked: Any,
        tell: Callable[[T], Any],
        read: Callable[[list[Event], Any], T],
    ) -> T:
        """Records something whose answer does not follow from its events alone; with a key, `tell` is stored too.

        If it was recorded before, `read` makes the answer from the events and from what was stored.
        """
        if key is None:
            return self.write(what)
        made: list[T] = []

        def write(writer: LedgerWriter) -> object:
            made[:] = [what(writer)]
            return tell(made[0])

        events = self._once(write, key, kind, at, asked, store=True)
        return made[0] if made else read(events, keys.answer_of(events, keys.check_key(key)))

    def _once(
        self,
        what: Callable[[LedgerWriter], object],
        key: str,
        kind: str,
        at: When | None,
        asked: tuple[Any, ...],
        *,
        again: Callable[[LedgerWriter, list[Event]], object] | None = None,
        store: bool = False,
    ) -> list[Event]:
        """All events of a key, recorded now or before."""
        name = keys.check_key(key)

        def once(writer: LedgerWriter) -> list[Event]:
            told = [each(writer.book) if callable(each) else each for each in asked]
            content = keys.fingerprint(kind, None if at is None else writer.book.instant(at), *told)
            known = keys.recorded(writer.connection, name, content)
            if not known:
                made = what(writer)
                writer.together(content, name, **({"answer": made} if store else {}))
            elif again is not None:
                again(writer, known)
            return known

        known = self.write(once)
        if known:
            return known
        with self._store.reading() as connection:
            return keys.events_of(connection, name)
