"""The laws of the ledger, each against the definition: a utility counts 2 to the minus half-lives since."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.allocation import ChooseK, Divide
from bygones.ledger import Entry, Ledger, Rules

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("ana", "ben", "cem")
days = st.integers(0, 40)
amounts = st.floats(0, 100).map(lambda x: round(x, 3))


def day(number):
    return BEGAN + timedelta(days=number)


def team_of(path, **rules):
    ledger = Ledger.new(path, Rules(**{"half_life": "7d", "newcomers": "zero", **rules}), began=BEGAN)
    for name in NAMES:
        ledger.join(name, at=BEGAN)
    return ledger


def remembered(ledger, at):
    stood = ledger.standing(at)
    return dict(zip(stood.names, stood.remembered.tolist(), strict=True))


def same(a, b):
    return a.keys() == b.keys() and all(math.isclose(a[k], b[k], rel_tol=1e-9, abs_tol=1e-9) for k in a)


class Reference:
    """The definition, day by day, from everything that was accepted: slow, and nothing like the ledger's own way."""

    def __init__(self):
        self.amounts, self.turns, self.half_lives, self.stops = [], {name: [] for name in NAMES}, [(0, 7)], [(0, True)]

    def weight(self, name, since, until):
        half_lives = 0.0
        for today in range(since, until):
            half_life = [value for start, value in sorted(self.half_lives, key=lambda x: x[0]) if start <= today][-1]
            stops = [value for start, value in sorted(self.stops, key=lambda x: x[0]) if start <= today][-1]
            kinds = [kind for at, kind in sorted(self.turns[name], key=lambda x: x[0]) if at <= today]
            if not (stops and kinds and kinds[-1] == "hold"):
                half_lives += 1 / half_life
        return 0.5**half_lives

    def remembered(self, at):
        return {
            name: sum(u * self.weight(name, since, at) for who, since, u in self.amounts if who == name and since <= at)
            for name in NAMES
        }


operations = st.one_of(
    st.tuples(st.just("record"), st.sampled_from(NAMES), days, amounts),
    st.tuples(st.just("offset"), st.sampled_from(NAMES), days, st.floats(-10, 10).map(lambda x: round(x, 3))),
    st.tuples(st.just("correct"), st.integers(1, 30), amounts),
    st.tuples(st.sampled_from(["hold", "resume", "leave"]), st.sampled_from(NAMES), days),
    st.tuples(st.just("half_life"), days, st.sampled_from([1, 3, 30, math.inf])),
    st.tuples(st.just("stops"), days, st.booleans()),
)


