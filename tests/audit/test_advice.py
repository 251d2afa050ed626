"""Which rule: made-up histories whose right answer is known, laws that the advice keeps, and awkward histories."""

import functools
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.audit import advise, read_history
from bygones.audit.advice import with_needs
from bygones.audit.advice.recommendation import OTHERS_TOO, facts_of, round_lengths, suitable_period
from bygones.audit.advice.trials import JudgedTrials, Trials, _measure
from bygones.audit.read.clock import Clock
from bygones.audit.replay.courses import Course, Run
from bygones.audit.replay.memories import of_half_life
from bygones.audit.replay.past_decisions import DecisionRequest, Decisions, Members

DAY = 86_400e6


def asked(rows):
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return read_history(table, needs="need", served="served")


def drawn(needs_of, decisions=200, n=4, k=1, seed=3):
    """Rows of decisions in which k of those who ask are drawn; `needs_of` gives who asks for how much."""
    rng, rows = np.random.default_rng(seed), []
    for step in range(decisions):
        needs = needs_of(step, rng, n)
        served = set(rng.permutation(list(needs))[:k].tolist())
        rows += [(f"agent {i}", step, float(need), i in served) for i, need in needs.items()]
    return rows


def decided(requests, n):
    """Decisions among n agents."""
    return Decisions(requests, Members(tuple(f"agent {i}" for i in range(n)), np.ones(n), "zero"), 1.0)


def equal(step, rng, n):
    return dict.fromkeys(range(n), 2.0)


def varied(step, rng, n):
    return dict(enumerate(rng.uniform(0, 10, n)))


def changing(step, rng, n):
    """Two agents ask at the beginning and then again from the middle on: others were served meanwhile."""
    away = 3 < step < 100
    return dict(enumerate(rng.uniform(4, 6, n - 2 if away else n)))


@functools.cache
def ask(needs_of, kind="good", reported=False):
    """Advice about a made-up history with few half-lives, by steps."""
    history = asked(drawn(needs_of))
    return advise(history, half_lives=["5", "20", "inf"], period="20", kind=kind, reported=reported, draws=1)


def test_equal_needs_make_no_difference_and_the_simplest_is_taken():
    advice = ask(equal)
    assert (advice.verdict, advice.memory.name, advice.rule) == ("hardly matters", "20", "one-step")
    first, why = advice.headline()
    assert first == "Use a half-life of 20 steps and the rule one-step."
    assert why == (
        "It hardly matters here. None of 5 other choices of half-life and rule would have been clearly better for the "
        "worst-off quarter, so use the simplest."
    )
    found = advice.reasons()
    assert "At each decision all needs are the same, so it does not matter who has a turn when." in found
    assert "With a half-life of 20 steps, the rules one-step and prices do the same here." in found
    assert not any("report their needs" in each for each in advice.doubts())


def test_needs_that_vary_are_worth_waiting_for():
    advice = ask(varied)
    assert (advice.verdict, advice.rule) == ("better", "prices")
    judged = advice.judged
    for what in (judged.worst, judged.total):
        assert judged.mean(what, advice.chosen) > 1.2 * judged.mean(what, advice.simple)
    assert advice.gain(advice.chosen, advice.simple).low > 0
    sentence = advice.headline()[1]
    assert sentence.startswith("The worst-off quarter would have received ")
    assert re.search(r"per 20 steps, \d+% more than the \d", sentence)
    # Chosen by the first half alone, it is as good in the second.
    _, rule, gain = advice.held_out
    assert rule == "prices"
    assert gain > 0.1
    assert any("If only the total counted: no memory gives most" in each for each in advice.doubts())
    assert any("report their needs themselves" in each for each in advice.doubts())


def test_the_longest_wait_is_compared_with_that_of_the_other_rule():
    advice = ask(varied)
    other = advice.index(advice.memory, "one-step")
    (sentence,) = (each for each in advice.reasons() if each.startswith("With the rule one-step instead of prices"))
    mine, theirs = advice.trials[advice.chosen].longest, advice.trials[other].longest
    assert mine != theirs
    assert f"The unluckiest agent was turned down {theirs} times in a row instead of {mine}." in sentence
    as_long = replace(advice.trials[other], runs=tuple(run._replace(longest=mine) for run in advice.trials[other].runs))
    alike = [as_long if i == other else each for i, each in enumerate(advice.trials)]
    text = " ".join(replace(advice, trials=tuple(alike)).reasons())
    assert f"Under either rule, the unluckiest agent was turned down {mine} times in a row." in text


