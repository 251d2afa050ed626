"""RememberRewards and FairReward around single environments, their own and other people's."""

import copy
import math
import pickle
import warnings

import gymnasium as gym
import mo_gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same

import bygones
from bygones.envs.wrappers import FairReward, RememberRewards
from bygones.welfare import parse_welfare
from support.vector_rewards import BURDENS, IDS, MEMORIES, NON_NEGATIVE, REPLAYABLE, SIGNED, Scripted, make, welfare_for

DISCOUNTED = bygones.Discounted(gamma=0.9)
AVERAGED = bygones.Discounted(gamma=0.9, average=True)


# Making some of the environments warns, which is not about the wrappers; elsewhere `make` keeps it out.
makes_them_again = pytest.mark.filterwarnings("ignore:.*precision lowered by casting to float32.*")


def fair(env, name, memory=DISCOUNTED, **options):
    return FairReward(RememberRewards(env, memory, **options), memory, welfare_for(name), 0.9)


class Overheard(gym.Wrapper):
    """Keeps what the bare environment last returned."""

    def reset(self, **settings):
        self.observation, info = self.env.reset(**settings)
        return self.observation, info

    def step(self, action):
        self.observation, self.reward, *rest = self.env.step(action)
        return self.observation, self.reward, *rest


def rollout(env, steps, seed=3):
    """The transitions of `steps` random steps over as many episodes as they take."""
    env.action_space.seed(seed)
    transitions = [env.reset(seed=seed)]
    for _ in range(steps):
        transitions.append(env.step(env.action_space.sample()))
        if transitions[-1][2] or transitions[-1][3]:
            transitions.append(env.reset())
    return transitions


# --- against the formulas, in plain floats ---


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", IDS)
def test_observation_reward_and_info_follow_the_formulas(name, average):
    gamma, weight, discount = 0.9, 0.7, 0.99
    memory = bygones.Discounted(gamma=gamma, average=average)
    base, W = Overheard(make(name)), parse_welfare(welfare_for(name))
    env = FairReward(
        RememberRewards(base, memory, observe_denominator=True), memory, W, weight, shaping_discount=discount
    )
    env.action_space.seed(1)
    observation, _ = env.reset(seed=1)
    n = base.unwrapped.reward_space.shape[0]
    Z, d, total, t = [0.0] * n, 0.0, [0.0] * n, 0
    for _ in range(300):
        expected = [*np.ravel(base.observation), *(z / max(d, 1.0) if average else z for z in Z), d]
        np.testing.assert_allclose(observation, expected, rtol=1e-6, atol=1e-7)
        before = W([z / max(d, 1.0) if average else z for z in Z])
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        u = base.reward
        Z, d = [gamma * z + float(x) for z, x in zip(Z, u, strict=True)], gamma * d + 1
        total, t = [z + float(x) for z, x in zip(total, u, strict=True)], t + 1
        seen = [z / d if average else z for z in Z]
        gained = discount * W(seen) - before
        assert reward == pytest.approx((1 - weight) * math.fsum(map(float, u)) + weight * gained, rel=1e-9, abs=1e-9)
        assert type(reward) is float
        np.testing.assert_array_equal(info["utilities"], u)
        np.testing.assert_allclose(info["cumulative"], total, rtol=1e-12)
        np.testing.assert_allclose(info["memory"], seen, rtol=1e-12)
        assert info["welfare_memory"] == pytest.approx(W(seen))
        if terminated or truncated:
            truth = [x / t for x in total] if average else total
            metrics = info["episode_metrics"]
            assert metrics["welfare"] == pytest.approx(W(truth))
            assert ("gini" in metrics) == (name in NON_NEGATIVE or name in BURDENS)
            if "gini" in metrics:
                assert metrics["gini"] == pytest.approx(bygones.inequality.gini(np.abs(total)))
            observation, _ = env.reset()
            Z, d, total, t = [0.0] * n, 0.0, [0.0] * n, 0
        else:
            assert "episode_metrics" not in info


