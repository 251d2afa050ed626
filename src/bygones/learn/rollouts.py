"""Rollouts: steps of the environment, taken with the current policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bygones.envs.functional import Environment, EnvParams, Noise, State
from bygones.learn.iterations import Shape
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser, having_seen, normalised
from bygones.learn.programs import Tree


class Rollout(NamedTuple):
    """Observations and actions, steps along the first axis."""

    observations: jax.Array
    actions: jax.Array
    rewards: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    reached: jax.Array
    """The observation after each step, before a new episode starts."""
    last: jax.Array
    """The observation from which the next rollout will go on."""
    normaliser: Normaliser | None = None
    """Statistics of all observations so far, the last one included; None if observations are not normalised."""


def collect(
    key: jax.Array,
    networks: Networks,
    state: State,
    params: EnvParams,
    shape: Shape,
    normaliser: Normaliser | None = None,
    reward: Callable[..., jax.Array] | None = None,
) -> tuple[Rollout, State, State]:
    """One rollout from a state on; also the states after each step, and the one from which the next rollout goes on.

    With a normaliser, whose statistics include the observation of this state, every observation that a step is taken
    from is added to them before it is shown. The end of an episode is shown as the start that follows it is. Rewards
    come from the environment, unless another function with the arguments of `Environment.reward` is given.
    """
    env, actor, steps = shape.environment, shape.actor, shape.rollout_steps
    noise_key, action_key = jax.random.split(key)
    noise = env.noise(noise_key, steps)
    # The best action for scores plus Gumbel noise is a draw: the largest logit, from their softmax.
    gumbel = jax.random.gumbel(action_key, (steps, actor.n_scores))

    def step(loop: tuple[State, Normaliser | None], drawn: tuple[Noise, jax.Array]) -> tuple[Tree, Tree]:
        (state, normaliser), (noise, gumbel) = loop, drawn
        seen = normalised(env.observe(state, params), normaliser)
        action = actor.best(actor.scores(networks, seen, matvec=shape.matvec) + gumbel)
        after = env.advance(noise, state, action, params)
        following = restarted(noise, after, params, env)
        onward = having_seen(env.observe(following, params), normaliser)
        return (following, onward), (action, after, onward)

    start = (state, normaliser)
    (last, latest), (actions, after, onward) = jax.lax.scan(step, start, (noise, gumbel), unroll=shape.unroll)
    following = jax.vmap(restarted, in_axes=(0, 0, None, None))(noise, after, params, env)
    shifted = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), start, (following, onward))
    before, normalisers = shifted
    observe, show = jax.vmap(env.observe, in_axes=(0, None)), jax.vmap(normalised)
    terminated, truncated = jax.vmap(env.ends, in_axes=(0, None))(after, params)
    rollout = Rollout(
        observations=show(observe(before, params), normalisers),
        actions=actions,
        rewards=jax.vmap(reward or env.reward, in_axes=(0, 0, 0, None))(before, actions, after, params),
        terminated=terminated,
        truncated=truncated,
        reached=show(observe(after, params), onward),
        last=normalised(env.observe(last, params), latest),
        normaliser=latest,
    )
    return rollout, after, last


def restarted(noise: Noise, after: State, params: EnvParams, env: Environment) -> State:
    """The state from which the next step is taken: a fresh one where the episode is over."""
    terminated, truncated = env.ends(after, params)
    fresh = env.start(noise, params)
    return jax.tree.map(lambda new, old: jnp.where(terminated | truncated, new, old), fresh, after)
