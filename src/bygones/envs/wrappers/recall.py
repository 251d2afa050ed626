r"""The memory of running episodes: the rule, its current state, and the reset.

A memory is a rule; the state of an episode holds the numbers. One environment and a batch differ only in the leading
axes, so the single and the vector wrappers share this code.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from bygones._arrays import Bools, Floats
from bygones.envs.batches import mapped
from bygones.memory import Memory

AnyObservation: TypeAlias = Any
"""An observation of some space, of one environment or of each of a batch."""

AnyEnv: TypeAlias = Env[Any, Any]
AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]


class Recall:
    """The memory in the running episodes, one per entry of `batch` (one alone if it is empty)."""

    def __init__(self, memory: Memory, n_agents: int, batch: tuple[int, ...] = ()) -> None:
        if not isinstance(memory, Memory):
            raise ValueError(f"memory must be a bygones memory such as Discounted(gamma=0.99), got {memory!r}")
        self.memory = memory
        self.shape = (*batch, n_agents)
        self._empty = mapped(lambda part: np.broadcast_to(part, batch + part.shape), memory.init(n_agents))
        self.state = self._empty

    @property
    def values(self) -> Floats:
        """The remembered utilities Z, in a new array."""
        return np.array(self.memory.values(self.state))

    @property
    def denominator(self) -> Floats:
        """The denominator d, with an axis of length one where Z has the agents; NaN where the memory keeps none."""
        d = self.memory.denominator(self.state)
        return np.full((*self.shape[:-1], 1), np.nan) if d is None else np.array(d)[..., None]

    def receive(self, rewards: ArrayLike) -> Floats:
        """Remembers a step's vector reward, and gives it back as utilities."""
        utilities = np.array(rewards, dtype=float)
        if utilities.shape != self.shape:
            raise ValueError(f"reward must be a vector reward of shape {self.shape}, got shape {utilities.shape}")
        self.state = self.memory.update(self.state, utilities)
        return utilities

    def forget(self, which: Bools | bool = True) -> None:
        """Empties the memories of these entries of the batch, whose episodes begin again."""
        self.state = mapped(lambda empty, held: np.where(over(which, held), empty, held), self._empty, self.state)


def over(which: Bools | bool, values: Floats) -> Bools:
    """The mask of the batch, with axes added to select whole entries of `values`."""
    mask = np.asarray(which)
    return mask.reshape(mask.shape + (1,) * (np.ndim(values) - mask.ndim))


def reward_space_of(env: AnyEnv | AnyVectorEnv, given: Box | None) -> Box:
    """The bounds of the vector reward: the given ones, or from the nearest wrapper that has a `reward_space`."""
    space: Box | None = given
    layer: object = env
    while space is None and layer is not None:
        space, layer = getattr(layer, "reward_space", None), getattr(layer, "env", None)
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise ValueError(
            f"env must have a vector reward with a reward_space, a Box with one entry per objective, got {space}; "
            "if the environment has no reward_space, pass reward_space=Box(...)"
        )
    return space
