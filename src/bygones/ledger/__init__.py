"""A fairness memory between decisions: rules, an append-only list of events, and everybody's standing at any instant.

For example:

    with Ledger.new("team.db", Rules(half_life="30d")) as ledger:
        ledger.join_all(["ana", "ben"])
        ledger.record("ana", 8)
        ledger.decide(Places({"ana": 8, "ben": 8}, k=1))
"""

from bygones.allocation.requests import Amount, Items, Places, Request
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
