"""Everything but the events, made anew from the events: snapshots, rules and indexes."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from bygones.ledger import integrity, rows, schema, voids
from bygones.ledger.chain import Chain, read_chain
from bygones.ledger.rebuilding import rebuilt
from bygones.ledger.store import LedgerError, Store


def rebuild(store: Store) -> int:
    """Makes snapshots and indexes of a damaged ledger anew; how many agents there are.

    The events must be intact, since they are all there is: a ledger whose chain is broken is refused and not changed.
    """
    try:
        return _rebuild(store)
    except LedgerError as error:
        if any(refusal in str(error) for refusal in ("permission denied", "must be owner")):
            raise LedgerError(
                f"{store.name} can be rebuilt by the owner of its tables only, not by this user: nothing was changed"
            ) from error
        raise


def _rebuild(store: Store) -> int:
    with store.writing() as (connection, head):
        with integrity.without_indexes(connection):
            chain = read_chain(connection)
        if not chain.ends_with(head.head, head.head_hash):
            chain.problems.append(f"the ledger's head is event {head.head}, but the chain ends with event {chain.seq}")
        if chain.problems:
            raise LedgerError(
                f"{store.name} cannot be rebuilt from its events, which are damaged ({chain.problems[0]}): restore a "
                "backup"
            )
        integrity.rebuild_indexes(connection)
        refresh(connection, chain)
    return len(chain.turns)


def refresh(connection: sa.Connection, chain: Chain, only: Collection[str] | None = None) -> None:
    """Saves what follows from a chain's events: what is void, snapshots of all agents or some, rules and head."""
    voids.refresh(connection, chain.voids)
    found = connection.execute(sa.select(schema.agents.c.id, schema.agents.c.name).order_by(schema.agents.c.id)).all()
    wanted = [int(row.id) for row in found if only is None or row.name in only]
    known = rebuilt(connection, chain.latest, ids=None if only is None else wanted)
    rows.save_agents(connection, known.ids, known.agents)
    for number in set(wanted).difference(known.ids.tolist()):
        rows.save_nobody(connection, number)
    connection.execute(
        schema.ledger.update().values(
            head=chain.seq, head_hash=chain.hash, settled=chain.latest, rules=rows.save_book(known.book)
        )
    )
