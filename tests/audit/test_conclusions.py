"""Conclusions hold or flip, and the half-life at which they flip is the one at which the exact sums cross."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bygones.audit import audit, read_history
from bygones.audit.conclusions import conclude

EVENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 60), st.integers(1, 9)), min_size=3, max_size=20
)


def look(events, half_lives, **more):
    agents, times, utilities = zip(*events, strict=True)
    return audit(read_history(pa.table({"agent": agents, "time": times, "utility": utilities})), half_lives, **more)


def test_a_flip_is_where_the_exact_sums_cross():
    events = [("ana", 0, 10.0), ("ben", 20, 6.0), ("ana", 30, 0.0)]
    found = look(events, ["2", "20", "inf"])
    flip = next(each for each in found.conclusions.flip if each.kind == "most").flips[0]
    exact = brentq(lambda h: 10 * 2 ** (-30 / h) - 6 * 2 ** (-10 / h), 2, 100)
    assert flip.low <= exact <= flip.high <= flip.low * 1.001
    assert flip.half_life == pytest.approx(exact, rel=1e-6)
    assert (flip.before, flip.after) == ("ana", "ben")
    assert flip.is_exact
    sentences = [each.sentence(found.clock.length_text) for each in found.conclusions.flip]
    text = found.clock.length_text(flip.half_life)
    assert f"ana is owed most up to a half-life of {text}; beyond that ben is owed most." in sentences
    assert f"ana is owed more than ben up to a half-life of {text}; beyond that ben is owed more than ana." in sentences
    assert f"ana is owed up to a half-life of {text}; beyond that ana is ahead." in sentences


@settings(max_examples=10)
@given(EVENTS)
def test_every_flip_has_both_answers_at_its_ends(events):
    found = look(events, ["3", "30", "inf"])
    for each in found.conclusions.found:
        for flip in each.flips:
            assert flip.before != flip.after
            ends = look(events, [flip.low, flip.high], refine=False).conclusions.found
            same = next(e for e in ends if (e.kind, {e.agent, e.other}) == (each.kind, {each.agent, each.other}))
            answers = list(same.answers.values())
            if (same.agent, same.other) == (each.agent, each.other):
                assert answers == [flip.before, flip.after]
            else:
                assert answers[0] != answers[1]
    for each in found.conclusions.hold:
        assert len(set(each.answers.values())) == 1


@pytest.mark.parametrize("newcomers", ["zero", "0"])
def test_the_search_sees_what_the_audit_sees(newcomers):
    # A newcomer rule of 0 is the same as zero, but asks by way of the periods.
    events = [("ana", 0, 10.0), ("ben", 20, 6.0), ("cem", 25, 3.0), ("ana", 30, 0.0)]
    found = look(events, ["2", "20", "inf"], newcomers=newcomers)
    for half_life, owed in found.conclusions.asked.items():
        (stood,) = look(events, [half_life], refine=False).standings
        np.testing.assert_allclose(owed, stood.owed / stood.remembered.sum(), rtol=1e-9, atol=1e-12)


def test_without_a_search_a_flip_lies_between_two_half_lives():
    events = [("ana", 0, 10.0), ("ben", 20, 6.0), ("ana", 30, 0.0)]
    found = look(events, ["2", "20", "inf"], refine=False)
    most = found.conclusions.flip[0]
    assert (most.flips[0].low, most.flips[0].high, most.flips[0].is_exact) == (20, math.inf, False)
    assert "up to a half-life between 20 and inf" in most.sentence(found.clock.length_text)
    assert 20 < most.flips[0].half_life < math.inf
    data = most.to_dict(lambda half_life: half_life)
    assert data["flips"][0]["before"] == "ana"


def test_what_holds_at_every_half_life():
    found = look([("ana", 0, 10.0), ("ben", 0, 1.0)], ["2", "20", "inf"]).conclusions
    assert not found.flip
    assert found.hold[0].sentence(str) == "ben is owed most at every half-life from 2.0 to inf."
    assert [each.claim for each in found.informative] == ["ben is owed most", "ben is owed", "ana is ahead"]
    assert len(found.hold) == 4
    assert (found.pairs, found.pairs_flip) == (1, 0)
    alone = look([("ana", 0, 10.0)], ["2"]).conclusions
    assert [each.sentence(str) for each in alone.found] == [
        "nobody is owed anything at a half-life of 2.0.",
        "ana has exactly the entitled share at a half-life of 2.0.",
    ]
    even = look([("ana", 0, 10.0), ("ben", 0, 10.0)], ["2"]).conclusions
    assert even.found[-1].sentence(str) == "ana is owed as much as ben at a half-life of 2.0."


def test_pairs_are_counted_among_those_present_unless_there_are_too_many(monkeypatch):
    owed = {1.0: np.array([3.0, 1.0, -4.0, math.nan]), 2.0: np.array([1.0, 3.0, -4.0, math.nan])}
    found = conclude(["a", "b", "c", "gone"], owed, None)
    assert (found.pairs, found.pairs_flip) == (3, 1)
    assert not [each for each in found.found if "gone" in (each.agent, each.other)]
    monkeypatch.setattr("bygones.audit.conclusions.PAIRS_COUNTED", 2)
    assert conclude(["a", "b", "c", "gone"], owed, None).pairs is None


def test_the_search_asks_exactly_and_only_for_half_lives_between():
    asked = []

    def ask(half_lives):
        asked.extend(half_lives)
        return {h: np.array([1.0, -1.0]) * (h - 5.0) for h in half_lives}

    found = conclude(["a", "b"], ask([1.0, 9.0]), ask)
    assert all(1 <= h <= 9 for h in asked)
    assert len(asked) < 30
    for each in found.flip:
        assert each.flips[0].low <= 5 <= each.flips[0].high
        assert each.flips[0].is_exact
    assert found.flip[0].flips[0].half_life == pytest.approx(5, rel=1e-6)


@pytest.mark.parametrize("refine", [True, False])
def test_a_tie_that_is_reached_only_if_nothing_fades_is_reported_as_such(refine):
    # By the end a and b received 5 each, b of it later: a is owed at every half-life, and nothing if nothing fades.
    events = [("a", 0, 4), ("b", 2, 2), ("a", 4, 1), ("b", 10, 3)]
    found = look(events, ["2", "10", "inf"], refine=refine)
    sentences = [each.sentence(found.clock.length_text) for each in found.conclusions.flip]
    assert sentences == [
        "a is owed most at every finite half-life; if nothing fades, nobody is owed anything.",
        "a is owed at every finite half-life; if nothing fades, a has exactly the entitled share.",
        "b is ahead at every finite half-life; if nothing fades, b has exactly the entitled share.",
        "a is owed more than b at every finite half-life; if nothing fades, a is owed as much as b.",
    ]
    assert max(h for h in found.conclusions.asked if math.isfinite(h)) <= 640
    assert found.conclusions.searched == refine


def test_a_flip_before_a_tie_if_nothing_fades():
    # 4x^10 + x^6 is what is remembered of a and 4x^11 + x^5 of c, where x = 2^(-1/h); both are 5 at x = 1.
    found = look([("a", 1, 4), ("c", 0, 4), ("a", 5, 1), ("c", 6, 1), ("a", 11, 0)], ["1", "10", "inf"])
    crossing = -1 / math.log2(brentq(lambda x: 4 * x**5 + x - 1 - 4 * x**6, 0.3, 0.99))
    text = found.clock.length_text(crossing)
    assert found.conclusions.flip[0].sentence(found.clock.length_text) == (
        f"a is owed most up to a half-life of {text}; beyond that c is owed most; if nothing fades, nobody is owed "
        "anything."
    )


def test_those_who_are_owed_alike_are_named_together():
    owed = {1.0: np.array([0.1, 0.1, -0.2]), 2.0: np.array([0.05, 0.1, -0.15])}
    most = conclude(["a", "b", "c"], owed, None).found[0]
    assert most.claim == "a and b are owed most"
    assert (
        most.sentence(str) == "a and b are owed most up to a half-life between 1.0 and 2.0; beyond that b is owed most."
    )
    many = conclude(list("abcdefg"), {1.0: np.array([0.1] * 6 + [-0.6])}, None).found[0]
    assert many.claim == "a, b, c and 3 others are owed most"


def test_next_to_nothing_is_so_beside_an_average_share():
    owed = np.zeros(10_000)
    owed[:3] = 1e-10, -1e-10, 1e-14
    found = conclude([f"a{i}" for i in range(10_000)], {1.0: owed}, None)
    claims = {each.agent: each.claim for each in found.found if each.kind == "owed"}
    assert (claims["a0"], claims["a1"]) == ("a0 is owed", "a1 is ahead")
    assert claims["a2"] == "a2 has exactly the entitled share"
