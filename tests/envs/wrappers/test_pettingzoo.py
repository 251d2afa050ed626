"""FairParallel and FairAEC: PettingZoo's own tests, the formulas, agents that die, and observations left alone."""

import warnings

import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pettingzoo.utils import parallel_to_aec

import bygones
from bygones.envs.wrappers import FairAEC, FairParallel, FairReward, RememberRewards
from bygones.welfare import parse_welfare
from support.separate_agents import ScriptedAgents, api_test, parallel_api_test, parallel_seed_test, seed_test
from support.vector_rewards import ComeAndGo, Scripted

DISCOUNTED = bygones.Discounted(gamma=0.9)
AVERAGED = bygones.Discounted(gamma=0.9, average=True)
TOTALS = bygones.PerfectRecall()
UNIT = Box(0, 1, (3,), dtype=np.float64)
KILLS = Box(0, 5, (4,), dtype=np.float64)

rewards_of_three = arrays.arrays(float, st.tuples(st.integers(1, 10), st.just(3)), elements=st.floats(0, 1, width=32))
lives_of_three = st.lists(st.integers(1, 10), min_size=3, max_size=3)


def steps_of(env):
    """The observations of the first step, and what each step returned until no agent is left."""
    steps = [env.reset(seed=0)]
    while env.agents:
        steps.append(env.step(dict.fromkeys(env.agents, 0)))
    return steps


def received_in_turns(env):
    """What each agent received in an episode of turns, as its learner sees it in `last`."""
    env.reset(seed=0)
    received = dict.fromkeys(env.possible_agents, 0.0)
    for name in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        received[name] += reward
        env.step(None if terminated or truncated else 0)
        assert set(env.infos) == set(env.agents) == set(env.rewards)
    return received, info


# --- PettingZoo's own tests ---


ROCK, ZOMBIES = "classic/rps-v2", "butterfly/knights_archers_zombies-v11"
PARALLEL = {
    "rock, paper, scissors": lambda: FairParallel(
        pettingzoo.make("parallel", ROCK, max_cycles=20), DISCOUNTED, "egalitarian", 0.9
    ),
    "zombies": lambda: FairParallel(
        pettingzoo.make("parallel", ZOMBIES, max_cycles=40),
        DISCOUNTED,
        "nash",
        0.9,
        reward_space=KILLS,
        learners="separate",
    ),
    "lives": lambda: FairParallel(
        ScriptedAgents(np.ones((9, 3)), [3, 9, 6]), AVERAGED, "nash", 0.9, reward_space=UNIT, observe_denominator=True
    ),
}
AEC = {
    "rock, paper, scissors": lambda: FairAEC(
        pettingzoo.make("aec", ROCK, max_cycles=20), DISCOUNTED, "egalitarian", 0.9
    ),
    "noughts and crosses": lambda: FairAEC(
        pettingzoo.make("aec", "classic/tictactoe-v3"), DISCOUNTED, "generalized_gini", 0.9
    ),
    "zombies": lambda: FairAEC(
        pettingzoo.make("aec", ZOMBIES, max_cycles=40), DISCOUNTED, "nash", 0.9, reward_space=KILLS
    ),
    "lives": lambda: FairAEC(
        parallel_to_aec(ScriptedAgents(np.ones((9, 3)), [3, 9, 6])), AVERAGED, "nash", 0.9, reward_space=UNIT
    ),
}

# The bare environments are warned about in the same words.
about_the_bare_environment = pytest.mark.filterwarnings(
    "ignore:Observation:UserWarning", "ignore:overflow encountered in cast:RuntimeWarning"
)


@about_the_bare_environment
@pytest.mark.parametrize("make", PARALLEL.values(), ids=PARALLEL)
def test_parallel_environments_pass_the_tests_of_pettingzoo(make, capsys):
    parallel_api_test(make(), num_cycles=60)
    parallel_seed_test(make, num_cycles=30)


