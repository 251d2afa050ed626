r"""Proximal policy optimisation as Stable-Baselines3 computes it, as pure functions in the order of the algorithm.

One iteration collects a rollout of $N$ steps with the current policy, turns its rewards into advantages and returns,
and improves the networks in several epochs of minibatches:

$$ \hat A_t = \delta_t + \gamma\lambda\,\hat A_{t+1}, \qquad \delta_t = r_t + \gamma V(s_{t+1}) - V(s_t), $$

$$ L = -\mathbb{E}\min\bigl(\rho_t \hat A_t,\ \operatorname{clip}(\rho_t, 1-\epsilon, 1+\epsilon)\,\hat A_t\bigr)
     + c_v\,\mathbb{E}(R_t - V(s_t))^2 - c_e\,\mathbb{E}\,H(\pi(\cdot\mid s_t)). $$

$\gamma$ and $\lambda$ here are the learner's, not the memory's and the reward's. `Shape` holds what is fixed when the
program is compiled; everything else is a traced number, so that one program serves every run of a grid.

What makes it fast: all randomness of a rollout is drawn at once; only the policy network is inside the step loop;
observations, values, log-probabilities, rewards and metrics are computed for all steps together, from the states
visited; each epoch gathers its permuted rollout once and then walks through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from bygones.learn.actors import Actor
from bygones.learn.environment import Environment
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser, having_seen, normalised

BETAS = (0.9, 0.999)
LOG_BETAS = (-0.10536051565782628, -0.0010005003335835344)
"""Logarithms of the betas: 1 - βᵗ = -expm1(t·ln β) keeps its digits in float32, where 1 - 0.999 has lost four."""

_TO_COME: Any = None

Tree = TypeVar("Tree")


class Shape(NamedTuple):
    """What is fixed when a program is compiled."""

    environment: Environment
    actor: Actor
    rollout_steps: int
    batch_size: int
    epochs: int
    entropy: bool
    """Whether the entropy bonus is computed at all: it is paid for at every minibatch."""
    flat: bool
    """Whether parameters are one vector while they are updated: faster on CPU, slower on GPU."""
    unroll: int = 4
    """How many steps of the environment are compiled as one turn of the loop."""
    matvec: bool = True
    """Whether the policy inside the step loop uses matrix products, or multiplies and sums."""
    precision: str = "highest"
    """Of matrix products. GPUs would otherwise drop digits (TF32) that large observations need."""
    normalises: bool = False
    """Whether observations are normalised by their running mean and variance."""


class Numbers(NamedTuple):
    """The numbers of a run besides its environment's; all may be traced."""

    discount: jax.Array | np.ndarray | float
    gae_lambda: jax.Array | np.ndarray | float
    clip: jax.Array | np.ndarray | float
    value_weight: jax.Array | np.ndarray | float
    entropy_weight: jax.Array | np.ndarray | float
    max_grad_norm: jax.Array | np.ndarray | float
    learning_rate: jax.Array | np.ndarray | float
    adam_eps: jax.Array | np.ndarray | float
    rollouts: jax.Array | np.ndarray | float
    """After how many rollouts the run is over."""
    first_counted: jax.Array | np.ndarray | float
    """The first episode, counted from 0, of those that the final metrics are taken over."""


class Adam(NamedTuple):
    """The running moments of the gradient, and how many updates they have seen."""

    mean: Any
    square: Any
    count: Any  # named tuples have a method of this name, so mypy takes no narrower type


class Rollout(NamedTuple):
    """What was observed and done, steps along the first axis."""

    observations: jax.Array
    actions: jax.Array
    rewards: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    reached: jax.Array
    """The observation after each step, before a new episode starts."""
    last: jax.Array
    """The observation from which the next rollout will go on."""
    normaliser: Normaliser | None
    """Statistics of all observations so far, the last one included; None if observations are not normalised."""


class Samples(NamedTuple):
    """What the updates learn from: a rollout, steps along the first axis."""

    observations: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    advantages: jax.Array
    returns: jax.Array


class RunState(NamedTuple):
    """The whole state of a run between two rollouts: one that is saved and resumed ends as if it had never stopped."""

    key: jax.Array
    """The data of the key from which every rollout's randomness is drawn."""
    networks: Networks
    adam: Adam
    environment: Any
    rollouts: jax.Array
    """How many rollouts have been learned from."""
    stopped: jax.Array | np.ndarray
    """Whether the loss was not finite; if so, the run stays where it was before that rollout."""
    episodes: jax.Array
    counted: jax.Array
    """How many of the final episodes have ended."""
    counted_sums: dict[str, jax.Array]
    """The sum of each metric over them."""
    normaliser: Normaliser | None = None
    """Statistics of all observations so far; None if observations are not normalised."""


