r"""A memory at work: the rule, what it holds at the moment, and when it is emptied.

Memories are rules and hold nothing; an episode holds something. One environment and a batch of them differ only in
the leading axes, so the single and the vector wrappers share these lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from bygones.memory import Memory

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


class Recall:
    """What is remembered in the running episodes, one memory per entry of `batch` (one alone if it is empty)."""

    def __init__(self, memory: Memory, n_agents: int, batch: tuple[int, ...] = ()) -> None:
        if not isinstance(memory, Memory):
            raise ValueError(f"memory must be a bygones memory such as Discounted(gamma=0.99), got {memory!r}")
        self.memory = memory
        self.shape = (*batch, n_agents)
        empty = memory.init(n_agents)
        self._empty = type(empty)(*(np.broadcast_to(part, batch + part.shape) for part in empty))
        self.state = self._empty

    @property
    def values(self) -> Floats:
        """The remembered utilities Z, in an array of their own."""
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

    def forget(self, which: Mask | bool = True) -> None:
        """Empties the memories of these entries of the batch, for their episodes begin anew."""
        parts = zip(self._empty, self.state, strict=True)
        self.state = type(self.state)(*(np.where(over(which, held), empty, held) for empty, held in parts))


def over(which: Mask | bool, values: Floats) -> Mask:
    """A mask of the batch, made to select whole entries of `values`, whose leading axes are the batch."""
    mask = np.asarray(which)
    return mask.reshape(mask.shape + (1,) * (np.ndim(values) - mask.ndim))


def reward_space_of(env: Any, given: Box | None) -> Box:
    """The bounds of the vector reward: those given, or else the nearest `reward_space` in the chain of wrappers."""
    space, layer = given, env
    while space is None and layer is not None:
        space, layer = getattr(layer, "reward_space", None), getattr(layer, "env", None)
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise ValueError(
            f"env must have a vector reward, its reward_space a Box with one entry per objective, got {space}; "
            "if it has no such attribute, pass reward_space=Box(...)"
        )
    return space
