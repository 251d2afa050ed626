"""Conclusions hold or flip, and the half-life at which they flip is the one at which the exact sums cross."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bygones.audit import audit, read_history
from bygones.audit.measure.conclusions import TIED, Conclusion, Flip, Tie
from bygones.audit.measure.flips import conclude
from bygones.audit.measure.groups import grouped, next_steps

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
    assert f"ana is owed most up to a half-life of {text}, and ben is owed most beyond that." in sentences
    assert f"ana comes before ben up to a half-life of {text}, and ben comes before ana beyond that." in sentences
    assert f"ana is owed up to a half-life of {text}, and ana is ahead beyond that." in sentences


@settings(max_examples=8)
@given(EVENTS)
def test_every_flip_has_a_reversal_between_its_ends(events):
    found = look(events, ["3", "30", "inf"])
    rows = {name: row for row, name in enumerate(found.names)}

    def margin(each, half_life):
        owed = found.conclusions.asked[half_life]
        return owed[rows[each.agent]] - (owed[rows[each.other]] if each.other else 0.0)

    for each in found.conclusions.found:
        reversals = [flip for flip in each.flips if not flip.is_at_infinity]
        for flip in reversals:
            assert flip.before != flip.after
            assert flip.low < flip.high
            if each.kind != "most":
                assert margin(each, flip.low) * margin(each, flip.high) <= 0
        decided = [answer for answer in each.answers.values() if not isinstance(answer, Tie)]
        if each.holds:
            assert len(set(decided)) <= 1


def remembered_by_hand(events, half_life, end):
    names = sorted({name for name, _, _ in events})
    return np.array([
        sum(amount * 2 ** (-(end - time) / half_life) for name, time, amount in events if name == one) for one in names
    ])  # fmt: skip


def test_all_reversals_are_found_and_counted():
    # Eight agents, each with one old and one recent amount, so that many pairs and sides depend on the half-life.
    rng = np.random.default_rng(5)
    events = [(name, time, float(rng.integers(1, 60))) for name in "abcdefgh" for time in (0, 50)] + [("a", 60, 0.0)]
    found = look(events, ["5", "20", "inf"])
    grid = [*np.geomspace(5, 20, 60), *np.geomspace(20, 5000, 120), math.inf]
    owed = []
    for half_life in grid:
        remembered = remembered_by_hand(events, half_life, 60)
        owed.append((remembered.mean() - remembered) / remembered.sum())
    owed, names, little = np.array(owed), "abcdefgh", TIED / 8
    sides = {names[i] for i in range(8) if owed[:, i].max() > little and owed[:, i].min() < -little}
    pairs = {
        frozenset((names[i], names[j]))
        for i in range(8)
        for j in range(i)
        if (owed[:, i] - owed[:, j]).max() > little and (owed[:, i] - owed[:, j]).min() < -little
    }
    assert {each.agent for each in found.conclusions.of("owed", holds=False)} == sides != set()
    assert {frozenset((e.agent, e.other)) for e in found.conclusions.of("order", holds=False)} == pairs != set()
    assert (found.conclusions.pairs, found.conclusions.pairs_flip, found.conclusions.unlisted) == (28, len(pairs), 0)
    assert found.conclusions.sides_flip == len(sides)
    assert found.conclusions.all_exact
    listed_in_json = [each for each in found.to_dict()["conclusions"]["found"] if not each["holds"]]
    assert len([each for each in listed_in_json if each["kind"] == "order"]) == len(pairs)


def test_the_largest_reversals_come_first():
    before = np.array([0.1, 0.3, -0.2, -0.15])
    found = conclude("abcd", {1.0: before, 2.0: -before}, None)
    assert [each.agent for each in found.of("owed", holds=False)] == ["b", "c", "d", "a"]
    pairs = [each.agent + each.other for each in found.of("order", holds=False)]
    assert pairs == ["bc", "bd", "ac", "ad", "ba", "dc"]


def test_pairs_that_are_not_listed_are_counted(monkeypatch):
    owed = {1.0: np.array([3.0, 2, 1, -6]), 2.0: np.array([1.0, 2, 3, -6])}
    assert len(conclude("abcd", owed, None).of("order", holds=False)) == 3
    monkeypatch.setattr("bygones.audit.measure.flips.LISTED", 2)
    monkeypatch.setattr("bygones.audit.measure.flips.NOTABLE", 0)
    found = conclude("abcd", owed, None)
    assert (found.pairs_flip, len(found.of("order", holds=False)), found.unlisted) == (3, 2, 1)


def test_ties_are_no_conclusion():
    # c and d received next to nothing: who of the two is owed more changes, and means nothing.
    events = [("a", 0, 1000.0), ("b", 10, 900.0), ("c", 0, 2e-3), ("d", 10, 1e-3), ("a", 20, 0.0)]
    found = look(events, ["2", "20", "inf"])
    most = found.conclusions.found[0]
    assert most.claim == "c and d are owed most"
    assert most.sentence(str) == "c and d are owed most at every half-life from 2.0 to inf."
    assert not [e for e in found.conclusions.of("order", holds=False) if {e.agent, e.other} == {"c", "d"}]
    level = next(e for e in found.conclusions.found if {e.agent, e.other} == {"c", "d"})
    assert level.is_tie
    assert level.claim in ("c and d are level", "d and c are level")
    assert level in found.conclusions.hold
    assert level not in found.conclusions.informative


def test_no_sentence_grows_without_end():
    rng = np.random.default_rng(0)
    names = [f"medallion {i:04}" for i in range(400)]
    owed = {}
    for half_life in np.geomspace(1, 100, 20):
        each = rng.random(400) * 1e-9
        each[rng.integers(1, 400)] += 0.01
        owed[float(half_life)] = each - each.mean()
    found = conclude(names, owed, None)
    lengths = [len(each.sentence(lambda half_life: f"{half_life:.3g}d")) for each in found.found]
    assert max(lengths) < 400
    assert "the answer changes" in found.found[0].sentence(str)


def test_one_number_is_not_written_as_a_range():
    flip = Flip(14.79, 14.81, "owed", "ahead", 14.8)
    change = Conclusion("owed", "ana", "", {1.0: "owed", 30.0: "ahead"}, (flip,))
    assert not flip.is_exact
    assert (
        change.sentence(lambda h: f"{h:.1f}d")
        == "ana is owed up to a half-life of 14.8d, and ana is ahead beyond that."
    )
    assert "between 14.79d and 14.81d" in change.sentence(lambda h: f"{h}d")


def test_a_name_that_ends_with_a_full_stop_ends_the_sentence():
    found = look([("Acme Inc.", 0, 1.0), ("ben", 0, 9.0)], ["2", "20"])
    sentences = [each.held(str) for each in found.conclusions.hold]
    assert "Acme Inc. is owed most." in sentences
    assert "Acme Inc. comes before ben." in sentences
    even = look([("Acme Inc.", 0, 9.0), ("ben", 0, 1.0)], ["2", "20"])
    assert "ben comes before Acme Inc." in [each.held(str) for each in even.conclusions.hold]
    assert not any(".." in each.sentence(str) for each in even.conclusions.found)


@pytest.mark.parametrize("newcomers", ["zero", "0"])
def test_the_search_sees_what_the_audit_sees(newcomers):
    # A newcomer rule of 0 is the same as zero, but asks by way of the periods.
    events = [("ana", 0, 10.0), ("ben", 20, 6.0), ("cem", 25, 3.0), ("ana", 30, 0.0)]
    found = look(events, ["2", "20", "inf"], newcomers=newcomers)
    for half_life, owed in found.conclusions.asked.items():
        (stood,) = look(events, [half_life], refine=False).standings
        np.testing.assert_allclose(owed, stood.owed / stood.remembered.sum(), rtol=1e-9, atol=1e-12)


def test_agents_are_compared_per_unit_of_entitlement():
    # Vermont has most per head, California most of all.
    events = [("California", 0, 4000.0), ("Vermont", 0, 90.0), ("Maine", 0, 100.0)]
    found = look(events, ["2", "inf"], entitlements={"California": 39.0, "Vermont": 0.6, "Maine": 1.4})
    assert [found.names[row] for row in found.ranked(found.standings[0])] == ["Maine", "California", "Vermont"]
    claims = [each.claim for each in found.conclusions.found]
    assert "Maine is owed most per unit of entitlement" in claims
    assert "California comes before Vermont" in claims
    (stood, _), weights = found.standings, np.array([39.0, 1.4, 0.6])
    np.testing.assert_allclose(
        found.conclusions.asked[2.0], stood.owed / stood.remembered.sum() / weights * weights.mean(), rtol=1e-12
    )
    assert found.to_dict()["half_lives"][0]["agents"][0]["owed_per_unit"] == pytest.approx(stood.owed[1] / 1.4)


def test_without_a_search_a_flip_lies_between_two_half_lives():
    events = [("ana", 0, 10.0), ("ben", 20, 6.0), ("ana", 30, 0.0)]
    found = look(events, ["2", "20", "inf"], refine=False)
    most = found.conclusions.flip[0]
    assert (most.flips[0].low, most.flips[0].high, most.flips[0].is_exact) == (20, math.inf, False)
    assert "up to a half-life between 20 and inf" in most.sentence(found.clock.length_text)
    assert 20 < most.flips[0].half_life < math.inf
    data = most.to_dict(lambda half_life: half_life)
    assert data["flips"][0]["before"] == "ana"


def test_without_a_search_a_conclusion_holds_at_the_half_lives_compared():
    # c is owed most at both half-lives, and a at those from about 12 to 640.
    events = [("a", 0, 20.0), ("a", 99, 1.0), ("c", 50, 20.0), ("b", 100, 50.0)]
    assert not look(events, ["1", "inf"]).conclusions.of("most", holds=True)
    found = look(events, ["1", "inf"], refine=False)
    (most,) = found.conclusions.of("most", holds=True)
    assert most.sentence(str) == "c is owed most at each half-life compared, from 1.0 to inf."
    titles = [group.title for group in grouped(found)]
    assert "Holds at each half-life compared, from 1 to inf" in titles
    assert not any("every half-life from" in title for title in titles)


def test_who_is_tied_at_one_half_life_is_not_tied_at_the_others():
    events = [("a", 0, 1.0), ("b", 0, 5.0), ("c", 100, 30.0)]
    short, long = next_steps(look(events, ["1", "inf"]))
    assert short.startswith("With a half-life of 1, serve first any of a and b, who are tied (owed 10 each). c is")
    assert long.startswith("With perfect recall, serve a first (owed 11), then b (owed 7). c is furthest ahead")


def test_what_holds_at_every_half_life():
    found = look([("ana", 0, 10.0), ("ben", 0, 1.0)], ["2", "20", "inf"]).conclusions
    assert not found.flip
    assert found.hold[0].sentence(str) == "ben is owed most at every half-life from 2.0 to inf."
    assert [each.claim for each in found.informative] == ["ben is owed most", "ben is owed", "ana is ahead"]
    assert len(found.hold) == 4
    assert (found.pairs, found.pairs_flip) == (1, 0)
    alone = look([("ana", 0, 10.0)], ["2"]).conclusions
    assert [each.sentence(str) for each in alone.found] == [
        "Nobody is owed anything at a half-life of 2.0.",
        "ana has exactly the entitled share at a half-life of 2.0.",
    ]
    even = look([("ana", 0, 10.0), ("ben", 0, 10.0)], ["2"]).conclusions
    assert even.found[-1].sentence(str) == "ana and ben are level at a half-life of 2.0."


def test_pairs_are_counted_among_those_present_unless_there_are_too_many(monkeypatch):
    owed = {1.0: np.array([3.0, 1.0, -4.0, math.nan]), 2.0: np.array([1.0, 3.0, -4.0, math.nan])}
    found = conclude(["a", "b", "c", "gone"], owed, None)
    assert (found.pairs, found.pairs_flip) == (3, 1)
    assert not [each for each in found.found if "gone" in (each.agent, each.other)]
    monkeypatch.setattr("bygones.audit.measure.flips.PAIRS_COUNTED", 2)
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
    where = "at every finite half-life" if refine else "at each finite half-life compared"
    assert sentences == [
        f"a is owed most {where}. With perfect recall, nobody is owed anything.",
        f"a is owed {where}. With perfect recall, a has exactly the entitled share.",
        f"b is ahead {where}. With perfect recall, b has exactly the entitled share.",
    ]
    order = found.conclusions.of("order", holds=True)
    assert [each.held(found.clock.length_text) for each in order] == ["a comes before b (a tie at inf)."]
    assert max(h for h in found.conclusions.asked if math.isfinite(h)) <= 640
    assert found.conclusions.searched == refine


def test_a_flip_before_a_tie_if_nothing_fades():
    # 4x^10 + x^6 is what is remembered of a and 4x^11 + x^5 of c, where x = 2^(-1/h); both are 5 at x = 1.
    found = look([("a", 1, 4), ("c", 0, 4), ("a", 5, 1), ("c", 6, 1), ("a", 11, 0)], ["1", "10", "inf"])
    crossing = -1 / math.log2(brentq(lambda x: 4 * x**5 + x - 1 - 4 * x**6, 0.3, 0.99))
    text = found.clock.length_text(crossing)
    assert found.conclusions.flip[0].sentence(found.clock.length_text) == (
        f"a is owed most up to a half-life of {text}, and c is owed most beyond that. With perfect recall, "
        "nobody is owed anything."
    )


def test_those_who_are_owed_alike_are_named_together():
    owed = {1.0: np.array([0.1, 0.1, -0.2]), 2.0: np.array([0.05, 0.1, -0.15])}
    most = conclude(["a", "b", "c"], owed, None).found[0]
    assert most.claim == "b is owed most"
    assert most.sentence(str) == "b is owed most at each half-life compared, from 1.0 to 2.0 (a tie at 1.0)."
    many = conclude(list("abcdefg"), {1.0: np.array([0.1] * 6 + [-0.6])}, None).found[0]
    assert many.claim == "a, b, c and 3 others are owed most"
    changing = {1.0: np.array([0.1, 0.1, -0.2]), 2.0: np.array([-0.2, 0.1, 0.1])}
    assert conclude(list("abc"), changing, None).found[0].claim == "no agent stands out as owed most"
    changing[3.0] = np.array([-0.2, 0.0, 0.2])
    mostly = conclude(list("abc"), changing, None).found[0]
    assert mostly.held(str) == "No agent stands out as owed most (except at 3.0: c)."


def test_next_to_nothing_is_so_beside_an_average_share():
    owed = np.zeros(10_000)
    owed[:3] = 1e-6, -1e-6, 1e-8
    found = conclude([f"a{i}" for i in range(10_000)], {1.0: owed}, None)
    claims = {each.agent: each.claim for each in found.found if each.kind == "owed"}
    assert (claims["a0"], claims["a1"]) == ("a0 is owed", "a1 is ahead")
    assert claims["a2"] == "a2 has exactly the entitled share"
