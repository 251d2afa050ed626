"""Had the allocator decided instead: the same needs, as many served, and fairer."""

import math

import pyarrow as pa
import pytest

from bygones.audit import audit, read_history, what_if
from bygones.audit.replay import past_decisions


def asked(*rows, **more):
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return read_history(table, needs="need", served="served", **more)


def test_the_allocator_serves_whoever_has_had_least():
    rows = [(name, day, 4.0, name == "ana") for day in range(6) for name in ("ana", "ben")]
    found = audit(asked(*rows), ["inf", "2"])
    assert found.received.tolist() == [24, 0]
    assert found.what_if.decisions == 6
    for instead in found.what_if.alternatives():
        actual = found.what_if.actual(instead)
        assert instead.differ == (3, 3)
        assert actual.received.tolist() == [24, 0]
        assert sorted(instead.received.tolist()) == [12, 12]
        assert actual.total == instead.total == (24, 24)
    faded, _, kept, kept_instead = found.what_if.courses
    assert (kept.gini.low, kept_instead.gini.low) == (0.5, 0)
    assert kept_instead.worst.low == 12
    assert faded.worst.low == 0
    assert faded.gini.low == pytest.approx(found.standings[0].gini[-1])


@pytest.mark.parametrize("name", ["most", "nash"])
def test_a_function_of_ones_own_decides_whatever_it_is_called(name):
    """It wants one agent to have as much as possible, so it never changes over; the welfare called nash would."""

    def judge(Z):
        return Z.max(axis=-1)

    judge.__name__ = name
    rows = [(name, day, 4.0, name == "ana") for day in range(6) for name in ("ana", "ben")]
    _, instead = audit(asked(*rows), ["inf"], welfare=judge).what_if.courses
    assert sorted(instead.received.tolist()) == [0, 24]
    _, course = what_if(asked(*rows), ["inf"], ["one-step"], welfare=judge, draws=1).courses
    assert sorted(course.received.tolist()) == [0, 24]


def test_what_the_allocator_remembers_fades_from_decision_to_decision():
    rows = [("ana", 0, 10.0, True), ("ben", 20, 6.0, True), ("ana", 21, 1.0, True), ("ben", 21, 1.0, False)]
    faded, kept = audit(asked(*rows), ["2", "inf"]).what_if.alternatives()
    assert (faded.differ.low, kept.differ.low) == (0, 1)  # by then ana's 10 are next to nothing, unless nothing fades
    assert faded.received.tolist() == [11, 6]
    assert kept.received.tolist() == [10, 7]
    assert faded.worst.low == pytest.approx(10 * 2**-10.5 + 1)


def test_as_many_are_served_among_those_who_asked():
    history = asked(
        ("ana", 0, 1.0, True), ("ben", 0, 1.0, True), ("cem", 0, 1.0, False),
        ("cem", 1, 5.0, False), ("ana", 1, 2.0, True),
        ("ben", 2, 1.0, False),
    )  # fmt: skip
    found = audit(history, ["inf"], entitlements={"cem": 2}, others=1)
    assert found.what_if.decisions == 2
    assert found.what_if.courses[1].received[2] == pytest.approx(5)
    data = found.to_dict()["decided_again"]["inf"]
    assert data["actual"]["received"] == {"ana": 3.0, "ben": 1.0, "cem": 0.0}


def test_a_history_decided_by_the_allocator_is_decided_the_same_again():
    rows, remembered = [], {"ana": 0.0, "ben": 0.0, "cem": 0.0}
    for day in range(12):
        needs = {"ana": 3.0 + day % 2, "ben": 2.0 + day / 7, "cem": 5.0 - day / 11}
        served = min(remembered, key=lambda name: (remembered[name], -needs[name]))
        rows += [(name, day, needs[name], name == served) for name in needs]
        remembered[served] += needs[served]
    actual, instead = audit(asked(*rows), ["inf"]).what_if.courses
    assert instead.differ == (0, 0)
    assert actual.gini == instead.gini


def test_newcomers_start_as_the_rule_says_in_both_worlds():
    rows = [
        ("ana", 0, 4.0, True),
        ("ana", 1, 4.0, False),
        ("ben", 1, 4.0, True),
        ("ana", 2, 4.0, True),
        ("ben", 2, 4.0, False),
    ]
    zero, mean = (audit(asked(*rows), ["inf"], newcomers=rule).what_if.courses[0] for rule in ("zero", "mean"))
    assert zero.worst.low == 4
    assert mean.worst.low == 8


@pytest.mark.parametrize("words", [("yes", "no"), ("1", "0"), ("TRUE", "False"), (1, 0), (1.0, 0.0), (True, False)])
def test_served_may_be_written_in_many_ways(words):
    yes, no = words
    history = asked(("ana", 0, 4.0, yes), ("ben", 0, 3.0, no))
    assert audit(history, ["inf"]).received.tolist() == [4, 0]


def test_errors_name_the_row(monkeypatch):
    with pytest.raises(ValueError, match=r"row 2: served must be 1 or 0, true or false, yes or no, got 'perhaps'"):
        asked(("ana", 0, 4.0, "yes"), ("ben", 0, 3.0, "perhaps"))
    with pytest.raises(ValueError, match=r"row 2: need must be a finite number of at least 0, got -3.0"):
        asked(("ana", 0, 4.0, "yes"), ("ben", 0, -3.0, "no"))
    with pytest.raises(ValueError, match="an agent asks twice at 0"):
        audit(asked(("ana", 0, 4.0, "yes"), ("ana", 0, 3.0, "no")), ["inf"])
    monkeypatch.setattr(past_decisions, "MOST_ROWS", 1)
    with pytest.raises(ValueError, match="in histories of up to 1 rows, got 2"):
        audit(asked(("ana", 0, 4.0, "yes"), ("ben", 0, 3.0, "no")), ["inf"])


def test_before_the_first_decision_there_is_nothing_to_compare():
    history = asked(("ana", 0, 4.0, False), ("ben", 0, 4.0, False), ("ana", 5, 4.0, True), ("ben", 5, 4.0, False))
    found = audit(history, ["inf"], at="3").what_if
    actual, instead = found.courses
    assert (found.decisions, instead.differ.low, actual.total.low) == (0, 0, 0)
    assert math.isnan(actual.gini.low)


def test_exempt_agents_are_never_chosen_and_as_many_carry_as_can():
    rows = [("ana", 0, 4.0, True), ("ben", 0, 4.0, False), ("ana", 1, 4.0, True)]
    found = audit(asked(*rows), ["inf"], kind="burden", entitlements={"ana": 0.0, "ben": 1.0}).what_if
    assert found.courses[1].received.tolist() == [0, 4]
    assert (found.decisions, found.courses[1].differ.low) == (2, 2)