class CurvePoint(NamedTuple):
    """One point of a run's curves: the results of one rollout."""

    episodes: jax.Array
    """How many episodes ended in it."""
    sums: dict[str, jax.Array]
    """The sum of each metric over those episodes."""
    reward: jax.Array
    policy_loss: jax.Array
    value_loss: jax.Array
    explained_variance: jax.Array


def begin(key: jax.Array, networks: Networks, params: Any, shape: Shape) -> RunState:
    """A run before its first rollout."""
    env = shape.environment
    start_key, key = jax.random.split(key)
    first_noise = jax.tree.map(lambda leaf: leaf[0], env.noise(start_key, 1))
    state = env.start(first_noise, params)
    zeros = jax.tree.map(jnp.zeros_like, networks)
    none = jnp.zeros((), jnp.int32)
    metrics = jax.eval_shape(env.metrics, state, params)
    sums = jax.tree.map(lambda metric: jnp.zeros(metric.shape, jnp.float32), metrics)
    adam, stopped = Adam(zeros, zeros, none), jnp.array(False)
    nothing_seen = Normaliser.empty(env.observation_size) if shape.normalises else None
    seen = having_seen(env.observe(state, params), nothing_seen)
    return RunState(jax.random.key_data(key), networks, adam, state, none, stopped, none, none, sums, seen)


def segment(
    state: RunState, params: Any, numbers: Numbers, count: jax.Array, shape: Shape, most: int
) -> tuple[RunState, CurvePoint]:
    """`count` iterations of a run, at most `most`; a run that is over or stopped stays as it is."""

    def body(i: jax.Array, carry: tuple[RunState, CurvePoint]) -> tuple[RunState, CurvePoint]:
        state, curves = carry
        state, curve = iterate(state, params, numbers, shape)
        return state, jax.tree.map(lambda all_, one: all_.at[i].set(one), curves, curve)

    with jax.default_matmul_precision(shape.precision):
        one = jax.eval_shape(lambda s: iterate(s, params, numbers, shape)[1], state)
        curves = jax.tree.map(lambda leaf: jnp.zeros((most, *leaf.shape), leaf.dtype), one)
        result: tuple[RunState, CurvePoint] = jax.lax.fori_loop(0, count, body, (state, curves))
    return result


def iterate(state: RunState, params: Any, numbers: Numbers, shape: Shape) -> tuple[RunState, CurvePoint]:
    """One rollout and the updates that learn from it."""
    samples, order, onward, curve = experience(state, params, numbers, shape)
    learned = improve(state.networks, state.adam, samples, order, numbers, shape)
    return settle(state, onward, curve, *learned, numbers)


def experience(
    state: RunState, params: Any, numbers: Numbers, shape: Shape
) -> tuple[Samples, jax.Array, RunState, CurvePoint]:
    """One rollout: its samples, the orders in which to learn from them, the run after it, and its point on the curves.

    What the updates compute is not filled in yet: networks and moments of the run, losses on the curves.
    """
    env = shape.environment
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rollouts)
    collect_key, order_key = jax.random.split(key)
    rollout, after, last = collect(
        collect_key, state.networks, state.environment, params, shape, normaliser=state.normaliser
    )
    samples, values = samples_of(state.networks, rollout, numbers, shape)
    order = permutations(order_key, shape)

    over = rollout.terminated | rollout.truncated
    metrics = jax.vmap(env.metrics, in_axes=(0, None))(after, params)
    index = state.episodes + jnp.cumsum(over) - over
    counted = over & (index >= numbers.first_counted)
    ended_sums, counted_sums = (_sum_where(which, metrics) for which in (over, counted))
    onward = state._replace(
        networks=_TO_COME,
        adam=_TO_COME,
        environment=last,
        rollouts=state.rollouts + 1,
        episodes=state.episodes + over.sum(),
        counted=state.counted + counted.sum(),
        counted_sums=jax.tree.map(jnp.add, state.counted_sums, counted_sums),
        normaliser=rollout.normaliser,
    )
    unexplained = jnp.var(samples.returns - values) / jnp.var(samples.returns)
    curve = CurvePoint(over.sum(), ended_sums, rollout.rewards.mean(), _TO_COME, _TO_COME, 1.0 - unexplained)
    return samples, order, onward, curve


