r"""Proximal policy optimisation as Stable-Baselines3 computes it, as pure functions in the order of the algorithm.

One iteration collects a rollout of $N$ steps with the current policy, turns its rewards into advantages and returns,
and improves the networks in several epochs of minibatches:

$$ \hat A_t = \delta_t + \gamma\lambda\,\hat A_{t+1}, \qquad \delta_t = r_t + \gamma V(s_{t+1}) - V(s_t), $$

$$ L = -\mathbb{E}\min\bigl(\rho_t \hat A_t,\ \operatorname{clip}(\rho_t, 1-\epsilon, 1+\epsilon)\,\hat A_t\bigr)
     + c_v\,\mathbb{E}(R_t - V(s_t))^2 - c_e\,\mathbb{E}\,H(\pi(\cdot\mid s_t)). $$

$\gamma$ and $\lambda$ here are the learner's, not the memory's and the reward's.

It is fast for these reasons: all randomness of a rollout is drawn at once; only the policy network is inside the step
loop; observations, values, log-probabilities, rewards and metrics are computed for all steps together, from the states
visited; each epoch gathers its permuted rollout once and then walks through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from bygones.envs.functional import EnvParams
from bygones.learn import iterations
from bygones.learn.iterations import Adam, CurvePoint, Numbers, RunState, Shape, Steps, adam_step, clip_by_norm
from bygones.learn.networks import Networks
from bygones.learn.programs import Tree
from bygones.learn.rollouts import Rollout, collect


class Samples(NamedTuple):
    """The samples of the updates: a rollout, steps along the first axis."""

    observations: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    advantages: jax.Array
    returns: jax.Array
    starts: jax.Array | None = None
    """Whether an episode starts at each step; None where steps are learned from one by one."""


IntoSamples = Callable[[Networks, Rollout, Numbers, Shape], tuple[Samples, jax.Array]]
"""Gives the samples of a rollout, and the values that its advantages are measured against."""

Loss = Callable[[Networks, Samples, Numbers, Shape], tuple[jax.Array, jax.Array]]
"""Gives the loss of a minibatch, and the policy's and the value's parts of it."""


@dataclass(frozen=True)
class PPO(iterations.Learner):
    """Proximal policy optimisation; its settings are in `Numbers` and `Shape`."""

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> iterations.Iteration:
        samples, order, onward, curve = experience(state, params, numbers, shape)
        learned = improve(state.networks, state.adam, samples, order, numbers, shape)
        return iterations.settle(state, onward, curve, learned, numbers)


def experience(
    state: RunState,
    params: EnvParams,
    numbers: Numbers,
    shape: Shape,
    reward: Callable[..., jax.Array] | None = None,
    into_samples: IntoSamples | None = None,
) -> tuple[Samples, jax.Array, RunState, CurvePoint]:
    """One rollout: its samples, the orders in which to learn from them, the run after it, and its point on the curves.

    The results of the updates are not filled in yet, as of `iterations.taken`. Learners that build on PPO give another
    reward, as of `collect`, or another function in place of `samples_of`.
    """
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rollouts)
    collect_key, order_key = jax.random.split(key)
    rollout, after, last = collect(
        collect_key, state.networks, state.environment, params, shape, normaliser=state.normaliser, reward=reward
    )
    samples, values = (into_samples or samples_of)(state.networks, rollout, numbers, shape)
    order = permutations(order_key, shape)
    steps = Steps(rollout.terminated | rollout.truncated, rollout.rewards, after, last, rollout.normaliser)
    onward, curve = iterations.taken(state, steps, params, numbers, shape)
    unexplained = jnp.var(samples.returns - values) / jnp.var(samples.returns)
    return samples, order, onward, curve._replace(explained_variance=1.0 - unexplained)


def samples_of(networks: Networks, rollout: Rollout, numbers: Numbers, shape: Shape) -> tuple[Samples, jax.Array]:
    """The samples of a rollout, and the values that its advantages are measured against."""
    actor = shape.actor
    values = actor.value(networks, rollout.observations)
    reached, last = (actor.value(networks, seen) for seen in (rollout.reached, rollout.last))
    advantages = advantages_of(rollout.rewards, values, reached, last, rollout, numbers)
    log_probs = actor.log_prob(actor.scores(networks, rollout.observations), rollout.actions)
    return Samples(rollout.observations, rollout.actions, log_probs, advantages, advantages + values), values


def advantages_of(
    rewards: jax.Array, values: jax.Array, reached: jax.Array, last: jax.Array, rollout: Rollout, numbers: Numbers
) -> jax.Array:
    """The advantages of a rollout, from rewards and from the values before, after each step, and at the end."""
    # An episode that was cut off would have gone on: the value of where it stood stands for the rest.
    rewards = rewards + jnp.where(rollout.truncated, numbers.discount * reached, 0.0)
    return gae(rewards, values, rollout.terminated | rollout.truncated, last, numbers)


def gae(rewards: jax.Array, values: jax.Array, over: jax.Array, last_value: jax.Array, numbers: Numbers) -> jax.Array:
    """Generalised advantage estimates; nothing flows back across the end of an episode."""
    goes_on = jnp.where(over, 0.0, numbers.discount)
    following = jnp.concatenate([values[1:], last_value[None]])
    surprise = rewards + goes_on * following - values

    # A_t = surprise_t + w_t·A_{t+1} is a chain of affine maps. Their composition is associative, so a scan over pairs
    # takes log(steps) passes instead of one pass step by step.
    def chain(later: tuple[jax.Array, jax.Array], sooner: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return later[0] * sooner[0], sooner[1] + sooner[0] * later[1]

    weights = goes_on * numbers.gae_lambda
    return cast(jax.Array, jax.lax.associative_scan(chain, (weights, surprise), reverse=True)[1])


def permutations(key: jax.Array, shape: Shape) -> jax.Array:
    """One random order of the rollout's steps per epoch.

    Sorts numbers whose high bits are random and whose low bits are the step: sorting one array of whole numbers
    is several times faster than sorting pairs. Equal high bits (a chance of 2⁻²¹ per pair) keep their order.
    """
    # The low bits are enough for every step, so no step is lost, and the rest of the 32 bits is the random sort key.
    steps = shape.rollout_steps
    bits = (steps - 1).bit_length()
    drawn = jax.random.bits(key, (shape.epochs, steps), jnp.uint32)
    tagged = (drawn << bits) | jnp.arange(steps, dtype=jnp.uint32)
    return (jnp.sort(tagged, axis=-1) & ((1 << bits) - 1)).astype(jnp.int32)


def improve(
    networks: Networks,
    adam: Adam,
    samples: Samples,
    order: jax.Array,
    numbers: Numbers,
    shape: Shape,
    loss_of: Loss | None = None,
) -> iterations.Improved:
    """Epochs of minibatches in the given order, shape (epochs, steps); also the mean policy and value loss."""
    pack, unpack = _packing(networks, shape.flat)

    def update(loop: tuple[Tree, Adam], batch: Samples) -> tuple[tuple[Tree, Adam], jax.Array]:
        weights, adam = loop
        gradient, losses = jax.grad(loss_of or loss, has_aux=True)(unpack(weights), batch, numbers, shape)
        return adam_step(weights, adam, clip_by_norm(pack(gradient), numbers.max_grad_norm), numbers), losses

    def epoch(loop: tuple[Tree, Adam], order: jax.Array) -> tuple[tuple[Tree, Adam], jax.Array]:
        batches = jax.tree.map(lambda leaf: leaf[order].reshape(-1, shape.batch_size, *leaf.shape[1:]), samples)
        return jax.lax.scan(update, loop, batches)

    start = (pack(networks), Adam(pack(adam.mean), pack(adam.square), adam.count))
    (weights, moments), losses = jax.lax.scan(epoch, start, order)
    mean, square = unpack(moments.mean), unpack(moments.square)
    return unpack(weights), Adam(mean, square, moments.count), losses.mean(axis=(0, 1))


def loss(networks: Networks, batch: Samples, numbers: Numbers, shape: Shape) -> tuple[jax.Array, jax.Array]:
    """The loss L of a minibatch, and the policy's and the value's parts of it."""
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


def _packing(networks: Networks, flat: bool) -> tuple[Callable[[Tree], Tree], Callable[[Tree], Tree]]:
    """How parameters are held while they are updated, and how they are read."""
    if flat:
        return lambda tree: ravel_pytree(tree)[0], ravel_pytree(networks)[1]
    return lambda tree: tree, lambda tree: tree
