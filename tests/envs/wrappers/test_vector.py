"""The vector wrappers are N single wrappers side by side, whatever the autoreset mode."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import data_equivalence as same
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from mo_gymnasium.wrappers.vector import MORecordEpisodeStatistics, MOSyncVectorEnv

import bygones
from bygones.envs.wrappers import FairReward, RememberRewards, VectorFairReward, VectorRememberRewards
from support.vector_rewards import (
    BURDENS,
    IDS,
    MEMORIES,
    NON_NEGATIVE,
    REPLAYABLE,
    Scripted,
    VectorRewards,
    make,
    welfare_for,
)

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
DISCOUNTED = bygones.Discounted(gamma=0.9)
AVERAGED = bygones.Discounted(gamma=0.9, average=True)

SCRIPTS = [np.random.default_rng(seed).random((length, 3)) for seed, length in enumerate((1, 2, 3, 7))]
"""Episodes of one, two, three and seven steps: the sub-environments are hardly ever at the same point."""


def scripted(space=None):
    return [lambda rewards=rewards: Scripted(rewards, space=space) for rewards in SCRIPTS]


def batched(fns, mode, memory, welfare, **options):
    envs = VectorRememberRewards(VectorRewards(fns, mode), memory, **options)
    return VectorFairReward(envs, memory, welfare, 0.7)


def side_by_side(fns, mode, memory, welfare, **options):
    wrapped = [lambda fn=fn: FairReward(RememberRewards(fn(), memory, **options), memory, welfare, 0.7) for fn in fns]
    return SyncVectorEnv(wrapped, autoreset_mode=mode)


def assert_alike(left, right, steps, exact=True, seed=5):
    """Step by step the same observations, rewards, ends and infos, resetting by mask where nothing else does."""
    left.action_space.seed(seed)
    assert left.observation_space == right.observation_space
    assert left.single_observation_space == right.single_observation_space
    assert same(left.reset(seed=seed), right.reset(seed=seed), exact)
    for _ in range(steps):
        actions = left.action_space.sample()
        here, there = left.step(actions), right.step(actions)
        assert left.observation_space.contains(here[0])
        assert final_observations_are_the_same(here[-1], there[-1], exact)
        assert same(here, there, exact)
        ended = here[2] | here[3]
        if left.metadata["autoreset_mode"] is DISABLED and ended.any():
            options = {"reset_mask": ended}
            assert same(left.reset(options=options), right.reset(options=dict(options)), exact)
            assert options["reset_mask"] is ended


def final_observations_are_the_same(here, there, exact):
    """Takes them out of the infos, as Gymnasium's comparison knows no arrays of objects."""
    nothing = np.array([])
    finals = zip(here.pop("final_obs", nothing), there.pop("final_obs", nothing), strict=True)
    return all(same(left, right, exact) for left, right in finals)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_batch_is_its_single_environments_for_every_memory(memory, mode):
    memory = memory(3)
    arguments = (scripted(), mode, memory, "egalitarian")
    # A matrix times a batch rounds differently from the matrix times each of its rows.
    exact = not isinstance(memory, bygones.Linear)
    assert_alike(batched(*arguments), side_by_side(*arguments), steps=40, exact=exact)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("space", [Discrete(9), Box(0, 9, (2, 2), dtype=np.uint8)], ids=["dict", "flat"])
def test_batch_is_its_single_environments_for_every_layout(space, mode):
    arguments = (scripted(space), mode, AVERAGED, "log_nash")
    options = {"observe_denominator": True}
    assert_alike(batched(*arguments, **options), side_by_side(*arguments, **options), steps=40)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", REPLAYABLE)
def test_batch_is_its_single_environments_for_other_peoples(name, mode):
    fns = [lambda: gym.wrappers.TimeLimit(make(name), 11), lambda: gym.wrappers.TimeLimit(make(name), 4)] * 2
    welfare = welfare_for(name)
    assert_alike(*(kind(fns, mode, DISCOUNTED, welfare, horizon=11) for kind in (batched, side_by_side)), steps=40)


@pytest.mark.parametrize("name", IDS)
def test_mo_gymnasiums_own_vector_environment(name):
    envs = MOSyncVectorEnv([lambda: make(name)] * 3)
    envs = VectorFairReward(VectorRememberRewards(envs, AVERAGED), AVERAGED, welfare_for(name), 0.5)
    envs.action_space.seed(0)
    observations, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    for _ in range(210):
        observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
        assert envs.observation_space.contains(observations)
        assert rewards.shape == (3,)
        ended = terminations | truncations
        if ended.any():
            np.testing.assert_array_equal(infos["_episode_metrics"], ended)
            assert ("gini" in infos["episode_metrics"]) == (name in NON_NEGATIVE or name in BURDENS)


def test_composes_with_mo_gymnasiums_episode_statistics():
    envs = VectorRewards(scripted())
    envs = VectorFairReward(MORecordEpisodeStatistics(envs), DISCOUNTED, "log_nash", 0.5)
    envs.reset(seed=0)
    infos = envs.step(envs.action_space.sample())[-1]
    np.testing.assert_array_equal(infos["episode_metrics"]["_gini"], [True, False, False, False])
    np.testing.assert_allclose(infos["episode"]["r"][0], infos["cumulative"][0], rtol=1e-6)


