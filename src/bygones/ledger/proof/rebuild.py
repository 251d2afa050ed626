"""Links, records of what was given, voids, corrections, snapshots and indexes, all made again from the events."""

from __future__ import annotations

import sqlalchemy as sa

from bygones.ledger.proof import integrity
from bygones.ledger.proof.chain import read_chain
from bygones.ledger.storage import derived, schema
from bygones.ledger.storage.store import LedgerError, Store


def rebuild(store: Store) -> int:
    """Makes again all that follows from the events of a damaged ledger; returns the number of agents.

    The events must be intact, since everything else is made from them: a ledger whose chain is broken is refused and
    not changed.
    """
    try:
        with store.locked() as connection:
            head = connection.execute(sa.select(schema.ledger.c.head, schema.ledger.c.head_hash)).one()
            with integrity.without_indexes(connection):
                chain = read_chain(connection)
            if not chain.ends_with(head.head, head.head_hash):
                chain.problems.append(
                    f"the ledger's head is event {head.head}, but the chain ends with event {chain.seq}"
                )
            if chain.problems:
                raise LedgerError(
                    f"{store.name} cannot be rebuilt from its events, which are damaged ({chain.problems[0]}): restore "
                    "a backup"
                )
            integrity.rebuild_indexes(connection)
            derived.rebuild(connection)
            return int(connection.scalar(sa.select(sa.func.count()).select_from(schema.agents)) or 0)
    except LedgerError as error:
        if any(refusal in str(error) for refusal in ("permission denied", "must be owner")):
            raise LedgerError(
                f"{store.name} can be rebuilt by the owner of its tables only, not by this user: nothing was changed"
            ) from error
        raise
