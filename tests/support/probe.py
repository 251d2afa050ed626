"""An environment with known answers: one or two steps, two actions, and a context that may matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array


class ProbeState(NamedTuple):
    t: Array
    context: Array
    first: Array


class ProbeParams(NamedTuple):
    """Rewards by step, context, first action and current action; how many steps; is the end a time limit."""

    rewards: Array
    horizon: Array
    truncates: Array
    looks: Array
    """How many steps look different; 1 makes the second step look like the first."""


@dataclass(frozen=True)
class Probe:
    """One or two steps, two actions, and a context that may matter."""

    n_actions: int = 2
    observation_size: int = 3

    def noise(self, key: Array, steps: int) -> Array:
        return jax.random.bernoulli(key, 0.5, (steps,)).astype(jnp.int32)

    def start(self, noise: Array, params: ProbeParams) -> ProbeState:
        return ProbeState(jnp.zeros((), jnp.int32), noise, jnp.zeros((), jnp.int32))

    def observe(self, state: ProbeState, params: ProbeParams) -> Array:
        seen = state.t % params.looks
        return jnp.stack([seen == 0, seen == 1, state.context]).astype(jnp.float32)

    def advance(self, noise: Array, state: ProbeState, action: Array, params: ProbeParams) -> ProbeState:
        return ProbeState(state.t + 1, state.context, jnp.where(state.t == 0, action, state.first).astype(jnp.int32))

    def ends(self, state: ProbeState, params: ProbeParams) -> tuple[Array, Array]:
        over = state.t >= params.horizon
        return over & ~params.truncates, over & params.truncates

    def reward(self, before: ProbeState, action: Array, after: ProbeState, params: ProbeParams) -> Array:
        return params.rewards[before.t, before.context, before.first, action]

    def metrics(self, after: ProbeState, params: ProbeParams) -> dict[str, Array]:
        return {"first": after.first}


def rewards(of: Any) -> np.ndarray:
    places = np.indices((2, 2, 2, 2))
    return np.vectorize(of)(*places).astype(np.float32)


FIRST, SECOND, IN_CONTEXT = (np.array(seen, np.float32) for seen in ([1, 0, 0], [0, 1, 0], [1, 0, 1]))