def apply(ledger, reference, operation):
    """Does one thing to both; what the ledger refuses, the reference does not see."""
    kind, *arguments = operation
    if kind in ("record", "offset"):
        name, at, amount = arguments
        getattr(ledger, kind)(name, amount, at=day(at))
        reference.amounts.append((name, at, amount))
    elif kind == "correct":
        event = ledger.correct(*arguments)
        reference.amounts.append((event.agent, (event.time - ledger.event(1).time) // 86_400_000_000, event.amount))
    elif kind == "half_life":
        at, number = arguments
        ledger.change_rules(at=day(at), half_life=f"{number}d" if number < math.inf else "inf")
        reference.half_lives.append((at, number))
    elif kind == "stops":
        at, value = arguments
        ledger.change_rules(at=day(at), hold_stops_clock=value)
        reference.stops.append((at, value))
    else:
        name, at = arguments
        getattr(ledger, kind)(name, at=day(at))
        reference.turns[name].append((at, kind))


@given(st.lists(operations, max_size=14), st.lists(days, min_size=1, max_size=3))
@settings(max_examples=60)
def test_standing_at_any_moment_is_the_definition_and_replay_equals_snapshot(new_path, todo, moments):
    reference = Reference()
    with team_of(new_path()) as ledger:
        for operation in todo:
            head = ledger.head()
            try:
                apply(ledger, reference, operation)
            except ValueError:
                assert ledger.head() == head
        for moment in (*moments, 60):
            assert same(remembered(ledger, day(moment)), reference.remembered(moment))
        assert ledger.verify().problems == ()


def test_what_is_taken_back_leaves_nothing_to_complain_of(new_path):
    with team_of(new_path()) as ledger:
        ledger.record("ana", 0.0, at=day(2))
        slip = ledger.record("ana", 1.0, at=day(0))
        ledger.hold("ana", at=day(5))
        ledger.correct(slip.seq, 0.0)
        assert ledger.verify().problems == ()


@given(st.lists(st.tuples(st.sampled_from(NAMES), days, amounts), min_size=2, max_size=12), st.randoms())
@settings(max_examples=25)
def test_the_order_of_recording_does_not_matter(new_path, received, random):
    shuffled = random.sample(received, len(received))
    with team_of(new_path()) as one, team_of(new_path()) as other:
        for ledger in (one, other):
            ledger.hold("ben", at=day(3))
        one.record_all([Entry(name, u, day(at)) for name, at, u in received])
        for name, at, u in shuffled:
            other.record(name, u, at=day(at))
        for moment in (5, 41):
            assert same(remembered(one, day(moment)), remembered(other, day(moment)))


@given(st.sampled_from(NAMES), days, amounts, amounts, st.integers(0, 30))
@settings(max_examples=25)
def test_a_correction_restores_the_standing_it_would_have_had(new_path, name, at, wrong, right, later):
    with team_of(new_path()) as corrected, team_of(new_path()) as never_wrong:
        slip = corrected.record(name, wrong, at=day(at))
        for ledger in (corrected, never_wrong):
            ledger.record("ana", 5, at=day(at + later))
        corrected.correct(slip.seq, right / 2)
        corrected.correct(slip.seq, right)
        never_wrong.record(name, right, at=day(at))
        for moment in (at, at + later, 80):
            a, b = corrected.standing(day(moment)), never_wrong.standing(day(moment))
            np.testing.assert_allclose(a.remembered, b.remembered, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(a.received, b.received, rtol=1e-12, atol=1e-12)
        assert corrected.event(slip.seq).amount == wrong


@given(days, days, st.sampled_from(["1d", "5d", "30d", "inf"]), st.sampled_from(["1d", "5d", "30d", "inf"]))
@settings(max_examples=25)
def test_a_shorter_half_life_never_makes_an_older_event_count_more(new_path, first, second, one, other):
    older, newer = sorted([first, second])
    short, long = sorted([one, other], key=lambda text: Rules(half_life=text).seconds)
    counts = []
    for half_life in (short, long):
        with team_of(new_path(), half_life=half_life) as ledger:
            ledger.record("ana", 8, at=day(older))
            ledger.record("ana", 8, at=day(newer))
            parts = {part.time: part.weight for part in ledger.contributions("ana", day(41)) if part.kind == "received"}
            counts.append([parts[min(parts)], parts[max(parts)]])
    assert counts[0][0] <= counts[1][0] * (1 + 1e-12)
    assert counts[0][0] * counts[1][1] <= counts[1][0] * counts[0][1] * (1 + 1e-12)


OWN_WEIGHTS = "generalized_gini(weights=(0.6, 0.3, 0.1))"
WELFARES = ["egalitarian", "nash", "log_nash", "alpha_fair(alpha=2)", "generalized_gini", OWN_WEIGHTS, "utilitarian",
            "power_burden(p=3)"]  # fmt: skip


def kind_of(welfare):
    """What a welfare function judges."""
    return "burden" if welfare.startswith("power_burden") else "good"


@pytest.mark.parametrize("welfare", WELFARES)
def test_twice_the_entitlement_gets_twice_the_resource_in_the_steady_state(new_path, welfare):
    with team_of(
        new_path(), half_life="20d", welfare=welfare, kind=kind_of(welfare), entitlements={"ana": 2}
    ) as ledger:
        served = []
        for today in range(160):
            served += ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at=day(today)).utilities
        shares = [served[40:].count(name) / 120 for name in NAMES]
        assert ledger.verify().ok
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=0.02)


@pytest.mark.parametrize("welfare", WELFARES)
def test_an_amount_is_divided_by_entitlement(new_path, welfare):
    with team_of(new_path(), welfare=welfare, kind=kind_of(welfare), entitlements={"ana": 2}) as ledger:
        ledger.record("ben", 3, at=day(0))
        for today in range(30):
            parts = ledger.decide(Divide(8, dict.fromkeys(NAMES, 1.0)), at=day(today)).utilities
    assert [parts[name] for name in NAMES] == pytest.approx([4, 2, 2])


def test_debts_and_claims_sum_to_zero_and_fading_keeps_their_signs(team):
    team.record("ana", 8, at="2026-01-02")
    team.record("ben", 5, at="2026-01-04")
    now, later = team.standing("2026-01-10"), team.standing("2026-02-10")
    for stood in (now, later):
        assert stood.owed.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(np.sign(now.owed), np.sign(later.owed))
