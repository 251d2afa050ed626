"""What somebody who can write the whole database could do to a ledger so that hashes and snapshots fit again."""

import sqlite3
from contextlib import closing

from bygones.ledger import Ledger
from bygones.ledger.model.events import GENESIS, details_text, digest
from bygones.ledger.proof.verification import rebuild


def rewrite(path, change):
    """Changes events and makes everything that follows from them anew.

    `change` maps an event to the event that is to stand in its place.
    """
    with Ledger.open(path) as ledger:
        events = [change(event) for event, _ in ledger.events()]
    with closing(sqlite3.connect(path)) as connection, connection:
        numbers = dict(connection.execute("SELECT name, id FROM agents"))
        previous = GENESIS
        for event in events:
            details = details_text(event)
            previous = digest(previous, event, details)
            connection.execute(
                "UPDATE events SET agent = ?, amount = ?, details = ?, author = ?, hash = ? WHERE seq = ?",
                (numbers.get(event.agent), event.amount, details, event.author, previous, event.seq),
            )
        connection.execute("UPDATE ledger SET head_hash = ?", (previous,))
    with Ledger.open(path) as ledger:
        rebuild(ledger._store)