def settle(
    state: RunState,
    onward: RunState,
    curve: CurvePoint,
    networks: Networks,
    adam: Adam,
    losses: jax.Array,
    numbers: Numbers,
) -> tuple[RunState, CurvePoint]:
    """The run after a rollout and its updates; one that was over, or whose loss is not finite, stays where it was."""
    going = jnp.logical_not(state.stopped) & (state.rollouts < numbers.rollouts)
    finite = jnp.isfinite(losses).all() & _all_finite(networks)
    improved = onward._replace(networks=networks, adam=adam)
    kept: RunState = jax.tree.map(lambda new, old: jnp.where(going & finite, new, old), improved, state)
    stopped = state.stopped | (going & jnp.logical_not(finite))
    return kept._replace(stopped=stopped), curve._replace(policy_loss=losses[0], value_loss=losses[1])


def collect(
    key: jax.Array, networks: Networks, state: Any, params: Any, shape: Shape, normaliser: Normaliser | None = None
) -> tuple[Rollout, Any, Any]:
    """One rollout from a state on; also the states after each step, and the one from which the next rollout goes on.

    With a normaliser, whose statistics include the observation of this state, every observation that a step is taken
    from is added to them before it is shown. The end of an episode is shown as the start that follows it is.
    """
    env, actor, steps = shape.environment, shape.actor, shape.rollout_steps
    noise_key, action_key = jax.random.split(key)
    noise = env.noise(noise_key, steps)
    # The best action for scores plus Gumbel noise is a draw: the largest logit, from their softmax.
    gumbel = jax.random.gumbel(action_key, (steps, actor.n_scores))

    def restart(noise: Any, after: Any) -> Any:
        terminated, truncated = env.ends(after, params)
        fresh = env.start(noise, params)
        return jax.tree.map(lambda new, old: jnp.where(terminated | truncated, new, old), fresh, after)

    def step(carry: tuple[Any, Normaliser | None], drawn: tuple[Any, jax.Array]) -> tuple[Any, Any]:
        (state, normaliser), (noise, gumbel) = carry, drawn
        seen = normalised(env.observe(state, params), normaliser)
        action = actor.best(actor.scores(networks, seen, matvec=shape.matvec) + gumbel)
        after = env.advance(noise, state, action, params)
        following = restart(noise, after)
        onward = having_seen(env.observe(following, params), normaliser)
        return (following, onward), (action, after, onward)

    start = (state, normaliser)
    (last, latest), (actions, after, onward) = jax.lax.scan(step, start, (noise, gumbel), unroll=shape.unroll)
    following = jax.vmap(restart)(noise, after)
    shifted = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), start, (following, onward))
    before, normalisers = shifted
    observe, show = jax.vmap(env.observe, in_axes=(0, None)), jax.vmap(normalised)
    terminated, truncated = jax.vmap(env.ends, in_axes=(0, None))(after, params)
    rollout = Rollout(
        observations=show(observe(before, params), normalisers),
        actions=actions,
        rewards=jax.vmap(env.reward, in_axes=(0, 0, 0, None))(before, actions, after, params),
        terminated=terminated,
        truncated=truncated,
        reached=show(observe(after, params), onward),
        last=normalised(env.observe(last, params), latest),
        normaliser=latest,
    )
    return rollout, after, last


def samples_of(networks: Networks, rollout: Rollout, numbers: Numbers, shape: Shape) -> tuple[Samples, jax.Array]:
    """The samples of a rollout, and the values that its advantages are measured against."""
    actor = shape.actor
    values, reached = (actor.value(networks, seen) for seen in (rollout.observations, rollout.reached))
    # An episode that was cut off would have gone on: the value of where it stood stands for the rest.
    rewards = rollout.rewards + jnp.where(rollout.truncated, numbers.discount * reached, 0.0)
    over = rollout.terminated | rollout.truncated
    advantages = gae(rewards, values, over, actor.value(networks, rollout.last), numbers)
    log_probs = actor.log_prob(actor.scores(networks, rollout.observations), rollout.actions)
    return Samples(rollout.observations, rollout.actions, log_probs, advantages, advantages + values), values


