"""Who is on and who is next, and calendars that follow a plan as it changes."""

import pytest
from icalendar import Calendar

from bygones import Assign, ChooseK
from bygones.ledger import Ledger, Rules
from bygones.ledger.exchange import plan_csv, plan_ics
from bygones.ledger.model import times
from bygones.ledger.model.span import lasting_all
from bygones.ledger.model.times import instant
from bygones.ledger.plans.date_needs import DateNeeds

BERLIN = "Europe/Berlin"
NAMES = ("ana", "ben", "cem")


def berlin(text):
    return instant(text, zone=BERLIN)


def at_night(day, request=None, length="20:00-06:00"):
    at = berlin(f"{day}T20:00")
    return DateNeeds(
        at, False, request or ChooseK(dict.fromkeys(NAMES, 10.0)), spans=lasting_all({"": length}, at, BERLIN)
    )


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of the ledger."""

    def set_to(text):
        monkeypatch.setattr(times, "now", lambda: berlin(text))

    set_to("2027-03-20")
    return set_to


@pytest.fixture
def ward(new_path, clock):
    rules = Rules(kind="burden", half_life="inf", newcomers="zero", time_zone=BERLIN, thing="night", unit="h")
    with Ledger.new(new_path(), rules, began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for amount, name in enumerate(NAMES):
            ledger.record(name, amount / 10, at="2026-01-02")
        yield ledger


def entries(ward, agent=None):
    """By identity, the entries of a calendar as a program reads it."""
    written = Calendar.from_ical(plan_ics(ward.plans.calendar(agent=agent), BERLIN, "ward"))
    return {str(event["uid"]): event for event in written.walk("VEVENT")}


def state(event):
    return str(event["summary"]).partition(":")[0], int(event["sequence"]), str(event["status"])


class TestOnDuty:
    def test_who_is_on_until_when_and_who_is_next(self, ward, clock):
        ward.plans.publish([at_night("2027-03-27"), at_night("2027-03-28")])
        clock("2027-03-28T04:00")
        duty = ward.plans.on_duty()
        assert [(each.agent, each.span.hours) for each in duty.on] == [("ana", 9)]  # the clocks go forward
        assert [(each.agent, each.span.start) for each in duty.next] == [("ben", berlin("2027-03-28T20:00"))]
        assert duty.document().headline == "On now: ana until 06:00."
        data = duty.to_dict()
        assert data["on"][0]["until"] == "2027-03-28T04:00:00Z"
        assert data["next"][0] == {
            "event": duty.next[0].event, "agent": "ben", "what": "the 10-hour night", "status": "present",
            "start": "2027-03-28T18:00:00Z", "until": "2027-03-29T04:00:00Z", "hours": 10.0,
        }  # fmt: skip

    def test_the_end_belongs_to_the_next_turn(self, ward):
        ward.plans.publish([at_night("2027-03-27")])
        assert ward.plans.on_duty("2027-03-28T05:59").on != ()
        after = ward.plans.on_duty("2027-03-28T06:00")
        assert (after.on, after.next) == ((), ())
        assert after.document().headline == "Nobody has a turn now."
        assert "Nothing is planned after it." in after.document().blocks

    def test_decisions_and_records_count_too_and_who_cannot_come_is_marked(self, ward):
        ward.decide(ChooseK({"ana": 8.0}), at="2027-03-19T22:00", lengths={"": "8h"})
        ward.record("ben", 4, at="2027-03-19T23:00", length="4h")
        ward.record("cem", 4, at="2027-03-19T23:00")
        duty = ward.plans.on_duty("2027-03-19T23:30")
        assert [(each.agent, each.what) for each in duty.on] == [("ana", "the 8-hour night"), ("ben", "4 h")]
        ward.hold("ben", at="2027-03-19T23:15")
        assert [each.status for each in ward.plans.on_duty("2027-03-19T23:30").on] == ["present", "on hold"]

    def test_of_several_items_each_is_on_at_its_time(self, ward):
        at = berlin("2027-03-27T06:00")
        spans = lasting_all({"early": "06:00-14:00", "late": "14:00-22:00"}, at, BERLIN)
        items = Assign({"ana": {"early": 8.0}, "ben": {"late": 8.0}})
        ward.plans.publish([DateNeeds(at, False, items, spans=spans)])
        duty = ward.plans.on_duty("2027-03-27T13:00")
        assert [each.agent for each in duty.on] == ["ana"]
        assert [each.agent for each in duty.next] == ["ben"]


class TestCalendars:
    def test_times_are_true_and_identities_stay(self, ward):
        ward.plans.publish([at_night("2027-03-27"), at_night("2027-03-28")])
        first = entries(ward)
        assert [event.end - event.start for event in first.values()]
        assert [(e["dtend"].dt.timestamp() - e["dtstart"].dt.timestamp()) / 3600 for e in first.values()] == [9, 10]
        assert [state(event) for event in first.values()] == [("ana", 0, "CONFIRMED"), ("ben", 0, "CONFIRMED")]
        assert entries(ward).keys() == first.keys()

    def test_a_swap_updates_everyones_calendar_and_cancels_in_the_agents_own(self, ward):
        ward.plans.publish([at_night("2027-03-27"), at_night("2027-03-28")])
        before, anas = entries(ward), entries(ward, "ana")
        ward.plans.swap(*(turn.seq for turn in ward.plans.turns()))
        after = entries(ward)
        assert after.keys() == before.keys()
        assert [state(after[uid]) for uid in before] == [("ben", 1, "CONFIRMED"), ("ana", 1, "CONFIRMED")]
        now = entries(ward, "ana")
        (gone,) = anas
        assert state(now[gone]) == ("ana", 1, "CANCELLED")
        (new,) = now.keys() - anas.keys()
        assert state(now[new]) == ("ana", 1, "CONFIRMED")
        assert not before.keys() & now.keys()

    def test_a_plan_that_is_taken_back_is_cancelled_and_comes_back_with_the_same_identity(self, ward):
        night = at_night("2027-03-27", ChooseK(dict.fromkeys(NAMES, 10.0), 2))
        ward.plans.publish([night])
        before = entries(ward)
        ward.plans.void()
        assert {uid: state(event)[1:] for uid, event in entries(ward).items()} == dict.fromkeys(
            before, (1, "CANCELLED")
        )
        ward.plans.publish([at_night("2027-03-27")])  # one place instead of two
        after = {uid: state(event) for uid, event in entries(ward).items()}
        assert after.keys() == before.keys()
        assert sorted(each[1:] for each in after.values()) == [(2, "CANCELLED"), (2, "CONFIRMED")]

    def test_a_turn_that_goes_to_someone_else_is_updated_and_the_others_keep_theirs(self, ward):
        ward.plans.publish([at_night("2027-03-27"), at_night("2027-03-28")])
        before, bens = entries(ward), entries(ward, "ben")
        ward.hold("ben", at="2027-03-28")
        ward.plans.redecide(accept=True)
        after = entries(ward)
        assert [state(after[uid]) for uid in before] == [("ana", 0, "CONFIRMED"), ("cem", 2, "CONFIRMED")]
        assert [state(event) for event in entries(ward, "ben").values()] == [("ben", 2, "CANCELLED")]
        assert entries(ward, "ben").keys() == bens.keys()
        assert [state(event)[1:] for event in entries(ward, "ana").values()] == [(0, "CONFIRMED")]

    def test_a_turn_without_a_length_has_a_start_only(self, ward):
        timed, day = berlin("2027-03-27T20:00"), berlin("2027-03-29")
        request = ChooseK(dict.fromkeys(NAMES, 10.0))
        ward.plans.publish([DateNeeds(timed, False, request), DateNeeds(day, True, request)])
        one, other = entries(ward).values()
        assert "dtend" not in one
        assert one["dtstart"].dt.hour == 20
        assert "dtend" not in other
        assert f"{other['dtstart'].dt}" == "2027-03-29"

    def test_a_table_has_starts_ends_and_hours(self, ward):
        ward.plans.publish([at_night("2027-03-27"), DateNeeds(berlin("2027-03-30"), True, ChooseK({"ana": 1.0}))])
        rows = [line.split(",") for line in plan_csv(ward.plans.turns(), BERLIN).splitlines()]
        assert rows[0][:5] == ["date", "time", "until", "hours", "agent"]
        assert rows[1][:5] == ["2027-03-27", "2027-03-27T20:00:00+01:00", "2027-03-28T06:00:00+02:00", "9.0", "ana"]
        assert rows[2][2:4] == ["", ""]
