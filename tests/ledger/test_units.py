"""What is remembered in one ledger is in one unit: needs as reported, or multiples of what is usual."""

import pytest

from bygones.allocation import ChooseK
from bygones.ledger import Ledger, Rules

NEEDS = ChooseK({"ana": 8.0, "ben": 4.0}, k=2)
OTHER = {"as-reported": "normalised", "normalised": "as-reported"}


@pytest.fixture(params=list(OTHER))
def ledger(new_target, request):
    """Ana and Ben, whose needs count one way at first."""
    with Ledger.new(new_target(), Rules(half_life="inf", reports=request.param), began="2026-01-01") as made:
        made.join_all(["ana", "ben"], at="2026-01-01")
        yield made


def changed(ledger, at):
    """Lets needs count the other way from an instant on; the event."""
    return ledger.change_rules(reports=OTHER[ledger.rules("2026-01-01").reports], at=at)


def refused(ledger, what):
    before = ledger.head()
    with pytest.raises(ValueError, match="reports cannot change once an amount was received or is planned"):
        what()
    assert ledger.head() == before


@pytest.mark.parametrize("at", ["2026-01-02", "2026-01-03", "2026-01-04"])
def test_the_unit_cannot_change_once_something_was_decided(ledger, at):
    decided = ledger.decide(NEEDS, at="2026-01-03")
    refused(ledger, lambda: changed(ledger, at))
    ledger.change_rules(half_life="7d")
    ledger.change_rules(reports=ledger.rules("2026-01-01").reports)
    assert decided.standing.rules.reports == ledger.rules().reports


def test_it_can_change_while_nothing_counts(ledger):
    decision, *_ = ledger.accept(ledger.propose(NEEDS, at="2026-01-03"))
    ledger.void(decision.seq)
    changed(ledger, "2026-01-04")
    ledger.decide(NEEDS, at="2026-01-05")
    assert ledger.verify().ok


def test_nothing_is_received_before_it_changes(ledger):
    changed(ledger, "2026-01-04")
    refused(ledger, lambda: ledger.record("ana", 1.0, at="2026-01-03"))
    refused(ledger, lambda: ledger.decide(NEEDS, at="2026-01-03"))
    ledger.record("ana", 1.0, at="2026-01-04")


def test_the_change_cannot_be_void_once_something_was_decided_after_it(ledger):
    change = changed(ledger, "2026-01-02")
    ledger.decide(NEEDS, at="2026-01-03")
    refused(ledger, lambda: ledger.void(change.seq))