@about_the_bare_environment
@pytest.mark.parametrize("make", AEC.values(), ids=AEC)
def test_aec_environments_pass_the_tests_of_pettingzoo(make, capsys):
    api_test(make(), num_cycles=60)
    seed_test(make, num_cycles=30)


# --- against the formulas and the wrappers of Gymnasium ---


@given(rewards_of_three, lives_of_three, st.sampled_from(["egalitarian", "nash", "utilitarian"]))
def test_the_dead_are_masked_as_the_absent_are_in_gymnasium(rewards, lives, welfare):
    present = np.arange(len(rewards))[:, None] < np.array(lives)
    env = FairParallel(ScriptedAgents(rewards, lives), AVERAGED, welfare, 0.7, reward_space=UNIT)
    single = FairReward(ComeAndGo(rewards, present), AVERAGED, welfare, 0.7, presence="present")
    (observations, _), *steps = steps_of(env)
    single.reset()
    for name, seen in observations.items():
        assert env.observation_space(name).contains(seen)
    for observations, given_rewards, terminations, _, infos in steps:
        _, reward, *_, info = single.step(0)
        assert set(given_rewards) == set(terminations) == set(infos) == set(observations)
        assert list(given_rewards.values()) == pytest.approx([reward] * len(given_rewards), abs=1e-12)
        for name, own in infos.items():
            i = env.possible_agents.index(name)
            assert own["taken"] == infos[name]["taken"]
            assert own["memory"] == info["memory"][i]
            assert own["cumulative"] == pytest.approx(info["cumulative"][i])
            assert own["welfare_memory"] == info["welfare_memory"]
            np.testing.assert_allclose(observations[name][2], info["memory"][i], rtol=1e-6)
    assert infos[name]["episode_metrics"]["gini"] == pytest.approx(
        bygones.inequality.gini((rewards * present).sum(axis=0)), abs=1e-12
    )


@given(rewards_of_three, lives_of_three, st.sampled_from(["egalitarian", "log_nash"]), st.floats(0, 1))
def test_rewards_of_separate_learners_add_up_to_the_central_one(rewards, lives, welfare, weight):
    settings = {"memory": DISCOUNTED, "welfare": welfare, "weight": weight, "reward_space": UNIT}
    central = steps_of(FairParallel(ScriptedAgents(rewards, lives), **settings))[1:]
    separate = steps_of(FairParallel(ScriptedAgents(rewards, lives), **settings, learners="separate"))[1:]
    for step, (one, own) in enumerate(zip(central, separate, strict=True)):
        alike = set(one[1].values())
        assert len(alike) == 1
        assert sum(own[1].values()) == pytest.approx(alike.pop(), rel=1e-9, abs=1e-9)
        for left, right in zip(own[1], own[1], strict=True):
            i, j = (int(name[-1]) for name in (left, right))
            difference = (1 - weight) * (rewards[step, i] - rewards[step, j])
            assert own[1][left] - own[1][right] == pytest.approx(difference, abs=1e-9)


def test_separate_learners_receive_their_own_part():
    env = FairParallel(
        ScriptedAgents([[1.0, 0.0], [0.0, 1.0]]), TOTALS, "egalitarian", 0.5, learners="separate",
        reward_space=Box(0, 1, (2,)),
    )  # fmt: skip
    first, second = (step[1] for step in steps_of(env)[1:])
    assert first == {"agent_0": 0.5, "agent_1": 0.0}
    assert second == {"agent_0": 0.25, "agent_1": 0.75}  # the worst-off gained 1, of which each has a half


@given(rewards_of_three, lives_of_three, st.sampled_from(["central", "separate"]))
def test_turns_bring_what_steps_bring_where_nothing_fades(rewards, lives, learners):
    settings = {"memory": TOTALS, "welfare": "egalitarian", "weight": 0.7, "learners": learners, "reward_space": UNIT}
    parallel = FairParallel(ScriptedAgents(rewards, lives), **settings)
    received = dict.fromkeys(parallel.possible_agents, 0.0)
    for step in steps_of(parallel)[1:]:
        for name, reward in step[1].items():
            received[name] += reward
    in_turns, info = received_in_turns(FairAEC(parallel_to_aec(ScriptedAgents(rewards, lives)), **settings))
    assert in_turns == pytest.approx(received, rel=1e-9, abs=1e-9)
    assert {"gini", "welfare"} <= set(info["episode_metrics"])


