"""Turns have a length: its true size, who can be there all the time, and no two turns at once."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import Assign, ChooseK
from bygones.ledger import Entry, Ledger, Rules
from bygones.ledger.exchange import read_entries
from bygones.ledger.model.span import LONGEST, Span, lasted, lasting, lasting_all, read_lengths, span_of, until
from bygones.ledger.model.times import instant
from bygones.ledger.plans.date_needs import DateNeeds, read_dates

BERLIN = "Europe/Berlin"
NAMES = ("ana", "ben", "cem")
HOUR = 3_600_000_000

instants = st.integers(instant("2020-01-01"), instant("2030-01-01"))


def berlin(text):
    return instant(text, zone=BERLIN)


class TestSpan:
    @pytest.mark.parametrize(
        ("written", "hours"),
        [("20:00-06:00", 9), ("10h", 10), ("1d", 23), ("1w", 167), ("90min", 1.5), ("20:00-20:00", 23)],
    )
    def test_the_clocks_are_put_forward_in_the_night(self, written, hours):
        assert lasting(written, berlin("2026-03-28T20:00"), BERLIN).hours == pytest.approx(hours)

    def test_the_clocks_are_put_back_in_the_night(self):
        assert lasting("20:00-06:00", berlin("2026-10-24T20:00"), BERLIN).hours == 11
        assert until("06:00", berlin("2026-10-24T20:00"), BERLIN).hours == 11

    def test_a_clock_time_that_is_skipped_is_the_same_moment_by_the_new_time(self):
        span = lasting("02:30-06:00", berlin("2026-03-29"), BERLIN)
        assert span == Span(berlin("2026-03-29T03:30"), berlin("2026-03-29T06:00"))

    def test_the_first_such_time_from_the_instant_on(self):
        at = berlin("2026-12-01T06:00")
        spans = lasting_all({"early": "06:00-14:00", "night": "22:00-08:00", "next": "05:00-06:00"}, at, BERLIN)
        assert spans["early"].start == at
        assert spans["night"] == Span(berlin("2026-12-01T22:00"), berlin("2026-12-02T08:00"))
        assert spans["next"].start == berlin("2026-12-02T05:00")
        assert span_of(spans, "early", at) == spans["early"]
        assert span_of(spans, None, at) == Span(at, at)

    def test_a_night_belongs_to_the_day_on_which_it_begins_and_a_week_to_seven(self):
        night = lasting("20:00-06:00", berlin("2026-03-28T20:00"), BERLIN)
        assert night.days(BERLIN) == [date(2026, 3, 28)]
        week = lasting("1w", berlin("2026-03-23T08:00"), BERLIN)
        assert week.days(BERLIN) == [date(2026, 3, 23) + timedelta(days=i) for i in range(7)]
        assert Span(5, 5).days("UTC") == [date(1970, 1, 1)]
        assert week.in_words(BERLIN) == "2026-03-23 08:00 to 2026-03-30 08:00"
        assert night.in_words(BERLIN) == "2026-03-28 20:00 to 06:00"

    @given(a=instants, b=instants, c=instants, d=instants)
    def test_two_turns_overlap_where_some_time_is_in_both(self, a, b, c, d):
        one, other = Span(*sorted((a, b))), Span(*sorted((c, d)))
        assert one.overlaps(other) == other.overlaps(one)
        assert one.overlaps(one) == (one.start < one.end)
        assert not Span(a, a).overlaps(other)
        if one.overlaps(other):
            both = max(one.start, other.start)
            assert one.covers(both)
            assert other.covers(both)

    @given(at=instants, hours=st.integers(1, 24 * LONGEST), zone=st.sampled_from(["UTC", BERLIN, "America/New_York"]))
    def test_hours_are_elapsed_and_days_go_by_the_clock(self, at, hours, zone):
        assert lasting(f"{hours}h", at, zone).hours == hours
        days = 1 + hours // 24 % LONGEST
        start, end = (
            datetime.fromtimestamp(each / 1e6, UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
            for each in lasting(f"{days}d", at, zone)
        )
        assert abs(end - start - timedelta(days=days)) <= timedelta(hours=1)

    @pytest.mark.parametrize(
        ("text", "message"),
        [("soon", "a length such as 10h"), ("25:00-06:00", "from 00:00 to 23:59"), ("40d", "at most 31 days")],
    )
    def test_what_is_no_length_is_refused(self, text, message):
        with pytest.raises(ValueError, match=message):
            lasting(text, 0, "UTC")

    def test_an_end_is_after_the_start(self):
        at = berlin("2026-03-28T20:00")
        assert until("2026-03-29T06:00", at, BERLIN).hours == 9
        with pytest.raises(ValueError, match="must be after the start"):
            until("2026-03-28", at, BERLIN)
        assert lasted("until 06:00", at, BERLIN) == lasted("20:00-06:00", at, BERLIN)
        with pytest.raises(ValueError, match="must begin at the time of the turn"):
            lasted("21:00-06:00", at, BERLIN)

    def test_lengths_by_item(self):
        assert read_lengths(["night=20:00-06:00", "8h"]) == {"night": "20:00-06:00", "": "8h"}


def ahead(days, hours=0):
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days, hours=hours)


def night(days, request=None, length="20:00-06:00", **more):
    at = instant(ahead(days))
    request = request or ChooseK(dict.fromkeys(NAMES, 10.0))
    return DateNeeds(at, True, request, spans=lasting_all({"": length}, at, "UTC"), **more)


@pytest.fixture
def ward(new_target):
    with Ledger.new(
        new_target(), Rules(kind="burden", half_life="inf", newcomers="zero"), began="2026-01-01"
    ) as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for amount, name in enumerate(NAMES):
            ledger.record(name, amount / 10, at="2026-01-02")
        yield ledger


def whose(turns):
    return [turn.agent for turn in turns]


class TestPlans:
    def test_turns_have_their_times_and_count_from_the_date(self, ward):
        plan = ward.plans.publish([night(1), night(2)], key="nights")
        assert [whose(date.turns) for date in plan.dates] == [["ana"], ["ben"]]
        one, other = ward.plans.turns()
        assert one.span == Span(instant(ahead(1, 20)), instant(ahead(2, 6)))
        assert one.to_dict()["hours"] == 10
        headline = ward.account(one.seq).document().headline
        assert f"ana, planned 10 from {ahead(1):%Y-%m-%d} 20:00 to 06:00 UTC, recorded at" in headline
        assert ward.account(one.plan).to_dict()["length"] == [one.span.to_dict()]
        assert one.at == instant(ahead(1))
        again = ward.plans.publish([night(1), night(2)], key="nights")
        assert [date.proposal.spans for date in again.dates] == [date.needs.spans for date in plan.dates]
        assert ward.verify().problems == ()
        assert ward.plans.swap(one.seq, other.seq)
        assert [turn.span.hours for turn in ward.plans.turns()] == [10, 10]
        assert ward.verify().problems == ()

    def test_a_hold_in_the_middle_of_a_turn_counts(self, ward):
        ward.hold("ana", at=ahead(3))
        ward.resume("ana", at=ahead(4))
        (week,) = ward.plans.draft([night(1, length="1w")]).dates
        assert whose(week.turns) == ["ben"]
        assert week.left_out == {"ana": "on hold"}
        ward.plans.publish([night(1, length="1w")])
        ward.hold("ben", at=ahead(5))
        assert [turn.status for turn in ward.plans.turns()] == ["on hold"]
        (changed,) = ward.plans.redecide(accept=True)
        assert whose(changed.after) == ["cem"]
        assert changed.spans[""].hours == 168
        assert ward.verify().problems == ()

    def test_nobody_has_two_turns_at_once(self, ward):
        ward.plans.publish([night(1, length="1w")])
        (date,) = ward.plans.draft([night(3)]).dates
        assert whose(date.turns) == ["ben"]
        assert date.left_out["ana"].startswith("has a turn from")
        assert date.why_not("ana") == f"ana {date.left_out['ana']}."
        cheaper = ChooseK({"ben": 1.0, "cem": 50.0})
        weeks = ward.plans.draft([night(day, cheaper, "30h") for day in (10, 11, 12)]).dates
        assert [whose(each.turns) for each in weeks] == [["ben"], ["cem"], ["ben"]]
        ward.plans.publish([night(3), night(4)])
        assert ward.verify().problems == ()
        ward.change_rules(overlaps="allowed")
        (date,) = ward.plans.draft([night(5, request=ChooseK({"ana": 1.0}))]).dates
        assert whose(date.turns) == ["ana"]

    def test_a_turn_that_follows_at_once_does_not_overlap(self, ward):
        only = ChooseK({"ana": 1.0})
        plan = ward.plans.publish([night(1, only, "24h"), night(2, only, "24h")])
        assert [whose(date.turns) for date in plan.dates] == [["ana"], ["ana"]]

    def test_of_several_items_each_has_its_time(self, ward):
        at = instant(ahead(2))
        ward.plans.publish([night(1)])  # Ana, until 06:00
        items = Assign({"ana": {"early": 1.0, "late": 1.0}, "ben": {"early": 5.0, "late": 1.0}})
        spans = lasting_all({"early": "04:00-12:00", "late": "12:00-20:00"}, at, "UTC")
        plan = ward.plans.publish([DateNeeds(at, True, items, spans=spans)])
        assert {turn.what: turn.agent for turn in plan.dates[0].turns} == {"early": "ben", "late": "ana"}
        assert plan.dates[0].left_out == {}
        assert {turn.item: turn.span for turn in ward.plans.turns() if turn.item} == spans
        assert ward.verify().problems == ()
        both = Assign({"cem": {"early": 1.0, "late": 1.0}}, capacity=2)
        with pytest.raises(ValueError, match="early and late are at the same time"):
            ward.plans.draft([night(9, both)])

    def test_a_swap_that_would_overlap_is_refused(self, ward):
        ward.plans.publish([night(1, length="1w"), night(2), night(9)])
        week, second, ninth = ward.plans.turns()
        assert whose([week, second, ninth]) == ["ana", "ben", "cem"]
        with pytest.raises(ValueError, match=rf"'ana' has a turn from .* \(event {week.seq}\)"):
            ward.plans.swap(second.seq, ward.record("ana", 1, at="2026-01-03").seq)
        ward.hold("cem", at=ahead(4))
        with pytest.raises(ValueError, match="'cem' is on hold"):
            ward.plans.swap(week.seq, ninth.seq)

    def test_availability_is_asked_for_each_day(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("agent,need,available\nana,1,not 2026-12-04\nben,1,2026-12-01..2026-12-09\ncem,1,tue\n")
        (week,) = read_dates(path, BERLIN, ["2026-12-01"], lengths={"": "1w"})
        assert week.request.asking == ("ben",)
        (one,) = read_dates(path, BERLIN, ["2026-12-03"], lengths={"": "20:00-06:00"}, nobody=True)
        assert one.request.asking == ("ana", "ben")

    def test_a_table_gives_the_length_of_each_date(self, tmp_path):
        path = tmp_path / "dates.csv"
        head = "date,length,until,agent,need\n"
        path.write_text(head + "2026-12-01 20:00,10h,,ana,1\n2026-12-02 20:00,,07:00,ana,1\n")
        assert [date.spans[""].hours for date in read_dates(path, BERLIN)] == [10, 11]
        path.write_text(head + "2026-12-01,10h,,ana,1\n2026-12-01,,07:00,ben,1\n")
        with pytest.raises(ValueError, match="rows 2 and 3 give one date two different lengths"):
            read_dates(path, BERLIN)


class TestDecisions:
    def test_a_decision_lasts_and_is_checked_all_through(self, ward):
        ward.decide(ChooseK({"ana": 10.0}), at="2026-03-01T20:00", lengths={"": "10h"})
        with pytest.raises(ValueError, match="agent 'ana' has a turn from 2026-03-01 20:00 to 06:00"):
            ward.decide(ChooseK({"ana": 1.0, "ben": 1.0}), at="2026-03-02T05:00", lengths={"": "2h"})
        ward.decide(ChooseK({"ana": 1.0, "ben": 1.0}), at="2026-03-02T06:00", lengths={"": "2h"})
        ward.hold("cem", at="2026-03-05T03:00")
        with pytest.raises(ValueError, match="agent 'cem' is on hold"):
            ward.decide(ChooseK({"cem": 10.0}), at="2026-03-04T20:00", lengths={"": "10h"})
        assert ward.verify().problems == ()
        assert ward.redecide("2026-03-01", accept=True) == []

    def test_decisions_are_made_again_without_overlaps(self, ward):
        both = ChooseK({"ana": 10.0, "ben": 10.0})
        ward.decide(both, at="2026-03-01T20:00", lengths={"": "10h"})
        ward.decide(ChooseK({"ben": 10.0, "cem": 10.0}), at="2026-03-02T01:00", lengths={"": "10h"})
        ward.record("ana", 30, at="2026-01-05")
        found = ward.redecide("2026-03-01", accept=True)
        assert all("ben" not in each.now for each in found if each.seq == 8)
        assert ward.verify().problems == ()


class TestRecords:
    def test_overlapping_records_are_refused_unless_allowed(self, ward):
        ward.record("ana", 8, at="2026-03-01T22:00", length="8h")
        with pytest.raises(ValueError, match="'ana' has a turn from 2026-03-01 22:00 to 06:00, which overlaps"):
            ward.record("ana", 8, at="2026-03-02T05:00", length="until 10:00")
        ward.record("ana", 8, at="2026-03-02T06:00", length="until 10:00")
        ward.record("ana", 8, at="2026-03-02T05:00")  # without a length, as before
        twice = [Entry("ben", 1, "2026-03-05", length="8h"), Entry("ben", 1, "2026-03-05T07:00", length="8h")]
        with pytest.raises(ValueError, match="entry 2: agent 'ben' has a turn"):
            ward.record_all(twice)
        ward.change_rules(overlaps="allowed", at="2026-03-01")
        ward.record_all(twice)
        assert ward.verify().problems == ()

    def test_a_turn_corrected_to_nothing_was_not_served(self, ward):
        one = ward.record("ana", 8, at="2026-03-01T22:00", length="8h")
        ward.correct(one.seq, 0)
        assert ward.record("ana", 8, at="2026-03-01T23:00", length="8h").details["until"] == instant("2026-03-02T07:00")

    def test_a_member_all_the_time(self, ward):
        ward.leave("ana", at="2026-03-02T03:00")
        with pytest.raises(ValueError, match="'ana' was not a member all through 2026-03-01 22:00 to 06:00"):
            ward.record("ana", 8, at="2026-03-01T22:00", length="8h")

    def test_an_import_reads_lengths(self, ward, tmp_path):
        path = tmp_path / "history.csv"
        path.write_text("agent,time,amount,length,until\nana,2026-03-01 22:00,8,8h,\nben,2026-03-01 22:00,8,,06:00\n")
        events = ward.record_all(read_entries(path), key="march")
        assert {event.details["until"] for event in events} == {instant("2026-03-02T06:00")}
        assert ward.record_all(read_entries(path), key="march") == events