def test_as_the_paper_writes_it_there_is_no_discount_in_the_shaping():
    rewards = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    env = FairReward(Scripted(rewards), bygones.PerfectRecall(), "egalitarian", 0.25)
    env.reset()
    assert [env.step(0)[1] for _ in rewards] == [0.75 * 1, 0.75 * 1 + 0.25 * 1, 0.75 * 1 + 0.25 * 0.5]


def test_a_step_is_remembered_once():
    updates = []

    class Counting(bygones.memory.Around):
        keeps = bygones.memory.around.PROMISES

        def advance(self, state, utilities, elapsed=1):
            updates.append(utilities)
            return self.memory.advance(state, utilities, elapsed)

    memory = Counting(DISCOUNTED)
    env = FairReward(RememberRewards(Scripted([[1.0, 0.5]] * 3), memory), memory, "egalitarian", 0.5)
    env.reset()
    for _ in range(3):
        env.step(0)
    assert len(updates) == 3


def test_agent_may_see_another_memory_than_it_is_judged_by():
    env = FairReward(
        RememberRewards(Scripted([[1.0, 0.0], [1.0, 0.0]]), bygones.Instantaneous()),
        bygones.PerfectRecall(),
        "utilitarian",
        1.0,
    )
    env.reset()
    env.step(0)
    observation, _, _, _, info = env.step(0)
    np.testing.assert_array_equal(observation, [2, 1, 0])
    np.testing.assert_array_equal(info["memory"], [2, 0])


# --- the checkers of Gymnasium and MO-Gymnasium's convention ---


@makes_them_again
@pytest.mark.parametrize("memory", [DISCOUNTED, AVERAGED], ids=repr)
@pytest.mark.parametrize("observe_denominator", [False, True])
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_checker_has_nothing_to_say(name, memory, observe_denominator):
    env = fair(make(name), name, memory, observe_denominator=observe_denominator)
    with warnings.catch_warnings():
        # The checker says this of every wrapped environment.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", REPLAYABLE)
def test_vector_reward_and_its_space_stay_as_they_were(name):
    base, env = make(name), RememberRewards(make(name), DISCOUNTED)
    assert env.get_wrapper_attr("reward_space") == base.unwrapped.reward_space
    for left, right in zip(rollout(base, 100), rollout(env, 100), strict=True):
        assert same(left[1:], right[1:])


@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
@pytest.mark.parametrize("name", IDS)
def test_observations_stay_within_their_space(name, memory):
    base = make(name)
    memory = memory(base.unwrapped.reward_space.shape[0])
    env = RememberRewards(base, memory, observe_denominator=isinstance(memory, bygones.Discounted))
    for transition in rollout(env, 250):
        assert env.observation_space.contains(transition[0])


def test_infos_share_no_arrays_with_the_wrapper():
    env = FairReward(Scripted(np.ones((5, 2))), bygones.PerfectRecall(), "log_nash", 0.5)
    env.reset()
    for value in env.step(0)[-1].values():
        if isinstance(value, np.ndarray):
            value[:] = 100.0
    info = env.step(0)[-1]
    np.testing.assert_array_equal([info["utilities"], info["cumulative"], info["memory"]], [[1] * 2, [2] * 2, [2] * 2])


# --- replaying, copying, storing ---


