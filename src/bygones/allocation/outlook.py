r"""What an allocation would make of the memory.

Every memory here answers a candidate's utilities $u$ by a sum, $Z \mid \mathcal{A} = \text{base} + R\,u$: the base is
what remains of the past when nobody gets anything. Where $R$ is diagonal and not negative an agent's memory depends
on its own utility alone, and the fast algorithms apply; a linear memory whose readout mixes agents has a full $R$.
All numbers are per unit of entitlement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bygones._arrays import Array, Number, check_between
from bygones.memory import Discounted, Linear, Memory, MemoryState, Multiscale, check_entitlements


@dataclass(frozen=True, eq=False)
class Outlook:
    """The memory that an allocation would leave: `base` plus the response to the utilities.

    Attributes:
        base: per agent, what remains of the past.
        slope: per agent, the gain per unit of its own utility; None where agents mix or a gain would be a loss.
        mixing: the matrix R, where `slope` is None.
    """

    base: np.ndarray
    slope: Any
    mixing: np.ndarray | None = None

    def after(self, utilities: np.ndarray) -> np.ndarray:
        """Z given these utilities, agents along the last axis."""
        if self.mixing is not None:
            return np.asarray(self.base + utilities @ self.mixing.T)
        return np.asarray(self.base + self.slope * utilities)


def outlook(
    memory: Memory, state: MemoryState, n_agents: int, elapsed: Number = 1, entitlements: Array | None = None
) -> Outlook:
    """How the memory will respond, `elapsed` steps after its last utilities."""
    held = memory.n_agents(state)
    if held != n_agents:
        raise ValueError(f"state must hold the memory of the problem's {n_agents} agents, got {held}")
    check_between("elapsed", elapsed, 0.0, math.inf, "a finite time of at least 0", open_high=True)
    faded = memory.advance(state, np.zeros(n_agents), elapsed)
    base = np.asarray(memory.read(faded), dtype=float)
    if base.shape != (n_agents,):
        raise ValueError(f"state must be one memory, not a batch of them, got a memory of shape {base.shape}")
    per_entitlement = 1.0 if entitlements is None else 1.0 / np.asarray(check_entitlements(entitlements, n_agents))
    slope: Any
    if isinstance(memory, Discounted):
        slope = 1.0 / max(float(faded.d), 1.0) if memory.average else 1.0
    elif isinstance(memory, Multiscale):
        slope = float(np.sum(memory.weights))
    else:
        mixing = _probe(memory, state, n_agents, elapsed)
        own = np.diag(mixing)
        if (mixing != np.diag(own)).any() or own.min() < 0:
            return Outlook(base * per_entitlement, None, mixing * np.reshape(per_entitlement, (-1, 1)))
        slope = own
    if np.min(slope) < 0:
        return Outlook(base * per_entitlement, None, np.diag(np.broadcast_to(slope * per_entitlement, n_agents)))
    return Outlook(base if entitlements is None else base * per_entitlement, slope * per_entitlement)


def _probe(memory: Memory, state: MemoryState, n_agents: int, elapsed: Number) -> np.ndarray:
    """The matrix R, one agent's unit utility at a time."""
    # A linear memory responds alike whatever it holds, and an empty one swallows no digits.
    start = memory.init(n_agents) if isinstance(memory, Linear) else state
    nothing = memory.read(memory.advance(start, np.zeros(n_agents), elapsed))
    return np.asarray(memory.read(memory.advance(start, np.eye(n_agents), elapsed)) - nothing).T
