"""A fairness memory between decisions: rules, an append-only list of events, and everybody's standing at any instant.

For example:

    with Ledger.new("team.db", Rules(half_life="30d")) as ledger:
        ledger.join_all(["ana", "ben"])
        ledger.record("ana", 8)
        ledger.decide(Places({"ana": 8, "ben": 8}, k=1))

The names below are imported when they are first used: reading a duration such as `7d` needs no database.
"""

from typing import TYPE_CHECKING

from bygones._parts import on_first_use
from bygones.allocation.requests import Amount, Items, Places, Request

if TYPE_CHECKING:
    from bygones.ledger.contributions import Contribution
    from bygones.ledger.deciding import PastDecision, Proposal, StaleProposalError
    from bygones.ledger.draws import check_draw
    from bygones.ledger.events import Event
    from bygones.ledger.importing import Preview
    from bygones.ledger.ledger import Ledger
    from bygones.ledger.plan_tables import DateNeeds
    from bygones.ledger.planning import Plan, PlannedTurn
    from bygones.ledger.redeciding import Redecision
    from bygones.ledger.replanning import Replanned
    from bygones.ledger.rules import NEWCOMER_RULES, RuleBook, Rules
    from bygones.ledger.standing import Standing, newcomer_start
    from bygones.ledger.store import LedgerError
    from bygones.ledger.verifying import Verification
    from bygones.ledger.writing import Entry

__all__ = [
    "NEWCOMER_RULES",
    "Amount",
    "Contribution",
    "DateNeeds",
    "Entry",
    "Event",
    "Items",
    "Ledger",
    "LedgerError",
    "PastDecision",
    "Places",
    "Plan",
    "PlannedTurn",
    "Preview",
    "Proposal",
    "Redecision",
    "Replanned",
    "Request",
    "RuleBook",
    "Rules",
    "StaleProposalError",
    "Standing",
    "Verification",
    "check_draw",
    "newcomer_start",
]

_NAMES = {
    "contributions": ("Contribution",),
    "deciding": ("PastDecision", "Proposal", "StaleProposalError"),
    "draws": ("check_draw",),
    "events": ("Event",),
    "importing": ("Preview",),
    "ledger": ("Ledger",),
    "plan_tables": ("DateNeeds",),
    "planning": ("Plan", "PlannedTurn"),
    "redeciding": ("Redecision",),
    "replanning": ("Replanned",),
    "rules": ("NEWCOMER_RULES", "RuleBook", "Rules"),
    "standing": ("Standing", "newcomer_start"),
    "store": ("LedgerError",),
    "verifying": ("Verification",),
    "writing": ("Entry",),
}
"""The module that defines each name."""

if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = on_first_use(__name__, _NAMES)
