import math
import tracemalloc

import numpy as np
import pytest

from bygones import Capped, Discounted, Multiscale, PerAgent, PerfectRecall, SlidingWindow, inequality, simulation
from bygones.allocation import OneStep, Random, RoundRobin, Utilitarian
from bygones.allocation.policy_contract import policies
from bygones.envs.needs import Uniform, advantaged, correlated, lognormal, replayed, uniform
from bygones.simulation import Course, learned_policy, policy_named, simulate, simulate_seeds, stretches
from support.memories import LastSteps

MEMORY = Discounted(half_life=20)
SERVING = policies.names()[: policies.names().index("random") + 1]
"""The policies that serve agents; those behind them play in scenarios only."""


def test_what_is_received_is_remembered():
    played = simulate(Random(), advantaged(6, 2), MEMORY, "egalitarian", 30, n_resources=2, seed=3)
    state = MEMORY.init(6)
    for utilities, remembered in zip(played.utilities, played.remembered, strict=True):
        assert (utilities > 0).sum() == 2
        state = MEMORY.update(state, utilities)
        np.testing.assert_array_equal(remembered, MEMORY.values(state))
    np.testing.assert_allclose(played.cumulative[-1], played.utilities.sum(axis=0))
    np.testing.assert_allclose(played.gini, [inequality.gini(row) for row in played.cumulative])
    np.testing.assert_allclose(played.welfare_remembered, played.remembered.min(axis=1))


def test_every_policy_meets_the_same_needs():
    needs = correlated(advantaged(4, 1), 0.5)
    everyone = [simulate(policy, needs, MEMORY, "nash", 20, 4, seed=5).utilities for policy in (Random(), RoundRobin())]
    np.testing.assert_array_equal(*everyone)
    again = simulate(Random(), needs, MEMORY, "nash", 20, 2, seed=5)
    np.testing.assert_array_equal(again.utilities, simulate(Random(), needs, MEMORY, "nash", 20, 2, seed=5).utilities)
    assert (again.utilities != simulate(Random(), needs, MEMORY, "nash", 20, 2, seed=6).utilities).any()


def test_the_summary_by_hand():
    played = simulate(RoundRobin(), replayed([[1.0, 4.0]]), PerfectRecall(), "nash", 4, 1)
    assert played.summary() == pytest.approx({"gini": 0.3, "egalitarian": 0.5, "nash": 1.0, "utility_per_step": 2.5})
    assert simulate(Utilitarian(), replayed([[1.0, 4.0]]), PerfectRecall(), "nash", 4, 1).summary()["nash"] == 0


def test_the_one_step_allocator_remembers_more_welfare_than_the_blind():
    needs = advantaged(20, 4)
    ends = {
        name: simulate(policy_named(name, MEMORY, "nash", needs, 2), needs, MEMORY, "nash", 200)
        .welfare_remembered[-50:]
        .mean()
        for name in ("one-step", "largest-need", "round-robin", "random")
    }
    assert max(ends, key=ends.__getitem__) == "one-step"
    assert isinstance(policy_named("one-step", MEMORY, "nash", advantaged(20), 2), OneStep)


def test_any_memory_can_be_simulated_whatever_its_state():
    memory = LastSteps(3)
    outcome = simulate(OneStep(memory, "egalitarian"), advantaged(4, 1), memory, "egalitarian", 12, n_resources=2)
    for t in range(12):
        np.testing.assert_allclose(outcome.remembered[t], outcome.utilities[max(0, t - 2) : t + 1].sum(axis=0))


MEMORIES = [
    MEMORY,
    PerfectRecall(average=True),
    Multiscale(gammas=[0.5, 0.99], weights=[1.0, 0.1]),
    SlidingWindow(7),
    PerAgent(gammas=[0.5, 0.9, 0.9, 0.99]),
    Capped(MEMORY, 1.5),
    LastSteps(3),
]


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: type(memory).__name__)
@pytest.mark.parametrize("welfare", ["egalitarian", "nash", "generalized_gini"])
def test_seeds_side_by_side_are_each_seed_alone(memory, welfare):
    needs = correlated(advantaged(4, 1), 0.5)
    for name in SERVING:
        policy = policy_named(name, memory, welfare, needs, 2)
        together = simulate_seeds(policy, needs, memory, welfare, 40, 2, [5, 0, 9])
        for seed, one in zip([5, 0, 9], together, strict=True):
            alone = simulate(policy, needs, memory, welfare, 40, 2, seed)
            np.testing.assert_array_equal(one.needs, alone.needs)
            np.testing.assert_allclose(one.utilities, alone.utilities, err_msg=name)
            np.testing.assert_allclose(one.remembered, alone.remembered, err_msg=name)