@pytest.mark.parametrize("name", REPLAYABLE)
def test_seed_replays_bit_for_bit(name):
    left, right = (rollout(fair(make(name), name), 150) for _ in range(2))
    assert all(same(a, b, exact=True) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_go_on_alike_and_apart(twin):
    env = fair(Scripted(np.linspace(0, 1, 40).reshape(20, 2)), "fishwood-v0")
    env.reset(seed=0)
    for _ in range(7):
        env.step(0)
    other = twin(env)
    ahead = [other.step(0) for _ in range(5)]
    assert all(same(env.step(0), transition, exact=True) for transition in ahead)


@makes_them_again
@pytest.mark.parametrize("name", REPLAYABLE)
def test_wrapped_environments_pickle_where_the_bare_ones_do(name):
    env = fair(make(name), name)
    other = pickle.loads(pickle.dumps(env))
    assert same(rollout(env, 50), rollout(other, 50), exact=True)


@makes_them_again
def test_spec_makes_the_wrapped_environment_again():
    env = fair(make("fishwood-v0"), "fishwood-v0")
    again = gym.make(env.spec)
    assert isinstance(again, FairReward)
    assert again.observation_space == env.observation_space
    assert same(rollout(env, 50), rollout(again, 50), exact=True)


def test_reset_empties_the_memory_in_the_middle_of_an_episode():
    env = fair(Scripted(np.ones((20, 2))), "fishwood-v0")
    env.reset()
    first = [env.step(0) for _ in range(4)]
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation, [0, 0, 0])
    assert all(same(env.step(0), transition, exact=True) for transition in first)


# --- layouts ---


def observed(space, memory=AVERAGED, **options):
    env = RememberRewards(Scripted([[0.5, 1.0]] * 3, space=space), memory, observe_denominator=True, **options)
    env.reset()
    observation = env.step(0)[0]
    assert env.observation_space.contains(observation)
    return observation


def test_box_of_any_shape_becomes_flat():
    observation = observed(Box(0, 5, (2, 2), dtype=np.int8))
    np.testing.assert_array_equal(observation, [1, 1, 1, 1, 0.5, 1.0, 1.0])
    assert observation.dtype == np.float32
    assert observed(Box(0, 5, (1,), dtype=np.float64)).dtype == np.float64


def test_other_observations_become_a_dict():
    assert same(
        observed(Discrete(9)),
        {"observation": 1, "memory": np.float32([0.5, 1.0]), "denominator": np.float32([1.0])},
    )
    image = observed(Box(0, 255, (4, 4, 3), dtype=np.uint8), flatten=False)
    assert image["observation"].shape == (4, 4, 3)
    assert image["observation"].dtype == np.uint8


def test_dict_observation_gets_the_memory_beside_its_own():
    observation = observed(Dict({"speed": Box(0, 5, (1,), dtype=np.float32)}))
    assert set(observation) == {"speed", "memory", "denominator"}


def test_breakable_bottles_with_its_dict_of_discrete_spaces():
    env = RememberRewards(make("breakable-bottles-v0"), DISCOUNTED)
    assert set(env.observation_space.spaces) == {*make("breakable-bottles-v0").observation_space.spaces, "memory"}
    for transition in rollout(env, 100):
        assert env.observation_space.contains(transition[0])


# --- what is refused ---


@pytest.mark.parametrize("welfare", ["nash", "log_nash", "alpha_fair(alpha=0.5)", "alpha_fair(alpha=2)"])
@pytest.mark.parametrize("name", SIGNED)
def test_welfare_without_values_below_zero_is_refused_where_rewards_are_negative(name, welfare):
    env = make(name)
    with pytest.raises(ValueError, match=r"negative rewards in component.*egalitarian.*utilitarian") as refusal:
        FairReward(env, DISCOUNTED, welfare, 0.5)
    for i, low in enumerate(env.unwrapped.reward_space.low):
        assert (f"{i} (from {low:g})" in str(refusal.value)) == (low < 0)


@pytest.mark.parametrize("welfare", ["egalitarian", "utilitarian", "generalized_gini", "alpha_fair(alpha=0)"])
def test_welfare_with_values_below_zero_takes_negative_rewards(welfare):
    env = FairReward(make("minecart-v0"), DISCOUNTED, welfare, 0.5)
    assert np.isfinite([transition[1] for transition in rollout(env, 50)[1:]]).all()


def test_memory_that_falls_below_zero_by_itself_is_refused_too():
    with pytest.raises(ValueError, match="log_nash needs utilities of at least 0, but this memory can fall below zero"):
        FairReward(make("fishwood-v0"), MEMORIES["mixing, some negative"](2), "log_nash", 0.5)


