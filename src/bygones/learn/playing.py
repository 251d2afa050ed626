"""What trained policies are worth: episodes played to their end once training is over, many runs at once.

The metrics of training come from actions that are drawn, by a policy that is still changing. Here it is as it was left,
and plays the same needs twice: once drawing its actions, once taking the most probable one. Needs are drawn from a key
that no training uses, and are equal for runs of equal seeds, whatever else differs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bygones.learn.iterations import Shape
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser, normalised
from bygones.learn.recurrent_ppo import world_of

EPISODES = 10
"""How many episodes a policy plays, by default: as many as the paper's metrics are averaged over at T = 10,000."""
SEED = 2**32 - 1
"""The randomness of evaluation, together with the seed of a run."""


class Played(NamedTuple):
    """What a policy came to: each metric of training, averaged over episodes."""

    episodes: int
    sampled: dict[str, float]
    """With actions drawn from the policy, as in training."""
    deterministic: dict[str, float]
    """With the most probable action at every step."""


def keys_of(seeds: Sequence[int]) -> jax.Array:
    """The randomness with which the runs of these seeds are evaluated, one key each."""
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(jax.random.key(SEED), np.array(seeds, np.uint32))


def play(
    key: jax.Array,
    networks: Networks,
    normaliser: Normaliser | None,
    params: Any,
    horizon: jax.Array,
    shape: Shape,
    episodes: int,
) -> dict[str, jax.Array]:
    """Each metric of every episode, of shape (2, episodes): actions drawn, then the most probable ones."""
    actor, (env, params) = shape.actor, world_of(shape, params, networks)
    start_key, key = jax.random.split(key)
    start = jax.vmap(env.start, in_axes=(0, None))(env.noise(start_key, episodes), params)

    def advance(state: Any, noise: Any, gumbel: jax.Array) -> Any:
        scores = actor.scores(networks, normalised(env.observe(state, params), normaliser))
        return env.advance(noise, state, actor.best(scores + gumbel), params)

    def step(t: jax.Array, states: Any) -> Any:
        noise_key, action_key = jax.random.split(jax.random.fold_in(key, t))
        drawn = jax.random.gumbel(action_key, (episodes, actor.n_scores))
        both = jnp.stack([drawn, jnp.zeros_like(drawn)])
        return jax.vmap(jax.vmap(advance), in_axes=(0, None, 0))(states, env.noise(noise_key, episodes), both)

    with jax.default_matmul_precision(shape.precision):
        states = jax.lax.fori_loop(0, horizon, step, jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), start))
        metrics: dict[str, jax.Array] = jax.vmap(jax.vmap(env.metrics, (0, None)), (0, None))(states, params)
    return metrics


@functools.cache
def player(shape: Shape, episodes: int, batched: bool) -> Callable[..., dict[str, jax.Array]]:
    """`play`, compiled; batched, with the runs along the first axis of all that it takes."""
    one = functools.partial(play, shape=shape, episodes=episodes)
    compiled: Callable[..., dict[str, jax.Array]] = jax.jit(jax.vmap(one) if batched else one)
    return compiled


def as_played(metrics: dict[str, np.ndarray]) -> Played:
    """The means over episodes of what one policy played."""
    means = [{name: float(values[mode].mean()) for name, values in metrics.items()} for mode in (0, 1)]
    return Played(next(iter(metrics.values())).shape[1], *means)
