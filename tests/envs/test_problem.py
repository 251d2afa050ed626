import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall, welfare
from bygones.envs import needs
from bygones.envs.episode import begin, episode_metrics, observation, observe, proceed, reward
from bygones.envs.problem import FairProblem, problem_of

TINY = np.finfo(float).tiny
SWAP = np.array([[0.5, -0.1], [0.2, 0.4]])


def test_the_defaults_are_the_papers():
    problem = problem_of()
    assert (problem.n_agents, problem.scenario.n_resources, problem.scenario.n_actions) == (10, 2, 45)
    assert (problem.horizon, problem.weight, problem.scenario.utility_bounds[1].max()) == (1000, 0.9, 1.0)
    assert FairProblem().scenario == problem.scenario
    assert problem.memory == Discounted(gamma=0.99)
    assert problem.observation_bounds()[0].shape == (20,)


def test_actions_are_the_subsets_in_lexicographic_order():
    problem = problem_of(n_resources=2, needs=needs.uniform(4))
    assert problem.scenario.subsets().tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    served = problem.params().actions
    assert [np.flatnonzero(row).tolist() for row in served] == problem.scenario.subsets().tolist()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_resources": 11}, r"n_resources must be at most the number of agents \(10\), got 11"),
        ({"n_resources": 0}, "n_resources must be a whole number of at least 1"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        ({"weight": 1.1}, "weight must be between 0 and 1, got 1.1"),
        ({"weight": -0.1}, "weight must be between 0 and 1"),
        ({"fixed_scale": 0.0}, "fixed_scale must be finite and above 0"),
        ({"shaping_discount": 2.0}, "shaping_discount must be between 0 and 1"),
        ({"observation_scale": "log"}, "observation_scale must be one of none, fixed, window, expected, relative"),
        ({"ends": "never"}, "ends must be one of truncation, termination"),
        ({"memory": [0.9]}, "memory must be a bygones memory such as"),
        ({"memory": Linear(np.eye(3) / 2)}, "read out for 3 agents in 3 cells, got 10 agents"),
        ({"welfare": "envy"}, "welfare must be one of"),
        ({"welfare": "alpha_fair(alpha=-1)"}, "alpha must be at least 0"),
        ({"welfare": welfare.parse_welfare("generalized_gini", weights=(1.0, 0.0))}, r"one entry per agent \(10\)"),
        ({"needs": 3}, "needs must be a distribution"),
        ({"needs": needs.uniform(3, 0.0, 0.0)}, "an upper bound above 0"),
        ({"needs": needs.lognormal(np.zeros(3), 1.0), "observation_scale": "window"}, "divides Z by its largest value"),
        ({"needs": needs.uniform(2), "memory": Linear(SWAP)}, "needs a memory that never falls below 0"),
        (
            {
                "needs": needs.uniform(2),
                "memory": Linear(SWAP),
                "welfare": "egalitarian",
                "observation_scale": "relative",
            },
            "'relative' needs a memory that never falls below 0",
        ),
        (
            {"memory": Multiscale((0.5, 0.5), (1, -1)), "welfare": "egalitarian", "observation_scale": "expected"},
            "'expected' needs a finite divisor above 0, but Multiscale memory gives 0.0 for these needs",
        ),
        (
            {
                "memory": Multiscale((0.5,), (TINY,)),
                "needs": needs.uniform(3, 0.0, 0.25),
                "observation_scale": "window",
            },
            "'window' needs a finite divisor above 0, but Multiscale memory gives 1.1125",
        ),
        (
            {"memory": Multiscale((0.5,), (0.0,)), "observation_scale": "relative", "observe_denominator": True},
            "'relative' needs a finite divisor above 0, but Multiscale memory gives 0.0 for these needs",
        ),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        problem_of(**setting)


def test_the_largest_number_of_actions_is_accepted():
    assert problem_of(needs=needs.uniform(447), n_resources=2).scenario.n_actions == 99_681


def test_short_forms_of_settings():
    problem = problem_of(n_agents=5, n_advantaged=1, memory=0.9)
    assert problem.memory == Discounted(gamma=0.9)
    assert problem.scenario.needs.bounds[0].tolist() == [0.8, 0, 0, 0, 0]
    assert problem_of(n_advantaged=3).scenario.needs.bounds[0].tolist() == [0.8] * 3 + [0.0] * 7
    assert problem_of(memory=1).memory == Discounted(gamma=1)
    with pytest.raises(ValueError, match="not both"):
        problem_of(n_agents=3, needs=needs.uniform(4))
    with pytest.raises(ValueError, match="memory must be"):
        problem_of(memory=True)
    with pytest.raises(ValueError, match="gamma must be between 0 and 1"):
        problem_of(memory=1.5)


def test_the_alpha_fair_family_is_one_structure():
    families = [
        welfare.as_judge(name) for name in ("nash", "log_nash", "utilitarian", "egalitarian", "alpha_fair(alpha=2)")
    ]
    assert [judge.name for judge in families] == ["alpha_fair"] * 5
    assert [judge.parameters["alpha"] for judge in families] == [1.0, 1.0, 0.0, math.inf, 2.0]
    Z = np.array([0.3, 1.2, 2.0])
    for name in ("log_nash", "utilitarian", "egalitarian"):
        assert welfare.as_judge(name)(Z) == welfare.parse_welfare(name)(Z)
    assert welfare.as_judge("generalized_gini") == welfare.parse_welfare("generalized_gini")
    assert welfare.as_judge(welfare.parse_welfare("nash"))(Z) == pytest.approx(0.72)


def test_the_myopic_agent_sees_needs_only():
    assert not problem_of(memory=Instantaneous()).observes_memory
    assert not problem_of(memory=Discounted(gamma=0.0)).observes_memory
    assert problem_of(memory=Instantaneous(), observe_memory=True).observes_memory
    assert problem_of().observes_memory
    assert not problem_of(observe_memory=False).observes_memory


@pytest.mark.parametrize(
    ("scale", "divisor"), [("none", 1.0), ("fixed", 7.0), ("window", 99.0), ("expected", 99.0 * 0.2 * 0.58)]
)
def test_observation_scales_of_perfect_recall(scale, divisor):
    problem = problem_of(memory=PerfectRecall(), observation_scale=scale, fixed_scale=7.0, horizon=99)
    assert 1 / problem.params().memory_scale == pytest.approx(divisor)


def test_expected_scale_is_what_equal_service_comes_to():
    for memory in (
        Discounted(gamma=0.9),
        Discounted(gamma=0.9, average=True),
        Multiscale((0.5, 0.9), (0.3, 0.7)),
        Linear(0.8 * np.eye(4) + 0.01),
    ):
        problem = problem_of(
            needs=needs.uniform(4), n_resources=1, memory=memory, horizon=30, observation_scale="expected"
        )
        state = memory.init(4)
        for _ in range(30):
            state = memory.update(state, np.full(4, 0.5 / 4))
        assert memory.values(state).mean() * problem.params().memory_scale == pytest.approx(1.0)
        assert memory.after_ones(4, 30) * 0.125 == pytest.approx(memory.values(state).mean())


def test_relative_scale_is_free_of_scale_and_zero_for_the_empty_memory():
    problem = problem_of(needs=needs.uniform(3), n_resources=1, observation_scale="relative")
    params, state = problem.params(), problem.memory.init(3)
    assert observation(np.ones(3), state, params)[3:].tolist() == [0, 0, 0]
    small, large = (problem.memory.update(state, x * np.array([1.0, 2.0, 3.0])) for x in (0.1, 0.9))
    np.testing.assert_allclose(observation(np.ones(3), small, params)[3:], [-0.5, 0.0, 0.5], atol=1e-6)
    shown = (observation(np.ones(3), each, params) for each in (small, large))
    np.testing.assert_allclose(*shown, atol=1e-6)


def test_the_denominator_is_one_more_entry_of_every_memory():
    cases = [
        (Discounted(gamma=0.5), 1.75),
        (PerfectRecall(average=True), 3.0),
        (Multiscale((0.5, 1.0), (2.0, 1.0)), 2 * 1.75 + 3),
        (Linear(np.eye(2) / 2, readout=3 * np.eye(2)), 3 * 1.75),
    ]
    for memory, expected in cases:
        problem = problem_of(needs=needs.uniform(2), n_resources=1, memory=memory, horizon=3, observe_denominator=True)
        state = memory.init(2)
        for _ in range(3):
            state = memory.update(state, np.array([0.3, 0.1]))
        seen = observation(np.zeros(2), state, problem.params())
        assert seen.shape == (5,)
        assert seen[-1] == pytest.approx(expected)
        assert seen[-1] <= problem.observation_bounds()[1][-1]


def test_reward_is_the_papers_formula():
    for weight, c in ((0.9, 1.0), (0.5, 0.99)):
        problem = problem_of(weight=weight, shaping_discount=c, memory=0.5)
        params, states = problem.params(), [begin(np.full(20, 0.5), problem.params())]
        for action in (0, 7):
            states.append(proceed(np.full(10, 0.25), states[-1], action, params))
        before, after = (problem.welfare(state.memory.Z) for state in states[1:])
        expected = (1 - weight) * states[2].utilities.sum() + weight * (c * after - before)
        assert reward(states[1], states[2], params) == pytest.approx(expected)


def test_episode_metrics_are_of_true_utilities():
    cumulative = np.array([1.0, 3.0])
    plain = problem_of(needs=needs.uniform(2), n_resources=1, welfare="egalitarian")
    state = begin(np.zeros(4), plain.params())._replace(t=np.int64(4), cumulative=cumulative)
    assert episode_metrics(state, plain.params()) == {
        "gini": 0.25,
        "welfare": 1.0,
        "utility_per_step": 1.0,
        "welfare_memory": 0.0,
        "utility_least": 0.25,
        "utility_most": 0.75,
    }
    averaging = dataclasses.replace(plain, memory=Discounted(gamma=0.9, average=True)).params()
    assert episode_metrics(state._replace(memory=averaging.memory.init(2)), averaging)["welfare"] == 0.25


def test_a_memory_that_can_be_negative_is_known():
    assert Linear(SWAP).can_be_negative
    assert Linear(np.eye(2) / 2, readout=-np.eye(2)).can_be_negative
    assert Multiscale((0.9, 0.5), (1.0, -0.5)).can_be_negative
    assert not Multiscale((0.9, 0.5), (1.0, 0.5)).can_be_negative
    assert not Linear(np.eye(2) / 2).can_be_negative
    assert not PerfectRecall().can_be_negative


def test_a_need_that_never_changes_has_an_interval():
    low, high = problem_of(needs=needs.replayed([[0.5, 0.0]]), n_resources=1).observation_bounds()
    assert (low[:2] < high[:2]).all()
    assert ((low[:2] <= [0.5, 0.0]) & (high[:2] >= [0.5, 0.0])).all()


def numbers(low, high):
    """Weights: 0, ordinary ones, and some so small that hardly anything can be divided by them."""
    return st.floats(low, high, allow_subnormal=False) | st.floats(TINY, 1e-300) | st.just(0.0)


memories = st.one_of(
    st.builds(lambda g, a: Discounted(gamma=g, average=a), st.floats(0, 1), st.booleans()),
    st.builds(
        lambda g, w: Multiscale(g, w), st.tuples(st.floats(0, 1), st.floats(0, 1)), st.tuples(*[numbers(-2, 2)] * 2)
    ),
    st.builds(lambda a: Linear(np.array(a).reshape(3, 3)), st.lists(st.floats(-0.5, 0.9), min_size=9, max_size=9)),
    st.builds(
        lambda a: Linear(0.9 * np.eye(6), readout=np.array(a).reshape(3, 6)),
        st.lists(numbers(-1, 1), min_size=18, max_size=18),
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    memory=memories,
    high=st.floats(0.01, 50),
    scale=st.sampled_from(["none", "fixed", "window", "relative"]),
    with_denominator=st.booleans(),
    actions=st.lists(st.integers(0, 2), min_size=1, max_size=25),
    noise=st.sampled_from(["most", "least", "any"]),
)
def test_every_observation_lies_within_the_bounds(memory, high, scale, with_denominator, actions, noise):
    scale = "none" if scale == "relative" and memory.can_be_negative else scale
    table = {"most": np.full((1, 3), high), "least": np.zeros((1, 3)), "any": np.linspace(0, high, 12).reshape(4, 3)}
    wide = np.vstack([np.zeros(3), np.full(3, high)])
    setting = {
        "needs": needs.replayed(np.vstack([wide, table[noise]])),
        "n_resources": 1,
        "horizon": len(actions),
        "memory": memory,
        "welfare": "utilitarian",
        "observation_scale": scale,
        "observe_denominator": with_denominator,
    }
    divisors = [memory.bound(high, len(actions))] if scale == "window" else []
    divisors += (
        [memory.largest_denominator(len(actions))] if with_denominator and scale in ("window", "relative") else []
    )
    if min(divisors, default=1.0) < TINY:
        with pytest.raises(ValueError, match="needs a finite divisor above 0, but"):
            problem_of(**setting)
        return
    problem = problem_of(**setting)
    low, high_ = (bound.astype(np.float32) for bound in problem.observation_bounds())
    assert np.isfinite(low).all()
    assert np.isfinite(high_).all()
    params = problem.params()
    state = begin(np.zeros(6), params)
    for action in actions:
        state = proceed(np.zeros(3), state, action, params)
        seen = observe(state, params)
        assert seen.dtype == np.float32
        assert (seen >= low).all()
        assert (seen <= high_).all()