def test_a_turn_is_a_step_of_the_memory():
    env = FairAEC(parallel_to_aec(ScriptedAgents(np.ones((3, 2)))), DISCOUNTED, "egalitarian", 0.5)
    env.reset()
    for expected in (0.0, 1.0, 0.9, 0.81 + 1.0):
        env.step(0)
        assert env.infos["agent_0"]["memory"] == pytest.approx(expected)


def test_a_turn_in_which_a_dead_agent_leaves_is_none():
    env = FairAEC(parallel_to_aec(ScriptedAgents(np.ones((3, 2)), [1, 3])), DISCOUNTED, "egalitarian", 0.5)
    env.reset()
    env.step(0), env.step(0)
    before = env.infos["agent_1"]
    assert env.agent_selection == "agent_0"
    assert env.terminations["agent_0"]
    env.step(None)
    assert env.infos == {"agent_1": before}
    assert env.rewards == {"agent_1": 0.0}
    env.step(0)
    assert env.infos["agent_1"]["memory"] == pytest.approx(1.9)


class RewardsForAll(ScriptedAgents):
    """An environment that has rewards for the dead, too."""

    def step(self, actions):
        observations, _, *rest = super().step(actions)
        return observations, dict.fromkeys(self.possible_agents, 1.0), *rest


@pytest.mark.parametrize("learners", ["central", "separate"])
def test_the_dead_receive_and_count_nothing(learners):
    settings = {"reward_space": Box(0, 1, (2,)), "learners": learners}
    steps = steps_of(FairParallel(RewardsForAll(np.ones((3, 2)), [1, 3]), TOTALS, "egalitarian", 0.5, **settings))
    shared = 1.5 if learners == "central" else 0.75
    assert [step[1] for step in steps[1:]] == [
        {"agent_0": shared, "agent_1": shared},
        {"agent_0": 0.0, "agent_1": 1.0},
        {"agent_0": 0.0, "agent_1": 1.0},
    ]
    assert steps[-1][-1]["agent_1"]["episode_metrics"]["gini"] == pytest.approx(bygones.inequality.gini([1.0, 3.0]))


# --- observations ---


def test_an_agent_observes_its_own_memory_first():
    env = FairParallel(ScriptedAgents([[0.1, 0.2, 0.3]]), DISCOUNTED, "nash", 0.5, reward_space=UNIT)
    observations = steps_of(env)[1][0]
    np.testing.assert_allclose(observations["agent_0"], [1, 1, 0.1, 0.2, 0.3], rtol=1e-6)
    np.testing.assert_allclose(observations["agent_1"], [2, 2, 0.2, 0.1, 0.3], rtol=1e-6)
    np.testing.assert_allclose(observations["agent_2"], [3, 3, 0.3, 0.1, 0.2], rtol=1e-6)


@pytest.mark.parametrize(
    "space",
    [
        Box(0, 255, (4, 4, 3), dtype=np.uint8),
        Discrete(9),
        Dict({"observation": Box(0, 1, (2,), dtype=np.int8), "action_mask": Box(0, 1, (2,), dtype=np.int8)}),
    ],
    ids=["image", "number", "mask of actions"],
)
def test_images_numbers_and_dicts_are_left_alone(space):
    rewards = [[1.0, 0.0, 0.5]] * 2
    bare, env = ScriptedAgents(rewards, space=space), ScriptedAgents(rewards, space=space)
    env = FairParallel(env, AVERAGED, "nash", 0.5, reward_space=UNIT)
    for before, after in zip(steps_of(bare), steps_of(env), strict=True):
        for name, seen in after[0].items():
            assert env.observation_space(name).contains(seen)
            expected = before[0][name] if isinstance(space, Dict) else {"observation": before[0][name]}
            assert set(seen) == {*expected, "memory"}
            for key, part in expected.items():
                np.testing.assert_array_equal(seen[key], part)
                assert np.asarray(seen[key]).dtype == np.asarray(part).dtype
    np.testing.assert_array_equal(seen["memory"], np.float32([0.5, 1.0, 0.0]))