def gae(rewards: jax.Array, values: jax.Array, over: jax.Array, last_value: jax.Array, numbers: Numbers) -> jax.Array:
    """Generalised advantage estimates; nothing flows back across the end of an episode."""
    goes_on = jnp.where(over, 0.0, numbers.discount)
    following = jnp.concatenate([values[1:], last_value[None]])
    surprise = rewards + goes_on * following - values

    def chain(later: tuple[jax.Array, jax.Array], sooner: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return later[0] * sooner[0], sooner[1] + sooner[0] * later[1]

    advantages: jax.Array = jax.lax.associative_scan(chain, (goes_on * numbers.gae_lambda, surprise), reverse=True)[1]
    return advantages


def permutations(key: jax.Array, shape: Shape) -> jax.Array:
    """One random order of the rollout's steps per epoch.

    Sorts numbers whose high bits are random and whose low bits are the step: sorting one array of whole numbers
    is several times faster than sorting pairs. Equal high bits (a chance of 2⁻²¹ per pair) keep their order.
    """
    steps = shape.rollout_steps
    bits = (steps - 1).bit_length()
    drawn = jax.random.bits(key, (shape.epochs, steps), jnp.uint32)
    tagged = (drawn << bits) | jnp.arange(steps, dtype=jnp.uint32)
    return (jnp.sort(tagged, axis=-1) & ((1 << bits) - 1)).astype(jnp.int32)


def improve(
    networks: Networks, adam: Adam, samples: Samples, order: jax.Array, numbers: Numbers, shape: Shape
) -> tuple[Networks, Adam, jax.Array]:
    """Epochs of minibatches in the given order, shape (epochs, steps); also the mean policy and value loss."""
    pack, unpack = _packing(networks, shape.flat)

    def update(carry: tuple[Any, Adam], batch: Samples) -> tuple[tuple[Any, Adam], jax.Array]:
        weights, adam = carry
        gradient, losses = jax.grad(loss, has_aux=True)(unpack(weights), batch, numbers, shape)
        return adam_step(weights, adam, clip_by_norm(pack(gradient), numbers.max_grad_norm), numbers), losses

    def epoch(carry: tuple[Any, Adam], order: jax.Array) -> tuple[tuple[Any, Adam], jax.Array]:
        batches = jax.tree.map(lambda leaf: leaf[order].reshape(-1, shape.batch_size, *leaf.shape[1:]), samples)
        return jax.lax.scan(update, carry, batches)

    start = (pack(networks), Adam(pack(adam.mean), pack(adam.square), adam.count))
    (weights, moments), losses = jax.lax.scan(epoch, start, order)
    mean, square = unpack(moments.mean), unpack(moments.square)
    return unpack(weights), Adam(mean, square, moments.count), losses.mean(axis=(0, 1))


def loss(networks: Networks, batch: Samples, numbers: Numbers, shape: Shape) -> tuple[jax.Array, jax.Array]:
    """The loss L of a minibatch; beside it the policy's and the value's part."""
    advantages = normalise(batch.advantages)
    scores = shape.actor.scores(networks, batch.observations)
    ratio = jnp.exp(shape.actor.log_prob(scores, batch.actions) - batch.log_probs)
    clipped = jnp.clip(ratio, 1.0 - numbers.clip, 1.0 + numbers.clip)
    policy_loss = -jnp.minimum(advantages * ratio, advantages * clipped).mean()
    values = shape.actor.value(networks, batch.observations)
    value_loss = ((batch.returns - values) ** 2).mean()
    total = policy_loss + numbers.value_weight * value_loss
    if shape.entropy:
        total -= numbers.entropy_weight * shape.actor.entropy(scores, batch.actions).mean()
    return total, jnp.stack([policy_loss, value_loss])


def normalise(advantages: jax.Array) -> jax.Array:
    """Advantages of a minibatch with mean 0 and sample standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)


def clip_by_norm(gradient: Tree, max_norm: jax.Array | np.ndarray | float) -> Tree:
    """The gradient, scaled down if its global norm is above `max_norm`; as torch does, a millionth too much."""
    norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
    factor = jnp.minimum(max_norm / (norm + 1e-6), 1.0)
    clipped: Tree = jax.tree.map(lambda leaf: leaf * factor, gradient)
    return clipped


def adam_step(weights: Tree, adam: Adam, gradient: Tree, numbers: Numbers) -> tuple[Tree, Adam]:
    """One step of Adam, with ε beside the corrected root as in torch."""
    count = adam.count + 1
    mean = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, adam.mean, gradient)
    square = jax.tree.map(lambda s, g: BETAS[1] * s + (1 - BETAS[1]) * g * g, adam.square, gradient)
    seen_mean, seen_square = (-jnp.expm1(count * log_beta) for log_beta in LOG_BETAS)
    rate, root = numbers.learning_rate / seen_mean, jax.lax.rsqrt(seen_square)
    moved: Tree = jax.tree.map(
        lambda w, m, s: w - rate * m / (jnp.sqrt(s) * root + numbers.adam_eps), weights, mean, square
    )
    return moved, Adam(mean, square, count)


def _packing(networks: Networks, flat: bool) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How parameters are held while they are updated, and how they are read."""
    if flat:
        return lambda tree: ravel_pytree(tree)[0], ravel_pytree(networks)[1]
    return lambda tree: tree, lambda tree: tree


def _sum_where(which: jax.Array, metrics: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return {name: jnp.where(which, metric, 0.0).sum() for name, metric in metrics.items()}


def _all_finite(tree: Any) -> jax.Array:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]).all()
