"""Dates ahead: decided one after the other, waiting until their day, changed with the fewest reassignments."""

import io
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar

from bygones._csv import read
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.tables import read_rows
from bygones.ledger import Ledger, Rules
from bygones.ledger.exchange import plan_csv, plan_ics
from bygones.ledger.model import times
from bygones.ledger.model.times import day_in_words, instant
from bygones.ledger.plans.date_needs import DateNeeds, dates_from, has_dates, is_available, read_dates
from bygones.report.figures.plan_figures import plan_figure
from support.command_line import run
from support.forgery import rewrite

NAMES = ("ana", "ben", "cem")
DAY = 86_400_000_000


def ahead(days):
    """The start of the day that many days from today, in UTC."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=days)


def needs(days, request, **more):
    return DateNeeds(instant(ahead(days)), True, request, **more)


def every(need=1.0, k=1):
    return ChooseK(dict.fromkeys(NAMES, need), k)


@pytest.fixture
def team(new_target):
    with Ledger.new(new_target(), Rules(half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for amount, name in enumerate(NAMES):
            ledger.record(name, amount / 10, at="2026-01-02")
        yield ledger


def whose(turns):
    return [turn.agent for turn in turns]


class TestPlanning:
    def test_each_date_counts_for_the_later_ones_and_not_as_received(self, team):
        dates = [needs(day, every()) for day in (1, 2, 3, 5)]
        draft = team.plans.draft(dates)
        assert [whose(each.turns) for each in draft.dates] == [["ana"], ["ben"], ["cem"], ["ana"]]
        assert team.n_events() == 7
        plan = team.plans.publish(dates, note="rota")
        assert [each.turns for each in plan.dates] == [each.turns for each in draft.dates]
        assert team.standing().received.tolist() == pytest.approx([0, 0.1, 0.2])
        assert team.standing(ahead(2)).received.tolist() == pytest.approx([1, 1.1, 0.2])
        assert plan.after.received.tolist() == pytest.approx([2, 1.1, 1.2])
        assert plan.before.received.sum() == pytest.approx(0.3)
        assert team.decide(every()).utilities == {"ana": 1}
        assert whose(team.plans.turns()) == ["ana", "ben", "cem", "ana"]
        assert team.verify().problems == ()

    def test_the_day_comes_by_itself(self, new_path, monkeypatch):
        real = times.now
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="zero")) as ledger:
            ledger.join_all(NAMES)
            ledger.record("ben", 0.5)
            ledger.record("cem", 0.6)
            ledger.plans.publish([needs(1, every(4.0)), needs(3, every(4.0))])
            monkeypatch.setattr(times, "now", lambda: real() + 2 * DAY)
            assert ledger.standing().received.tolist() == pytest.approx([4, 0.5, 0.6])
            assert ledger.decide(every()).utilities == {"ben": 1}
            (part, *_) = ledger.contributions("ana")
            assert (part.kind, part.counts) == ("planned", 4)
            assert whose(ledger.plans.turns()) == ["ben"]
            ledger.correct(part.seq, 3)
            assert ledger.standing().received.tolist() == pytest.approx([3, 1.5, 0.6])
            assert ledger.verify().problems == ()

    def test_holds_joins_and_availability_are_as_they_will_be_then(self, team):
        team.hold("ana", at=ahead(2))
        team.resume("ana", at=ahead(4))
        team.join("dan", at=ahead(3))
        wanted = [
            needs(1, every()),
            needs(2, every(k=2)),
            needs(3, ChooseK({**dict.fromkeys(NAMES, 1.0), "dan": 1.0}), unavailable=("eve",)),
            needs(4, every()),
        ]
        plan = team.plans.draft(wanted)
        assert [whose(each.turns) for each in plan.dates] == [["ana"], ["ben", "cem"], ["dan"], ["ana"]]
        assert [each.left_out for each in plan.dates] == [
            {}, {"ana": "on hold"}, {"ana": "on hold", "eve": "not available"}, {},
        ]  # fmt: skip
        with pytest.raises(ValueError, match="unknown agent 'eve'"):
            team.plans.draft([needs(2, ChooseK({"eve": 1.0}))])

    def test_who_joins_in_the_middle_of_a_plan_is_planned_from_then_on(self, team):
        team.join("dan", at=ahead(3))
        asking = ChooseK({**dict.fromkeys(NAMES, 1.0), "dan": 1.0}, 2)
        plan = team.plans.publish([needs(day, asking) for day in (2, 3, 4)])
        early, late, _ = plan.dates
        assert "dan" not in whose(early.turns)
        assert early.left_out == {"dan": f"joins on {day_in_words(instant(ahead(3)))}"}
        assert "dan" in whose(late.turns)
        assert late.left_out == {}
        assert team.verify().problems == ()
        team.hold("ana", at=ahead(1))
        team.plans.redecide(needs=[needs(day, asking) for day in (2, 3, 4)], accept=True)
        turns = team.plans.turns()
        assert [turn.agent for turn in turns if turn.at < instant(ahead(3))] == ["ben", "cem"]
        assert team.verify().problems == ()

    def test_items_have_a_turn_each_and_amounts_one(self, team):
        items = Assign({"ana": {"night": 9.0, "evening": 4.0}, "ben": {"night": 9.0}}, capacity=2)
        plan = team.plans.publish([needs(1, items), needs(2, Divide(6, dict.fromkeys(NAMES, 1.0)))])
        first, second = (each.turns for each in plan.dates)
        assert sorted(turn.what for turn in first) == ["evening", "night"]
        assert sum(turn.amount for turn in first) == 13
        assert sum(turn.amount for turn in second) == pytest.approx(6)
        assert len(team.plans.turns()) == len(first) + len(second)
        assert team.verify().ok

    @pytest.mark.parametrize(
        ("days", "message"),
        [
            ([], "at least one date"),
            ([0], "a plan must lie in the future"),
            ([400], "more than a year ahead"),
        ],
    )
    def test_what_is_no_plan_is_refused(self, team, days, message):
        with pytest.raises(ValueError, match=message):
            team.plans.draft([needs(day, every()) for day in days])
        team.plans.publish([needs(3, every())])
        with pytest.raises(ValueError, match="is planned already"):
            team.plans.publish([needs(2, every()), needs(3, every())])
        with pytest.raises(ValueError, match="k must be at most"):
            team.plans.draft([needs(4, every(k=9))])


class TestChanging:
    def test_only_turns_that_cannot_be_taken_change(self, team):
        team.plans.publish([needs(day, every(k=2)) for day in (1, 2, 3, 4)])
        before = team.plans.turns()
        team.hold("ben", at=ahead(3))
        lost = [turn for turn in before if turn.agent == "ben" and turn.at >= instant(ahead(3))]
        assert lost
        assert [t.status for t in team.plans.turns() if t.agent == "ben"].count("on hold") == len(lost)
        head = team.head()
        preview = team.plans.redecide()
        assert team.head() == head
        found = team.plans.redecide(accept=True, note="ben is away")
        assert found == preview
        assert sum(each.changed for each in found) == len(lost)
        assert all(each.why == ("ben is on hold",) for each in found)
        after = team.plans.turns()
        kept = {(turn.at, turn.agent) for turn in before} & {(turn.at, turn.agent) for turn in after}
        assert len(kept) == len(before) - len(lost)
        assert len(after) == len(before)
        assert {turn.status for turn in after} == {"present"}
        assert team.plans.redecide() == []
        assert team.verify().problems == ()

    def test_who_can_keep_a_turn_keeps_it_although_another_would_now_be_chosen(self, team):
        team.join("dan")
        team.record("dan", 0.3)
        team.plans.publish([needs(1, ChooseK(dict.fromkeys((*NAMES, "dan"), 1.0), 2))])
        assert whose(team.plans.turns()) == ["ana", "ben"]
        team.record("ana", 50)
        team.hold("ben", at=ahead(1))
        (changed,) = team.plans.redecide(accept=True)
        assert changed.changed == 1
        assert whose(team.plans.turns()) == ["ana", "cem"]

    def test_items_go_to_whoever_has_none(self, team):
        items = Assign({"ana": {"night": 9.0, "day": 1.0}, "ben": {"night": 9.0, "day": 1.0}, "cem": {"night": 9.0}})
        team.plans.publish([needs(1, items)])
        turns = {turn.what: turn.agent for turn in team.plans.turns()}
        team.hold(turns["night"], at=ahead(0.5))
        (changed,) = team.plans.redecide(accept=True)
        assert changed.changed == 1
        now = {turn.what: turn.agent for turn in team.plans.turns()}
        assert now["day"] == turns["day"]
        assert now["night"] not in turns.values()

    def test_all_are_decided_again_where_the_rest_cannot_fill_in(self, team):
        items = Assign({"ana": {"night": 9.0, "day": 1.0}, "ben": {"night": 9.0}, "cem": {"day": 1.0}})
        team.plans.publish([needs(1, items)])
        team.leave("ben", at=ahead(0.5))
        found = team.plans.redecide(accept=True)
        assert {turn.agent for turn in team.plans.turns()} <= {"ana", "cem"}
        assert team.verify().ok
        assert len(found) <= 1

    def test_a_plan_is_taken_back_from_a_date_on(self, team):
        team.plans.publish([needs(day, every()) for day in (1, 2, 3)])
        assert team.plans.void(ahead(2), ahead(3)) == [instant(ahead(2))]
        assert [turn.at for turn in team.plans.turns()] == [instant(ahead(1)), instant(ahead(3))]
        team.plans.void()
        assert team.plans.turns() == []
        assert team.standing(ahead(9)).received.sum() == pytest.approx(0.3)
        with pytest.raises(ValueError, match="nothing is planned from"):
            team.plans.void()
        assert team.verify().ok

    def test_a_swap_credits_whoever_serves(self, team):
        dates = [needs(1, ChooseK({"ana": 3.0, "ben": 5.0})), needs(2, ChooseK({"ana": 7.0, "ben": 9.0, "cem": None}))]
        team.plans.publish(dates)
        one, other = team.plans.turns()
        assert (one.agent, other.agent) == ("ana", "ben")
        entries = team.plans.calendar()
        events = team.plans.swap(one.seq, other.seq, note="party")
        assert [(event.agent, event.amount) for event in events] == [("ben", 5), ("ana", 7)]
        assert whose(team.plans.turns()) == ["ben", "ana"]
        swapped = team.plans.turns()
        assert [turn.what for turn in swapped] == ["the place (need 5)", "the place (need 7)"]
        uids = [
            [each["uid"] for each in Calendar.from_ical(plan_ics(each_time, "UTC", "ward")).walk("VEVENT")]
            for each_time in (entries, team.plans.calendar())
        ]
        assert uids[0] == uids[1]
        assert team.standing(ahead(3)).received.tolist() == pytest.approx([7, 5.1, 0.2])
        for first, second, message in [
            (one.seq, other.seq, "has been void since event"),
            (1, other.seq, "event 1 is not a turn"),
            (10**20, other.seq, "event 100000000000000000000 is not a turn"),
            (events[0].seq, events[0].seq, "nothing to swap"),
            (events[0].seq, 7, "'cem' is not available for event"),
        ]:
            with pytest.raises(ValueError, match=message):
                team.plans.swap(first, second)
        assert team.verify().ok

    def test_a_swap_of_what_was_received(self, team):
        team.record("cem", 20, at="2026-01-02")
        decided = [team.decide(every(4.0), at=f"2026-01-0{day}").utilities for day in (3, 4)]
        assert decided == [{"ana": 4}, {"ben": 4}]
        first, second = [event.seq for event, _ in team.events() if event.refers]
        team.plans.swap(first, second)
        assert team.standing("2026-01-03").received.tolist() == pytest.approx([0, 4.1, 20.2])
        assert team.standing("2026-01-04").received.tolist() == pytest.approx([4, 4.1, 20.2])
        assert team.verify().ok

    def test_who_cannot_serve_then_cannot_swap(self, team):
        team.plans.publish([needs(1, every(k=2)), needs(3, every())])
        one, two, other = team.plans.turns()
        assert (one.agent, two.agent, other.agent) == ("ana", "ben", "cem")
        team.hold("ana", at=ahead(2))
        with pytest.raises(ValueError, match=r"'ana' is on hold at .* and cannot take event"):
            team.plans.swap(one.seq, other.seq)
        team.plans.swap(one.seq, two.seq)
        assert sorted(whose(team.plans.turns())) == ["ana", "ben", "cem"]


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 6)), max_size=3),
)
@settings(max_examples=25)
def test_what_is_planned_is_what_deciding_on_the_day_would_give(new_path, worths, holds):
    """Egalitarian places without ties: the one with least is served, and nobody on hold."""
    with Ledger.new(new_path(), Rules(half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for i, name in enumerate(NAMES):
            ledger.record(name, 0.1 * i + 0.01, at="2026-01-02")
        away = {}
        for name, start in holds:
            if name not in away:
                ledger.hold(name, at=ahead(start))
                away[name] = start
        dates, held = [], {name: 0.1 * i + 0.01 for i, name in enumerate(NAMES)}
        expected = []
        for number, row in enumerate(worths, start=1):
            present = [name for name in NAMES if away.get(name, 99) > number]
            if not present:
                break
            worth = {name: 1.0 + value + 0.001 * number for name, value in zip(NAMES, row, strict=True)}
            dates.append(needs(number, ChooseK(worth)))

            def served(name, worth=worth, present=present):
                return sorted(held[each] + (worth[each] if each == name else 0.0) for each in present)

            best = max(present, key=served)
            expected.append(best)
            held[best] += worth[best]
        if not dates:
            return
        plan = ledger.plans.publish(dates)
        assert [whose(each.turns) for each in plan.dates] == [[name] for name in expected]
        assert dict(zip(NAMES, ledger.standing(ahead(30)).received, strict=True)) == pytest.approx(held)
        assert ledger.verify().problems == ()


class TestTables:
    def test_a_table_with_dates(self, tmp_path):
        path = tmp_path / "dates.csv"
        path.write_text("date,agent,need,available\n2026-12-02,ana,1,\n2026-12-01,ana,2,no\n2026-12-01,ben,3,yes\n")
        first, second = read_dates(path, "Europe/Berlin")
        assert has_dates(read_rows(path))
        assert first.request.to_dict() == ChooseK({"ben": 3}).to_dict()
        assert (first.unavailable, first.all_day) == (("ana",), True)
        assert first.at == instant("2026-12-01", zone="Europe/Berlin")
        assert second.request.to_dict() == ChooseK({"ana": 1}).to_dict()
        with pytest.raises(ValueError, match="leave out the dates"):
            read_dates(path, "UTC", ["2026-12-01"])

    def test_the_peoples_table(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("agent,night,evening,available\nana,9,4,mon-fri\nben,9,,not 2026-12-06\n")
        dates = dates_from("2026-12-04T22:00", "2026-12-06", "1d", "Europe/Berlin")
        friday, saturday = read_dates(path, "Europe/Berlin", dates, capacity=1)
        assert friday.request.to_dict() == Assign({"ana": {"night": 9, "evening": 4}, "ben": {"night": 9}}).to_dict()
        assert not friday.all_day
        with pytest.raises(ValueError, match="no column 'date': add one"):
            read_dates(path, "UTC")
        assert saturday.at - friday.at == DAY
        both = Assign({"ben": {"night": 9}}, items=("night", "evening"))
        assert (saturday.request.to_dict(), saturday.unavailable) == (both.to_dict(), ("ana",))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("agent,need,available\nana,1,no\n", "nobody is available on 2026-12-05"),
            ("agent,need,available\nana,1,often\n", "row 2: column 'available' must be yes, no, days such as mon-fri"),
            ("agent,need,available\nana,1,not\n", "column 'available' must be"),
            ("date,agent,need\nsoon,ana,1\n", "column 'date' must be a date"),
            ("date,agent,need\n2026-12-01,ana,1\n01.12.2026,ben,1\n", "one date in two spellings"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, tmp_path, text, message):
        path = tmp_path / "table.csv"
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_dates(path, "UTC", () if text.startswith("date") else ["2026-12-05"])

    def test_dates_step_over_a_clock_change(self):
        assert dates_from("2026-10-24", "2026-10-27", "1d", "Europe/Berlin") == [
            "2026-10-24",
            "2026-10-25",
            "2026-10-26",
        ]
        assert dates_from("2026-10-24T22:00", "2026-11-08", "1w", "Europe/Berlin") == [
            "2026-10-24T22:00", "2026-10-31T22:00", "2026-11-07T22:00",
        ]  # fmt: skip
        for first, until, step in [("2026-10-24", "2026-10-24", "1d"), ("2026-10-24", "2036-10-24", "1d")]:
            with pytest.raises(ValueError, match="until must be after from"):
                dates_from(first, until, step, "UTC")
        for step in ("12h", "inf", "1e9d"):
            with pytest.raises(ValueError, match="every must be a whole number of days"):
                dates_from("2026-10-24", "2026-10-26", step, "UTC")

    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("", "MTWTFSS"), ("yes", "MTWTFSS"), ("no", ""), ("mon-fri", "MTWTF"), ("Sat;sun", "SS"),
            ("fri-mon", "FSSM"), ("not wednesday", "MTTFSS"), ("2026-12-08..2026-12-09 sat", "TWS"), ("9.12.2026", "W"),
        ],
    )  # fmt: skip
    def test_availability(self, text, days):
        week = [date(2026, 12, 7) + timedelta(days=i) for i in range(7)]
        found = [day for day in week if is_available(text, day)]
        assert sorted(f"{day:%a}"[0] for day in found) == sorted(days)


def test_a_plan_for_spreadsheets_and_calendars(team, tmp_path):
    team.plans.publish([needs(1, every()), DateNeeds(instant(ahead(2)) + DAY // 2, False, every())])
    one, other = team.plans.turns()
    path = tmp_path / "plan.csv"
    path.write_text(plan_csv([one, other], "Asia/Tokyo"), encoding="utf-8")
    rows = [row for _, row in read(path, ("date", "agent"))]
    assert [row["agent"] for row in rows] == ["ana", "ben"]
    assert rows[0]["time"] == f"{ahead(1).date()}T09:00:00+09:00"
    assert float(rows[0]["amount"]) == 1
    calendar = Calendar.from_ical(plan_ics(team.plans.calendar(), "UTC", "ward"))
    whole, timed = calendar.walk("VEVENT")
    assert whole.decoded("dtstart") == ahead(1).date()
    assert timed.decoded("dtstart") == ahead(2.5)
    assert str(timed["summary"]) == "ben: the place"
    assert plan_ics(team.plans.calendar(), "UTC", "ward") == plan_ics(team.plans.calendar(), "UTC", "ward")
    swapped = team.plans.swap(one.seq, other.seq)
    again = Calendar.from_ical(plan_ics(team.plans.calendar(), "UTC", "ward")).walk("VEVENT")
    assert [each["uid"] for each in again] == [whole["uid"], timed["uid"]]
    assert [event.agent for event in swapped] == ["ben", "ana"]


def test_the_figure_shows_everybody_before_and_after(team):
    figure = plan_figure(team.plans.draft([needs(1, every())]))
    (axes,) = figure.axes
    assert sorted(label.get_text() for label in axes.get_yticklabels()) == list(NAMES)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.tell() > 1000


class TestSwapsAndVoids:
    """Neither half of a swap is taken back alone."""

    @pytest.fixture
    def swapped(self, team):
        team.plans.publish([needs(1, every()), needs(2, every())])
        first, second = team.plans.turns()
        turns = team.plans.swap(first.seq, second.seq)
        assert whose(team.plans.turns()) == ["ben", "ana"]
        return team, turns

    def test_half_of_a_swap_cannot_be_void(self, swapped):
        team, turns = swapped
        for event in (*turns, *(event for event, _ in team.events() if event.kind == "void")):
            with pytest.raises(
                ValueError, match=rf"half of a swap.*swap events {turns[0].seq} and {turns[1].seq} back"
            ):
                team.void(event.seq)
        assert whose(team.plans.turns()) == ["ben", "ana"]

    def test_a_swap_is_undone_by_swapping_back(self, swapped):
        team, turns = swapped
        team.plans.swap(*(turn.seq for turn in turns))
        assert whose(team.plans.turns()) == ["ana", "ben"]
        voids = [event for event, _ in team.events() if event.kind == "void"]
        assert len(voids) == 4  # of both turns, in each swap
        for event in voids:
            with pytest.raises(ValueError, match="half of a swap"):
                team.void(event.seq)
        assert team.verify().ok

    def test_a_date_that_was_planned_again_does_not_count_twice(self, team):
        team.plans.publish([needs(3, every())])
        team.hold("ana", at=ahead(2))
        team.plans.redecide(accept=True)
        (void,) = [event.seq for event, _ in team.events() if event.kind == "void"]
        with pytest.raises(ValueError, match="was decided again as event"):
            team.void(void)
        assert whose(team.plans.turns()) == ["ben"]


class TestAvailabilityThatChanges:
    def people(self, tmp_path, *rows):
        path = tmp_path / "people.csv"
        path.write_text("\n".join(["agent,need,available", *rows]), encoding="utf-8")
        return path

    def test_a_plan_is_decided_again_with_a_new_table(self, team, tmp_path, capsys):
        team.plans.publish([needs(day, every()) for day in (1, 2, 3, 4)])
        assert whose(team.plans.turns()) == ["ana", "ben", "cem", "ana"]
        gone = f"not {ahead(4).date()}"
        table = self.people(tmp_path, f"ana,1,{gone}", "ben,1,", "cem,1,no")
        printed = run(capsys, "ledger", "replan", team.name, "--table", table) if team.name.endswith(".db") else None
        dates = [each.at for each in team.plans.turns()]
        known = read_dates(table, "UTC", [times.iso(at) for at in dates])
        found = team.plans.redecide(needs=known, accept=True)
        assert [each.why for each in found] == [("cem is not available",), ("ana is not available",)]
        assert whose(team.plans.turns())[:2] == ["ana", "ben"]
        assert "cem" not in whose(team.plans.turns())
        assert whose(team.plans.turns())[3] == "ben"
        assert printed is None or ("cem is not available" in printed and "Nothing was recorded" in printed)
        assert team.plans.redecide(needs=known) == []
        verified = team.verify()
        assert (verified.problems, verified.decisions, len(verified.unchecked)) == ((), 6, 0)

    def test_items_and_amounts_follow_the_new_table(self, team, tmp_path):
        items = Assign({name: {"night": 9.0, "evening": 4.0} for name in NAMES}, capacity=1)
        team.plans.publish([needs(1, items), needs(2, Divide(6, dict.fromkeys(NAMES, 1.0)))])
        night = next(turn for turn in team.plans.turns() if turn.what == "night")
        others = [name for name in NAMES if name != night.agent]
        now = [
            needs(1, Assign({night.agent: {"evening": 4.0}, **{name: items.worth[name] for name in others}})),
            needs(2, ChooseK(dict.fromkeys(others, 1.0))),
        ]
        team.plans.redecide(needs=now, accept=True)
        turns = team.plans.turns()
        assert next(turn.agent for turn in turns if turn.what == "night") != night.agent
        assert {turn.agent for turn in turns if turn.at == now[1].at} == set(others)
        assert team.verify().problems == ()


class TestVerifying:
    def test_plans_are_made_again_and_counted(self, team):
        team.plans.publish([needs(day, every(k=2)) for day in (1, 2, 3)])
        team.hold("ben", at=ahead(3))
        team.plans.redecide(accept=True)
        found = team.verify()
        assert (found.problems, found.decisions, len(found.unchecked)) == ((), 4, 0)

    @pytest.mark.parametrize("rules", [{"rule": "prices", "welfare": "nash"}, {"reports": "normalised"}])
    def test_under_every_rule(self, new_path, rules):
        with Ledger.new(new_path(), Rules(newcomers="zero", **rules), began="2026-01-01") as ledger:
            ledger.join_all(NAMES, at="2026-01-01")
            for number in range(2, 6):
                ledger.decide(ChooseK({"ana": 1.0 * number, "ben": 2.0, "cem": 3.0}), at=f"2026-01-{number:02}")
            ledger.plans.publish([needs(day, ChooseK({"ana": 1.0, "ben": day, "cem": 2.0})) for day in (1, 2, 3)])
            ledger.hold("ana", at="2026-01-03T12:00")
            ledger.redecide("2026-01-04", accept=True)
            found = ledger.verify()
            assert found.problems == ()
            assert not found.unchecked
            assert found.decisions >= 7

    def test_a_plan_in_favour_of_somebody_is_found(self, new_path):
        path = new_path()
        with Ledger.new(path, Rules(newcomers="zero"), began="2026-01-01") as ledger:
            ledger.join_all(NAMES, at="2026-01-01")
            ledger.record("ben", 5)
            ledger.plans.publish([needs(1, ChooseK({"ana": 1.0, "ben": 1.0}))])
            assert ledger.verify().ok

        def forged(event):
            if event.kind == "plan":
                return event._replace(details=event.details | {"given": [["ben", None, None, 1.0]]})
            return event._replace(agent="ben") if event.kind == "planned" else event

        rewrite(path, forged)
        with Ledger.open(path) as ledger:
            (problem,) = ledger.verify().problems
            assert "decision 6 does not follow from the events before it" in problem

    def test_what_was_decided_again_in_favour_of_somebody_is_found(self, new_path):
        path = new_path()
        with Ledger.new(path, Rules(half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
            ledger.join_all(NAMES, at="2026-01-01")
            for amount, name in enumerate(NAMES):
                ledger.record(name, amount, at="2026-01-02")
            ledger.decide(every(), at="2026-01-03")
            ledger.hold("ana", at="2026-01-02T12:00")
            ledger.redecide("2026-01-03", accept=True)
            assert ledger.standing().received.tolist() == [0, 2, 2]
            found = ledger.verify()
            assert (found.problems, found.decisions, len(found.unchecked)) == ((), 2, 0)

        def forged(event):
            if "redecides" in (event.details or {}):
                return event._replace(details=event.details | {"given": [["cem", None, None, 1.0]]})
            return event._replace(agent="cem") if event.seq == 13 else event

        rewrite(path, forged)
        with Ledger.open(path) as ledger:
            (problem,) = ledger.verify().problems
            assert "does not follow from the events before it" in problem
