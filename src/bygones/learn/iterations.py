"""The common parts of all learners: the state of a run, its iterations, and the step of Adam.

A run is a number of iterations. In each, a `Learner` takes `rollout_steps` steps of the environment and learns from
them. `Shape` holds the constants of the compiled program; everything else is a traced number, so one program serves
every run of a grid.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from bygones.envs.functional import Environment, EnvParams, State
from bygones.learn.actors import Actor
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser, having_seen
from bygones.learn.programs import Tree
from bygones.learn.settings import Settings

BETAS = (0.9, 0.999)
LOG_BETAS = (-0.10536051565782628, -0.0010005003335835344)
"""Logarithms of the betas: 1 - βᵗ = -expm1(t·ln β) keeps its digits in float32, where 1 - 0.999 has lost four."""

TO_COME: Tree = None
"""Stands for the results of an iteration's updates before they are known."""

_Tree = TypeVar("_Tree")


class Learner(Protocol):
    """The interface of a learner. It is hashable and part of the compiled program, and so are its own settings."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The learner of these settings; a learner takes its own settings from there."""
        return cls()

    def begin(self, key: jax.Array, networks: Networks, params: EnvParams, shape: Shape) -> RunState:
        """A run before its first rollout; of most learners, networks and nothing else."""
        return begin(key, networks, params, shape)

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> Iteration:
        """One rollout of `shape.rollout_steps` steps, and the updates learned from it; also its point on the curves."""


class Shape(NamedTuple):
    """The constants of a compiled program."""

    environment: Environment
    actor: Actor
    learner: Learner
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
    """The first episode, counted from 0, of the episodes in the final metrics."""


class Adam(NamedTuple):
    """The running moments of the gradient, and how many updates they have seen."""

    mean: Tree
    square: Tree
    count: Tree  # named tuples have a method of this name, so mypy takes no narrower type


class RunState(NamedTuple):
    """The whole state of a run between two rollouts: one that is saved and resumed ends as if it had never stopped."""

    key: jax.Array
    """The data of the key from which every rollout's randomness is drawn."""
    networks: Networks
    adam: Adam
    environment: State
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
    kept: Tree = None
    """Other things that a learner keeps, such as transitions to learn from again; None if nothing."""


class Steps(NamedTuple):
    """The results of the steps of a rollout, without the updates learned from them."""

    over: jax.Array
    """Whether an episode ended, for each step."""
    rewards: jax.Array
    after: State
    """The state of the environment after each step."""
    last: State
    """The one from which the next rollout will go on."""
    normaliser: Normaliser | None


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


Improved: TypeAlias = tuple[Networks, Adam, jax.Array]
"""Networks and moments after the updates, and the mean policy and value loss."""

Iteration: TypeAlias = tuple[RunState, CurvePoint]
"""A run after an iteration, and its point on the curves."""


def begin(key: jax.Array, networks: Networks, params: EnvParams, shape: Shape) -> RunState:
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
    state: RunState, params: EnvParams, numbers: Numbers, count: jax.Array, shape: Shape, most: int
) -> Iteration:
    """`count` iterations of a run, at most `most`; a run that is over or stopped does not change."""

    def body(i: jax.Array, loop: Iteration) -> Iteration:
        state, curves = loop
        state, curve = shape.learner.iterate(state, params, numbers, shape)
        return state, jax.tree.map(lambda all_, one: all_.at[i].set(one), curves, curve)

    with jax.default_matmul_precision(shape.precision):
        one = jax.eval_shape(lambda s: shape.learner.iterate(s, params, numbers, shape)[1], state)
        curves = jax.tree.map(lambda leaf: jnp.zeros((most, *leaf.shape), leaf.dtype), one)
        return cast(Iteration, jax.lax.fori_loop(0, count, body, (state, curves)))


def taken(state: RunState, steps: Steps, params: EnvParams, numbers: Numbers, shape: Shape) -> Iteration:
    """The run after the steps of a rollout, before it has learned from them, and its point on the curves.

    The results of the updates are not filled in yet: networks and moments of the run, losses on the curves.
    """
    metrics = jax.vmap(shape.environment.metrics, in_axes=(0, None))(steps.after, params)
    over = steps.over
    index = state.episodes + jnp.cumsum(over) - over
    counted = over & (index >= numbers.first_counted)
    ended_sums, counted_sums = (
        {name: jnp.where(which, metric, 0.0).sum() for name, metric in metrics.items()} for which in (over, counted)
    )
    onward = state._replace(
        networks=TO_COME,
        adam=TO_COME,
        environment=steps.last,
        rollouts=state.rollouts + 1,
        episodes=state.episodes + over.sum(),
        counted=state.counted + counted.sum(),
        counted_sums=jax.tree.map(jnp.add, state.counted_sums, counted_sums),
        normaliser=steps.normaliser,
    )
    return onward, CurvePoint(over.sum(), ended_sums, steps.rewards.mean(), TO_COME, TO_COME, TO_COME)


def settle(state: RunState, onward: RunState, curve: CurvePoint, improved: Improved, numbers: Numbers) -> Iteration:
    """The run after a rollout and its updates; one that was over, or whose loss is not finite, stays where it was."""
    networks, adam, losses = improved
    going = jnp.logical_not(state.stopped) & (state.rollouts < numbers.rollouts)
    finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves((losses, networks))]).all()
    learned = onward._replace(networks=networks, adam=adam)
    kept: RunState = jax.tree.map(lambda new, old: jnp.where(going & finite, new, old), learned, state)
    stopped = state.stopped | (going & jnp.logical_not(finite))
    return kept._replace(stopped=stopped), curve._replace(policy_loss=losses[0], value_loss=losses[1])


def clip_by_norm(gradient: _Tree, max_norm: jax.Array | np.ndarray | float) -> _Tree:
    """The gradient, scaled down if its global norm is above `max_norm`; as torch does, a millionth too much."""
    norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
    factor = jnp.minimum(max_norm / (norm + 1e-6), 1.0)
    return cast(_Tree, jax.tree.map(lambda leaf: leaf * factor, gradient))


def adam_step(weights: _Tree, adam: Adam, gradient: _Tree, numbers: Numbers) -> tuple[_Tree, Adam]:
    """One step of Adam, with ε next to the corrected root as in torch."""
    count = adam.count + 1
    mean = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, adam.mean, gradient)
    square = jax.tree.map(lambda s, g: BETAS[1] * s + (1 - BETAS[1]) * g * g, adam.square, gradient)
    seen_mean, seen_square = (-jnp.expm1(count * log_beta) for log_beta in LOG_BETAS)
    rate, root = numbers.learning_rate / seen_mean, jax.lax.rsqrt(seen_square)
    moved: _Tree = jax.tree.map(
        lambda w, m, s: w - rate * m / (jnp.sqrt(s) * root + numbers.adam_eps), weights, mean, square
    )
    return moved, Adam(mean, square, count)