class LastTwo(bygones.Memory):
    """A memory of one's own: the sum of the last two utilities."""

    can_be_negative = False

    def init(self, n_agents):
        return bygones.MemoryState(np.zeros((2, n_agents)), np.zeros(()), np.zeros(()), np.zeros(()))

    def advance(self, state, utilities, elapsed=1):
        return state._replace(Z=np.stack([state.Z[1], utilities]))

    def read(self, state):
        return state.Z.sum(axis=0)

    def bound(self, u_max, steps=math.inf):
        return u_max * min(steps, 2)


def test_memory_of_ones_own_that_does_not_say_is_taken_to_fall_below_zero():
    class Silent(bygones.memory.Around):
        can_be_negative = bygones.Memory.can_be_negative

    env = RememberRewards(make("fishwood-v0"), Silent(LastTwo()))
    assert env.observation_space.low.tolist() == [0, -2, -2]
    with pytest.raises(ValueError, match="this memory can fall below zero"):
        FairReward(env, Silent(LastTwo()), "nash", 0.5)


def test_memory_of_ones_own_is_welcome():
    env = FairReward(RememberRewards(make("fishwood-v0"), LastTwo()), LastTwo(), "log_nash", 0.5)
    assert env.observation_space.high.tolist() == [1, 2, 2]
    transitions = rollout(env, 250)
    assert all(env.observation_space.contains(transition[0]) for transition in transitions)
    assert max(transition[0][2] for transition in transitions) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 1.5}, "weight must be between 0 and 1, got 1.5"),
        ({"weight": -0.1}, "weight must be between 0 and 1, got -0.1"),
        ({"weight": math.nan}, "weight must be"),
        ({"shaping_discount": 2.0}, "shaping_discount must be between 0 and 1, got 2.0"),
        ({"welfare": "kindness"}, "welfare must be one of"),
        ({"welfare": "alpha_fair"}, "needs its alpha"),
        ({"memory": 0.9}, "memory must be a bygones memory"),
        ({"memory": bygones.Linear(np.eye(3))}, "read out for 3 agents"),
        ({"reward_space": Box(0, 1, ())}, "env must have a vector reward"),
    ],
)
def test_bad_settings_of_fair_reward(change, message):
    settings = {"memory": DISCOUNTED, "welfare": "egalitarian", "weight": 0.5} | change
    with pytest.raises(ValueError, match=message):
        FairReward(make("fishwood-v0"), **settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"memory": None}, "memory must be a bygones memory"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_settings_of_remember_rewards(change, message):
    settings = {"memory": DISCOUNTED} | change
    with pytest.raises(ValueError, match=message):
        RememberRewards(make("fishwood-v0"), **settings)


def test_weights_of_the_wrong_length_are_refused():
    welfare = parse_welfare("generalized_gini", weights=(1.0, 0.0))
    with pytest.raises(ValueError, match="weights must have one entry per agent"):
        FairReward(make("minecart-v0"), DISCOUNTED, welfare, 0.5)


def test_scalar_rewards_are_refused():
    with pytest.raises(ValueError, match=r"env must have a vector reward.*got None"):
        RememberRewards(gym.make("CartPole-v1"), DISCOUNTED)
    with pytest.raises(ValueError, match="env must have a vector reward"):
        RememberRewards(FairReward(make("fishwood-v0"), DISCOUNTED, "log_nash", 0.5), DISCOUNTED)
    env = RememberRewards(mo_gymnasium.wrappers.LinearReward(make("fishwood-v0")), DISCOUNTED)
    env.reset()
    with pytest.raises(ValueError, match=r"reward must be a vector reward of shape \(2,\), got shape \(\)"):
        env.step(0)


def test_key_that_the_environment_uses_itself_is_refused():
    space = Dict({"memory": Box(0, 1, (1,))})
    with pytest.raises(ValueError, match="env already has an observation named memory"):
        RememberRewards(Scripted([[1.0, 1.0]], space=space), DISCOUNTED)