def test_after_a_sudden_change_a_memory_that_fades_beats_perfect_recall():
    advice = ask(changing)
    judged, rule = advice.judged, advice.rule
    inf = next(i for i in advice.fading() if advice.trials[i].memory.name == "inf" and advice.trials[i].rule == rule)
    assert advice.memory.name != "inf"
    assert judged.mean(judged.worst, advice.chosen) > 1.1 * judged.mean(judged.worst, inf)
    assert advice.trials[inf].longest > 2 * advice.trials[advice.chosen].longest
    assert advice.facts.drift > 0.25
    assert any("prefer a shorter half-life" in each for each in advice.doubts())


def test_of_burdens_less_is_better_and_all_is_said_in_their_words():
    advice = ask(varied, kind="burden")
    judged = advice.judged
    assert judged.mean(judged.worst, advice.chosen) < 0.7 * judged.mean(judged.worst, 0)
    assert advice.gain(advice.chosen, 0).low > 0
    assert advice.verdict in ("better", "better in total")
    text = " ".join([*advice.headline(), *advice.reasons(), *advice.doubts()])
    assert "The heaviest quarter would have worked" in text
    assert "received" not in text
    assert "taken for goods" not in text


def test_an_unsaid_kind_is_taken_for_goods_and_said():
    advice = ask(equal, kind=None)
    assert (advice.kind, advice.kind_assumed) == ("good", True)
    assert (
        advice.doubts()[0]
        == "The history is taken to be about goods. If these are burdens, such as shifts, add --kind burden."
    )


def test_reports_are_answered_with_the_rule_that_is_safe():
    advice = ask(varied, reported=True)
    assert advice.rule == "one-step"
    assert advice.headline()[0].endswith(", with normalised reports.")
    assert any("leaves nothing to gain by false reports" in each for each in advice.reasons())


SMALL = {"half_lives": ["5"], "period": "10", "draws": 1}
seeds = st.integers(0, 2**20)


def answer(rows, **options):
    advice = advise(asked(rows), **SMALL, **options)
    return advice.verdict, advice.memory.name, advice.rule, advice.judged.worst


@settings(max_examples=4, deadline=None)
@given(seed=seeds, power=st.integers(-20, 20))
def test_the_unit_of_needs_does_not_matter(seed, power):
    rows = drawn(varied, decisions=60, n=3, seed=seed)
    scaled = [(agent, step, need * 2.0**power, served) for agent, step, need, served in rows]
    *one, worst = answer(rows)
    *other, worst_scaled = answer(scaled)
    assert one == other
    np.testing.assert_allclose(worst * 2.0**power, worst_scaled)


@settings(max_examples=4, deadline=None)
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(seed):
    rows = drawn(varied, decisions=60, n=3, seed=seed)
    shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    *one, worst = answer(rows)
    *other, worst_shuffled = answer(shuffled)
    assert one == other
    np.testing.assert_allclose(worst, worst_shuffled)


@settings(max_examples=4, deadline=None)
@given(seed=seeds, power=st.integers(-10, 10))
def test_in_which_unit_an_agent_reports_does_not_matter_if_reports_are_normalised(seed, power):
    rows = drawn(varied, decisions=60, n=3, seed=seed)
    lying = [(a, t, need * 2.0**power if a == "agent 1" else need, served) for a, t, need, served in rows]
    *one, worst = answer(rows, reported=True)
    *other, worst_lying = answer(lying, reported=True)
    assert one == other
    np.testing.assert_allclose(worst, worst_lying)


amounts = st.lists(st.floats(0, 100), min_size=2, max_size=8)


@given(amounts, st.sampled_from(["good", "burden"]))
def test_the_worst_off_quarter_is_the_quarter_with_least_or_with_most(received, kind):
    # Four copies of everybody: a quarter of them is a whole number of agents.
    four = np.repeat(received, 4)
    by_hand = np.sort(four)[: len(received)] if kind == "good" else np.sort(four)[-len(received) :]
    worst, total, _ = _measure(np.array(received), np.ones(len(received)), kind)
    assert worst == pytest.approx(by_hand.mean())
    assert total == pytest.approx(sum(received))
    # An agent of entitlement 2 counts as two agents, each with half of it; one without a part does not count.
    twice = _measure(
        np.array([2 * received[0], *received[1:], 77.0]), np.array([2.0, *[1.0] * (len(received) - 1), 0]), kind
    )
    assert twice == pytest.approx(_measure(np.array([received[0], *received]), np.ones(len(received) + 1), kind))


def test_what_is_judged_is_what_was_received_within_periods():
    rows = drawn(varied, decisions=60, n=3)
    advice = advise(asked(rows), **SMALL)
    received = np.zeros((60, 3))
    for agent, step, need, served in rows:
        received[step, int(agent[-1])] += need * served
    # Periods of 10 begin every 2.5 steps, after the first; decisions fall into their quarters.
    starts = [math.ceil(2.5 * part) for part in range(4, 21)]
    least = [received[start : math.ceil(start + 10)].sum(axis=0).min() for start in starts]
    groups = [least[0:4], least[4:8], least[8:12], least[12:]]
    assert advice.judged.worst[0, 0] == pytest.approx([np.mean(group) for group in groups], rel=0.2)
    assert advice.judged.n_periods == 4