@pytest.mark.parametrize(("seeds", "cells"), [([4], 32), ([4, 1], 1), ([4], 10**6)])
def test_the_length_of_stretches_changes_nothing(monkeypatch, seeds, cells):
    needs, entitlements = correlated(advantaged(4, 1), 0.5), [1.0, 2.0, 1.0, 3.0]
    policy = policy_named("prices", MEMORY, "nash", needs, 2, entitlements=entitlements)
    arguments = (policy, needs, MEMORY, "nash", 301, 2, seeds)
    whole = simulate_seeds(*arguments, entitlements=entitlements)
    monkeypatch.setattr(simulation, "STRETCH", cells)
    parts = list(stretches(*arguments, entitlements=entitlements))
    assert sum(len(part[0].utilities) for part in parts) == 301
    assert len(parts) == math.ceil(301 / max(1, cells // (4 * len(seeds))))
    for each, own in zip(whole, zip(*parts, strict=True), strict=True):
        for name in ("needs", "utilities", "remembered", "cumulative", "gini", "welfare_remembered"):
            np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in own]), getattr(each, name))
        assert own[-1].summary() == each.summary()
        course, at_once = Course.of(own, 301), Course.of([each], 301)
        assert course.summary == at_once.summary == each.summary()
        assert course.is_per_unit
        for name, values in course.over_time.items():
            np.testing.assert_allclose(values, at_once.over_time[name], rtol=1e-12)


def test_the_course_of_a_longer_simulation_takes_no_more_memory():
    needs = advantaged(300, 2)
    policy = policy_named("largest-need", MEMORY, "egalitarian", needs, 2)

    def peak(steps):
        tracemalloc.start()
        played = stretches(policy, needs, MEMORY, "egalitarian", steps)
        Course.of((one for (one,) in played), steps)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(2000) < 1.2 * peak(500)


def test_ties_are_drawn_by_lot_in_every_row():
    """Equal needs and an empty memory: only lots can tell agents apart."""
    needs, policy = replayed([[1.0, 1.0, 1.0, 0.0]]), policy_named("prices", MEMORY, "egalitarian", advantaged(4), 1)
    first = [
        one.utilities[0].tolist().index(1.0)
        for one in simulate_seeds(policy, needs, MEMORY, "egalitarian", 1, 1, range(300))
    ]
    assert np.bincount(first, minlength=4).tolist()[3] == 0
    assert np.bincount(first).min() > 70


def test_the_needs_are_the_noise_of_the_seed_step_by_step():
    noise = np.random.default_rng(np.random.SeedSequence(3).spawn(2)[0])
    needs = uniform(3)
    needs.start(noise.random(3))
    expected = [noise.random(3) for _ in range(600)]
    np.testing.assert_array_equal(simulate(Random(), needs, MEMORY, "nash", 600, 1, seed=3).needs, expected)


