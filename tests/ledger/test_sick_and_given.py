"""Someone is sick, and turns that go to another agent."""

import json

import pytest

from bygones import Assign, ChooseK
from bygones.ledger import Ledger, Rules
from bygones.ledger.model import times
from bygones.ledger.model.span import lasting_all
from bygones.ledger.model.times import instant
from bygones.ledger.plans.date_needs import DateNeeds
from support.command_line import run

NAMES = ("ana", "ben", "cem")


def night(day, request=None):
    at = instant(f"{day}T20:00")
    return DateNeeds(
        at, False, request or ChooseK(dict.fromkeys(NAMES, 10.0)), spans=lasting_all({"": "10h"}, at, "UTC")
    )


@pytest.fixture
def ward(new_path, monkeypatch):
    monkeypatch.setattr(times, "now", lambda: instant("2027-03-20"))
    with Ledger.new(new_path(), Rules(kind="burden", half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for amount, name in enumerate(NAMES):
            ledger.record(name, amount / 10, at="2026-01-02")
        ledger.plans.publish([night(f"2027-03-{day}") for day in (22, 23, 24, 25)])
        yield ledger


def whose(ward):
    return [turn.agent for turn in ward.plans.turns()]


class TestSick:
    def test_only_the_turns_of_the_sick_agent_change_until_they_are_back(self, ward):
        assert whose(ward) == ["ana", "ben", "cem", "ana"]
        ward.hold("ben", at="2027-03-23")  # which nobody has planned again yet
        head = ward.head()
        preview = ward.plans.sick("ana", "2027-03-24")
        assert ward.head() == head
        found = ward.plans.sick("ana", "2027-03-24", accept=True, key="call")
        assert found == preview
        assert [change.why for change in found] == [("ana is on hold",)]
        assert whose(ward)[1:] == ["ben", "cem", "ana"]
        assert whose(ward)[0] != "ana"
        assert dict(zip(NAMES, ward.standing("2027-03-24T12:00").status, strict=True))["ana"] == "present"
        events = ward.n_events()
        assert ward.plans.sick("ana", "2027-03-24", accept=True, key="call") == found
        assert ward.n_events() == events
        assert ward.verify().problems == ()

    def test_a_time_before_is_refused(self, ward):
        with pytest.raises(ValueError, match="agent 'ana' is not on hold"):
            ward.plans.sick("ana", "2027-03-01", accept=True)
        assert ward.standing().status[0] == "present"

    def test_the_command_names_a_turn_that_has_begun(self, ward, capsys, monkeypatch):
        monkeypatch.setattr(times, "now", lambda: instant("2027-03-22T22:00"))
        shown = run(capsys, "ledger", "sick", ward.name, "ana", "--until", "2027-03-26")
        assert "Nothing was recorded: add --accept to record this." in shown
        (begun, _) = (turn.seq for turn in ward.plans.turns("2027-03-22") if turn.agent == "ana")
        assert f"ana has a turn now (event {begun}), which stays theirs" in shown
        data = json.loads(
            run(capsys, "ledger", "sick", ward.name, "ana", "--until", "2027-03-26", "--accept", "--json")
        )
        assert (data["recorded"], data["begun"], len(data["dates"])) == (True, [begun], 1)
        printed = run(capsys, "ledger", "give", ward.name, begun, "cem")
        assert "cem takes the turn on 2027-03-22 20:00 UTC and is credited with it." in printed


class TestGiven:
    def test_a_turn_counts_for_the_agent_who_takes_it(self, ward):
        first = ward.plans.turns()[0]
        taken = ward.plans.give(first.seq, "cem", key="favour")
        assert ward.plans.give(first.seq, "cem", key="favour") == taken
        assert whose(ward)[0] == "cem"
        assert ward.plans.turns()[0].span == first.span
        assert ward.verify().problems == ()
        after = [str(block) for block in ward.account(first.seq).document().blocks]
        assert f"Given away later: cem takes it (event {taken.seq})." in after
        with pytest.raises(ValueError, match=rf"the turn was given away .* give event {taken.seq} to the other agent"):
            ward.void(taken.seq)
        back = ward.plans.give(taken.seq, "ana")
        assert back.agent == "ana"
        assert ward.verify().problems == ()

    def test_the_amount_is_that_of_the_taker_unless_it_was_corrected(self, ward):
        items = Assign({"ana": {"night": 3.0}, "ben": {"night": 5.0}, "cem": {"night": 9.0}})
        ward.plans.publish([night("2027-03-27", items)])
        turn = ward.plans.turns()[-1]
        assert (turn.agent, turn.amount) == ("ben", 5)
        assert ward.plans.give(turn.seq, "ana").amount == 3
        turn = ward.plans.turns()[-1]
        ward.correct(turn.seq, 7)
        assert ward.plans.give(turn.seq, "cem").amount == 7

    def test_rules_are_checked_for_the_taker(self, ward):
        first = ward.plans.turns()[0]
        with pytest.raises(ValueError, match="is a turn of 'ana' already"):
            ward.plans.give(first.seq, "ana")
        with pytest.raises(ValueError, match="'zoe' is not a member"):
            ward.plans.give(first.seq, "zoe")
        ward.hold("cem", at="2027-03-23T02:00")
        with pytest.raises(ValueError, match="'cem' is on hold"):
            ward.plans.give(first.seq, "cem")  # which lasts until 06:00
        ward.plans.publish([night("2027-03-29", ChooseK({"ben": 1.0, "ana": 50.0}))])
        at = instant("2027-03-30T01:00")
        ward.plans.publish(
            [DateNeeds(at, False, ChooseK({"ana": 1.0, "ben": 1.0}), spans=lasting_all({"": "2h"}, at, "UTC"))]
        )
        with pytest.raises(ValueError, match="'ben' has a turn from 2027-03-29 20:00 to 06:00"):
            ward.plans.give(ward.plans.turns()[-1].seq, "ben")

    def test_a_record_keeps_its_length(self, ward):
        record = ward.record("ana", 8, at="2027-03-01T22:00", length="8h")
        other = ward.record("ben", 8, at="2027-03-02T22:00", length="8h")
        given = ward.plans.give(record.seq, "cem")
        assert given.details["until"] == record.details["until"]
        swapped = ward.plans.swap(given.seq, other.seq)
        assert [event.details["until"] for event in swapped] == [record.details["until"], other.details["until"]]
