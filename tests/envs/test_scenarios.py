"""Every scenario keeps the interface; those with a public original play as it does."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import Discounted, SlidingWindow
from bygones.envs import catalogue, episode
from bygones.envs.needs import advantaged, correlated, uniform
from bygones.envs.problem import FairProblem, _as_equal_as_possible, most_welfare
from bygones.envs.scenario import Most, Scenario
from bygones.envs.scenarios.allocation import Allocation
from bygones.envs.scenarios.arrivals import Arrivals, StepsTaken
from bygones.envs.scenarios.attention import Attention
from bygones.envs.scenarios.donut import Donut
from bygones.envs.scenarios.lending import Lending
from bygones.envs.scenarios.queues import Jobs, Queues
from bygones.envs.scenarios.replay import Replay
from bygones.envs.scenarios.vaccines import Vaccines
from bygones.envs.wrappers import FairReward
from bygones.memory import parse_memory

NAMES = catalogue.names()
SECTIONS = ["Description", "Source", "Observation Space", "Action Space", "Utilities", "Starting State"]
SECTIONS += ["Arguments", "Bound"]

RNG = np.random.default_rng(7)
NOISE = RNG.random((13, 5)).round(3)
"""The uniform numbers that the originals were given, one row for the start and one for each of twelve steps."""


RARE = {"donut": {"chances": (0.3,) * 5}, "lending": {"chances": (0.3,) * 4}, "job_scheduling": {"horizon": 60}}
"""Parameters under which a few episodes show the bound: by default it is so close to 1 that they reach 1, or slow."""


def made(name: str, **arguments: object) -> Scenario:
    return catalogue.made(name, arguments)


@pytest.mark.parametrize("name", NAMES)
class TestEveryScenario:
    def test_passes_gymnasiums_checker(self, name: str) -> None:
        env = gym.make(catalogue.gymnasium_id(name), memory="sliding_window(length=5)", welfare="egalitarian")
        check_env(env.unwrapped, skip_render_check=True)

    def test_its_docstring_has_every_section_and_every_argument(self, name: str) -> None:
        text = inspect.getdoc(catalogue.kind_of(name)) or ""
        found = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert [one for one in found if one in SECTIONS] == SECTIONS
        arguments = text.partition("## Arguments")[2].partition("\n## ")[0]
        for field in dataclasses.fields(catalogue.kind_of(name)):
            assert field.name == "horizon" or f"`{field.name}`" in arguments, field.name

    def test_numpy_and_jax_play_the_same_episode_and_stay_within_their_bounds(self, name: str) -> None:
        problem = FairProblem(made(name), memory=Discounted(gamma=0.9), welfare="egalitarian")
        it, params, rng = problem.scenario, problem.params(), np.random.default_rng(0)
        noise = rng.random((13, it.n_noise)).astype(np.float32)
        first = rng.random(it.start_rows * it.n_noise).astype(np.float32)
        low, high = problem.observation_bounds()
        with_numpy = episode.begin(first.astype(float), params)
        with_jax = episode.begin(jnp.asarray(first), params)
        compiled = jax.jit(lambda row, state, action: episode.proceed(row, state, action, params))
        for row in noise[1:]:
            action = int(rng.integers(problem.scenario.n_actions))
            after = episode.proceed(row.astype(float), with_numpy, action, params)
            also = compiled(jnp.asarray(row), with_jax, jnp.asarray(action))
            seen = episode.observe(after, params)
            assert seen.dtype == np.float32
            assert ((seen >= low - 1e-5) & (seen <= high + 1e-5)).all()
            assert (after.utilities >= it.utility_bounds[0]).all()
            assert (after.utilities <= it.utility_bounds[1] + 1e-12).all()
            np.testing.assert_allclose(episode.observe(also, params), seen, atol=1e-4)
            np.testing.assert_allclose(
                episode.reward(with_jax, also, params),
                episode.reward(with_numpy, after, params),
                atol=1e-4,
            )
            with_numpy, with_jax = after, also

    def test_the_vector_reward_with_the_wrapper_is_the_fair_reward(self, name: str) -> None:
        memory, weight = Discounted(gamma=0.9), 0.7
        vector = gym.make(catalogue.gymnasium_id(name, vector=True), horizon=12)
        fair = gym.make(catalogue.gymnasium_id(name), horizon=12, memory=memory, welfare="utilitarian", weight=weight)
        comes_and_goes = "present" in vector.reset()[1]
        wrapped = FairReward(vector, memory, "utilitarian", weight, presence="present" if comes_and_goes else None)
        wrapped.reset(seed=3), fair.reset(seed=3)
        for _ in range(12):
            action = fair.action_space.sample()
            assert wrapped.step(action)[1] == pytest.approx(fair.step(action)[1], abs=1e-5)

    def test_it_is_plain_json_and_comes_back(self, name: str) -> None:
        it = made(name)
        again = catalogue.made(name, json.loads(json.dumps(it.arguments())))
        assert again == it
        assert hash(again) == hash(it)
        assert catalogue.name_of(it) == name

    def test_no_policy_exceeds_the_bound_on_average(self, name: str) -> None:
        it = made(name, **RARE.get(name, {}))
        most = it.most()
        if most is None:
            pytest.skip("no bound is known")
        params, rng, episodes = FairProblem(it, welfare="egalitarian").params(), np.random.default_rng(1), 6
        received = np.zeros((episodes, it.n_agents))
        for row in received:
            state = episode.begin(rng.random(it.start_rows * it.n_noise), params)
            for _ in range(it.horizon):
                # Whoever can gain most at once: close to the limit on the total.
                noise = rng.random(it.n_noise)
                gains = [it.advance(noise, state.world, one)[1].sum() for one in params.actions]
                state = episode.proceed(noise, state, int(np.argmax(gains)), params)
            row += state.cumulative / it.horizon
        spread = 4 * received.std(axis=0) / np.sqrt(episodes) + 1e-9
        assert (received.mean(axis=0) <= most.each + spread).all()
        totals = received.sum(axis=1)
        assert totals.mean() <= most.total + 4 * totals.std() / np.sqrt(episodes) + 1e-9
        assert totals.mean() >= 0.4 * min(most.total, most.each.sum())


def test_the_papers_scenario_is_known_by_what_is_in_it() -> None:
    assert Allocation(n_agents=5, n_advantaged=1) == Allocation(needs=advantaged(5, 1)) != Allocation(n_agents=5)
    assert Allocation(n_agents=5).arguments() == {"horizon": 1000, "n_resources": 2, "n_agents": 5, "n_advantaged": 2}
    other = Allocation(needs=correlated(uniform(3), 0.5), n_resources=1)
    assert other.arguments()["needs"] is other.needs
    assert other == Allocation(needs=correlated(uniform(3), 0.5), n_resources=1)
    assert other != Allocation(needs=correlated(uniform(3), 0.6), n_resources=1)
    assert len({other, Allocation(), Allocation(n_agents=10), dataclasses.replace(Allocation(), horizon=5)}) == 3


def test_donut_plays_as_the_original() -> None:
    """Recorded by running `Donut` of praal/remembering-to-be-fair on the same uniform numbers."""
    there = [
        [0, 0, 1, 1, 1], [0, 1, 0, 0, 1], [0, 1, 1, 1, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 0, 1],
        [0, 1, 1, 1, 1], [1, 1, 1, 0, 1], [1, 0, 1, 0, 1], [0, 1, 1, 0, 1], [0, 1, 1, 1, 1], [1, 0, 1, 0, 1],
        [0, 0, 1, 1, 1],
    ]  # fmt: skip
    it = Donut(12, (0.3, 0.6, 0.8, 0.5, 0.9))
    state, counts = it.start(NOISE[0]), np.zeros(5)
    assert it.observe(state).tolist() == there[0]
    for noise, action, expected in zip(NOISE[1:], [2, 4, 0, 1, 1, 3, 4, 2, 0, 1, 3, 4], there[1:], strict=True):
        state, utilities = it.advance(noise, state, np.eye(5)[action])
        counts += utilities
        assert it.observe(state).tolist() == expected
    assert counts.tolist() == [1, 2, 2, 1, 3]


def test_lending_plays_as_the_original() -> None:
    """Recorded by running `Lending` of praal/remembering-to-be-fair on the same uniform numbers.

    The original draws no number for a repayment where nobody applied; it was given none there.
    """
    credits = [
        [4, 4, 7, 7], [3, 4, 7, 7], [3, 4, 7, 7], [3, 4, 7, 7], [3, 4, 7, 7], [3, 4, 7, 7], [3, 4, 7, 7], [3, 5, 7, 7],
        [4, 5, 7, 7], [4, 5, 7, 7], [4, 5, 7, 7], [5, 5, 7, 7], [5, 6, 7, 7],
    ]  # fmt: skip
    loans = [[0, 0], [1, 0], [1, 0], [1, 1], [1, 1], [1, 2], [1, 2], [2, 2], [3, 2], [3, 2], [3, 2], [4, 2], [5, 2]]
    it, total = Lending(12, chances=(0.9, 0.5, 0.6, 0.8)), np.zeros(2)
    state = it.start(NOISE[0])
    for t, action in enumerate([0, 1, 2, 3, 3, 2, 1, 0, 2, 3, 0, 1]):
        state, utilities = it.advance(NOISE[t + 1], state, np.eye(4)[action])
        total += utilities
        assert state.credit.tolist() == credits[t + 1]
        assert total.tolist() == loans[t + 1]


def test_vaccines_follow_the_rules_of_the_original() -> None:
    """Computed by hand from the rules of `CovidSEIREnv`: 500 of 1,000 people are vaccinated, then SEIR."""
    it = Vaccines(people=(1000, 1000), doses=1000, parts=2)
    assert it.actions().tolist() == [[0, 1], [0.5, 0.5], [1, 0]]
    state, utilities = it.advance(np.zeros(0), it.start(np.zeros(0)), np.array([0.5, 0.5]))
    np.testing.assert_allclose(state.shares[:, 0], [0.49, 0.008, 0.002, 0.5])
    state, utilities = it.advance(np.zeros(0), state, np.array([1.0, 0.0]))
    np.testing.assert_allclose(utilities, [0.49, 0.0])
    np.testing.assert_allclose(state.shares[:, 0], [0.0, 0.0064, 0.0034, 0.9902])
    np.testing.assert_allclose(state.shares[:, 1], [0.489706, 0.006694, 0.0034, 0.5002])
    _, allocated = Vaccines(people=(1000, 1000), doses=1000, parts=2, counts="allocated").advance(
        np.zeros(0), state, np.array([1.0, 0.0])
    )
    np.testing.assert_allclose(allocated, [1.0, 0.0])


def test_attention_follows_the_rules_of_the_original() -> None:
    it = Attention(rates=(4.0, 0.05), n_inspectors=2)
    state, rng, found = it.start(np.zeros(it.n_noise)), np.random.default_rng(0), []
    after, _ = it.advance(rng.random(it.n_noise), state, np.array([0.0, 2.0]))
    np.testing.assert_allclose(after.rates, [4.1, 0.0])
    for _ in range(4000):
        found.append(it.advance(rng.random(it.n_noise), state, np.array([2.0, 0.0]))[1])
    # Each of a Poisson number of incidents is found with probability 1 − 0.2².
    np.testing.assert_allclose(np.mean(found, axis=0), [4.0 * 0.96, 0.0], atol=0.1)
    np.testing.assert_allclose(np.var(found, axis=0)[0], 4.0 * 0.96, atol=0.3)


def test_arrivals_are_the_papers_example_2() -> None:
    it = Arrivals(leaves=(50, 12))
    present = [it.present(StepsTaken(np.array(t))).tolist() for t in (0, 9, 10, 11, 12)]
    assert present == [[True, False], [True, False], [True, True], [True, True], [True, False]]
    np.testing.assert_allclose(it.actions(), [[0.7, 0], [0.2, 0.5], [0.5, 0.3], [0, 0.8]])
    _, utilities = it.advance(np.zeros(0), StepsTaken(np.array(3)), it.actions()[1])
    assert utilities.tolist() == [0.2, 0.0]


def test_the_absent_are_not_judged() -> None:
    problem = FairProblem(Arrivals(), memory=Discounted(gamma=1.0), welfare="egalitarian", weight=1.0)
    params = problem.params()
    before = episode.begin(np.zeros(0), params)
    after = episode.proceed(np.zeros(0), before, 0, params)
    # Alice is alone: what she receives is the worst-off agent's gain.
    assert episode.reward(before, after, params) == pytest.approx(0.7)
    wasted = episode.proceed(np.zeros(0), before, 3, params)
    assert episode.reward(before, wasted, params) == 0


@given(st.permutations(range(4)), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_queues_treat_agents_alike(order: list[int], seed: int) -> None:
    rng, arrivals = np.random.default_rng(seed), np.array([0.9, 0.2, 0.5, 0.7])
    noise, waiting, action = rng.random(4), rng.integers(0, 9, 4).astype(float), rng.permutation([1.0, 1.0, 0.0, 0.0])
    plain, permuted = (Queues(arrivals=tuple(a), n_servers=2) for a in (arrivals, arrivals[order]))
    state, utilities = plain.advance(noise, Jobs(waiting), action)
    other, also = permuted.advance(noise[order], Jobs(waiting[order]), action[order])
    np.testing.assert_array_equal(other.waiting, state.waiting[order])
    np.testing.assert_array_equal(also, utilities[order])


def test_serving_a_queue_lowers_tomorrows_need() -> None:
    it = Queues(arrivals=(0.0, 0.0), speed=2, room=9)
    state, utilities = it.advance(np.ones(2), Jobs(np.array([5.0, 5.0])), np.array([1.0, 0.0]))
    assert (utilities.tolist(), state.waiting.tolist()) == ([2.0, 0.0], [3.0, 5.0])


def test_a_table_of_ones_own_is_replayed_from_a_file(tmp_path) -> None:
    file = tmp_path / "needs.csv"
    file.write_text("Ana,Ben\n1,2\n3,4\n", encoding="utf-8")
    it = catalogue.parse_scenario(f"replay(needs={str(file)!r}, anywhere=False, horizon=4)")
    state, seen = it.start(np.zeros(1)), []
    for _ in range(3):
        seen.append(it.observe(state).tolist())
        state, _ = it.advance(np.zeros(1), state, np.array([1.0, 0.0]))
    assert seen == [[1, 2], [3, 4], [1, 2]]
    assert it.most() == (3.0, pytest.approx([2.0, 3.0]))
    file.write_text("Ana,Ben\n1,two\n", encoding="utf-8")
    with pytest.raises(ValueError, match="row 2: needs must be numbers, got 1, two"):
        Replay(needs=str(file))


@given(st.floats(0, 5), st.lists(st.floats(0, 2), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_the_total_is_shared_as_equally_as_the_limits_allow(total: float, each: list[float]) -> None:
    level = _as_equal_as_possible(total, np.array(each))
    assert (level <= np.array(each) + 1e-12).all()
    assert level.sum() == pytest.approx(min(total, sum(each)))
    # Whoever is below the largest has reached its limit.
    assert all(one == pytest.approx(cap) for one, cap in zip(level, each, strict=True) if one < level.max() - 1e-9)


def test_the_bound_on_welfare() -> None:
    problem = FairProblem(Donut(10, (0.1, 1.0)), welfare="egalitarian")
    assert problem.scenario.most() == Most(1.0, pytest.approx([0.1, 1.0]))
    assert most_welfare(problem) == pytest.approx(1.0)
    assert most_welfare(FairProblem(Attention())) is None
    assert most_welfare(FairProblem(Donut(), welfare=lambda Z: Z.max(axis=-1))) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: catalogue.made("cake", {}), "scenario must be one of allocation, arrivals, attention"),
        (lambda: catalogue.made("donut", {"people": 3}), "scenario donut takes horizon, chances, got 'people'"),
        (lambda: Donut(chances=(0.5, 1.2)), "chances must be a list of probabilities between 0 and 1"),
        (lambda: Queues(n_servers=9), r"n_servers must be at most the number of queues \(8\), got 9"),
        (lambda: Allocation(n_resources=11), r"n_resources must be at most the number of agents \(10\), got 11"),
        (lambda: Lending(counts="all"), "counts must be one of loans, repaid, got 'all'"),
        (lambda: Replay(needs=((0, 0),)), "needs must be a table of numbers of at least 0, not all 0"),
        (lambda: Arrivals(joins=(0,)), r"joins must have one number per agent \(2\), got 1"),
        (lambda: Attention(rates=(11.0,)), r"rates must be numbers from 0 to highest \(10\)"),
        (lambda: Vaccines(beta=2.0), "beta must be between 0 and 1"),
        (lambda: FairProblem("donut"), "scenario must be a Scenario such as Donut"),
        (lambda: parse_memory("elephant"), "memory must be one of .*discounted, instantaneous"),
        (lambda: parse_memory("reset(length=2)"), "memory reset takes every, got 'length'"),
        (lambda: gym.make("bygones/mo-Donut-v0", weight=0.5), "vector=True has no memory or welfare"),
    ],
)
def test_what_cannot_work_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_step_before_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        gym.make("bygones/Donut-v0").unwrapped.step(0)


def test_actions_are_numbers_or_agents() -> None:
    env = gym.make("bygones/Queues-v0", n_servers=2).unwrapped
    other = gym.make("bygones/Queues-v0", n_servers=2).unwrapped
    env.reset(seed=0), other.reset(seed=0)
    np.testing.assert_array_equal(env.step(np.array([1, 0]))[0], other.step(0)[0])
    for wrong in (28, -1, [0, 0], [0, 8], 0.5):
        with pytest.raises(ValueError, match="action must be a whole number from 0 to 27, or 2 different agents"):
            env.step(wrong)


def test_memories_by_name() -> None:
    assert parse_memory("discounted(half_life=50)") == Discounted(half_life=50)
    assert parse_memory("sliding-window(length=3)") == SlidingWindow(3)
    assert parse_memory(Discounted(gamma=0.5)) == Discounted(gamma=0.5)


def test_more_actions_than_can_be_enumerated_are_refused():
    with pytest.raises(ValueError, match="choosing 20 of 1000 agents gives more than the 100,000 subsets"):
        catalogue.parse_scenario("allocation(n_agents=1000, n_resources=20)").actions()
