"""What was found by attacking ledgers, one test each; every one of them failed before."""

import random
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bygones.allocation import ChooseK
from bygones.ledger import DateNeeds, Entry, Ledger, Rules
from bygones.ledger.model.times import instant
from support.forgery import rewrite
from support.frozen_ledgers import VERSION_2, thawed

NAMES = ("ana", "ben", "cem")
EVERYBODY = ChooseK(dict.fromkeys(NAMES, 1.0))
DAY = 86_400_000_000


def ahead(days):
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    return instant(noon + timedelta(days=days))


@pytest.fixture
def team(new_path):
    with Ledger.new(new_path(), Rules(half_life="7d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        yield ledger


class TestCorrectionsCancelExactly:
    @pytest.mark.parametrize("welfare", ["egalitarian", "nash"])
    def test_wrong_entries_corrected_to_nothing_leave_a_tie(self, new_path, welfare):
        """Residues near 1e-18 broke ties, and Nash welfare refused what was below zero."""
        for number in range(20):
            rng = random.Random(number)
            with Ledger.new(new_path(), Rules("7d", welfare, "zero"), began="2026-01-01") as ledger:
                ledger.join_all(NAMES, at="2026-01-01")
                for day in (2, 3, 4):
                    ledger.record(rng.choice(NAMES), rng.uniform(0.1, 9), at=f"2026-01-{day:02}T07:13")
                    ledger.correct(ledger.n_events(), rng.uniform(0.1, 9))
                    ledger.correct(ledger.n_events() - 1, 0.0)
                assert ledger.standing("2026-01-20").remembered.tolist() == [0.0, 0.0, 0.0]
                ledger.decide(EVERYBODY, at="2026-01-20")
                assert ledger.verify().problems == ()

    @pytest.mark.soak
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(st.sampled_from(NAMES), st.floats(0, 1e9), st.lists(st.floats(0, 1e9), max_size=3)),
            min_size=1,
            max_size=6,
        )
    )
    def test_whatever_is_corrected_counts_as_if_it_had_been_recorded_so(self, new_path, entries):
        with (
            Ledger.new(new_path(), Rules("3d"), began="2026-01-01") as one,
            Ledger.new(new_path(), Rules("3d"), began="2026-01-01") as other,
        ):
            for ledger in (one, other):
                ledger.join_all(NAMES, at="2026-01-01")
            for hour, (name, amount, corrections) in enumerate(entries):
                at = f"2026-01-02T{hour:02}:17"
                event = one.record(name, amount, at=at)
                for wanted in corrections:
                    one.correct(event.seq, wanted)
                other.record(name, [amount, *corrections][-1], at=at)
            corrected, plain = (ledger.standing("2026-01-09") for ledger in (one, other))
            assert corrected.remembered.tolist() == plain.remembered.tolist()
            assert corrected.received.tolist() == plain.received.tolist()


class TestOneVersionCounts:
    def test_of_decisions(self, team):
        team.record("ana", 3, at="2026-01-02")
        team.decide(ChooseK({"ana": 1.0, "ben": 1.0}), at="2026-01-03")
        first = team.n_events() - 1
        team.record("ben", 50, at="2026-01-02T12:00")
        team.redecide("2026-01-03", accept=True)
        void, again = (e.seq for e, _ in team.events() if e.seq > first + 2 and e.kind in ("void", "decision"))
        second = team.void(again)
        team.void(void)
        with pytest.raises(ValueError, match=f"event {again} was decided again as event {first}: void event {first}"):
            team.void(second.seq)
        counting = [event.seq for event, _ in team.events(in_effect=True) if event.kind == "decision"]
        assert counting == [first]
        assert team.verify().problems == ()

    def test_of_plans_that_were_taken_back_and_made_again(self, team):
        team.plans.publish([DateNeeds(ahead(3), False, EVERYBODY)])
        team.plans.void()
        taken_back = team.n_events()
        team.plans.publish([DateNeeds(ahead(3), False, EVERYBODY)])
        with pytest.raises(ValueError, match="was decided again as event"):
            team.void(taken_back)
        assert len(team.plans.turns()) == 1

    def test_of_plans_that_were_decided_again_twice(self, team):
        team.plans.publish([DateNeeds(ahead(3), False, EVERYBODY)])
        voids = []
        for _ in range(2):
            (turn,) = team.plans.turns()
            team.hold(turn.agent)
            team.plans.redecide(accept=True)
            voids.append(next(e.seq for e, _ in reversed(list(team.events())) if e.kind == "void"))
        with pytest.raises(ValueError, match="was decided again as event"):
            team.void(voids[0])
        assert len(team.plans.turns()) == 1
        assert team.verify().problems == ()


