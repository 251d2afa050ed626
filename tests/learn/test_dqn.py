"""DQN: targets by hand, steps with other memories against the environment itself, and what is kept."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import Discounted
from bygones.envs.needs import uniform
from bygones.envs.problem import FairProblem, problem_of
from bygones.envs.scenarios.queues import Queues
from bygones.learn import Run, Settings, TrainedPolicy, dqn, iterations, runs
from bygones.learn.dqn import DQN, Batch, Learning, Moves
from bygones.learn.greedy import Greedy
from bygones.learn.networks import Layer, Networks, apply
from support.probe import FIRST, SECOND, Probe, ProbeParams, rewards

NUMBERS = runs.numbers_of(Settings(discount=0.5))
SETTINGS = Settings(learner="dqn", rollout_steps=8, batch_size=4, update_every=2, replay_size=6, hidden=(5,))
PAPER = problem_of(n_resources=1, horizon=5, memory=Discounted(gamma=0.9), needs=uniform(3), welfare="nash")
QUEUES = FairProblem(Queues(horizon=5, arrivals=(0.5, 0.3, 0.9), n_servers=1), welfare="egalitarian")


def linear(*rows: list[float]) -> tuple[Layer, ...]:
    """A network of one layer, with one row of weights per input."""
    return (Layer(jnp.array(rows), jnp.zeros(len(rows[0]))),)


def test_targets_and_loss_by_hand() -> None:
    networks = Networks(policy=linear([1.0, 2.0], [0.0, 0.0]), value=linear([0.0, 0.0], [3.0, -1.0]))
    batch = Batch(
        observations=jnp.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]),
        actions=jnp.array([0, 1, 1]),
        rewards=jnp.array([1.0, 2.0, 0.5]),
        terminated=jnp.array([False, True, False]),
        reached=jnp.array([[0.0, 1.0], [0.0, 1.0], [0.0, -2.0]]),
    )
    np.testing.assert_allclose(dqn.targets_of(networks, batch, NUMBERS), [1 + 0.5 * 3, 2.0, 0.5 + 0.5 * 2])
    # The values are 1, 4 and 2, which is off by -1.5, 2 and 0.5: two of them are on the straight part.
    loss, gradient = jax.value_and_grad(dqn.loss_of)(networks, batch, NUMBERS)
    assert loss == pytest.approx((1.0 + 1.5 + 0.125) / 3)
    np.testing.assert_allclose(gradient.policy[0].weight[0], [-1 / 3, (2.0 + 0.5) / 3], rtol=1e-6)
    assert not np.any(gradient.value[0].weight)


def test_exploration_falls_to_its_end() -> None:
    learner = DQN.of(SETTINGS.replace(exploration_share=0.5, exploration_end=0.1))
    chances = [float(learner.exploration(jnp.float32(done))) for done in (0.0, 0.25, 0.5, 1.0)]
    assert chances == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_the_policy_takes_the_best_action_and_now_and_then_any() -> None:
    actor = Greedy(2, 4, (5,), 0.2)
    networks = actor.initial(0)
    seen = np.array([0.5, -1.0], np.float32)
    values = apply(networks.policy, seen)
    chances = np.exp(actor.scores(networks, seen))
    assert chances[values.argmax()] == pytest.approx(0.85)
    assert sorted(chances)[:3] == pytest.approx([0.05] * 3)
    assert actor.value(networks, seen) == pytest.approx(values.max())
    settings = SETTINGS.replace(n_agents=4, n_resources=1, n_advantaged=0, exploration_end=0.2)
    policy = TrainedPolicy(settings, Greedy(8, 4, (5,), 0.2).initial(0))
    assert sorted(policy(np.ones(8)))[-1] == pytest.approx(0.85)


def states(problem: FairProblem, count: int) -> tuple[Any, Any, Any, list[Any], list[Any], list[jax.Array]]:
    """An environment, its numbers and noise, and states along one episode with the actions between them."""
    run = Run(SETTINGS, problem)
    env, params = runs.shape_of(run).environment, runs.params_of(run)
    noise = env.noise(jax.random.key(0), count)
    advance = jax.jit(env.advance)
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], noise) for i in range(count)]
    visited, actions = [env.start(each[0], params)], []
    for i in range(1, count):
        actions.append(jnp.int32((i * i) % problem.scenario.n_actions))
        visited.append(advance(each[i], visited[-1], actions[-1], params))
    return env, params, advance, each, visited, actions


@pytest.mark.parametrize("problem", [PAPER, QUEUES], ids=["paper", "queues"])
def test_a_step_with_another_memory_is_what_the_environment_would_have_done(problem: FairProblem) -> None:
    env, params, advance, noise, visited, actions = states(problem, 5)
    imagined = jax.jit(functools.partial(dqn.with_memory, params=params, env=env))
    changed = 0
    for i, action in enumerate(actions):
        move = Moves(visited[i], action, visited[i + 1])
        for other in visited:
            before = visited[i]._replace(memory=other.memory)
            really = advance(noise[i + 1], before, action, params)
            found = imagined(move, other.memory)
            for a, b in zip(*map(jax.tree.leaves, (found, Moves(before, action, really))), strict=True):
                is_total = a.shape == visited[i].cumulative.shape and np.allclose(a, move.after.cumulative)
                assert is_total or np.allclose(a, b, rtol=1e-6)
            changed += not np.allclose(env.observe(found.after, params), env.observe(move.after, params))
    assert changed > 5


def kept(problem: FairProblem) -> tuple[Any, Any, Moves, Any]:
    env, params, _, _, visited, actions = states(problem, 5)
    stack = functools.partial(jax.tree.map, lambda *leaves: jnp.stack(leaves))
    shape = runs.shape_of(Run(SETTINGS, problem))
    return env, params, Moves(stack(*visited[:-1]), jnp.stack(actions), stack(*visited[1:])), shape


@pytest.mark.parametrize("others", [0, 2])
def test_batches_are_of_steps_that_were_kept_and_of_other_memories(others: int) -> None:
    env, params, moves, shape = kept(PAPER)
    learner = DQN.of(SETTINGS.replace(counterfactuals=others))
    networks = shape.actor.initial(0)
    now = Learning(networks, iterations.Adam(networks, networks, 0), None, None, moves, jnp.int32(3))
    batch = jax.jit(functools.partial(learner.batch, params=params, shape=shape))(now, jax.random.key(1))
    imagined = jax.jit(functools.partial(dqn.with_memory, params=params, env=env))
    reward, observe = jax.jit(env.reward), jax.jit(env.observe)
    assert batch.observations.shape == (4 * (1 + others), 6)
    seen = np.asarray(jax.vmap(env.observe, in_axes=(0, None))(moves.before, params))
    needs, memories = seen[:3, :3], seen[:3, 3:]  # only three are there yet
    for i, row in enumerate(np.asarray(batch.observations)):
        (which,) = np.flatnonzero((needs == row[:3]).all(axis=1))
        assert batch.actions[i] == moves.actions[which]
        (whose,) = np.flatnonzero(np.isclose(memories, row[3:]).all(axis=1))
        assert i % (1 + others) or whose == which
        before, action, after = jax.tree.map(lambda leaf, at=which: leaf[at], moves)
        memory = jax.tree.map(lambda leaf, at=whose: leaf[at], moves.before.memory)
        before, action, after = imagined(Moves(before, action, after), memory)
        assert batch.rewards[i] == pytest.approx(float(reward(before, action, after, params)), rel=1e-4)
        np.testing.assert_allclose(batch.reached[i], observe(after, params), rtol=1e-5)


def test_the_newest_steps_are_kept() -> None:
    learner, shape = DQN.of(SETTINGS), runs.shape_of(Run(SETTINGS, PAPER))
    params = runs.params_of(Run(SETTINGS, PAPER))
    networks = jax.tree.map(jnp.asarray, shape.actor.initial(0))
    begun = learner.begin(jax.random.key(0), networks, params, shape)
    now = Learning(networks, begun.adam, begun.environment, None, begun.kept, jnp.int32(0))
    explored = jax.jit(functools.partial(learner.explored, params=params, numbers=NUMBERS, shape=shape))
    taken = []
    for turn in range(4):
        noise_key, action_key = jax.random.split(jax.random.key(turn))
        gumbel = jax.random.gumbel(action_key, (2, 3))
        now, moves = explored(now, shape.environment.noise(noise_key, 2), gumbel)
        taken += np.asarray(moves.before.world.needs).tolist()
    assert now.steps == 8
    # Six places: the last two steps took those of the first two.
    np.testing.assert_allclose(now.kept.before.world.needs, [*taken[6:], *taken[2:6]])
    np.testing.assert_allclose(now.kept.after.t, [2, 3, 3, 4, 5, 1])


def test_the_copy_for_targets_follows_now_and_then() -> None:
    _, params, moves, shape = kept(PAPER)
    learner = DQN.of(SETTINGS.replace(target_every=5))
    networks = jax.tree.map(jnp.asarray, shape.actor.initial(0))
    zeros = jax.tree.map(jnp.zeros_like, networks)
    adam = iterations.Adam(zeros, zeros, jnp.zeros((), jnp.int32))
    update = jax.jit(functools.partial(learner.updated, params=params, numbers=NUMBERS, shape=shape))

    def weights(steps: int) -> tuple[Any, Any]:
        now, _ = update(Learning(networks, adam, None, None, moves, jnp.int32(steps)), jax.random.key(0))
        return now.networks.policy[0].weight, now.networks.value[0].weight

    first = networks.policy[0].weight
    for steps, learns, copies in ((2, False, False), (4, True, False), (6, True, True), (8, True, False)):
        policy, target = weights(steps)
        assert np.array_equal(policy, first) is not learns
        assert np.array_equal(target, policy if copies else first)


@pytest.mark.soak
def test_known_values_are_learned() -> None:
    """The first step pays half an action, the second a whole one, and it is discounted by 0.9."""
    learner = DQN(512, 4, 32, 1.0, 0.1, 0)
    actor = Greedy(Probe.observation_size, Probe.n_actions, (16,), 0.1)
    shape = iterations.Shape(Probe(), actor, learner, 128, 32, 1, entropy=False, flat=True, unroll=1)
    of_both = rewards(lambda t, context, first, action: action * (0.5 + 0.5 * t))
    params = ProbeParams(of_both, np.int32(2), np.bool_(False), np.int32(3))
    numbers = NUMBERS._replace(learning_rate=np.float32(1e-2), discount=np.float32(0.9), rollouts=np.int32(30))
    start = jax.tree.map(jnp.asarray, actor.initial(0))
    program = jax.jit(functools.partial(iterations.segment, shape=shape, most=30))
    end, _ = program(learner.begin(jax.random.key(0), start, params, shape), params, numbers, 30)
    assert int(end.rollouts) == 30
    first, second = (np.asarray(apply(end.networks.policy, seen)) for seen in (FIRST, SECOND))
    assert second == pytest.approx([0.0, 1.0], abs=0.05)
    assert first == pytest.approx([0.9, 1.4], abs=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update_every": 3}, r"update_every must divide rollout_steps \(8\), got 3"),
        ({"replay_size": 7}, r"replay_size must be a multiple of update_every \(2\) and at least batch_size \(4\)"),
        ({"replay_size": 2}, "replay_size must be a multiple .* got 2"),
        ({"exploration_end": 0.0}, "exploration_end must be above 0"),
        ({"counterfactuals": -1}, "counterfactuals must be a whole number of at least 0"),
        ({"policy": "symmetric"}, 'learner "dqn" has a value for each action: use policy "mlp"'),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runs.shape_of(SETTINGS.replace(**changes))