def test_a_gain_is_as_certain_as_the_periods_are_alike():
    rng = np.random.default_rng(0)
    base = rng.normal(10, 1, (1, 2, 12))
    values = np.concatenate([base, base + 1, base + rng.normal(0, 3, base.shape)])
    judged = JudgedTrials(values, values, values, np.full(3, 10.0), "good")
    assert judged.gain(values, 0, 0) == (0, 0, 0)
    assert judged.gain(values, 1, 0) == pytest.approx((1, 1, 1))
    noisy = judged.gain(values, 2, 0)
    assert noisy.low < 0 < noisy.high
    assert noisy.low < noisy.mean < noisy.high
    wider = judged.gain(values, 2, 0, 10)
    assert wider.low < noisy.low < noisy.high < wider.high
    burden = JudgedTrials(values, values, values, np.full(3, 10.0), "burden")
    assert burden.gain(values, 1, 0) == pytest.approx((-1, -1, -1))


def test_a_small_difference_is_not_worth_a_word():
    base = np.full((1, 1, 10), 10.0)
    for more, clear in ((0.4, False), (0.6, True)):
        values = np.concatenate([base, base + more])
        judged = JudgedTrials(values, values, values, np.full(2, 10.0), "good")
        assert judged.better(1, 0, simple=0, comparisons=1) == clear


@pytest.mark.parametrize(("longest", "rule"), [(10, "prices"), (11, "one-step")])
def test_what_is_better_only_in_total_must_not_let_anybody_wait_much_longer(longest, rule):
    memory = of_half_life(Clock(steps=True), "10")
    nobody, nothing = decided([], 0), np.zeros(0)
    trials = tuple(
        Course(nobody, memory, name, "good", (Run(nothing, *[0.0] * 7, wait, nothing),))
        for name, wait in (("actual", 5), ("one-step", 5), ("prices", longest))
    )
    worst, total = np.full((3, 1, 10), 10.0), np.full((3, 1, 10), 50.0)
    total[2] += 10
    judged = JudgedTrials(worst, total, worst, np.full(3, 10.0), "good")
    _, chosen = Trials(trials=trials, judged=judged, period=10.0).choose(reported=False)
    assert trials[chosen].rule == rule


def test_entitlements_count_and_are_not_asked_for_again():
    rows = drawn(equal, n=3)
    weights = {"agent 0": 2.0, "agent 1": 1.0, "agent 2": 1.0}
    advice = advise(asked(rows), half_lives=["10"], period="20", draws=1, entitlements=weights)
    assert advice.entitled
    # 40 in a period among 4 units of entitlement.
    assert advice.judged.mean(advice.judged.worst, advice.chosen) == pytest.approx(10, abs=1)
    assert not any("--entitlements" in each for each in advice.doubts())


def test_those_who_come_and_go_count_for_the_time_that_they_take_part():
    def team(step, rng, n):
        return {i: 2.0 for i in range(n) if not (i == 0 and step > 130) and not (i == 1 and step < 70)}

    rows = drawn(team)
    advice = advise(asked(rows), half_lives=["10"], period="20", draws=1, newcomers="mean")
    assert (advice.facts.joined, advice.facts.left) == (1, 1)
    # Whoever is there has an even share, so that nobody seems worse off for having been there for half of a period.
    assert advice.judged.gini[advice.chosen].max() < 0.1
    assert any(each.startswith("1 joined later and 1 left before the end") for each in advice.reasons())


def test_a_short_history_is_called_too_short():
    advice = advise(asked(drawn(varied, decisions=9)))
    assert (advice.verdict, advice.judged, advice.rule) == ("cannot tell", None, "one-step")
    first, why = advice.headline()
    assert first.startswith("Begin with a half-life of ")
    assert first.endswith("This history is too short to compare others with it.")
    assert "It has 9 decisions about 4 agents" in why
    assert advice.reasons()


@pytest.mark.parametrize(("n", "k", "why"), [(1, 1, "only one agent"), (3, 3, "Every agent who asked was served")])
def test_without_a_choice_there_is_nothing_to_decide(n, k, why):
    advice = advise(asked(drawn(varied, decisions=30, n=n, k=k)))
    assert (advice.verdict, advice.trials) == ("nothing to decide", ())
    assert why in advice.headline()[1]
    assert len(advice.reasons()) == (1 if n == 1 else 2)  # of one agent's needs there is nothing to say
    assert (advice.doubts() == [OTHERS_TOO]) == (n == 1)


