r"""The best long-run mean of $W(Z^t)$ for two agents of whom one is served at each step.

`bygones.paper.optimum` knows the best welfare of mean utilities. The long-run mean of $W(Z^t)$ for a discounted memory
$Z^t = \gamma Z^{t-1} + u^t$ is another objective: welfare is concave, so

$$ \mathbb{E}\,W(Z) \le W(\mathbb{E}\,Z) = W\bigl(\mathbb{E}\,u/(1-\gamma)\bigr), $$

and whatever makes the memory fluctuate costs something, the more the shorter the memory is.

With two agents the memory has two numbers, and dynamic programming finds the best policy. No policy is better than
`upper`, which `benchmarks.value_iteration` proves. The policy that it finds is simulated on fresh needs: `lower` is
the mean of $W(Z^t)$ over independent runs, less a quantile of its standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from benchmarks.value_iteration import WINDOWS, Axis, place, proved
from bygones._arrays import Array, Floats, Ints, check_between, check_count
from bygones.envs.needs import Uniform
from bygones.memory import Discounted
from bygones.paper.optimum import optimum
from bygones.welfare import AnyWelfare, Welfare, as_judge

FLOOR_SPREADS, FLOOR_SHARE, LEAST_SHARE = 3.0, 0.25, 0.02
"""The grid's floor is this many spreads of the memory below its mean, and at most this share of the mean: a floor that
is too high makes it pay to leave an agent there. Where welfare falls steeply towards zero it is at least the last."""
DENSE_SPREADS = 8.0
"""The nodes of the grid are densest within about this many spreads of the mean."""


@dataclass(frozen=True, eq=False)
class GreedyForTwo:
    """Serves the agent after whom welfare, plus the value h of the memory for the future, is largest.

    Attributes:
        memory: how the past is remembered.
        welfare: the welfare function of recent totals.
        nodes: the remembered utilities of each agent at which h is known.
        h: the value for the future, one row per node of agent 0, one column per node of agent 1.
    """

    memory: Discounted
    welfare: Welfare
    nodes: tuple[Floats, Floats]
    h: Floats

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        if k != 1 or len(needs) != 2:
            raise ValueError(f"this policy serves 1 of 2 agents, got {k} of {len(needs)}")
        faded, per_unit = self.memory.response(state)
        return np.atleast_1d(self.choose(faded, per_unit * np.asarray(needs)))

    def choose(self, faded: Floats, adds: Floats) -> Ints:
        """Whom to serve, given the memories after fading and what being served adds, agents along the last axis."""
        after = faded[..., None, :] + np.eye(2) * adds[..., None, :]
        values = np.asarray(self.welfare.judge(after)) + self._future(after)
        return np.asarray(values.argmax(axis=-1))

    def _future(self, memories: Floats) -> Floats:
        """Interpolates h between the nodes; below the floor and above the top it is constant."""
        (i, s), (j, t) = (
            place(nodes, np.clip(memories[..., agent], nodes[0], nodes[-1])) for agent, nodes in enumerate(self.nodes)
        )
        near = (1 - t) * self.h[i, j] + t * self.h[i, j + 1]
        far = (1 - t) * self.h[i + 1, j] + t * self.h[i + 1, j + 1]
        return np.asarray((1 - s) * near + s * far)


@dataclass(frozen=True, eq=False)
class BestForTwo:
    """The best long-run mean of W(Zᵗ): a policy's from below, and a bound on every policy's from above.

    Attributes:
        value: the long-run mean of the policy, as estimated.
        error: its standard error.
        upper: no policy has a larger long-run mean.
        without_fluctuation: the welfare of a memory without fluctuation, also an upper bound.
        confidence: the probability with which `lower` and `upper` both hold.
        policy: the policy, for `bygones.simulation.simulate`.
    """

    value: float
    error: float
    upper: float
    without_fluctuation: float
    confidence: float
    policy: GreedyForTwo

    @property
    def lower(self) -> float:
        """A lower bound on the policy's long-run mean, with confidence."""
        return self.value - float(special.ndtri(1 - (1 - self.confidence) / 2)) * self.error


