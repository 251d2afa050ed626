r"""The place of the memory in the observation, and its bounds.

Bounds. With utilities $u_i \in [l_i, h_i]$ and a memory whose weights on the past sum to at most $b$ (the bound for
utilities up to one), $Z_i \in [b\min(l_i, 0),\, b\max(h_i, 0)]$: zero is always within, as memories start empty. This
holds if each agent has a separate memory and no weight is negative. A linear memory mixes agents, so the extreme
utilities of all agents count; if it has negative entries, or nothing is known about it, with either sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box, Dict, Space

from bygones._arrays import Array, Floats, check_count, namespace
from bygones.envs.wrappers.recall import AnyEnv, AnyObservation, AnyVectorEnv, Recall
from bygones.memory import Memory

_ROUNDING = 1e-12
"""A memory's last digit may exceed an exact bound."""


@dataclass(frozen=True)
class Layout:
    """How an observation and a memory become one observation, for one environment or a batch of them.

    Attributes:
        space: the joint observation space of one environment.
        dtype: the type of the numbers of the memory, and of all numbers in a flat observation.
    """

    space: Space[AnyObservation]
    dtype: np.dtype
    observe_denominator: bool
    flat: bool
    extends_dict: bool

    def join(self, observation: AnyObservation, recall: Recall) -> AnyObservation:
        """The joint observation of this memory, whose batch the observation has too."""
        return self.joined(observation, recall.values, recall.denominator if self.observe_denominator else None)

    def joined(self, observation: AnyObservation, Z: Array, d: Array | None) -> AnyObservation:
        """The joint observation; leading axes of Z are a batch that the observation has too."""
        if self.flat:
            xp = namespace(Z)
            observed = xp.asarray(observation)
            if observed.ndim != Z.ndim:
                observed = observed.reshape((*Z.shape[:-1], -1))
            return xp.concatenate([observed, Z] if d is None else [observed, Z, d], axis=-1, dtype=self.dtype)
        memory = {"memory": Z.astype(self.dtype)}
        if d is not None:
            memory["denominator"] = d.astype(self.dtype)
        return {**(observation if self.extends_dict else {"observation": observation}), **memory}


def layout(
    base: Space[AnyObservation],
    memory: Memory,
    reward_space: Box,
    observe_denominator: bool,
    flatten: bool,
    steps: float,
) -> Layout:
    """The layout for observations from `base` and this memory of rewards from `reward_space` over so many steps."""
    if observe_denominator and memory.denominator(memory.init(reward_space.shape[0])) is None:
        raise ValueError(
            f"observe_denominator must be False for {type(memory).__name__} memory, which keeps no denominator"
        )
    # The floating type of the environment, and float32 where it has none.
    is_float = isinstance(base, Box) and base.dtype in (np.float32, np.float64)
    dtype = np.dtype(base.dtype if is_float else np.float32)
    remembered = {"memory": _box(*memory_range(memory, reward_space, steps), dtype)}
    if observe_denominator:
        most = np.array([memory.largest_denominator(steps)]) * (1 + _ROUNDING)
        least = -most if memory.can_be_negative else np.zeros(1)
        remembered["denominator"] = _box(least, most, dtype)
    if isinstance(base, Box) and flatten:
        boxes = [base, *remembered.values()]
        low = np.concatenate([np.ravel(box.low).astype(dtype) for box in boxes])
        high = np.concatenate([np.ravel(box.high).astype(dtype) for box in boxes])
        return Layout(Box(low, high, dtype=dtype.type), dtype, observe_denominator, flat=True, extends_dict=False)
    observed = dict(base.spaces) if isinstance(base, Dict) else {"observation": base}
    if taken := sorted(observed.keys() & remembered.keys()):
        raise ValueError(
            f"env already has an observation named {' and '.join(taken)}, which the memory needs; rename it"
        )
    space = Dict({**observed, **remembered})
    return Layout(space, dtype, observe_denominator, flat=False, extends_dict=isinstance(base, Dict))


def memory_range(memory: Memory, reward_space: Box, steps: float = math.inf) -> tuple[Floats, Floats]:
    """The least and the largest Z that rewards in `reward_space` can lead to within `steps` steps."""
    reach = memory.bound(1.0, steps) * (1 + _ROUNDING)
    low, high = np.minimum(reward_space.low, 0.0, dtype=float), np.maximum(reward_space.high, 0.0, dtype=float)
    if not memory.keeps_agents_apart:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    if memory.can_be_negative:
        high = np.maximum(-low, high)
        low = -high
    # Where the reward never is of that sign, an unbounded memory of it is still zero.
    return _times(reach, low), _times(reach, high)


def horizon_of(env: AnyEnv | AnyVectorEnv, given: int | None) -> float:
    """The length of an episode in steps: as given, or as the environment's time limit has it, or infinite."""
    if given is not None:
        return check_count("horizon", given)
    limit = None if env.spec is None else env.spec.max_episode_steps
    return math.inf if limit is None else float(limit)


def _times(reach: float, extreme: Floats) -> Floats:
    return np.where(extreme == 0, 0.0, reach * np.where(extreme == 0, 1.0, extreme))


def _box(low: Floats, high: Floats, dtype: np.dtype) -> Box:
    return Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
