"""The memories that people use beside the paper's work wherever a memory is taken."""

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import simulation, welfare
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.envs import functional, needs
from bygones.envs.problem import problem_of
from bygones.envs.vector_env import FairVectorEnv
from bygones.envs.wrappers import FairReward, RememberRewards
from bygones.learn import Settings, TrainedPolicy, evaluate, train
from bygones.memory import Capped, Discounted, PerfectRecall, Relative
from support.brute_force import best, candidates
from support.other_memories import MEMORIES
from support.vector_rewards import make as make_env

every_memory = pytest.mark.parametrize("make", MEMORIES.values(), ids=MEMORIES)
AMONG = ["egalitarian", "nash", "log_nash", "utilitarian", "generalized_gini", "alpha_fair(alpha=2)"]


def after(memory, history):
    state = memory.init(len(history[0]))
    for utilities in history:
        state = memory.update(state, np.asarray(utilities, dtype=float))
    return state


@every_memory
def test_in_the_environment(make):
    memory = make(3)
    env = gym.make("bygones.envs:bygones/Allocation-v0", memory=memory, n_agents=3, n_resources=1, horizon=20)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    state = memory.init(3)
    for step in range(20):
        observation, *_, info = env.step(step % 3)
        state = memory.update(state, info["utilities"])
        seen = np.zeros(3) if memory.forgets_at_once else memory.values(state)  # row 7 of docs/decisions.md
        np.testing.assert_allclose(observation[3:], seen, rtol=1e-6, atol=1e-7)
        assert env.observation_space.contains(observation)
    env.close()


@every_memory
def test_a_batch_of_environments_is_each_of_them(make):
    problem = {"memory": make(3), "n_agents": 3, "n_resources": 1, "horizon": 6}
    many = FairVectorEnv(num_envs=2, **problem)
    many.reset(seed=3)
    alone = [gym.make("bygones/Allocation-v0", **problem) for _ in range(2)]
    for i, env in enumerate(alone):
        env.reset(seed=3 + i)
    for step in range(6):
        seen = many.step(np.array([step % 3, (step + 1) % 3]))[0]
        one_by_one = [env.step((step + i) % 3)[0] for i, env in enumerate(alone)]
        np.testing.assert_allclose(seen, one_by_one, rtol=1e-6, atol=1e-7)


@every_memory
def test_as_pure_functions_under_jit(make):
    memory = make(3)
    problem = problem_of(memory=memory, needs=needs.advantaged(3, 1), n_resources=1, horizon=6)
    params = problem.params()
    state, _ = jax.jit(functional.reset)(jax.random.key(0), params)
    held = memory.init(3)
    for step in range(6):
        result = jax.jit(functional.step)(jax.random.key(step), state, step % 3, params)
        held = memory.update(held, np.asarray(result.info["utilities"], dtype=float))
        state = result.state
    np.testing.assert_allclose(result.info["memory"], memory.values(held), rtol=1e-5, atol=1e-6)


@every_memory
def test_in_the_wrappers(make):
    memory = make(2)
    fair = FairReward(make_env("fishwood-v0"), memory, "egalitarian", 1.0)
    fair.reset(seed=0)
    state, before = memory.init(2), 0.0
    for _ in range(8):
        _, reward, *_, info = fair.step(fair.action_space.sample())
        state = memory.update(state, info["utilities"])
        now = float(np.min(memory.values(state)))
        assert reward == pytest.approx(now - before)
        before = now
    keeps_a_denominator = memory.denominator(state) is not None
    seen = RememberRewards(
        make_env("fishwood-v0"), memory, flatten=False, observe_denominator=keeps_a_denominator, horizon=50
    )
    observation, _ = seen.reset(seed=0)
    np.testing.assert_array_equal(observation["memory"], np.zeros(2))
    for _ in range(20):
        observation, *_ = seen.step(seen.action_space.sample())
        assert seen.observation_space.contains(observation)
    if not keeps_a_denominator:
        with pytest.raises(ValueError, match=r"observe_denominator must be False for \w+ memory"):
            RememberRewards(make_env("fishwood-v0"), memory, observe_denominator=True)