def best_for_two(
    needs: Uniform,
    memory: Discounted,
    welfare: AnyWelfare,
    *,
    nodes: int = 60,
    bins: int = 8,
    paths: int = 1000,
    steps: int = 2000,
    confidence: float = 0.999,
    seed: int = 0,
) -> BestForTwo:
    """The best long-run mean of the welfare of recent totals, for two agents of which one is served at each step.

    Args:
        needs: of two agents, drawn afresh at every step.
        memory: discounted, with γ below 1; summed or averaged.
        welfare: utilitarian, nash (its logarithm), egalitarian, any α-fair or generalised Gini.
        nodes: of the grid, per agent. More of them bring `upper` down: at γ = 0.99 150 are needed.
        bins: into which the needs of each agent are divided for the upper bound.
        paths: independent runs of the policy, for the lower bound.
        steps: of each run, after a time to settle.
        confidence: of `lower` and `upper` together.
        seed: of all draws.
    """
    if not isinstance(needs, Uniform) or needs.n_agents != 2:
        raise ValueError(f"needs must be uniform needs of 2 agents, got {needs}")
    check_between("memory.gamma", memory.gamma, 0.0, 1.0, "below 1", open_high=True)
    check_count("nodes", nodes, least=3)
    check_count("bins", bins)
    check_count("paths", paths, least=2)
    check_count("steps", steps)
    judge, gamma = as_judge(welfare), float(memory.gamma)
    # An averaged memory has settled when its denominator has, at 1/(1 − γ).
    unit = 1 - gamma if memory.average else 1.0
    low, high = (unit * np.asarray(bound) for bound in needs.bounds)
    settled = optimum(
        Uniform(low / (1 - gamma), (high - low) / (1 - gamma)), 1, judge, confidence=confidence, seed=seed
    )
    centre = settled.utilities
    axes = [_axis(low[i], high[i], gamma, centre[i], judge, nodes, bins) for i in range(2)]
    h, upper = proved(axes[0], axes[1], judge, _returning(axes, centre, judge))
    policy = GreedyForTwo(memory, judge, (axes[0].nodes, axes[1].nodes), h)
    means = _simulated(policy, Uniform(low, high - low), gamma, centre, paths, steps, seed)
    error = float(means.std(ddof=1)) / math.sqrt(paths)
    upper = min(upper, settled.upper)
    return BestForTwo(float(means.mean()), error, upper, settled.upper, confidence, policy)


def _axis(low: float, high: float, gamma: float, centre: float, judge: Welfare, nodes: int, bins: int) -> Axis:
    """Nodes from the floor to the largest memory that there can be, and the ends of equally likely bins of needs."""
    spread, top = high / math.sqrt(1 - gamma**2) / 2, high / (1 - gamma)
    least = LEAST_SHARE * centre if judge.needs_non_negative else 0.0
    floor = max(least, min(centre - FLOOR_SPREADS * spread, FLOOR_SHARE * centre))
    if judge.needs_non_negative:
        # The curvature of logarithms and powers depends on ratios.
        places = np.geomspace(floor, top, nodes)
    else:
        dense = DENSE_SPREADS * spread
        first, last = math.asinh((floor - centre) / dense), math.asinh((top - centre) / dense)
        places = centre + dense * np.sinh(np.linspace(first, last, nodes))
    places[[0, -1]] = floor, top
    return Axis(places, np.linspace(low, high, bins + 1), gamma)


def _returning(axes: list[Axis], centre: Floats, judge: Welfare) -> Floats:
    """The welfare to come if every memory went straight to the centre: where value iteration starts."""
    away = np.stack(np.meshgrid(axes[0].nodes, axes[1].nodes, indexing="ij"), axis=-1) - centre
    h, gamma = np.zeros(away.shape[:-1]), axes[0].gamma
    for t in range(1, math.ceil(WINDOWS / (1 - gamma))):
        h += np.asarray(judge.judge(centre + gamma**t * away))
    return np.asarray(h - h[0, 0])


def _simulated(
    policy: GreedyForTwo, needs: Uniform, gamma: float, centre: Floats, paths: int, steps: int, seed: int
) -> Floats:
    """The mean of W(Zᵗ) over the steps of each run, once the memory has settled."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    Z, total, rows = np.tile(centre, (paths, 1)), np.zeros(paths), np.arange(paths)
    settling = math.ceil(2 * WINDOWS / (1 - gamma))
    for t in range(settling + steps):
        now = np.asarray(needs.draw(rng.random(Z.shape), rng.random(0), t + 1)[0])
        Z = gamma * Z
        served = policy.choose(Z, now)
        Z[rows, served] += now[rows, served]
        if t >= settling:
            total += np.asarray(policy.welfare.judge(Z))
    return total / steps