STEPS = st.tuples(
    st.sampled_from(["decide", "redecide", "plan", "unplan", "plan", "replan", "void", "void", "void", "void"]),
    st.integers(2, 5),
)


def take(ledger, step, number):
    """One step of a history in which anything is decided, planned, made void and put back."""
    if step == "decide":
        ledger.decide(EVERYBODY, at=f"2026-01-{number:02}")
    elif step == "redecide":
        ledger.record(NAMES[number % 3], 50, at="2026-01-01T12:00")
        ledger.redecide("2026-01-01", accept=True)
    elif step == "plan":
        ledger.plans.publish([DateNeeds(ahead(number), False, EVERYBODY)])
    elif step == "unplan":
        ledger.plans.void()
    elif step == "replan":
        here = dict.fromkeys([name for name in NAMES if name != NAMES[number % 3]], 1.0)
        ledger.plans.redecide(needs=[DateNeeds(ahead(day), False, ChooseK(here)) for day in (2, 3, 4)], accept=True)
    else:
        versions = [event.seq for event, _ in ledger.events() if event.kind in ("decision", "plan", "void")]
        if len(versions) > number - 2:
            ledger.void(versions[1 - number])


@pytest.mark.soak
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=8, max_size=20))
def test_whatever_is_made_void_and_put_back_one_version_counts_and_has_the_same_draw(new_path, steps):
    with Ledger.new(new_path(), Rules("inf", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for step, number in steps:
            with suppress(ValueError):  # what is refused changes nothing
                take(ledger, step, number)
            counting = [event for event, _ in ledger.events(in_effect=True)]
            draws = [event.details["draw"]["number"] for event in counting if event.kind == "decision"]
            dates = [event.time for event in counting if event.kind == "plan"]
            through = [event.refers for event in counting if event.kind in ("planned", "received") and event.refers]
            assert len(draws) == len(set(draws))
            assert len(dates) == len(set(dates))
            assert sorted(through) == sorted(e.seq for e in counting if e.kind in ("decision", "plan"))
        assert ledger.verify().problems == ()


class TestCorrectionsStay:
    def test_in_a_swap(self, team):
        wrong = team.record("ana", 80, at="2026-01-02")
        team.correct(wrong.seq, 8)
        other = team.record("ben", 10, at="2026-01-03")
        team.plans.swap(wrong.seq, other.seq)
        assert team.standing("2026-01-04").received.tolist() == [10, 8, 0]

    def test_when_a_date_is_decided_again(self, team):
        team.plans.publish([DateNeeds(ahead(3), False, ChooseK(dict.fromkeys(NAMES, 10.0), 2))])
        one, other = team.plans.turns()
        team.correct(one.seq, 4)
        team.hold(other.agent)
        team.plans.redecide(accept=True)
        assert {turn.agent: turn.amount for turn in team.plans.turns()}[one.agent] == 4
        assert team.verify().problems == ()

    def test_when_an_import_is_taken_back_after_a_swap(self, team):
        entries = [Entry("ana", 8, "2026-01-02"), Entry("ben", 7, "2026-01-03")]
        first, second = team.record_all(entries, source="table.csv")
        mine = team.record("cem", 5, at="2026-01-04")
        team.plans.swap(first.seq, mine.seq)
        team.undo_import(second.seq)
        assert team.standing("2026-01-05").received.tolist() == [5, 0, 0]


def test_one_date_that_nobody_can_take_does_not_keep_the_others_from_being_decided_again(new_path):
    with Ledger.new(new_path(), Rules(newcomers="zero", kind="burden"), began="2026-01-01") as ward:
        ward.join_all(NAMES, at="2026-01-01")
        ward.plans.publish([DateNeeds(ahead(day), False, EVERYBODY) for day in (3, 5)])
        whose = [turn.agent for turn in ward.plans.turns()]
        others = dict.fromkeys([name for name in NAMES if name != whose[0]], 1.0)
        needs = [DateNeeds(ahead(3), False, ChooseK(others)), DateNeeds(ahead(5), False, ChooseK(dict.fromkeys(NAMES)))]
        first, second = ward.plans.redecide(needs=needs, accept=True, key="again")
        assert first.after[0].agent != whose[0]
        assert second.before == second.after
        assert second.why == (f"{whose[1]} is not available", "nobody else can take it")
        assert ward.plans.redecide(needs=needs, accept=True, key="again") == [first, second]
        assert ward.verify().problems == ()


def test_one_of_two_places_that_is_filled_again_is_told_alike_on_a_retry(team):
    team.plans.publish([DateNeeds(ahead(3), False, ChooseK(dict.fromkeys(NAMES, 10.0), 2))])
    team.hold(team.plans.turns()[0].agent)
    first = team.plans.redecide(accept=True, key="again")
    assert first[0].after[-1].what == "a place (need 10)"
    assert team.plans.redecide(accept=True, key="again") == first


def test_an_agent_may_be_called_like_a_link(team):
    team.join("swapped", at="2026-01-01")
    team.join('redecides":4', at="2026-01-01")
    event = team.record("swapped", 1, at="2026-01-02", note='"swapped":[1,2]')
    team.decide(ChooseK({"swapped": 1.0}), at="2026-01-03")
    team.void(event.seq)
    assert team.verify().problems == ()


@pytest.mark.parametrize("told", [{"optimal": False}, {"method": 0}, {"method": 99}])
def test_what_verify_is_told_not_to_look_at_is_named(new_path, told):
    path = new_path()
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ben", 1, at="2026-01-02")
        ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")

    def forged(event):
        if event.kind == "decision":
            return event._replace(details=event.details | {"given": [["ben", None, None, 1.0]]} | told)
        return event._replace(agent="ben") if event.refers else event

    rewrite(path, forged)
    with Ledger.open(path) as ledger:
        verified = ledger.verify()
        assert verified.problems == ()
        assert list(verified.unchecked) == [5]
    run = [sys.executable, "-m", "bygones", "ledger", "verify", str(path)]
    shown = subprocess.run(run, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert "event 5: it was" in shown.stdout
    assert subprocess.run([*run, "--strict"], capture_output=True, check=False).returncode == 1


def test_the_same_table_imported_by_several_at_once_is_recorded_once(new_path, tmp_path):
    path, table = new_path(), tmp_path / "table.csv"
    lines = [f"{name},2026-01-{day:02},{day}" for name in NAMES for day in range(2, 22)]
    table.write_text("\n".join(["agent,time,amount", *lines]), encoding="utf-8")
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
    codes = []

    def imported():
        run = [sys.executable, "-m", "bygones", "ledger", "import", str(path), str(table)]
        codes.append(subprocess.run(run, capture_output=True, check=False).returncode)

    threads = [threading.Thread(target=imported) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Ledger.open(path) as ledger:
        assert sum(event.kind == "received" for event, _ in ledger.events()) == len(lines)
    assert sorted(codes) == [0, 2, 2]


NONSENSE = """
import ast, importlib.abc, importlib.util, sys

SPEAKING = ("bygones.allocation.", "bygones.kinds", "bygones.ledger.actions.", "bygones.ledger.plans.")


class Nonsense(ast.NodeTransformer):
    def visit_Expr(self, node):  # docstrings stay
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node):
        is_sentence = isinstance(node.value, str) and " " in node.value.strip()
        return ast.copy_location(ast.Constant("xyzzy xyzzy"), node) if is_sentence else node


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if not name.startswith(SPEAKING):
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        spec.loader.source_to_code = lambda data, path: compile(
            ast.fix_missing_locations(Nonsense().visit(ast.parse(data))), path, "exec"
        )
        spec.loader.get_code = lambda name: spec.loader.source_to_code(spec.loader.get_data(spec.origin), spec.origin)
        return spec


sys.meta_path.insert(0, Finder())
from bygones.ledger import Ledger

for path in sys.argv[1:]:
    with Ledger.open(path) as ledger:
        verified = ledger.verify()
        assert not verified.problems, (path, verified.problems)
        assert verified.decisions, path
        decision = next(event for event, _ in ledger.events() if event.kind == "decision")
        assert "xyzzy" in " ".join(ledger.told(decision).reasons), path
"""


def test_no_sentence_of_the_program_is_data(new_path, tmp_path):
    """With nonsense in place of every sentence that a decision is told in, old and new ledgers verify all the same."""
    new = new_path()
    with Ledger.new(new, began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        ledger.decide(EVERYBODY, at="2026-01-03")
        ledger.plans.publish([DateNeeds(ahead(day), False, EVERYBODY) for day in (1, 2)])
    old = [thawed(name, tmp_path / f"{name}.db") for name in VERSION_2]
    run = [sys.executable, "-c", NONSENSE, *map(str, (new, *old))]
    shown = subprocess.run(run, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
