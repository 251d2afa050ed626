"""What may be recorded, when, and what follows; on SQLite and on PostgreSQL."""

import math
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from bygones import Discounted, SlidingWindow, welfare
from bygones.allocation import Assign, ChooseK, Divide
from bygones.ledger import Entry, Ledger, LedgerError, Rules, StaleProposalError
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.model.times import instant, iso
from bygones.ledger.storage import schema
from bygones.welfare import parse_welfare


def remembered(ledger, at):
    stood = ledger.standing(at)
    return dict(zip(stood.names, stood.remembered.tolist(), strict=True))


def test_a_whole_life_on_either_database(new_target):
    target = new_target()
    with Ledger.new(target, Rules(half_life="7d", newcomers="mean"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
        slip = ledger.record("ben", 60, at="2026-01-09", note="sixty?")
        ledger.correct(slip.seq, 6, note="six")
        assert remembered(ledger, "2026-01-09") == pytest.approx({"ana": 4, "ben": 6, "cem": 0})
        dana = ledger.join("dana", at="2026-01-09")
        assert dana.amount == pytest.approx(10 / 3)
        ledger.hold("dana", at="2026-01-09")
        decided = ledger.decide(ChooseK({"ana": 5, "ben": 5, "cem": 5}), at="2026-01-10")
        assert decided.utilities == {"cem": 5}
        ledger.resume("dana", at="2026-01-16")
        assert remembered(ledger, "2026-01-16")["dana"] == pytest.approx(10 / 3)
        ledger.change_rules(at="2026-01-16", half_life="inf")
        ledger.leave("ben", at="2026-02-01", note="moved")
        head = ledger.head()
        ledger.record("ana", 1, at="2026-01-20")
    with Ledger.open(target) as ledger:
        stood = ledger.standing("2027-01-01")
        assert stood.status == ("present", "away", "present", "present")
        assert stood.remembered[3] == pytest.approx(10 / 3)
        assert stood.received.tolist() == pytest.approx([9, 6, 5, 0])
        found = ledger.verify(head)
        assert (found.ok, found.events, found.agents) == (True, ledger.n_events(), 4)
        assert not ledger.verify("ab" * 32).ok
    with pytest.raises(LedgerError, match="already"):
        Ledger.new(target)


def test_newcomers_start_as_the_rules_say(new_path):
    starts = {"zero": 0, "mean": 4, "median": 2, "entitled share": 3, "7.5": 7.5}
    for rule, start in starts.items():
        with Ledger.new(new_path(), Rules(newcomers=rule, entitlements={"ana": 2}), began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben", "cem"], at="2026-01-01", newcomers=0)
            for name, amount in (("ana", 2), ("ben", 2), ("cem", 9)):
                ledger.record(name, amount, at="2026-01-01")
            assert ledger.join("dana", at="2026-01-01").amount == pytest.approx(start if start != 3 else 13 / 4)
            assert ledger.join("ed", at="2026-01-01", newcomers="zero").amount == 0
    with Ledger.new(new_path(), Rules(newcomers="mean")) as ledger:
        assert ledger.join("the first").amount == 0


def test_twice_the_entitlement_starts_with_twice_as_much(team):
    for name in ("ana", "ben", "cem"):
        team.record(name, 6, at="2026-01-02")
    assert team.join("dana", at="2026-01-02", entitlement=2, newcomers="entitled share").amount == pytest.approx(12)
    stood = team.standing("2026-01-02")
    assert stood.owed == pytest.approx(0, abs=1e-12)
    assert team.rules("2026-01-02").entitlements == {"dana": 2}


def test_who_returns_is_lifted_to_the_start_and_never_lowered(team):
    team.record("ana", 80, at="2026-01-02")
    team.leave("ana", at="2026-01-03")
    before = remembered(team, "2026-01-04")["ana"]
    team.join("ana", at="2026-01-04")
    assert remembered(team, "2026-01-04")["ana"] == pytest.approx(before)
    team.record("ben", 80, at="2026-01-04")
    team.record("cem", 80, at="2026-01-04")
    team.leave("ana", at="2026-02-01")
    assert team.join("ana", at="2026-03-01").amount > 0
    stood = team.standing("2026-03-01")
    assert stood.remembered[0] == pytest.approx(stood.remembered[1:].mean())


def test_a_hold_stops_the_clock_or_not_as_the_rules_say(new_path):
    for stops, left in ((True, 8), (False, 4)):
        with Ledger.new(new_path(), Rules(half_life="7d", hold_stops_clock=stops), began="2026-01-01") as ledger:
            ledger.join("ana", at="2026-01-01")
            ledger.record("ana", 8, at="2026-01-02")
            ledger.hold("ana", at="2026-01-02")
            assert remembered(ledger, "2026-01-09") == pytest.approx({"ana": left})
            ledger.resume("ana", at="2026-01-09")
            assert remembered(ledger, "2026-01-16") == pytest.approx({"ana": left / 2})
            assert math.isnan(ledger.standing("2026-01-05").owed[0])


def test_owed_since_when(team):
    assert team.owed_since("2026-01-02") == {}
    team.record("ana", 8, at="2026-01-02")
    team.record("ben", 8, at="2026-01-03")
    team.record("cem", 30, at="2026-01-05")
    since = {name: iso(at)[:10] for name, at in team.owed_since("2026-01-20").items()}
    assert since == {"ana": "2026-01-05", "ben": "2026-01-05"}
    assert set(team.owed_since("2026-01-04")) == {"cem"}
    team.hold("ana", at="2026-01-06")
    assert set(team.owed_since("2026-01-20")) == {"ben"}


def test_what_a_standing_is_made_of(team):
    team.record("ana", 8, at="2026-01-02")
    team.record("ana", 1, at="2026-01-09", note="short one")
    first, second, joined = team.contributions("ana", "2026-01-09")
    assert (first.counts, first.weight) == pytest.approx((4, 0.5))
    assert (second.counts, second.note) == (1, "short one")
    assert joined.kind == "join"
    with pytest.raises(ValueError, match="unknown agent 'zoe'"):
        team.contributions("zoe")


def test_a_standing_in_json_says_what_is_owed_to_those_present(team):
    team.record("ana", 6, at="2026-01-02")
    team.hold("cem", at="2026-01-02")
    agents = team.standing("2026-01-02").to_dict()["agents"]
    assert {agent["agent"]: agent["owed"] for agent in agents} == {"ana": -3, "ben": 3, "cem": None}


def test_a_proposal_is_the_same_until_something_is_recorded(team):
    request = ChooseK({"ana": 1, "ben": 1, "cem": 1})
    one, other = team.propose(request), team.propose(request)
    assert one.utilities == other.utilities
    assert one.reasons()[-1] == "ana, ben and cem were tied, so a random draw decided."
    decision, *received = team.accept(one, note="rota")
    assert decision.details["given"] == [list(each) for each in one.given]
    assert [event.refers for event in received] == [decision.seq]
    with pytest.raises(StaleProposalError, match="decide again"):
        team.accept(other)
    assert team.verify().ok


def test_every_kind_of_request(team):
    team.record("ana", 2, at="2026-01-02")
    items = team.decide(Assign({"ana": {"early": 3}, "ben": {"early": 3, "late": 1}}, capacity=None), at="2026-01-02")
    assert items.gets() == {"ben": "early and late"}
    assert items.to_dict()["utilities"] == {"ben": 4}
    parts = team.decide(Divide(9, {"ana": 1, "ben": 1, "cem": 1}, {"cem": 2}), at="2026-01-02")
    assert parts.utilities == pytest.approx({"ana": 4.5, "ben": 2.5, "cem": 2})
    assert parts.gets()["cem"] == "2 of 9"
    nothing = team.decide(ChooseK({"ana": 0}), at="2026-01-02")
    assert nothing.reasons()[0] == "Nobody is served: no choice would raise welfare."
    team.change_rules(at="2026-01-02", half_life="inf", entitlements={"cem": 2})
    reasons = " ".join(team.decide(ChooseK({"ana": 1, "cem": 1}), at="2026-01-02").reasons())
    assert ": lowest recent total per share of the two who asked." in reasons
    assert "Each entry counts in full for ever (perfect recall)." in reasons
    assert team.verify().ok


@pytest.mark.parametrize(("half_life", "text"), [("7d", "7 days"), ("2w", "2 weeks"), ("12h", "12 hours")])
def test_reasons_speak_of_days_and_hours_never_of_steps(team, half_life, text):
    team.change_rules(at="2026-01-02", half_life=half_life)
    team.record("ana", 2, at="2026-01-02")
    proposal = team.propose(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")
    assert f"Each entry counts half after {text}." in proposal.reasons()
    assert f"Each entry counts half after {text.replace('2 weeks', '14 days')}." in proposal.allocation.reasons()
    assert "step" not in " ".join(proposal.reasons()) + proposal.allocation.explain()


def test_the_ledger_adds_when_agents_were_last_served(team):
    team.record("ana", 3, at="2026-01-02")
    proposal = team.propose(ChooseK({"ana": 1, "ben": 1}, 2), at="2026-01-02")
    table = proposal.explanation.table
    assert [column.name for column in table.headings] == ["agent", "recent", "with this", "last time"]
    assert table.rows == [["ben", 0, 1, "never"], ["ana", 3, 4, "2 Jan"]]
    assert proposal.reasons()[0].startswith("ana and ben each get a place on 2 January 2026: ")
    data = proposal.to_dict()
    assert data["reasons"] == proposal.reasons()
    assert data["explanation"] == " ".join(proposal.reasons())
    assert data["remembered_before"] == [3, 0, 0]


def test_what_is_stored_of_a_decision_is_data_and_no_words(team):
    decision, _ = team.accept(team.propose(ChooseK({"ana": 1}), at="2026-01-02"))
    assert sorted(decision.details) == [
        "draw", "gap", "given", "half_life", "method", "optimal", "request", "welfare",
    ]  # fmt: skip
    assert decision.details["given"] == [["ana", None, None, 1.0]]


def test_by_prices_the_rule_and_the_prices_are_stored_too(team):
    team.change_rules(rule="prices", at="2026-01-02")
    decision, _ = team.accept(team.propose(ChooseK({"ana": 1}), at="2026-01-02"))
    assert (decision.details["rule"], decision.details["prices"]) == ("prices", {"ana": 1.0})
    assert decision.details["learned_from"] == 0


def test_a_decision_takes_everything_into_account(team):
    soon = datetime.now(UTC) + timedelta(minutes=2)
    team.record("ana", 8, at=soon)
    assert team.decide(ChooseK({"ana": 1, "ben": 1})).at < instant(soon)
    team.record("ana", 8, at="2026-01-03")
    with pytest.raises(ValueError, match=r"before the last amount or decision .*: to decide a past period"):
        team.decide(ChooseK({"ana": 1}), at="2026-01-02")


def refused(ledger, message, what):
    head = ledger.head()
    with pytest.raises(ValueError, match=message):
        what()
    assert ledger.head() == head
    assert ledger.verify().ok


def test_what_cannot_be_is_refused_and_nothing_changes(team):
    team.record("ana", 8, at="2026-02-01")
    for message, what in [
        ("unknown agent 'zoe'", lambda: team.record("zoe", 1)),
        ("before the ledger began", lambda: team.record("ana", 1, at="2025-12-31")),
        ("before the ledger began", lambda: team.join("dana", at="2025-12-31")),
        ("must not be in the future", lambda: team.record("ana", 1, at="2062-01-01")),
        ("more than a year ahead", lambda: team.hold("ana", at="2062-01-01")),
        ("amount must be", lambda: team.record("ana", math.nan)),
        ("amount must be", lambda: team.record("ana", -1)),
        ("amount must be", lambda: team.record("ana", math.inf)),
        ("amount must be", lambda: team.record("ana", "many")),
        ("entry 2: amount", lambda: team.record_all([Entry("ana", 1), Entry("ben", -1)])),
        ("entry 2: agent 'dana'|unknown agent 'dana'", lambda: team.record_all([Entry("ana", 1), Entry("dana", 1)])),
        ("agent must not be empty", lambda: team.join(" ")),
        ("control characters", lambda: team.join("ana\x1b[31m")),
        ("at most 500", lambda: team.join("a" * 501)),
        ("is already a member", lambda: team.join("ana")),
        ("is not on hold", lambda: team.resume("ana")),
        ("before their latest event", lambda: team.leave("ana", at="2026-01-15")),
        ("no event 99", lambda: team.correct(99)),
        ("no amount to correct", lambda: team.correct(1)),
        ("amount must be", lambda: team.correct(5, -1)),
        ("latest event", lambda: team.change_rules(at="2026-01-15", half_life="1d")),
        ("at least one setting", lambda: team.change_rules()),
        ("a rule must be one of half_life, welfare", lambda: team.change_rules(speed=1)),
        ("half-life of zero", lambda: team.change_rules(half_life="0d")),
        ("entitlement of 'ana'", lambda: team.change_rules(entitlements={"ana": 0})),
        ("unknown agent 'zoe': no agent of this name has joined", lambda: team.decide(ChooseK({"zoe": 1}))),
        ("k must be at most", lambda: team.decide(ChooseK({"ana": 1}, 7))),
        (
            "need of 'ana' must be a finite number of at least 0, got nan",
            lambda: team.decide(ChooseK({"ana": math.nan})),
        ),
        (
            "utility of 'x' to 'ana' must be a finite number of at least 0, got nan",
            lambda: team.decide(Assign({"ana": {"x": math.nan}})),
        ),
        ("began", lambda: team.standing("2025-01-01")),
    ]:
        refused(team, message, what)
    correction = team.correct(5, 4)
    refused(team, "correct event 5", lambda: team.correct(correction.seq))
    team.hold("ben", at="2026-02-01")
    refused(
        team,
        r"agent 'ben' is on hold at .* UTC and cannot take part .*: resume them",
        lambda: team.decide(ChooseK({"ben": 1})),
    )
    refused(
        team,
        "agent 'ben' is already on hold at 2026-02-01 00:00 UTC$",
        lambda: team.hold("ben", at="2026-01-15"),
    )
    refused(team, r"agent 'ana' is not on hold at 2026-02-01 00:00 UTC$", lambda: team.resume("ana", at="2026-02-01"))
    refused(team, r"agent 'ana' is already a member at .* UTC$", lambda: team.join("ana", at="2026-02-01"))
    team.leave("cem", at="2026-02-01")
    refused(team, "was not a member", lambda: team.record("cem", 1, at="2026-02-02"))
    team.record("cem", 1, at="2026-02-01")
    with pytest.raises(ValueError, match="there is no event 99"):
        team.event(99)


def test_a_ledger_refuses_memories_and_welfare_functions_of_ones_own():
    with pytest.raises(ValueError, match=r"half_life must be a duration such as '30d', or 'inf' .*, got Discounted"):
        Rules(half_life=Discounted(gamma=0.5))
    with pytest.raises(ValueError, match=r"welfare must be the name of a welfare .*, got <function"):
        Rules(welfare=lambda Z: Z.min())
    assert Rules(welfare=welfare.nash).welfare == "nash"
    assert Rules(half_life="never", welfare=parse_welfare("alpha_fair", alpha=2)).welfare == "alpha_fair(alpha=2)"


def test_only_rules_are_rules(tmp_path):
    with pytest.raises(ValueError, match=r"rules must be Rules, such as Rules\(half_life='30d'\), got SlidingWindow"):
        Ledger.new(tmp_path / "team.db", SlidingWindow(3))
    assert not (tmp_path / "team.db").exists()


def test_rules_that_this_program_does_not_know_say_what_is_missing(tmp_path):
    @welfare.register
    def two_worst(Z):
        return np.sort(Z, axis=-1)[..., :2].sum(axis=-1)

    Ledger.new(tmp_path / "team.db", Rules(welfare="two_worst")).close()
    with Ledger.open(tmp_path / "team.db") as ledger:
        assert ledger.standing().rules.welfare == "two_worst"
    welfare.functions.remove("two_worst")
    with Ledger.open(tmp_path / "team.db") as ledger:
        message = r"event 1 sets rules .* got 'two_worst'\. Use the program .* must be registered before"
        with pytest.raises(ValueError, match=message):
            ledger.standing()


def test_nobody_to_decide_about(new_path):
    with Ledger.new(new_path()) as ledger, pytest.raises(ValueError, match="let someone join first"):
        ledger.decide(ChooseK({}))


def test_a_hold_recorded_late_counts_as_if_recorded_in_time(team):
    team.record("ana", 8, at="2026-01-02")
    team.record("ana", 1, at="2026-01-16")
    team.hold("ana", at="2026-01-02")
    assert remembered(team, "2026-01-16")["ana"] == pytest.approx(9)
    team.resume("ana", at="2026-01-09")
    assert remembered(team, "2026-01-16")["ana"] == pytest.approx(5)
    assert team.verify().ok


def test_entitlements_may_be_dated_back_and_rules_lie_ahead(team):
    team.record("ana", 8, at="2026-01-10")
    team.change_rules(at="2026-01-05", entitlements={"ana": 3})
    assert team.rules("2026-01-04").entitlements == {}
    assert team.standing("2026-01-10").owed[0] == pytest.approx(8 * 3 / 5 - 8)
    team.change_rules(at="2026-03-01", half_life="1d")
    team.change_rules(at="2026-02-01", half_life="2d", newcomers="zero")
    assert [team.rules(day).half_life for day in ("2026-01-31", "2026-02-01", "2026-03-01")] == ["7d", "2d", "1d"]
    assert team.rules("2026-03-01").newcomers == "zero"
    assert team.verify().ok


def counter(name, place, more):
    """An edit that adds to one of the numbers of a counter of ana's."""
    where = f"'$.{name}[{place}]'"
    return f"UPDATE agents SET counters = json_set(counters, {where}, json_extract(counters, {where}) + {more})"


@pytest.mark.parametrize(
    ("sentence", "edit"),
    [
        ("event 6 has changed since it was recorded", "UPDATE events SET amount = 2 WHERE seq = 6"),
        ("event 6 has changed since it was recorded", "UPDATE events SET note = 'x' WHERE seq = 6"),
        ("event 5 is missing", "DELETE FROM events WHERE seq = 5"),
        ("head is event 7", "DELETE FROM events WHERE seq = 7"),
        ("event 1 has changed", """UPDATE events SET details = '{"half_life":"1d"}' WHERE seq = 1"""),
        ("remembered utility of 'ana'", counter("remembered", 0, 0.001)),
        ("remembered utility of 'ana'", counter("remembered", 1, 0.001)),
        ("received total of 'ana'", counter("received", 0, 7)),
        ("received total of 'ana'", counter("received", 2, 1)),
        ("participation of 'ben'", "UPDATE agents SET participation = '[[1767225600000001,\"join\"]]' WHERE id = 2"),
        ("last time served", "UPDATE agents SET last = 5 WHERE name = 'ana'"),
        ("rules in the snapshot", """UPDATE ledger SET rules = replace(rules, '7d', '8d')"""),
        ("settled instant", "UPDATE ledger SET settled = settled + 1"),
        ("which events count", "INSERT INTO revised VALUES (6, 7, NULL, NULL)"),
        ("agents in the snapshot",
         "INSERT INTO agents SELECT 9, 'z', participation, 0, 0, counters FROM agents WHERE id = 1"),
        ("event 4 has changed since it was recorded", "UPDATE agents SET name = 'zed' WHERE name = 'cem'"),
    ],
)  # fmt: skip
def test_verify_shows_any_later_edit(new_path, sentence, edit):
    path = new_path()
    with Ledger.new(path, Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        for day in (2, 3, 4):
            ledger.record("ana", 8, at=date(2026, 1, day))
        engine = sa.create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            connection.exec_driver_sql(edit)
        engine.dispose()
        found = ledger.verify()
        assert any(sentence in problem for problem in found.problems), found.problems


def test_rule_books():
    book = RuleBook([Change(0, 1, {"half_life": "1s"}), Change(2_000_000, 2, {"half_life": "2s"})])
    clocks = book.clocks(book.at(0).remembering, ["ana"], [((0, "join"),)])
    start, end = np.array([0, 0, 1_000_000]), np.array([1_000_000, 4_000_000, 4_000_000])
    assert clocks.steps(np.zeros(3, dtype=int), start, end).tolist() == [1, 3, 2]
    with pytest.raises(ValueError, match="began"):
        book.at(-1)


def test_a_standing_of_many_agents_is_that_of_each(new_path):
    with Ledger.new(new_path(), Rules(half_life="7d"), began="2026-01-01") as ledger:
        entries = [Entry(f"agent {i % 2500}", 1 + i % 5, date(2026, 1, 1 + i % 28)) for i in range(6000)]
        ledger.record_all(entries, join=True)
        late = ledger.standing("2026-01-15")
        expected = {}
        for name, amount, at, *_ in entries:
            if at <= date(2026, 1, 15):
                expected[name] = expected.get(name, 0) + amount * 0.5 ** ((date(2026, 1, 15) - at).days / 7)
        assert dict(zip(late.names, late.remembered, strict=True)) == pytest.approx(expected)
        assert ledger.verify().ok
        assert np.isfinite(late.owed).all()


def test_the_tables_are_of_the_version_that_the_code_knows(new_path):
    path = new_path()
    Ledger.new(path).close()
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert schema.version(connection) == schema.VERSION
    engine.dispose()


@pytest.fixture
def ledger(new_path):
    with Ledger.new(new_path(), began="2026-01-01") as made:
        yield made


def test_an_unknown_name_suggests_one_that_is_nearly_the_same(ledger):
    ledger.join_all(["Jürgen Müller", "Ludmiła"], at="2026-01-01")
    for wrong, right in [("jürgen müller", "Jürgen Müller"), ("Ludmila", "Ludmiła"), ("Jürgen Müler", "Jürgen Müller")]:
        for ask in (
            lambda name=wrong: ledger.decide(ChooseK({name: 1.0})),
            lambda name=wrong: ledger.contributions(name),
            lambda name=wrong: ledger.record(name, 1),
        ):
            with pytest.raises(ValueError, match=f"unknown agent '{wrong}': .* .did you mean '{right}'"):
                ask()
    with pytest.raises(ValueError, match="'Ludmila' and 'Ludmiła' are nearly the same name"):
        ledger.join("Ludmila")


def test_a_decision_does_not_count_what_was_nothing_as_last_received(ledger):
    ledger.join("ana", at="2026-01-01")

    def last():
        return ledger.propose(ChooseK({"ana": 1.0}), at="2026-02-01").explanation.table.rows[0][-1]

    ledger.record("ana", 0, at="2026-01-02")
    assert last() == "never"
    ledger.record("ana", 5, at="2026-01-03")
    wrong = ledger.record("ana", 8, at="2026-01-04")
    assert last() == "4 Jan"
    ledger.correct(wrong.seq, 0)
    assert last() == "3 Jan"
    ledger.correct(wrong.seq, 2)
    assert last() == "4 Jan"
    assert ledger.verify().ok
