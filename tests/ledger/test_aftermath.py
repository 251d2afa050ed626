"""`explain` says when a decision, or an amount, was changed later."""

import json

from bygones.allocation import ChooseK
from support.command_line import run


def test_a_correction_of_what_was_received_through_a_decision_is_told(team, capsys):
    decision, receipt = team.accept(team.propose(ChooseK({"ana": 8.0}), at="2026-01-02"))
    assert "later" not in run(capsys, "ledger", "explain", team.name, decision.seq)
    first = team.correct(receipt.seq, 6.0, note="left early")
    second = team.correct(receipt.seq, 0.0)
    for number in (decision.seq, receipt.seq):
        *_, one, two = run(capsys, "ledger", "explain", team.name, number).splitlines()
        assert one == f"Corrected later by event {first.seq}: what ana received went from 8 to 6 (left early)."
        assert two == f"Corrected later by event {second.seq}: what ana received went from 6 to 0."
    data = json.loads(run(capsys, "ledger", "explain", team.name, decision.seq, "--json"))
    assert [(each["seq"], each["was"], each["now"]) for each in data["changed_by"]] == [
        (first.seq, 8.0, 6.0),
        (second.seq, 6.0, 0.0),
    ]


def test_a_correction_of_an_amount_is_told(team, capsys):
    event = team.offset("ana", 3, at="2026-01-02")
    later = team.correct(event.seq, -1)
    printed = run(capsys, "ledger", "explain", team.name, event.seq)
    assert f"Corrected later by event {later.seq}: the amount of ana went from 3 to -1." in printed


def test_events_that_came_with_a_decision_do_not_change_it(team):
    decision, *_ = team.accept(team.propose(ChooseK({"ana": 8.0, "ben": 1.0}, 2), at="2026-01-02"))
    assert team.changes_since(decision) == []
