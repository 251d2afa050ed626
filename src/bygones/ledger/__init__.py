"""A fairness memory between decisions: rules, an append-only list of events, and the standing at any instant.

For example:

    with Ledger.new("team.db", Rules(half_life="30d")) as ledger:
        ledger.join_all(["ana", "ben"])
        ledger.record("ana", 8)
        ledger.decide(ChooseK({"ana": 8, "ben": 8}, k=1))

The names below are imported when they are first used: reading a duration such as `7d` needs no database.
"""

from typing import TYPE_CHECKING

from bygones._parts import on_first_use

if TYPE_CHECKING:
    from bygones.ledger.actions.decisions import Proposal, StaleProposalError
    from bygones.ledger.actions.explanations import Contribution
    from bygones.ledger.actions.imports import Preview
    from bygones.ledger.actions.redecisions import Redecision
    from bygones.ledger.ledger import Ledger
    from bygones.ledger.model.draws import check_draw
    from bygones.ledger.model.events import Entry, Event
    from bygones.ledger.model.rules import NEWCOMER_RULES, RuleBook, Rules
    from bygones.ledger.model.standing import Standing, newcomer_start
    from bygones.ledger.plans.date_needs import DateNeeds
    from bygones.ledger.plans.plan_changes import Replanned
    from bygones.ledger.plans.planned_dates import Plan, PlannedTurn
    from bygones.ledger.proof.verification import Verification
    from bygones.ledger.storage.store import LedgerError

__all__ = [
    "NEWCOMER_RULES",
    "Contribution",
    "DateNeeds",
    "Entry",
    "Event",
    "Ledger",
    "LedgerError",
    "Plan",
    "PlannedTurn",
    "Preview",
    "Proposal",
    "Redecision",
    "Replanned",
    "RuleBook",
    "Rules",
    "StaleProposalError",
    "Standing",
    "Verification",
    "check_draw",
    "newcomer_start",
]

_NAMES = {
    "actions.explanations": ("Contribution",),
    "actions.decisions": ("Proposal", "StaleProposalError"),
    "model.draws": ("check_draw",),
    "model.events": ("Entry", "Event"),
    "actions.imports": ("Preview",),
    "ledger": ("Ledger",),
    "plans.date_needs": ("DateNeeds",),
    "plans.planned_dates": ("Plan", "PlannedTurn"),
    "actions.redecisions": ("Redecision",),
    "plans.plan_changes": ("Replanned",),
    "model.rules": ("NEWCOMER_RULES", "RuleBook", "Rules"),
    "model.standing": ("Standing", "newcomer_start"),
    "storage.store": ("LedgerError",),
    "proof.verification": ("Verification",),
}
"""The module that defines each name."""

if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = on_first_use(__name__, _NAMES)