class TestBurdens:
    @pytest.mark.parametrize("welfare", ["egalitarian", "power_burden(p=2)"])
    def test_who_would_carry_least_for_their_price_carries_it(self, welfare):
        needs = lognormal(np.linspace(-1, 1, 6), np.full(6, 0.5))
        heaviest = {}
        for name in {*SERVING} - {"proportional-fair"}:
            policy = policy_named(name, MEMORY, welfare, needs, 2, "burden")
            played = simulate(policy, needs, MEMORY, welfare, 1500, 2, kind="burden")
            assert ((played.utilities > 0).sum(axis=1) == 2).all()
            assert set(played.summary()) == {"gini", "egalitarian", "utility_per_step"}
            heaviest[name] = played.summary()["egalitarian"]
        assert heaviest["prices"] < 0.9 * min(heaviest[name] for name in ("random", "round-robin", "largest-need"))
        assert heaviest["calibrated"] < 1.05 * heaviest["prices"]
        assert heaviest["one-step"] < heaviest["random"]

    def test_welfare_is_the_load_with_its_sign_turned(self):
        needs = replayed([[1.0, 4.0]])
        played = simulate(RoundRobin(), needs, PerfectRecall(), "egalitarian", 4, 1, kind="burden")
        assert played.welfare_remembered.tolist() == [-1.0, -4.0, -4.0, -8.0]
        assert played.summary() == pytest.approx({"gini": 0.3, "egalitarian": 2.0, "utility_per_step": 2.5})

    def test_what_has_no_meaning_for_burdens_is_refused(self):
        with pytest.raises(ValueError, match="'proportional-fair' is for goods"):
            policy_named("proportional-fair", MEMORY, "egalitarian", advantaged(), 2, "burden")
        with pytest.raises(ValueError, match="nash has no meaning for burdens"):
            simulate(Random(), advantaged(), MEMORY, "nash", 5, kind="burden")
        with pytest.raises(ValueError, match="kind must be one of"):
            simulate(Random(), advantaged(), MEMORY, "nash", 5, kind="bad")


def test_needs_that_no_problem_could_have_are_refused():
    class Wrong(Uniform):
        def draw(self, uniforms, state, t):
            return np.where(t == 3, np.nan, uniforms), state

    with pytest.raises(ValueError, match="finite numbers of at least 0, got nan for agent 0 at step 3"):
        simulate(policy_named("prices", MEMORY, "nash", advantaged(4), 2), Wrong(*uniform(4)), MEMORY, "nash", 5)


def test_bad_input():
    for options, message in (({"steps": 0}, "steps"), ({"n_resources": 11}, "at most"), ({"seed": -1}, "seed")):
        with pytest.raises(ValueError, match=message):
            simulate(Random(), advantaged(), MEMORY, "nash", **({"steps": 5} | options))
    with pytest.raises(ValueError, match="policy must be one of"):
        policy_named("kind", MEMORY, "nash", advantaged(10), 2)


def test_a_learned_policy_plays_as_it_does_in_its_environment(tmp_path):
    pytest.importorskip("jax")
    from bygones.envs.episode import observation
    from bygones.learn import Settings, TrainedPolicy
    from bygones.learn.networks import initial

    settings = Settings(gamma=0.9, n_agents=4, n_resources=2, n_advantaged=1)
    path = tmp_path / "policy.safetensors"
    network = TrainedPolicy(settings, initial(0, 8, math.comb(4, 2), settings.hidden))
    network.save(path)
    memory = Discounted(gamma=0.9)
    policy = policy_named(str(path), memory, "nash", advantaged(4), 2)
    needs, state = np.array([0.9, 0.1, 0.5, 0.3]), memory.update(memory.init(4), [1, 0, 2, 0])
    problem = settings.problem()
    seen = observation(needs, state, problem.params())
    expected = problem.scenario.subsets()[network.predict(seen, rng=np.random.default_rng(1))[0]]
    np.testing.assert_array_equal(policy(needs, 2, state, 0, np.random.default_rng(1)), expected)
    assert (simulate(policy, advantaged(4, 1), memory, "nash", 10).utilities > 0).sum() == 20
    rounded = learned_policy(path, Discounted(gamma=math.nextafter(0.9, 1)), advantaged(4), 2)
    np.testing.assert_array_equal(rounded(needs, 2, state, 0, np.random.default_rng(1)), expected)
    with pytest.raises(ValueError, match="was trained to serve 2 of 4 agents, so it cannot serve 2 of 5"):
        learned_policy(path, memory, advantaged(5), 2)
    with pytest.raises(ValueError, match=r"was trained with the memory .*gamma=0\.9.*, so it cannot be used with"):
        learned_policy(path, MEMORY, advantaged(4), 2)
    with pytest.raises(ValueError, match="state must be"):
        policy(needs, 2, None, 0, np.random.default_rng(1))
