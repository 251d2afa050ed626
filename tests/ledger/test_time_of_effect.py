"""Events that lie ahead wait, decisions are made at their own time, and any event can be made void."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import welfare
from bygones.allocation import ChooseK
from bygones.ledger import DateNeeds, Entry, Ledger, LedgerError, Rules
from bygones.ledger.model import times
from bygones.ledger.model.times import as_datetime, instant
from bygones.ledger.proof.verification import rebuild
from bygones.ledger.storage import rows, schema, store
from support.ledger_faults import FULL, LOST, Fault
from support.older_tables import to_version_1, without_what_came_later

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("ana", "ben", "cem")


def days(number):
    """An instant that many days from now."""
    return datetime.now(UTC) + timedelta(days=number)


def day(number):
    return BEGAN + timedelta(days=number)


def team_at(target, **rules):
    ledger = Ledger.new(target, Rules(**{"half_life": "7d", "newcomers": "zero", **rules}), began=BEGAN)
    ledger.join_all(NAMES, at=BEGAN)
    return ledger


def status(ledger, at=None):
    stood = ledger.standing(at)
    return dict(zip(stood.names, stood.status, strict=True))


def remembered(ledger, at=None, **more):
    stood = ledger.standing(at, **more)
    return dict(zip(stood.names, stood.remembered.tolist(), strict=True))


class TestWaiting:
    def test_what_was_received_cannot_lie_ahead(self, new_target):
        with team_at(new_target()) as ledger:
            for what in (
                lambda at: ledger.record("ana", 1, at=at),
                lambda at: ledger.offset("ana", 1, at=at),
                lambda at: ledger.record_all([Entry("dan", 1, at)], join=True),
                lambda at: ledger.decide(ChooseK({"ana": 1}), at=at),
                lambda at: ledger.propose(ChooseK({"ana": 1}), at=at),
            ):
                with pytest.raises(ValueError, match="must not be in the future"):
                    what(days(364))
            assert ledger.n_events() == 4

    def test_a_small_difference_between_clocks_is_accepted_and_waits(self, new_target):
        with team_at(new_target()) as ledger:
            soon = days(0) + timedelta(minutes=4)
            event = ledger.record("ana", 8, at=soon)
            assert remembered(ledger)["ana"] == 0
            assert remembered(ledger, soon)["ana"] == 8
            ledger.correct(event.seq, 6)
            assert remembered(ledger)["ana"] == 0
            assert remembered(ledger, soon)["ana"] == 6
            assert ledger.verify().ok

    def test_a_planned_holiday_does_not_move_a_decision(self, new_target):
        with team_at(new_target()) as ledger:
            ledger.record("ana", 8, at=days(-3))
            ledger.hold("cem", at=days(5))
            ledger.resume("cem", at=days(19))
            ledger.join("dan", at=days(6))
            ledger.leave("ben", at=days(40))
            ledger.change_rules(at=days(7), half_life="1d", entitlements={"ana": 2})
            before = ledger.standing()
            assert set(before.status) == {"present"}
            assert before.rules.half_life == "7d"
            decided = ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)))
            assert abs(decided.at - instant(days(0))) < 60_000_000
            assert set(decided.utilities) <= {"ben", "cem"}
            again = ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at=days(0))
            assert set(decided.utilities) | set(again.utilities) == {"ben", "cem"}
            assert status(ledger, days(6.5)) == dict.fromkeys(NAMES, "present") | {"cem": "on hold", "dan": "present"}
            assert status(ledger, days(41))["ben"] == "away"
            assert ledger.verify().ok

    def test_events_are_settled_when_their_time_has_come(self, new_path, monkeypatch):
        real = times.now
        with team_at(new_path()) as ledger:
            ledger.join("dan", at=days(2), newcomers=5)
            ledger.hold("ana", at=days(3))
            ledger.record("ben", 8)
            later = real() + 4 * 86_400_000_000
            monkeypatch.setattr(times, "now", lambda: later)
            expected = ledger.standing().to_dict()["agents"]
            assert [agent["agent"] for agent in expected] == [*NAMES, "dan"]
            ledger.record("cem", 0)
            stood = ledger.standing()
            assert stood.status == ("on hold", "present", "present", "present")
            assert stood.remembered.tolist() == pytest.approx([agent["remembered"] for agent in expected], rel=1e-6)
            assert ledger.verify().ok
            with sa.create_engine(f"sqlite:///{ledger.name}").connect() as connection:
                waiting = sa.select(schema.events).where(schema.events.c.time > schema.ledger.c.settled)
                assert connection.execute(waiting).all() == []

    def test_who_has_yet_to_join_is_not_there(self, new_target):
        with team_at(new_target()) as ledger:
            ledger.join("dan", at=days(2))
            assert set(status(ledger)) == set(NAMES)
            with pytest.raises(ValueError, match="unknown agent 'dan'"):
                ledger.decide(ChooseK({"dan": 1}))
            with pytest.raises(ValueError, match="was not a member"):
                ledger.record("dan", 1)

    def test_a_clock_that_ran_ahead_does_no_harm(self, new_path, monkeypatch):
        real = times.now
        with team_at(new_path()) as ledger:
            ledger.record("ana", 8, at=days(-1))
            expected = remembered(ledger)
            monkeypatch.setattr(times, "now", lambda: real() + 365 * 86_400_000_000)
            wrong = ledger.record("ana", 1)
            ledger.decide(ChooseK({"ben": 1}))
            monkeypatch.setattr(times, "now", real)
            assert remembered(ledger) == pytest.approx(expected, rel=1e-4)
            decided = ledger.decide(ChooseK({"ana": 1.0, "ben": 1.0}))
            assert set(decided.utilities) == {"ben"}
            assert abs(decided.at - real()) < 60_000_000
            ledger.void(wrong.seq)
            assert remembered(ledger, days(366))["ana"] < 1e-3
            assert ledger.verify().ok

    def test_on_a_server_its_own_clock_rules(self, new_database, monkeypatch):
        with team_at(new_database()) as ledger:
            monkeypatch.setattr(times, "now", lambda: instant(days(365)))
            event = ledger.record("ana", 8)
            assert abs(event.time - instant(days(0))) < 60_000_000
            assert event.recorded == event.time
            with pytest.raises(ValueError, match="must not be in the future"):
                ledger.record("ana", 8, at=days(300))
            assert abs(ledger.decide(ChooseK({"ana": 1})).at - instant(days(0))) < 60_000_000

    def test_a_ledger_with_a_far_future_event_of_an_older_version_works_again(self, new_target, monkeypatch):
        target = new_target()
        without_what_came_later(monkeypatch)
        far = instant(days(363))
        with team_at(target) as ledger:
            ledger.record("ana", 8, at=days(-1))
            ledger.record("ben", 3, at=days(-1))
        engine = sa.create_engine(store.read_url(target))
        with engine.begin() as connection:  # as version 1 left it: the snapshot at the future event
            with Ledger.open(target) as ledger:
                stood = ledger.standing()
            numbers = rows.numbers_of(connection, ["cem"])
            head = connection.execute(sa.select(schema.ledger)).one()
            event = rows.Event(head.head + 1, "received", far, head.settled, "cem", 5.0)
            hashed = rows.save_events(connection, [event], numbers, bytes(head.head_hash))
            connection.execute(schema.agents.update().where(schema.agents.c.id == numbers["cem"]).values(as_of=far))
            connection.execute(schema.ledger.update().values(head=event.seq, head_hash=hashed, settled=far))
            to_version_1(connection)
        engine.dispose()
        with Ledger.open(target) as ledger:
            assert ledger.verify().problems == ()
            assert remembered(ledger) == pytest.approx(dict(zip(stood.names, stood.remembered, strict=True)), rel=1e-4)
            decided = ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)))
            assert set(decided.utilities) == {"cem"}
            assert abs(decided.at - instant(days(0))) < 60_000_000
            assert ledger.standing(days(364)).received.sum() == 17
            ledger.void(event.seq, note="a slip of a year")
            assert ledger.standing(days(364)).received.sum() == 12
            assert ledger.verify().ok


class TestVoid:
    def test_every_kind_can_be_void(self, new_target):
        with team_at(new_target()) as ledger:
            start = (
                remembered(ledger, day(20)),
                status(ledger, day(20)),
                ledger.rules(day(20)),
                ledger.owed_since(day(20)),
            )
            made = [
                ledger.record("ana", 8, at=day(2)),
                ledger.offset("ben", 3, at=day(3)),
                ledger.correct(2, 4.0),
                ledger.change_rules(at=day(4), half_life="1d", entitlements={"ana": 2}),
                ledger.accept(ledger.propose(ChooseK(dict.fromkeys(NAMES, 2.0), 2), at=day(5)))[0],
                ledger.hold("cem", at=day(6)),
                ledger.resume("cem", at=day(8)),
                ledger.join("dan", at=day(9), newcomers=7),
                ledger.leave("ana", at=day(10)),
                ledger.hold("ben", at=days(10)),
            ]  # fmt: skip
            for event in reversed(made):
                ledger.void(event.seq)
                assert ledger.verify().problems == ()
                assert ledger.void_since(event.seq) is not None
            now = (
                remembered(ledger, day(20)),
                status(ledger, day(20)),
                ledger.rules(day(20)),
                ledger.owed_since(day(20)),
            )
            assert now == start
            assert ledger.contributions("ana", day(20))[0].kind == "join"
            assert len(ledger.contributions("ana", day(20))) == 1
            assert [event.kind for event, _ in ledger.events(in_effect=True)] == ["rules"] + ["join"] * 3 + [
                "void"
            ] * 10
            ledger.join("dan", at=day(11))
            assert ledger.verify().ok

    def test_the_last_time_served_goes_back(self, new_path):
        with team_at(new_path()) as ledger:
            ledger.record("ana", 1, at=day(2))
            ledger.void(ledger.record("ana", 1, at=day(5)).seq)
            assert ledger.standing(day(9)).last[0] == instant(day(2))

    def test_a_void_can_be_void(self, new_target):
        with team_at(new_target()) as ledger:
            event = ledger.record("ana", 8, at=day(2))
            ledger.correct(event.seq, 6)
            before = remembered(ledger, day(9))
            void = ledger.void(event.seq, note="a slip")
            assert (void.kind, void.agent, void.refers, void.note) == ("void", "ana", event.seq, "a slip")
            with pytest.raises(ValueError, match=f"event {event.seq} is already void, since event {void.seq}"):
                ledger.void(event.seq)
            with pytest.raises(
                ValueError, match=f"event {event.seq} has been void since event {void.seq}: record the right amount"
            ):
                ledger.correct(event.seq, 1)
            back = ledger.void(void.seq)
            assert remembered(ledger, day(9)) == before
            with pytest.raises(
                ValueError, match=f"put event {event.seq} back in effect: void event {event.seq} instead"
            ):
                ledger.void(back.seq)
            ledger.void(event.seq)
            assert remembered(ledger, day(9))["ana"] == 0
            assert ledger.verify().ok

    def test_what_would_leave_no_sense_is_refused_and_nothing_changes(self, new_target):
        with team_at(new_target()) as ledger:
            hold = ledger.hold("ana", at=day(3))
            resume = ledger.resume("ana", at=day(4))
            received = ledger.record("ana", 8, at=day(5))
            first = ledger.correct(received.seq, 5)
            second = ledger.correct(received.seq, 6)
            leave = ledger.leave("ben", at=day(6))
            ledger.join("ben", at=day(7))
            for seq, message in [
                (99, "there is no event 99 to void"),
                (10**20, "there is no event 100000000000000000000"),
                (-1, "there is no event -1"),
                (1, "event 1 has the beginning and the first rules of the ledger"),
                (
                    2,
                    f"'ana' would be away at 2026-01-04 00:00 UTC and could not hold then; void event {hold.seq} first",
                ),
                (hold.seq, f"could not resume then; void event {resume.seq} first"),
                (first.seq, f"corrected again by event {second.seq}: void event {second.seq} first"),
                (leave.seq, r"'ben' would be present at .* and could not join then"),
            ]:
                head = ledger.head()
                with pytest.raises(ValueError, match=message):
                    ledger.void(seq)
                assert ledger.head() == head
                assert ledger.verify().problems == ()
            ledger.void(resume.seq)
            ledger.void(hold.seq)
            with pytest.raises(ValueError, match=f"would not be a member at the time of event {received.seq}; void it"):
                ledger.void(2)

    def test_rules_that_rest_on_others_stay(self, new_path):
        @welfare.register
        def lowest(Z):
            return Z.min(axis=-1)

        try:
            with Ledger.new(new_path(), Rules(welfare="lowest"), began=BEGAN) as ledger:
                change = ledger.change_rules(at=day(1), welfare="nash")
                ledger.change_rules(at=day(2), rule="prices")
                with pytest.raises(
                    ValueError, match=f"event {change.seq} cannot be made void: later rules depend on it"
                ):
                    ledger.void(change.seq)
        finally:
            welfare.functions.remove("lowest")

    def test_a_decision_takes_what_was_received_through_it_along(self, new_target):
        with team_at(new_target()) as ledger:
            decision, *received = ledger.accept(ledger.propose(ChooseK(dict.fromkeys(NAMES, 2.0), 2), at=day(5)))
            ledger.correct(received[0].seq, 1)
            alone = ledger.void(received[1].seq)
            ledger.void(decision.seq)
            assert ledger.standing(day(6)).received.sum() == 0
            ledger.void(alone.seq)
            assert ledger.standing(day(6)).received.sum() == 0
            assert ledger.verify().ok
            assert ledger.decide(ChooseK({"ana": 1}), at=day(4)).utilities == {"ana": 1}

    def test_what_a_past_decision_saw_can_be_reproduced(self, new_target):
        with team_at(new_target()) as ledger:
            slip = ledger.record("ana", 8, at=day(2))
            hold = ledger.hold("cem", at=day(3))
            proposal = ledger.propose(ChooseK({"ana": 1.0, "ben": 1.0}), at=day(5))
            decision, *_ = ledger.accept(proposal)
            ledger.void(slip.seq)
            ledger.void(hold.seq)
            ledger.record("ben", 9, at=day(4))
            ledger.change_rules(at=day(4), entitlements={"ben": 5})
            seen = ledger.standing(before=decision.seq)
            assert seen.to_dict() == proposal.standing.to_dict()
            by_then = ledger.standing(day(5), as_recorded=as_datetime(hold.recorded))
            assert by_then.remembered.tolist() == pytest.approx(seen.remembered.tolist())
            assert status(ledger, day(5))["cem"] == "present"
            with pytest.raises(ValueError, match="nothing had been recorded by"):
                ledger.standing(day(5), as_recorded=BEGAN)
            for before in (-1, 1, 99, 10**20):
                with pytest.raises(ValueError, match=f"before must be the number of an event .*, got {before}"):
                    ledger.standing(before=before)

    @pytest.mark.parametrize(
        "edit", ["UPDATE revised SET event = 3", "DELETE FROM revised", "UPDATE revised SET until = 7"]
    )
    def test_verify_finds_a_wrong_void(self, new_path, edit):
        with team_at(new_path()) as ledger:
            ledger.void(ledger.record("ana", 8, at=day(2)).seq)
            assert ledger.verify().ok
            engine = sa.create_engine(f"sqlite:///{ledger.name}")
            with engine.begin() as connection:
                connection.exec_driver_sql(edit)
            engine.dispose()
            assert (
                "which events count, and with what amounts, does not follow from the events" in ledger.verify().problems
            )


class TestOutlook:
    def test_the_outlook_of_a_past_standing_knows_nothing_later(self, new_target):
        with team_at(new_target()) as ledger:
            ledger.record("ana", 8, at=day(2))
            ledger.record("ben", 50, at=day(5))
            ledger.offset("ana", 50, at=day(6))
            ledger.hold("cem", at=day(6))
            later = ledger.outlook(day(9), day(2))
            assert later.remembered.tolist() == pytest.approx([4, 0, 0])
            assert later.status == ("present", "present", "on hold")

    def test_what_is_planned_counts(self, new_target):
        with team_at(new_target()) as ledger:
            ledger.record("ana", 8, at=days(-1))
            ledger.hold("cem", at=days(3))
            ledger.join("dan", at=days(4), newcomers=2)
            ledger.change_rules(at=days(2), half_life="inf")
            later = ledger.outlook(days(7))
            assert later.status == ("present", "present", "on hold", "present")
            assert later.remembered.tolist() == pytest.approx([8 * 0.5 ** (3 / 7), 0, 0, 2], rel=1e-4)


def test_a_hold_does_not_end_the_time_for_which_somebody_has_been_owed(new_path):
    with team_at(new_path()) as ledger:
        ledger.record("ana", 8, at=day(2))
        ledger.hold("ben", at=day(4))
        assert set(ledger.owed_since(day(5))) == {"cem"}
        ledger.resume("ben", at=day(6))
        ledger.record("ana", 1, at=day(7))
        assert ledger.owed_since(day(8)) == dict.fromkeys(("ben", "cem"), instant(day(2)))


class TestRedeciding:
    def test_nothing_changes_where_nothing_is_new_since_every_decision_keeps_its_lot(self, new_target):
        with team_at(new_target(), half_life="inf") as ledger:
            for number in range(1, 13):
                ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at=day(number))
            head = ledger.head()
            assert ledger.redecide(day(1), accept=True) == []
            assert ledger.head() == head

    def test_a_late_receipt_changes_a_period_and_what_depended_on_it_is_listed(self, new_target):
        with team_at(new_target(), half_life="inf") as ledger:
            ledger.record("cem", 10, at=day(1))
            ledger.record("ben", 0.1, at=day(1))
            made = [ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at=day(number)) for number in range(2, 10)]
            assert [list(each.utilities) for each in made[:4]] == [["ana"], ["ben"], ["ana"], ["ben"]]
            ledger.record("ana", 2.5, at=day(1))
            head, before = ledger.head(), remembered(ledger, day(10))
            preview = ledger.redecide(day(2), day(5))
            assert (ledger.head(), remembered(ledger, day(10))) == (head, before)
            found = ledger.redecide(day(2), day(5), accept=True, note="late")
            assert found == preview
            assert {each.in_period for each in found} == {True, False}
            assert all(each.before != each.after for each in found)
            assert all((each.time < instant(day(5))) == each.in_period for each in found)
            assert ledger.verify().problems == ()
            # Ben is served until he has caught up with what is now known of Ana.
            stood = [ledger.standing(day(number)) for number in (2, 3)]
            assert [each.received.tolist() for each in stood] == [pytest.approx([2.5, ben, 10]) for ben in (1.1, 2.1)]
            assert ledger.redecide(day(2), day(5)) == [each for each in found if not each.in_period]
            ledger.redecide(day(2), accept=True)
            assert ledger.redecide(day(2)) == []
            assert ledger.verify().ok

    def test_a_decision_that_cannot_be_made_again_is_refused(self, new_path):
        with team_at(new_path()) as ledger:
            dan = ledger.join("dan", at=day(1))
            decision, *_ = ledger.accept(ledger.propose(ChooseK({"dan": 0.0, "ana": 1.0}), at=day(2)))
            ledger.void(dan.seq)
            with pytest.raises(
                ValueError, match=f"decision {decision.seq} .* cannot be made again: unknown agent 'dan'"
            ):
                ledger.redecide(day(1))
            with pytest.raises(ValueError, match="no decision was made between"):
                ledger.redecide(day(3))
            with pytest.raises(ValueError, match="from must not be in the future"):
                ledger.redecide(days(3))
            with pytest.raises(ValueError, match="to must be after from"):
                ledger.redecide(day(3), day(3))


# ---------------------------------------------------------------------------------------------------- by definition

numbers = st.integers(0, 30)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.sampled_from(NAMES), numbers, st.integers(0, 9)),
        st.tuples(st.just("offset"), st.sampled_from(NAMES), numbers, st.integers(-3, 9)),
        st.tuples(st.just("correct"), st.integers(1, 25), st.integers(0, 9)),
        st.tuples(st.sampled_from(["hold", "resume", "leave", "join"]), st.sampled_from(NAMES), numbers),
        st.tuples(st.just("half_life"), numbers, st.sampled_from(["1d", "9d", "inf"])),
        st.tuples(st.just("decide"), numbers),
        st.tuples(st.just("void"), st.integers(1, 30)),
        st.tuples(st.just("void"), st.integers(1, 30)),
    ),
    max_size=16,
)


def do(ledger, kind, *given):
    if kind in ("record", "offset"):
        getattr(ledger, kind)(given[0], given[2], at=day(given[1]))
    elif kind in ("correct", "void"):
        getattr(ledger, kind)(*given)
    elif kind == "half_life":
        ledger.change_rules(at=day(given[0]), half_life=given[1])
    elif kind == "decide":
        ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at=day(given[0]))
    else:
        getattr(ledger, kind)(given[0], at=day(given[1]))


class Model:
    """A plain list of events; what is void, and the standing, by definition."""

    def __init__(self, events):
        void = set()
        for event in sorted(events, key=lambda event: -event.seq):
            if event.kind == "void" and event.seq not in void:
                void.add(event.refers)
        for event in events:
            if event.kind in ("received", "correction") and event.refers in void:
                void.add(event.seq)
        self.events = [event for event in events if event.seq not in void]

    def remembered(self, at):
        by_time = sorted(self.events, key=lambda event: (event.time, event.seq))
        found = {}
        for name in {event.agent for event in by_time if event.kind == "join" and event.time <= at}:
            found[name] = 0.0
            for event in by_time:
                if event.agent == name and event.amount is not None and event.kind != "void" and event.time <= at:
                    found[name] += event.amount * 0.5 ** self.half_lives(name, event.time, at)
        return found

    def half_lives(self, name, since, until):
        total, step = 0.0, 86_400_000_000
        for start in range(since, until, step):
            rules = [e for e in self.events if e.kind == "rules" and e.time <= start and "half_life" in e.details]
            text = max(rules, key=lambda event: (event.time, event.seq)).details["half_life"]
            turns = [e for e in self.events if e.agent == name and e.kind in ("join", "leave", "hold", "resume")]
            turns = [event for event in turns if event.time <= start]
            on_hold = bool(turns) and max(turns, key=lambda event: (event.time, event.seq)).kind == "hold"
            total += 0.0 if on_hold or text == "inf" else 1 / float(text[:-1])
        return total


@given(operations, numbers)
@settings(max_examples=40)
def test_whatever_is_void_reads_as_if_it_had_not_been_recorded(new_path, todo, moment):
    with team_at(new_path()) as ledger:
        snapshots = []
        for operation in todo:
            head = ledger.head()
            try:
                do(ledger, *operation)
            except ValueError:
                assert ledger.head() == head
            snapshots.append((ledger.n_events() + 1, remembered(ledger, day(moment))))
        events = [event for event, _ in ledger.events()]
        expected = Model(events).remembered(instant(day(moment)))
        assert remembered(ledger, day(moment)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert ledger.verify().problems == ()
        ledger.record_all([Entry("zoe", 1.0, day(0))], join=True)
        for before, then in snapshots:
            assert remembered(ledger, day(moment), before=before) == pytest.approx(then, rel=1e-9, abs=1e-9)


def test_a_read_only_ledger_says_so(new_path):
    with team_at(new_path()) as ledger:
        name = ledger.name
    with (
        Ledger.open(f"sqlite:///file:{name}?mode=ro&uri=true") as ledger,
        pytest.raises(LedgerError, match="read-only"),
    ):
        ledger.void(2)


class TestFoundByTheMachine:
    """What the state machine (`test_machine.py`) found, each as a test of its own."""

    def test_a_half_life_may_change_after_the_clock_was_put_back(self, new_path, monkeypatch):
        real = times.now
        with team_at(new_path(), half_life="inf") as ledger:
            monkeypatch.setattr(times, "now", lambda: real() + 48 * 3600 * times.SECOND)
            ledger.record("ana", 8)
            monkeypatch.setattr(times, "now", real)
            ledger.change_rules(half_life="1d")
            assert ledger.verify().problems == ()

    def test_who_has_a_turn_ahead_may_leave_after_the_clock_was_put_back(self, new_path, monkeypatch):
        real = times.now
        with team_at(new_path()) as ledger:
            ledger.plans.publish([DateNeeds(instant(days(1)), False, ChooseK({"ana": 1.0}))])
            monkeypatch.setattr(times, "now", lambda: real() + 48 * 3600 * times.SECOND)
            ledger.record("ben", 8)
            with pytest.raises(ValueError, match=r"'ana' cannot leave at .*, before their latest event"):
                ledger.leave("ana", at=days(0.5))
            monkeypatch.setattr(times, "now", real)
            ledger.leave("ana")
            assert ledger.verify().problems == ()

    def test_the_joining_of_somebody_with_planned_turns_cannot_be_void(self, new_path):
        with Ledger.new(new_path(), Rules(newcomers="zero")) as ledger:
            joined = ledger.join("ana")
            at = instant(days(2))
            ledger.plans.publish([DateNeeds(at, False, ChooseK({"ana": 1.0}))])
            with pytest.raises(ValueError, match="'ana' would not be a member at the time of event 4; void it first"):
                ledger.void(joined.seq)

    def test_after_a_commit_that_failed_the_ledger_can_still_be_used(self, new_target):
        with team_at(new_target()) as ledger:
            struck = []
            for statement in range(1, 20):
                fault = Fault(FULL, statement, new_target)
                with contextlib.suppress(LedgerError), fault.on(ledger):
                    ledger.record("ana", 1, at=BEGAN)
                struck.append(fault.struck)
                before = ledger.n_events()
                ledger.record("ana", 1, at=BEGAN)
                assert ledger.n_events() == before + 1
            assert struck == sorted(struck, reverse=True)  # at each statement in turn, until there are no more
            assert 1 < sum(struck) < 19

    def test_a_commit_whose_answer_is_lost_says_that_it_is_not_certain(self, new_target):
        with team_at(new_target()) as ledger:
            with (
                pytest.raises(LedgerError, match="it is not certain whether this was recorded"),
                Fault(LOST, 1, new_target).on(ledger),
            ):
                ledger.record("ana", 1, at=BEGAN, key="first")
            (event,) = ledger.record_all([Entry("ana", 1, BEGAN, key="first")])
            assert ledger.n_events() == event.seq == 5


class TestJoiningAhead:
    """What somebody who joins ahead starts with is computed when the time has come."""

    def at(self, monkeypatch, number):
        moment = instant(days(0)) + number * 86_400 * times.SECOND
        monkeypatch.setattr(times, "now", lambda: moment)
        return moment

    def test_from_what_the_others_have_then(self, new_path, monkeypatch):
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="mean")) as ledger:
            ledger.join_all(["ana", "ben"])
            joined = ledger.join("dan", at=days(5))
            assert joined.amount == 0
            assert remembered(ledger, days(6)) == {"ana": 0, "ben": 0, "dan": 0}
            ledger.record("ana", 8)
            assert remembered(ledger, days(6))["dan"] == 4
            self.at(monkeypatch, 6)
            assert remembered(ledger)["dan"] == 4
            assert [part.counts for part in ledger.contributions("dan")] == [4]
            assert set(ledger.owed_since()) == {"ben"}
            ledger.record("ben", 2)
            assert remembered(ledger) == {"ana": 8, "ben": 2, "dan": 4}
            start = ledger.event(6)
            assert (start.kind, start.refers, start.amount, start.time) == ("correction", joined.seq, 4, joined.time)
            assert ledger.verify().problems == ()
            ledger.void(joined.seq)
            assert set(remembered(ledger)) == {"ana", "ben"}
            assert ledger.verify().problems == ()

    def test_a_start_that_is_void_stays_void_when_the_ledger_is_rebuilt_and_decides(self, new_path, monkeypatch):
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="mean")) as ledger:
            ledger.join_all(["ana", "ben"])
            ledger.record("ana", 8)
            ledger.join("dan", at=days(1))
            self.at(monkeypatch, 2)
            ledger.record("ben", 2)
            assert ledger.event(6).note == "start when joining"
            ledger.void(6)
            assert remembered(ledger) == {"ana": 8, "ben": 2, "dan": 0}
            rebuild(ledger._store)
            assert remembered(ledger) == {"ana": 8, "ben": 2, "dan": 0}
            assert remembered(ledger, before=8) == {"ana": 8, "ben": 0, "dan": 4}  # when dan joined, as known before
            ledger.decide(ChooseK({"ana": 1.0, "ben": 1.0}))
            found = ledger.verify()
            assert (found.problems, found.decisions) == ((), 1)

    def test_a_proposal_from_before_is_accepted_once_the_time_has_come(self, new_path, monkeypatch):
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="mean")) as ledger:
            ledger.join_all(["ana", "ben"])
            ledger.record("ana", 8)
            ledger.join_all(["dan", "eve"], at=days(1))
            self.at(monkeypatch, 2)
            proposal = ledger.propose(ChooseK(dict.fromkeys(["ana", "ben", "dan", "eve"], 3.0)))
            assert proposal.utilities == {"ben": 3.0}
            ledger.accept(proposal)
            assert remembered(ledger) == {"ana": 8, "ben": 3, "dan": 4, "eve": 4}
            found = ledger.verify()
            assert (found.problems, found.decisions) == ((), 1)

    def test_a_plan_sees_them(self, new_path):
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="mean")) as ledger:
            ledger.join_all(["ana", "ben"])
            ledger.record("ana", 8)
            ledger.record("ben", 6)
            ledger.join("dan", at=days(1), newcomers=5)
            plan = ledger.plans.publish(
                [DateNeeds(instant(days(2)), False, ChooseK(dict.fromkeys(["ana", "ben", "dan"], 2.0)))]
            )
            assert plan.after.remembered.tolist() == [8, 6, 7]
            assert ledger.verify().problems == ()
