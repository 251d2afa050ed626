"""What is remembered is in one unit: needs as they were reported, or multiples of what each agent usually reports.

Under normalised reports a decision records multiples, otherwise the needs themselves. Added up in one memory, 8 hours
would count eight times an ordinary day. So from the first that was received on, `reports` must stay as it is.
"""

from __future__ import annotations

import sqlalchemy as sa

from bygones.allocation.reports import Reports
from bygones.ledger import schema
from bygones.ledger.events import RECEIVED
from bygones.ledger.rules import RuleBook
from bygones.ledger.voids import in_effect


def check_units(connection: sa.Connection, before: RuleBook, after: RuleBook) -> None:
    """Refuses a transaction, by the rules before and after it, if what is remembered would be in two units."""
    if len({rules.reports for book in (before, after) for rules in book.history}) == 1:
        return
    table = schema.events
    counts = sa.select(sa.func.min(table.c.time)).where(table.c.kind.in_((*RECEIVED, "offset")), in_effect())
    first = connection.execute(counts).scalar()
    if first is not None and len(_since(before, first) | _since(after, first)) > 1:
        raise ValueError(
            "reports cannot change once something was received or is planned, since what is remembered would be in two "
            "units, needs as they were reported and multiples of what each agent usually reports: make a new ledger "
            "(bygones ledger new --reports), or make void what was received and planned before"
        )


def _since(book: RuleBook, time: int) -> set[Reports]:
    """How reports count from an instant on."""
    later = zip(book.changes, book.history, strict=True)
    return {book.at(time).reports, *(rules.reports for change, rules in later if change.time > time)}