# --- one short story per mode, written out by hand ---


def story(mode):
    """One sub-environment with episodes of two steps, utilities (1, 0) then (0, 1), and perfect recall."""
    envs = VectorRewards([lambda: Scripted([[1.0, 0.0], [0.0, 1.0]])], mode)
    envs = VectorRememberRewards(envs, bygones.PerfectRecall(), observe_denominator=True)
    return VectorFairReward(envs, bygones.PerfectRecall(), "egalitarian", 1.0)


def test_next_step_the_step_after_the_last_one_empties_the_memory():
    envs = story(NEXT_STEP)
    assert envs.reset()[0].tolist() == [[0, 0, 0, 0]]
    steps = [envs.step([0]) for _ in range(4)]
    assert [step[0].tolist() for step in steps] == [[[1, 1, 0, 1]], [[2, 1, 1, 2]], [[0, 0, 0, 0]], [[1, 1, 0, 1]]]
    assert [float(step[1][0]) for step in steps] == [0, 1, 0, 0]
    assert "utilities" not in steps[2][-1]
    np.testing.assert_array_equal(steps[1][-1]["episode_metrics"]["gini"], [0])
    np.testing.assert_array_equal(steps[1][-1]["cumulative"], [[1, 1]])
    np.testing.assert_array_equal(steps[3][-1]["cumulative"], [[1, 0]])


def test_same_step_the_last_step_shows_the_old_memory_as_final_and_the_new_one_empty():
    envs = story(SAME_STEP)
    envs.reset()
    steps = [envs.step([0]) for _ in range(3)]
    assert [step[0].tolist() for step in steps] == [[[1, 1, 0, 1]], [[0, 0, 0, 0]], [[1, 1, 0, 1]]]
    assert [float(step[1][0]) for step in steps] == [0, 1, 0]
    infos = steps[1][-1]
    assert infos["final_obs"][0].tolist() == [2, 1, 1, 2]
    np.testing.assert_array_equal(infos["final_info"]["memory"], [[1, 1]])
    np.testing.assert_array_equal(infos["final_info"]["episode_metrics"]["welfare"], [1])
    assert "memory" not in infos


def test_disabled_only_the_mask_empties_a_memory():
    envs = VectorRememberRewards(VectorRewards([lambda: Scripted(np.ones((9, 2)))] * 3, DISABLED), DISCOUNTED)
    envs.reset()
    envs.step([0, 0, 0])
    observations, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert observations.tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 1]]


def test_reset_in_the_middle_cancels_a_pending_autoreset():
    envs = story(NEXT_STEP)
    envs.reset()
    envs.step([0])
    envs.step([0])
    envs.reset()
    assert envs.step([0])[0].tolist() == [[1, 1, 0, 1]]


# --- copies, and what is refused ---


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_wrappers_state_copies(twin):
    envs = VectorFairReward(VectorRewards(scripted()), DISCOUNTED, "log_nash", 0.5)
    envs.reset(seed=0)
    envs.step([0] * 4)
    envs.env = None  # the vector environment holds the functions that made it, which do not pickle
    held = twin(envs)._fairness.step_record()
    assert same(held, envs._fairness.step_record(), exact=True)


def test_infos_share_no_arrays_with_the_wrapper():
    envs = VectorFairReward(VectorRewards(scripted()), bygones.PerfectRecall(), "utilitarian", 0.5)
    envs.reset()
    for value in envs.step([0] * 4)[-1].values():
        value[...] = 1
    infos = envs.step([0] * 4)[-1]
    np.testing.assert_array_equal(infos["cumulative"][3], SCRIPTS[3][:2].sum(axis=0))


def test_environment_that_does_not_say_how_it_resets_is_refused():
    envs = VectorRewards(scripted())
    envs.metadata = {}
    for wrapper, settings in [(VectorRememberRewards, ()), (VectorFairReward, ("log_nash", 0.5))]:
        with pytest.raises(ValueError, match=r"autoreset_mode.*NEXT_STEP, AutoresetMode.SAME_STEP.*got None"):
            wrapper(envs, DISCOUNTED, *settings)


def test_vector_environment_with_scalar_rewards_is_refused():
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
    with pytest.raises(ValueError, match="env must have a vector reward"):
        VectorRememberRewards(envs, DISCOUNTED)
    envs = VectorRememberRewards(envs, DISCOUNTED, reward_space=Box(0, 1, (2,)))
    envs.reset()
    with pytest.raises(ValueError, match=r"vector reward of shape \(2, 2\), got shape \(2,\)"):
        envs.step([0, 0])


def test_welfare_is_checked_against_the_signs_of_the_rewards():
    envs = MOSyncVectorEnv([lambda: make("minecart-v0")])
    with pytest.raises(ValueError, match=r"negative rewards in component 2 \(from -1\)"):
        VectorFairReward(envs, DISCOUNTED, "log_nash", 0.5)
