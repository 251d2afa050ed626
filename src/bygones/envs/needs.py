r"""Distributions of needs: the worth of a resource to each agent at a step.

A distribution turns uniform noise into needs. The same equations serve NumPy and JAX, and a whole episode's noise can
be drawn at once. The protocol is two functions: `start` gives the state before the first step (for needs that depend on
the past), `draw` the needs of step $t$ and the next state. Distributions are named tuples of numbers, hence JAX
pytrees.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from bygones._arrays import AnyArray, Array, Number, Operand, check_between, check_count, check_finite, namespace
from bygones._parts import needed_by


class Needs(Protocol):
    """The interface of a distribution of needs."""

    @property
    def n_agents(self) -> int:
        """The number of agents."""

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The smallest and the largest need of each agent; infinity if there is no largest."""

    @property
    def mean(self) -> Array:
        """The expected need of each agent."""

    def start(self, uniforms: Array) -> Array:
        """The state before the first step, from uniform noise of shape (..., n)."""

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        """The needs of step t = 1, 2, … and the state after it, from uniform noise of shape (..., n)."""


class Uniform(NamedTuple):
    r"""Independent needs, $\mathcal{U}(\text{low}_i, \text{low}_i + \text{span}_i)$ for agent $i$ at every step.

    Stored as low and span, because low + span·noise never rounds to more than low + span.
    """

    low: Array
    span: Array

    @property
    def n_agents(self) -> int:
        return int(self.low.shape[-1])

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.low, self.low + self.span

    @property
    def mean(self) -> Array:
        return self.low + self.span / 2

    def start(self, uniforms: Array) -> Array:
        return uniforms[..., :0]

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        return self.low + self.span * uniforms, state


class Lognormal(NamedTuple):
    r"""Independent needs, $\exp(\mu_i + \sigma_i\,\mathcal{N}(0,1))$: mostly small, now and then very large."""

    mu: Array
    sigma: Array

    @property
    def n_agents(self) -> int:
        return int(self.mu.shape[-1])

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.zeros(self.n_agents), np.full(self.n_agents, math.inf)

    @property
    def mean(self) -> Array:
        return namespace(self.mu).exp(self.mu + self.sigma**2 / 2)

    def start(self, uniforms: Array) -> Array:
        return uniforms[..., :0]

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        normal = _special(uniforms).ndtri(_inside(uniforms))
        return namespace(uniforms).exp(self.mu + self.sigma * normal), state


class Correlated(NamedTuple):
    r"""Needs that are correlated over time: each agent's need resembles its need at the previous step.

    Each agent has a standard normal $x^t = \rho\,x^{t-1} + \sqrt{1-\rho^2}\,\mathcal{N}(0,1)$. Its distribution
    function turns $x^t$ into the noise of uniform needs. Needs are uniform at every step, and successive steps have a
    correlation close to $\rho$.
    """

    uniform: Uniform
    rho: Number

    @property
    def n_agents(self) -> int:
        return self.uniform.n_agents

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.uniform.bounds

    @property
    def mean(self) -> Array:
        return self.uniform.mean

    def start(self, uniforms: Array) -> Array:
        return _special(uniforms).ndtri(_inside(uniforms))

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        xp, special = namespace(uniforms, state, self.rho), _special(uniforms)
        state = self.rho * state + xp.sqrt(1 - self.rho**2) * special.ndtri(_inside(uniforms))
        return self.uniform.draw(special.ndtr(state), state, t)


class Replayed(NamedTuple):
    """Needs replayed from an array of shape (steps, n), which repeats when it ends."""

    table: Array

    @property
    def n_agents(self) -> int:
        return int(self.table.shape[-1])

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.table.min(axis=0), self.table.max(axis=0)

    @property
    def mean(self) -> Array:
        return self.table.mean(axis=0)

    def start(self, uniforms: Array) -> Array:
        return uniforms[..., :0]

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        table = namespace(uniforms, t).asarray(self.table, dtype=uniforms.dtype)
        return table[(t - 1) % table.shape[0]], state


def uniform(n_agents: int = 10, low: float = 0.0, high: float = 1.0) -> Uniform:
    """Independent uniform needs, the same for every agent."""
    n_agents = check_count("n_agents", n_agents)
    return Uniform(*_low_and_span(np.full(n_agents, low), np.full(n_agents, high)))


def advantaged(n_agents: int = 10, n_advantaged: int = 2, low: float = 0.8, high: float = 1.0) -> Uniform:
    """The paper's needs: the first `n_advantaged` agents draw from U(low, high), the others from U(0, 1)."""
    n_agents = check_count("n_agents", n_agents)
    if check_count("n_advantaged", n_advantaged, least=0) > n_agents:
        raise ValueError(f"n_advantaged must be at most n_agents ({n_agents}), got {n_advantaged}")
    is_advantaged = np.arange(n_agents) < n_advantaged
    return Uniform(*_low_and_span(np.where(is_advantaged, low, 0.0), np.where(is_advantaged, high, 1.0)))


def lognormal(mu: AnyArray, sigma: AnyArray) -> Lognormal:
    """Independent log-normal needs with one location and one positive spread per agent."""
    mu, sigma = np.broadcast_arrays(*(np.atleast_1d(check_finite(n, v)) for n, v in (("mu", mu), ("sigma", sigma))))
    check_between("sigma", sigma, 0.0, math.inf, "above 0", open_low=True)
    return Lognormal(mu, sigma)


def correlated(needs: Uniform, rho: float) -> Correlated:
    """Uniform needs with correlation `rho` between successive steps, at least 0 and below 1."""
    check_between("rho", rho, 0.0, 1.0, "at least 0 and below 1", open_high=True)
    return Correlated(needs, rho)


def replayed(table: AnyArray) -> Replayed:
    """Needs from a table with one row per step and one column per agent."""
    rows = check_finite("table", table)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"table must have one row per step and one column per agent, got shape {rows.shape}")
    return Replayed(np.asarray(check_between("table", rows, 0.0, math.inf, "at least 0"), dtype=float))


def _low_and_span(low: Array, high: Array) -> tuple[Array, Array]:
    check_between("low", low, 0.0, math.inf, "a finite number of at least 0", open_high=True)
    check_between("high", high, 0.0, math.inf, "a finite number of at least 0", open_high=True)
    if (low > high).any():
        raise ValueError(f"low must be at most high, got low {low.max()} and high {high.min()}")
    return low, high - low


def _inside(uniforms: Array) -> Array:
    """Uniform noise, kept away from 0 and 1, where the normal quantile is infinite."""
    xp = namespace(uniforms)
    tiny = xp.finfo(uniforms.dtype).eps / 2
    return xp.clip(uniforms, tiny, 1 - tiny)


class _NormalFunctions(Protocol):
    def ndtr(self, x: Operand, /) -> Array: ...
    def ndtri(self, p: Operand, /) -> Array: ...


def _special(array: Array) -> _NormalFunctions:
    if namespace(array) is np:
        with needed_by("drawing lognormal or correlated needs"):
            import scipy.special

        normal: _NormalFunctions = scipy.special
        return normal
    import jax.scipy.special

    return jax.scipy.special
