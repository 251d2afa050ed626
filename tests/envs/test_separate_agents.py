"""Our scenarios whose agents decide separately, as parallel environments of PettingZoo."""

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import bygones
from bygones.envs import catalogue
from bygones.envs.env import FairEnv
from bygones.envs.separate import SeparateAgents
from bygones.envs.wrappers import FairParallel
from support.separate_agents import parallel_api_test, parallel_seed_test

SEPARATE = ("job_scheduling", "matthew", "plant")
MEMORY = bygones.Discounted(half_life=10)
FEW = {"job_scheduling": {"n": 3}, "matthew": {"n": 3}, "plant": {"requirements": ((1, 0, 0), (1, 1, 0), (0, 1, 0))}}


def made(name, **parameters):
    return SeparateAgents(name, horizon=15, **FEW[name], **parameters)


def test_these_are_all_of_them():
    assert [name for name in catalogue.names() if catalogue.made(name, {}).n_choices] == list(SEPARATE)


@pytest.mark.parametrize("control", ["go", "moves"])
@pytest.mark.parametrize("name", SEPARATE)
def test_they_pass_the_tests_of_pettingzoo(name, control, capsys):
    for make in (
        lambda: made(name, control=control),
        lambda: FairParallel(made(name, control=control), MEMORY, "nash", 0.9),
    ):
        parallel_api_test(make(), num_cycles=40)
        parallel_seed_test(make, num_cycles=40)


@pytest.mark.parametrize("name", SEPARATE)
def test_they_play_the_episode_in_which_one_policy_decides_for_all(name):
    env = FairParallel(made(name, control="moves"), MEMORY, "egalitarian", 0.7)
    together = FairEnv(name, horizon=15, **FEW[name], control="moves", memory=MEMORY, welfare="egalitarian", weight=0.7)
    observations, _ = env.reset(seed=5)
    whole, _ = together.reset(seed=5)
    rng, rows = np.random.default_rng(0), together.scenario.actions()
    while env.agents:
        np.testing.assert_array_equal(env.state(), whole[: -len(observations)])
        for i, seen in enumerate(observations.values()):
            # Of the first feature, and of the memory, its own number comes first.
            n = len(observations)
            assert seen[0] == whole[i]
            np.testing.assert_allclose(seen[-n], whole[-n + i], rtol=1e-6)
            assert sorted(seen.tolist()) == pytest.approx(sorted(whole.tolist()), rel=1e-6)
        action = int(rng.integers(len(rows)))
        observations, rewards, _, truncations, infos = env.step(
            {agent: int(move) for agent, move in zip(env.agents, rows[action], strict=True)}
        )
        whole, reward, _, truncated, info = together.step(action)
        assert list(rewards.values()) == pytest.approx([reward] * len(rewards))
        assert [info["utility"] for info in infos.values()] == info["utilities"].tolist()
        assert set(truncations.values()) == {truncated}


@pytest.mark.parametrize("name", SEPARATE)
def test_observations_rewards_and_state_stay_within_their_spaces(name):
    env = made(name, control="moves")
    env.reset(seed=1)
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
        assert all(env.observation_space(agent).contains(seen) for agent, seen in observations.items())
        assert env.reward_space.contains(np.array(list(rewards.values())))
        assert env.state_space.contains(env.state())


def test_ten_agents_with_five_moves_each_decide_separately_as_in_the_original():
    env = SeparateAgents("matthew", horizon=3, control="moves")
    observations, _ = env.reset(seed=0)
    assert len(observations) == 10
    while env.agents:
        _, rewards, *_ = env.step(dict.fromkeys(env.agents, 1))
    assert len(rewards) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SeparateAgents("donut"),
            "one policy decides for all agents; they decide separately in job_scheduling,",
        ),
        (
            lambda: SeparateAgents(made("plant").scenario, n=3),
            "give the parameters of a scenario to the scenario itself",
        ),
        (lambda: started().step({"agent_0": 0}), "actions must have a choice for each agent, but agent_1 and agent_2"),
        (
            lambda: started().step({f"agent_{i}": 2 for i in range(3)}),
            "actions must be whole numbers from 0 to 1, got 2 of agent_0",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_step_without_an_episode_is_refused():
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        made("matthew").step({})


def started():
    env = made("job_scheduling")
    env.reset(seed=0)
    return env
