r"""The memory of running episodes: the rule, its current state, and the reset.

A memory is a rule; the state of an episode holds the numbers. One environment and a batch differ only in the leading
axes, so all wrappers share this code.

An agent that is absent is masked: its memory stands still, as if no time had passed for it. As long as everyone is
present, one state holds the memory of all. From the first absence on there is a separate clock for every agent. The
state is then a batch of n copies of the memory. The i-th copy stops while agent i is absent, and $Z_i$ is read from it.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from bygones._arrays import Array, Bools, Condition, Floats, check_finite, namespace
from bygones.envs.batches import Info, mapped
from bygones.memory import Memory
from bygones.memory.contract import AnyState

AnyObservation: TypeAlias = Any
"""An observation of some space, of one environment or of each of a batch."""

AnyEnv: TypeAlias = Env[Any, Any]
AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]


class Recall:
    """The memory in the running episodes, one per entry of `batch` (one alone if it is empty).

    Attributes:
        memory: the rule.
        values: the remembered utilities Z; a new array after each step.
        utilities: the utilities of the last step, 0 for absent agents.
        total: their sum.
        present: the agents that took part in the last step; None if all did.
    """

    def __init__(self, memory: Memory, n_agents: int, batch: tuple[int, ...] = ()) -> None:
        if not isinstance(memory, Memory):
            raise ValueError(f"memory must be a bygones memory such as Discounted(gamma=0.99), got {memory!r}")
        self.memory = memory
        self.shape = (*batch, n_agents)
        self._empty: AnyState = mapped(lambda part: np.broadcast_to(part, batch + part.shape), memory.init(n_agents))
        self._state, self._is_apart, self._ones = self._empty, False, np.ones(n_agents)
        self.forget()

    @property
    def denominator(self) -> Floats:
        """The denominator d, on average over the agents, with an axis of length one; NaN if the memory keeps none."""
        d = self.memory.denominator(self._state)
        if d is None:
            return np.full((*self.shape[:-1], 1), np.nan)
        return np.asarray(d).mean(axis=-1, keepdims=True) if np.ndim(d) == len(self.shape) else np.array(d)[..., None]

    def receive(self, rewards: ArrayLike, present: Bools | None = None) -> None:
        """Remembers the vector reward of a step for the agents that took part in it."""
        utilities = np.array(rewards, dtype=float)
        if utilities.shape != self.shape:
            raise ValueError(f"reward must be a vector reward of shape {self.shape}, got shape {utilities.shape}")
        if present is not None:
            utilities = np.where(present, utilities, 0.0)
            present = None if present.all() else present
        total = utilities.dot(self._ones)  # a third of the time of `sum`
        # One look at the sum instead of one at every reward: it is finite only if they are.
        if not (np.isfinite(total).all() if self.shape[1:] else math.isfinite(total)):
            check_finite("reward", utilities)
        if present is None and not self._is_apart:
            self._state = self.memory.advance(self._state, utilities)
        else:
            self._state, self._is_apart = remembered(self.memory, self._state, utilities, present), True
        self.values = read(self.memory, self._state, len(self.shape))
        self.utilities, self.total, self.present = utilities, total, present

    def forget(self, which: Bools | None = None) -> None:
        """Empties the memories of these entries of the batch, by default of all, whose episodes begin again."""
        if which is None or which.all():
            self._state, self._is_apart = self._empty, False
        else:
            empty = apart(self._empty, self.shape) if self._is_apart else self._empty
            self._state = mapped(lambda new, old: np.where(over(which, new), new, old), empty, self._state)
        self.values = read(self.memory, self._state, len(self.shape))
        self.utilities, self.total, self.present = np.zeros(self.shape), np.zeros(self.shape[:-1]), None


def remembered(memory: Memory, state: AnyState, utilities: Array, present: Array | None = None) -> AnyState:
    """The state of a memory after a step that changes nothing for absent agents, with a clock for each agent."""
    shape, xp = utilities.shape, namespace(utilities)
    if memory.read(state).ndim == len(shape):
        state = apart(state, shape)
    after = memory.advance(state, xp.broadcast_to(utilities[..., None, :], (*shape, shape[-1])))
    if present is None:
        return cast(AnyState, after)
    return cast(AnyState, mapped(lambda new, old: xp.where(over(present, new), new, old), after, state))


def read(memory: Memory, state: AnyState, ndim: int) -> Floats:
    """Z of a state, which has so many axes."""
    Z = memory.read(state)
    if Z.ndim > ndim:
        agents = np.arange(Z.shape[-1])
        Z = Z[..., agents, agents]
    return cast(Floats, Z)


def apart(state: AnyState, shape: tuple[int, ...]) -> AnyState:
    """The state with a copy of the memory for each agent, along one more axis behind the batch."""
    batch = len(shape) - 1

    def copies(part: Array) -> Array:
        rest = part.shape[batch:]
        return namespace(part).broadcast_to(part.reshape((*shape[:-1], 1, *rest)), (*shape, *rest))

    return cast(AnyState, mapped(copies, state))


def over(which: Condition, values: Array) -> Array:
    """The mask of the batch, with axes added to select whole entries of `values`."""
    mask = cast(Array, which)
    return mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim))


def reward_space_of(env: object, given: Box | None) -> Box:
    """The bounds of the vector reward: the given ones, or from the nearest wrapper that has a `reward_space`."""
    space = given or nearest_space(env)
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise ValueError(
            f"env must have a vector reward with a reward_space, a Box with one entry per objective, got {space}; "
            "if the environment has no reward_space, pass reward_space=Box(...)"
        )
    return space


def nearest_space(env: object) -> Box | None:
    """The `reward_space` of the nearest layer that has one."""
    space: Box | None = None
    layer: object = env
    while space is None and layer is not None:
        space, layer = getattr(layer, "reward_space", None), getattr(layer, "env", None)
    return space


def check_single(env: object, name: str) -> AnyEnv:
    """The environment, refused unless it is a single one of Gymnasium; `name` is that of the wrapper."""
    if isinstance(env, Env):
        return env
    if isinstance(env, VectorEnv):
        raise ValueError(f"env is a vector environment: use Vector{name}")
    if hasattr(env, "possible_agents") or hasattr(env, "observation_spaces"):
        raise ValueError(
            "env has several agents with a reward each: use FairParallel for PettingZoo's parallel environments, "
            "FairAEC where agents take turns, and FairJaxMARL for JaxMARL, all in bygones.envs.wrappers"
        )
    raise ValueError(f"env must be a gymnasium.Env whose reward is a vector, got {type(env).__name__}")


def present_in(info: Info, presence: str | None, shape: tuple[int, ...]) -> Bools | None:
    """Who takes part in the next step, from an `info`; None if everyone always does.

    Args:
        info: of `reset` or `step`.
        presence: the name of its entry; None if all agents always take part.
        shape: the shape of the mask.
    """
    if presence is None:
        return None
    if presence not in info:
        raise ValueError(f"info must have the entry {presence!r}, which marks the agents present, got {sorted(info)}")
    present = np.array(info[presence], dtype=bool)
    if present.shape != shape:
        raise ValueError(f"info[{presence!r}] must have shape {shape}, got shape {present.shape}")
    return present
