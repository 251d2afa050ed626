"""The wrapper for JaxMARL's environments, as pure functions for `jit`, `vmap` and `scan`."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array, check_count
from bygones.envs.batches import Info, mapped
from bygones.envs.wrappers.agents import (
    Learners,
    agent_layout,
    bounds_of,
    check_learners,
    own_first,
    shares_of,
)
from bygones.envs.wrappers.fairness import Judge
from bygones.envs.wrappers.recall import apart, read, remembered
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare, check_axis

if TYPE_CHECKING:
    # JaxMARL prints two lines when it is imported. The module that makes the environment imports it anyway.
    from jaxmarl.environments.multi_agent_env import MultiAgentEnv
    from jaxmarl.environments.spaces import Space

ByAgent: TypeAlias = dict[str, Any]
"""Something of each agent, by its name."""


class FairState(NamedTuple):
    """The state of an episode."""

    env_state: Any
    """The state of the environment."""
    memory: AnyState
    """The state of the memory."""
    cumulative: Array
    """The totals received, one per agent."""
    present: Array
    """Which agents take part in the next step."""


class FairJaxMARL:
    r"""`FairParallel` for an environment of JaxMARL: the same arguments, memory, rewards and masks, in JAX.

    An agent that is done takes no part in the following steps until the episode begins again, which `step` does by
    itself, as in JaxMARL. Everything is float32.

    Info:
        `utility`, `cumulative`, `memory` and `welfare_memory`, with one number per agent each, as JaxMARL's learners
        need it. In the last step of an episode they are about that episode.
    """

    def __init__(
        self,
        env: MultiAgentEnv,
        memory: Memory,
        welfare: AnyWelfare,
        weight: float,
        *,
        learners: Learners = "central",
        observe_memory: bool = True,
        observe_denominator: bool = False,
        shaping_discount: float = 1.0,
        reward_space: gym.spaces.Box | None = None,
        horizon: int | None = None,
    ) -> None:
        self._env = env
        self.memory, self.learners = memory, check_learners(learners)
        n = len(env.agents)
        bounds = bounds_of(env, reward_space, n)
        self.judge = Judge.of(memory, welfare, weight, shaping_discount, bounds)
        check_axis(self.judge.welfare, n)
        steps = math.inf if horizon is None else check_count("horizon", horizon)
        self._layouts = {}
        if observe_memory:
            for i, name in enumerate(env.agents):
                base = _for_gymnasium(env.observation_space(name))
                order = own_first(i, n)
                self._layouts[name] = order, agent_layout(base, memory, bounds, order, observe_denominator, steps)
        self.observation_spaces = {
            name: _for_jaxmarl(self._layouts[name][1].space) if observe_memory else env.observation_space(name)
            for name in env.agents
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._env, name)

    def observation_space(self, agent: str) -> Space:
        """The space of an agent's observation, the same object at every call."""
        return self.observation_spaces[agent]

    @partial(jax.jit, static_argnums=(0,))
    def reset(self, key: jax.Array) -> tuple[ByAgent, FairState]:
        """Starts an episode with an empty memory."""
        observations, env_state = self._env.reset(key)
        state = self._begun(env_state)
        return self._seen(observations, state), state

    @partial(jax.jit, static_argnums=(0,))
    def step(
        self, key: jax.Array, state: FairState, actions: ByAgent
    ) -> tuple[ByAgent, FairState, ByAgent, ByAgent, Info]:
        """Steps the environment and judges the rewards of the agents that were present."""
        agents = self._env.agents
        observations, env_state, rewards, dones, info = self._env.step(key, state.env_state, actions)
        received = jnp.stack([jnp.asarray(rewards[name]) for name in agents])
        utilities = cast(Array, jnp.where(cast(jax.Array, state.present), received, 0.0))
        memory = remembered(self.memory, state.memory, utilities, state.present)
        before, after = (
            self.judge.welfare_of(read(self.memory, each, 1), state.present) for each in (state.memory, memory)
        )
        shares = shares_of(utilities, self.judge.gain(before, after), state.present, self.judge, self.learners)
        cumulative = state.cumulative + utilities
        alive = jnp.stack([~jnp.asarray(dones[name]) for name in agents])
        last = FairState(env_state, memory, cumulative, state.present & alive)
        begun = self._begun(env_state)
        now = jax.tree.map(lambda new, old: jnp.where(dones["__all__"], new, old), begun, last)
        info = {
            **info,
            "utility": utilities,
            "cumulative": cumulative,
            "memory": read(self.memory, memory, 1),
            "welfare_memory": jnp.full(len(agents), cast(jax.Array, after)),
        }
        judged = {name: shares[i] for i, name in enumerate(agents)}
        return self._seen(observations, now), now, judged, dones, info

    def _begun(self, env_state: Any) -> FairState:
        n = len(self._env.agents)
        empty = apart(self.memory.init(n), (n,))
        memory = mapped(lambda part: jnp.asarray(part, _single(part)), empty)
        return FairState(env_state, memory, jnp.zeros(n), jnp.ones(n, dtype=bool))

    def _seen(self, observations: ByAgent, state: FairState) -> ByAgent:
        Z = read(self.memory, state.memory, 1)
        d = self.memory.denominator(state.memory)
        seen = dict(observations)
        for name, (order, layout) in self._layouts.items():
            mean = cast(jax.Array, d).mean(keepdims=True) if layout.observe_denominator else None
            seen[name] = layout.joined(observations[name], Z[order], mean)
        return seen


def _single(part: Array) -> Any:
    """Numbers in single precision; counts and positions unchanged."""
    return jnp.float32 if jnp.issubdtype(part.dtype, jnp.floating) else part.dtype


def _for_gymnasium(space: Space) -> gym.Space[Any]:
    """The space as one of Gymnasium."""
    from jaxmarl.environments import spaces

    if isinstance(space, spaces.Box):
        dtype: Any = np.dtype(space.dtype).type
        low, high = (np.broadcast_to(np.asarray(bound, dtype), space.shape) for bound in (space.low, space.high))
        return gym.spaces.Box(low, high, dtype=dtype)
    if isinstance(space, spaces.Discrete):
        return gym.spaces.Discrete(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return gym.spaces.MultiDiscrete(space.num_categories.tolist())
    if isinstance(space, spaces.Dict):
        return gym.spaces.Dict({name: _for_gymnasium(part) for name, part in space.spaces.items()})
    raise ValueError(f"observations must be a Box, Discrete, MultiDiscrete or Dict of JaxMARL, got {space!r}")


def _for_jaxmarl(space: gym.Space[Any]) -> Space:
    """The space as one of JaxMARL."""
    from jaxmarl.environments import spaces

    if isinstance(space, gym.spaces.Box):
        return spaces.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, gym.spaces.Discrete):
        return spaces.Discrete(int(space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec.tolist())
    assert isinstance(space, gym.spaces.Dict)
    return spaces.Dict({name: _for_jaxmarl(part) for name, part in space.spaces.items()})