def test_spaces_are_the_same_objects_at_every_call():
    env = FairParallel(ScriptedAgents(np.ones((2, 3))), DISCOUNTED, "nash", 0.5, reward_space=UNIT)
    for name in env.possible_agents:
        assert env.observation_space(name) is env.observation_space(name)
        assert env.action_space(name) is env.action_space(name)
    assert env.observation_space("agent_0").high[2:] == pytest.approx(10.0)  # 1 / (1 - 0.9)


def test_the_memory_need_not_be_observed():
    env = FairParallel(ScriptedAgents(np.ones((2, 3))), DISCOUNTED, "egalitarian", 0.5, observe_memory=False)
    assert env.observation_space("agent_0") is env.env.observation_space("agent_0")
    assert steps_of(env)[1][0]["agent_2"].tolist() == [3, 3]


def test_burdens_of_agents_are_judged_by_their_loads():
    W, loads = parse_welfare("power_burden"), np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    env = FairParallel(ScriptedAgents(-loads), TOTALS, "power_burden", 1.0, reward_space=Box(-1, 0, (3,)))
    *_, last = steps_of(env)
    assert last[1]["agent_0"] == pytest.approx(W(loads.sum(axis=0)) - W(loads[0]))
    assert last[-1]["agent_0"]["episode_metrics"]["gini"] == pytest.approx(0.0)


# --- what is refused ---


class Unnamed(ScriptedAgents):
    """An environment that does not say who can take part."""

    def __init__(self):
        super().__init__([[1.0]])
        self.possible_agents = []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda env: FairReward(env, DISCOUNTED, "nash", 0.5),
            "env has several agents with a reward each: use FairParallel for PettingZoo's parallel environments",
        ),
        (lambda env: RememberRewards(env, DISCOUNTED), "use FairParallel"),
        (lambda env: FairAEC(env, DISCOUNTED, "egalitarian", 0.5), "env is a parallel environment.*use FairParallel"),
        (
            lambda env: FairParallel(parallel_to_aec(env), DISCOUNTED, "egalitarian", 0.5),
            "env is an AEC environment, in which agents take turns: use FairAEC",
        ),
        (lambda env: FairParallel(Scripted([[1.0]]), DISCOUNTED, "nash", 0.5), "env must be a pettingzoo.ParallelEnv"),
        (lambda env: FairAEC(Scripted([[1.0]]), DISCOUNTED, "nash", 0.5), "env must be a pettingzoo.AECEnv, got Scr"),
        (lambda env: FairParallel(Unnamed(), DISCOUNTED, "nash", 0.5), "env must have possible_agents"),
        (
            lambda env: FairParallel(env, DISCOUNTED, "nash", 0.5),
            "nash needs utilities of at least 0.*pass the bounds of the rewards as reward_space, if they are known",
        ),
        (
            lambda env: FairParallel(env, DISCOUNTED, "nash", 0.5, reward_space=Box(0, 1, (2,))),
            r"reward_space must have one entry for each of the 3 agents, got shape \(2,\)",
        ),
        (
            lambda env: FairParallel(env, DISCOUNTED, "egalitarian", 0.5, learners="all"),
            "learners must be one of central, separate, got 'all'",
        ),
        (
            lambda env: FairParallel(env, DISCOUNTED, "egalitarian", 0.5, horizon=0),
            "horizon must be a whole number of at least 1",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, message):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        call(ScriptedAgents(np.ones((2, 3))))
