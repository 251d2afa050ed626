"""FairJaxMARL gives what FairParallel gives, in JAX, and JaxMARL's environments run inside it."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bygones
from bygones.envs import wrappers
from support.separate_agents import ScriptedAgents

pytestmark = pytest.mark.soak  # JaxMARL is installed by `make soak`

MEMORIES = {
    "discounted": bygones.Discounted(gamma=0.9),
    "averaged": bygones.Discounted(gamma=0.9, average=True),
    "sliding window": bygones.SlidingWindow(3),
}
LIVES = np.array([3, 8, 5])
REWARDS = np.random.default_rng(0).random((8, 3))
UNIT = gym.spaces.Box(0.0, 1.0, (3,))


@pytest.fixture(scope="module")
def jaxmarl():
    return pytest.importorskip("jaxmarl", reason="JaxMARL is not installed (pip install 'bygones[jaxmarl]')")


@pytest.fixture(scope="module")
def scripted(jaxmarl):
    """The scripted agents in JAX."""
    from jaxmarl.environments import spaces
    from jaxmarl.environments.multi_agent_env import MultiAgentEnv

    class Scripted(MultiAgentEnv):
        def __init__(self):
            super().__init__(num_agents=3)
            self.observation_spaces = {name: spaces.Box(0, 1000, (2,)) for name in self.agents}
            self.action_spaces = {name: spaces.Discrete(2) for name in self.agents}

        def _seen(self, taken):
            return {name: jnp.full(2, taken + i, jnp.float32) for i, name in enumerate(self.agents)}

        def reset(self, key):
            return self._seen(0), jnp.asarray(0)

        def step_env(self, key, state, actions):
            row, taken = jnp.asarray(REWARDS, jnp.float32)[state], state + 1
            dones = {name: taken >= LIVES[i] for i, name in enumerate(self.agents)}
            dones["__all__"] = taken >= len(REWARDS)
            # Rewards of the dead, which must not count.
            return self._seen(taken), taken, {name: row[i] for i, name in enumerate(self.agents)}, dones, {}

    return Scripted


@pytest.mark.parametrize("learners", ["central", "separate"])
@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_it_gives_what_the_wrapper_for_pettingzoo_gives(scripted, memory, learners):
    settings = {"learners": learners, "reward_space": UNIT, "observe_denominator": True}
    env = wrappers.FairJaxMARL(scripted(), memory, "nash", 0.7, **settings)
    also = wrappers.FairParallel(ScriptedAgents(REWARDS, LIVES), memory, "nash", 0.7, **settings)
    key, actions = jax.random.key(0), {name: jnp.asarray(0) for name in env.agents}
    (seen, state), (observations, _) = env.reset(key), also.reset()
    for name in env.agents:
        assert env.observation_space(name) is env.observation_space(name)
        assert env.observation_space(name).shape == also.observation_space(name).shape
    for step in range(2 * len(REWARDS)):
        for name, expected in observations.items():
            np.testing.assert_allclose(seen[name], expected, rtol=1e-5)
        seen, state, rewards, dones, info = env.step(key, state, actions)
        present = list(also.agents)
        observations, expected, *_, infos = also.step(dict.fromkeys(present, 0))
        for i, name in enumerate(env.agents):
            assert float(rewards[name]) == pytest.approx(expected.get(name, 0.0), rel=1e-4, abs=1e-5), step
            if name in present:
                assert float(info["memory"][i]) == pytest.approx(infos[name]["memory"], rel=1e-5)
                assert float(info["cumulative"][i]) == pytest.approx(infos[name]["cumulative"], rel=1e-5)
                assert float(info["welfare_memory"][i]) == pytest.approx(infos[name]["welfare_memory"], rel=1e-4)
        if dones["__all__"]:
            observations, _ = also.reset()
            assert state.present.all()


def test_environments_of_jaxmarl_run_under_vmap_and_scan(jaxmarl):
    env = wrappers.FairJaxMARL(jaxmarl.make("SMAX"), MEMORIES["averaged"], "egalitarian", 0.9, learners="separate")
    assert env.num_agents == 10
    assert env.observation_space("ally_0").shape == (127 + 10,)

    def act(state, key):
        moves, steps = jax.random.split(key)
        keys = jax.random.split(moves, len(env.agents))
        actions = {name: env.action_space(name).sample(keys[i]) for i, name in enumerate(env.agents)}
        observations, state, rewards, dones, info = env.step(steps, state, actions)
        return state, (observations, rewards, dones, info, state.present)

    @jax.jit
    @jax.vmap
    def play(key):
        return jax.lax.scan(act, env.reset(key)[1], jax.random.split(key, 120))[1]

    observations, rewards, dones, info, present = play(jax.random.split(jax.random.key(0), 3))
    assert observations["ally_0"].shape == (3, 120, 137)
    assert observations["world_state"].shape[:2] == (3, 120)
    assert info["memory"].shape == (3, 120, 10)
    assert all(np.isfinite(each).all() for each in rewards.values())
    assert (~present).any()  # some died
    np.testing.assert_array_equal(present[dones["__all__"]], True)


def test_what_is_no_space_is_refused(scripted):
    env = scripted()
    env.observation_spaces["agent_1"] = None
    with pytest.raises(ValueError, match="observations must be a Box, Discrete, MultiDiscrete or Dict of JaxMARL"):
        wrappers.FairJaxMARL(env, MEMORIES["discounted"], "egalitarian", 0.5)


def test_the_wrapper_of_gymnasium_names_this_one(scripted):
    with pytest.raises(ValueError, match="FairJaxMARL for JaxMARL"):
        wrappers.FairReward(scripted(), MEMORIES["discounted"], "egalitarian", 0.5)