@every_memory
@pytest.mark.parametrize("name", ["one-step", "prices"])
def test_in_the_simulator(make, name):
    memory, three = make(4), needs.advantaged(4, 1)
    policy = simulation.policy_named(name, memory, "egalitarian", three, 2)
    played = simulation.simulate(policy, three, memory, "egalitarian", 40, 2)
    state = memory.init(4)
    for step, utilities in enumerate(played.utilities):
        state = memory.update(state, utilities)
        np.testing.assert_allclose(played.remembered[step], memory.values(state))
    assert played.utilities.sum(axis=0).min() > 0


@every_memory
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(AMONG))
def test_what_allocate_calls_optimal_is(make, seed, name):
    rng, memory = np.random.default_rng(seed), make(5)
    state = after(memory, rng.random((4, 5)) * rng.integers(0, 2, (4, 5)))
    amounts = rng.integers(0, 4, 5).astype(float)
    decision = allocate(ChooseK(amounts, 2), memory, state, name, rng=rng)
    W, Z = best(candidates(amounts, k=2), memory, state, welfare.parse_welfare(name), decided=decision.after)
    assert decision.optimal
    assert decision.welfare_after == pytest.approx(W, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(np.sort(decision.after), Z, rtol=1e-9, atol=1e-9)


@every_memory
def test_large_problems_are_solved_or_refused_in_one_sentence(make):
    memory = make(200)
    state = after(memory, np.random.default_rng(0).random((3, 200)))
    problems = [ChooseK(np.ones(200), 20), Assign(np.ones((200, 20))), Divide(1.0, np.ones(200))]
    if memory.response(state) is None:
        assert isinstance(memory if isinstance(memory, Capped) else memory.memory, Capped)
        sentence = r"^\w+ memory does not say how it responds to utilities .*use a memory that does"
        for problem in problems:
            with pytest.raises(ValueError, match=sentence):
                allocate(problem, memory, state, "log_nash")
    else:
        base = memory.ahead(state, np.zeros(200))
        served = allocate(problems[0], memory, state, "egalitarian").served
        assert len(served) == 20
        assert np.max(base[served]) <= np.min(np.delete(base, served)) + 1e-12


@pytest.mark.parametrize("name", ["egalitarian", "utilitarian", "generalized_gini"])
@given(seed=st.integers(0, 2**32 - 1))
def test_counting_from_the_lowest_changes_no_decision_about_differences(name, seed):
    inside, rng = Discounted(gamma=0.9), np.random.default_rng(seed)
    past, amounts = rng.random((4, 5)), rng.random(5)
    plain, relative = (
        allocate(ChooseK(amounts, 2), memory, after(memory, past), name) for memory in (inside, Relative(inside))
    )
    assert plain.served.tolist() == relative.served.tolist()


def test_counting_from_the_lowest_weighs_the_lowest_more_under_nash_welfare():
    inside, past, amounts = PerfectRecall(), [[100.0, 101.0, 102.0]], [0.5, 1.0, 1.5]
    plain, relative = (
        allocate(ChooseK(amounts, 1), memory, after(memory, past), "log_nash") for memory in (inside, Relative(inside))
    )
    assert (plain.served.tolist(), relative.served.tolist()) == ([2], [0])


@pytest.mark.soak
@every_memory
def test_in_the_learner(make, tmp_path):
    learner = Settings(total_steps=64, horizon=16, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,))
    problem = problem_of(memory=make(3), n_resources=1, horizon=16, needs=needs.uniform(3, 0.25))
    result = train(learner, problem=problem, unroll=1)
    assert np.isfinite(result.final["gini"])
    result.policy.save(tmp_path / "policy.safetensors")
    again = TrainedPolicy.load(tmp_path / "policy.safetensors")
    assert again.problem.memory.matches(problem.memory)
    assert evaluate(again, episodes=2).mean == evaluate(result.policy, episodes=2).mean