def test_agents_who_ask_for_many_times_as_much_may_be_entitled_to_more():
    rows = drawn(lambda step, rng, n: {0: 100.0, 1: 4.0, 2: 5.0})
    advice = advise(asked(rows), half_lives=["10"], period="20", draws=1)
    assert any("Some agents ask for 25 times as much as others" in each for each in advice.doubts())


def test_only_the_latest_decisions_of_a_long_history_are_replayed(monkeypatch):
    monkeypatch.setattr(with_needs, "MOST_DECISIONS", 50)
    advice = advise(asked(drawn(equal)), half_lives=["10"], draws=1)
    assert (advice.facts.decisions, advice.facts.first) == (50, 150)
    assert "The latest 50 of 200 decisions were replayed." in advice.notes


def test_it_says_how_far_it_is():
    done = []
    advise(asked(drawn(equal, decisions=20)), half_lives=["10"], draws=1, advance=done.append)
    assert done == sorted(done)
    assert done[-1] == 1
    assert len(done) == 8  # a half-life, a window, resets and no memory, each under two rules


@pytest.mark.parametrize(
    ("turn", "span", "period"),
    [(5, 365, 30), (40, 5 * 365, 180), (0.1, 30, 1), (25, 365, 30), (200, 365, 730.5)],
    ids=["weekly", "monthly", "hourly", "a shorter one, since the history is short", "too short for any"],
)
def test_a_period_has_a_few_turns_for_everybody(turn, span, period):
    assert suitable_period(Clock(), turn * DAY, span * DAY) == period * DAY


def test_round_lengths_of_steps():
    assert round_lengths(Clock(steps=True), 120) == [1, 3, 10, 30, 100]
    assert round_lengths(Clock(steps=True), 0.5) == [1]


def test_a_long_break_does_not_make_turns_seem_rare():
    rows = [
        (agent, step + 5000 * (step > 40), need, served) for agent, step, need, served in drawn(equal, decisions=80)
    ]
    facts = advise(asked(rows), half_lives=["10"], period="10", draws=1).facts
    assert facts.turn == pytest.approx(4, rel=0.3)
    assert facts.stay == math.inf


def test_the_facts_of_a_history():
    asking = [
        (0.0, [0, 1], [1.0, 2.0], [True, False]),
        (10.0, [0, 1], [3.0, 2.0], [False, True]),
        (20.0, [0, 1, 2], [1.0, 2.0, 4.0], [True, False, True]),
        (30.0, [0], [3.0], [True]),
    ]
    facts = facts_of(decided([DecisionRequest(time, *map(np.array, request)) for time, *request in asking], 3))
    assert (facts.decisions, facts.contested, facts.agents) == (4, 3, 3)
    assert (facts.asking, facts.served) == (8 / 4, 5 / 4)
    assert (facts.first, facts.last, facts.every, facts.span) == (0, 30, 10, 40)
    assert facts.turn == pytest.approx(10 * (4 + 3 + 1) / 5)
    assert (facts.stay, facts.joined, facts.left) == (math.inf, 0, 0)
    assert facts.within == pytest.approx((0.5 + 0) / 2)  # of agents 0 and 1; agent 2 asked only once
    assert facts.between == pytest.approx((2, 4))
    assert (facts.differ, facts.equal) == (3 / 4, False)
    assert facts.drift == pytest.approx((0.1 + 0.3 + 0.4) / 2)


def test_large_needs_do_not_overflow():
    asking = [DecisionRequest(t, np.arange(2), np.array([1e300, 3e300]), np.array([True, False])) for t in range(4)]
    facts = facts_of(decided(asking, 2))
    assert (facts.within, facts.between) == (0, (1e300, pytest.approx(3e300)))


def test_refusals():
    history = asked(drawn(equal, decisions=20))
    with pytest.raises(ValueError, match="period must be finite"):
        advise(history, period="inf")
    with pytest.raises(
        ValueError, match="period must be at least as long as it takes until every agent has had a turn, 4"
    ):
        advise(history, period="2")
    with pytest.raises(ValueError, match="half_lives must not be empty"):
        advise(history, half_lives=[])
    with pytest.raises(ValueError, match="draws must be"):
        advise(history, draws=0)
    received = read_history(pa.table({"agent": ["a"], "time": [1], "utility": [2.0]}))
    with pytest.raises(ValueError, match="--reports normalised needs a history with needs"):
        advise(received, reported=True)


def test_one_decision_is_too_short_to_advise_on():
    once = asked([("ana", 1.0, 5.0, True), ("ben", 1.0, 4.0, False)])
    with pytest.raises(ValueError, match=r"is too short to advise on: it has 1 decision, .* or --period with the time"):
        advise(once)
    assert advise(once, period="30").memory.name == "30"
