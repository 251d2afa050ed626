r"""A function h of two agents' memories that proves an upper bound on every policy's long-run mean of $W(Z^t)$.

At every step one of two agents is served and receives its need $x_i$; the memory becomes $y = \gamma z + x_i e_i$ and
the step counts $W(y)$. For every function $h$, no policy has a long-run mean above

$$ \sup_z\;(\mathcal{T}h)(z) - h(z), \qquad
   (\mathcal{T}h)(z) = \mathbb{E}_x \max_i\, f(\gamma z + x_i e_i), \quad f = W + h. $$

Here $h$ is bilinear between the nodes of a grid, and the needs are divided into bins. For $z$ in a cell with corners
$z_j$ and a need in a bin with ends $x_{ik}$, both are means of corners and ends with some weights $\lambda$ and $\mu$.
So $h(z) = \sum_j \lambda_j h(z_j)$ and

$$ f(\gamma z + x_i e_i) \le \sum_{j,k} \lambda_j \mu_k\, f(\gamma z_j + x_{ik} e_i) + \varepsilon_i, $$

where the *rise* $\varepsilon_i$ bounds how far $f$ can be above the mean of its values at the corners: for $W$ in
closed form, for $h$ from its changes of slope. A maximum is convex, so the supremum is at most the largest value at a
node of $\mathbb{E}\max_i (f + \varepsilon_i) - h$, with the mass of each bin at its two ends. Value iteration with the
rises in place finds an $h$ for which this is small; whatever it finds, the bound holds.

Memories below a floor are lifted to it before they count, which can only help. The floor keeps the grid where memories
are, and logarithms finite.

Arrays that belong to the agent who is served have the axes (its nodes or cells, its bins, the other's nodes or cells).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage

from bygones._arrays import Floats, Ints
from bygones.forms import AlphaFair
from bygones.welfare import Welfare

WINDOWS = 8
"""Value iteration goes over this many of the memory's windows, 1/(1−γ) steps each."""
LOOKS = 24
"""How often it renews the rises of h on the way, and looks at the bound."""

SMOOTH = 3
"""The number of cells over which the rises of h are smoothed in the first half."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One agent's side of the grid.

    Attributes:
        nodes: remembered utilities in ascending order, from the floor to the largest that there can be.
        ends: of the bins of needs, which are equally likely.
        gamma: the weight of the old total after a step.
    """

    nodes: Floats
    ends: Floats
    gamma: float

    @cached_property
    def faded(self) -> Floats:
        """The recent total after a step without being served, by node."""
        after: Floats = np.maximum(self.gamma * self.nodes, self.nodes[0])
        return after

    @cached_property
    def served(self) -> Floats:
        """The recent total after being served, by node and end of a bin."""
        after: Floats = np.clip(self.gamma * self.nodes[:, None] + self.ends, self.nodes[0], self.nodes[-1])
        return after

    @cached_property
    def at_faded(self) -> Floats:
        """Interpolates from the nodes to `faded`."""
        return _interpolation(self.nodes, self.faded)

    @cached_property
    def at_served(self) -> Floats:
        """Interpolates from the nodes to `served`, flattened."""
        return _interpolation(self.nodes, self.served.ravel())


@dataclass(frozen=True, eq=False)
class Side:
    """What serving one agent does: its own axis, the other agent's, and the welfare that judges both."""

    mine: Axis
    other: Axis
    judge: Welfare

    @cached_property
    def welfare(self) -> Floats:
        """W after serving, by node, end and node of the other."""
        return np.asarray(self.judge.judge(_pairs(self.mine.served[:, :, None], self.other.faded)))

    @cached_property
    def rise_of_welfare(self) -> Floats:
        """How far W can be above the mean of its values at corners and ends, by cell, bin and cell of the other."""
        low, high = self.mine.served[:-1, :-1, None], self.mine.served[1:, 1:, None]
        other_low, other_high = self.other.faded[:-1], self.other.faded[1:]
        form = self.judge.form
        if isinstance(form, AlphaFair) and 0 < form.alpha < math.inf:
            return _rise_of_powers(form, low, high) + _rise_of_powers(form, other_low, other_high)
        # All others are made of the sum, which is linear, and of the minimum.
        of_minimum = float(self.judge.judge(np.ones(2)) - self.judge.judge(np.array([0.0, 2.0])))
        return of_minimum * _rise_of_minimum(low - other_high, high - other_low)

    def rise_of(self, h: Floats) -> Floats:
        """The same for h, whose slopes change at the nodes only: each fall of slope adds a quarter of the width."""
        # Below the floor h is constant, so the floor is a node like others: nothing is lifted here.
        gamma, nodes, ends, others = self.mine.gamma, self.mine.nodes, self.mine.ends, self.other.nodes
        low, high = gamma * nodes[:-1, None] + ends[:-1], gamma * nodes[1:, None] + ends[1:]
        first, last = _inner_nodes(nodes, low, high)
        other_first, other_last = _inner_nodes(others, gamma * others[:-1], gamma * others[1:])
        # Along my axis: the falls on any line that the other's cell touches.
        touched = [slice(max(a - 1, 0), b + 1) for a, b in zip(other_first, other_last, strict=True)]
        worst = np.stack([_falls(h, nodes)[:, lines].max(axis=1) for lines in touched], axis=1)
        sums = np.concatenate([np.zeros((1, len(touched))), np.cumsum(worst, axis=0)])
        mine: Floats = (high - low)[:, :, None] / 4 * (sums[last] - sums[first])
        # Along the other's axis: the falls in its cell, on any line that I may be on.
        sums = np.concatenate([np.zeros((len(h), 1)), np.cumsum(_falls(h.T, others).T, axis=1)], axis=1)
        inside = gamma * np.diff(others) / 4 * (sums[:, other_last] - sums[:, other_first])
        return mine + _largest_between(inside, np.maximum(first - 1, 0), last)

    def values(self, h: Floats, rise: Floats) -> Floats:
        """W + h after serving, with their rises, of which that of h is given.

        The axes are my node, the other's node, and bin and end, all of which are equally likely.
        """
        after = (self.mine.at_served @ h @ self.other.at_faded.T).reshape(self.welfare.shape) + self.welfare
        at_nodes = _largest_around(self.rise_of_welfare + rise)
        return np.concatenate([after[:, :-1] + at_nodes, after[:, 1:] + at_nodes], axis=1).transpose(0, 2, 1)


def proved(first: Axis, second: Axis, judge: Welfare, start: Floats) -> tuple[Floats, float]:
    """A function h at the nodes of both agents, and the upper bound that it proves.

    Args:
        first: the axis of agent 0; h has one row per node.
        second: the axis of agent 1; h has one column per node.
        judge: the welfare.
        start: h to start from.
    """
    sides = Side(first, second, judge), Side(second, first, judge)
    h, best, upper = start, start, math.inf
    assumed = tuple(np.zeros_like(side.rise_of_welfare) for side in sides)
    for look in range(LOOKS):
        rises = tuple(side.rise_of(seen) for side, seen in zip(sides, (h, h.T), strict=True))
        bound = float((sweep(sides, h, rises) - h).max())
        if bound < upper:
            best, upper = h, bound
        # Rises that follow every bump of h add to it, and in the end both may grow in turn. So they follow half-way, at
        # first smoothly, and the best that is met counts.
        if look < LOOKS // 2:
            rises = tuple(ndimage.uniform_filter(rise, (SMOOTH, 1, SMOOTH), mode="nearest") for rise in rises)
        assumed = tuple((a + b) / 2 for a, b in zip(assumed, rises, strict=True))
        for _ in range(math.ceil(WINDOWS / (1 - first.gamma) / LOOKS)):
            h = sweep(sides, h, assumed)
            h = h - h[0, 0]
    return best, upper


def sweep(sides: tuple[Side, Side], h: Floats, rises: tuple[Floats, ...]) -> Floats:
    """The mean over needs of the larger of W + h, with their rises, after serving either agent, at every node."""
    first = sides[0].values(h, rises[0])
    second = sides[1].values(h.T, rises[1]).transpose(1, 0, 2)
    total = np.zeros(h.shape)
    for k in range(first.shape[-1]):
        total += np.maximum(first[..., k, None], second).mean(axis=-1)
    return np.asarray(total / first.shape[-1])


def place(nodes: Floats, points: Floats) -> tuple[Ints, Floats]:
    """The cell of each point and how far through it the point lies, from 0 to 1."""
    cell = np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, len(nodes) - 2)
    return cell, (points - nodes[cell]) / (nodes[cell + 1] - nodes[cell])


def _interpolation(nodes: Floats, points: Floats) -> Floats:
    """The matrix that interpolates linearly from the nodes to the points."""
    cell, through = place(nodes, points)
    rows, matrix = np.arange(len(points)), np.zeros((len(points), len(nodes)))
    matrix[rows, cell], matrix[rows, cell + 1] = 1 - through, through
    return matrix


def _pairs(mine: Floats, other: Floats) -> Floats:
    return np.stack(np.broadcast_arrays(mine, other), axis=-1)


def _rise_of_powers(form: AlphaFair, low: Floats, high: Floats) -> Floats:
    r"""The most by which $\varphi$ of α-fair welfare is above its chord: where its slope is the chord's."""

    def phi(z: Floats) -> Floats:
        shifted = z + form.shift
        return np.log(shifted) if form.alpha == 1 else shifted ** (1 - form.alpha) / (1 - form.alpha)

    width = high - low
    slope = (phi(high) - phi(low)) / np.where(width > 0, width, 1.0)
    touch = np.clip(np.where(width > 0, slope, 1.0) ** (-1 / form.alpha) - form.shift, low, high)
    return np.maximum(phi(touch) - phi(low) - slope * (touch - low), 0.0)


def _rise_of_minimum(low: Floats, high: Floats) -> Floats:
    """For min(y₁, y₂) = (y₁ + y₂ − |y₁ − y₂|)/2, where y₁ − y₂ is between low and high."""
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    width = high - low
    return -low * high / np.where(width > 0, width, 1.0)


def _falls(h: Floats, nodes: Floats) -> Floats:
    """By how much the slope along the first axis falls at each node. Below the floor h is constant."""
    slopes = np.diff(h, axis=0) / np.diff(nodes)[:, None]
    falls = np.zeros(h.shape)
    falls[0], falls[1:-1] = -slopes[0], slopes[:-1] - slopes[1:]
    return np.maximum(falls, 0.0)


def _inner_nodes(nodes: Floats, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """The nodes strictly between low and high: the first, and the one after the last, or the last of all."""
    first = np.searchsorted(nodes, low, side="right")
    last = np.maximum(np.searchsorted(nodes, high, side="left"), first)
    return np.minimum(first, len(nodes) - 1), np.minimum(last, len(nodes) - 1)


def _largest_between(values: Floats, first: Ints, last: Ints) -> Floats:
    """The largest of the rows first, …, last, for arrays of both."""
    largest = values[first]
    for ahead in range(1, int((last - first).max()) + 1):
        largest = np.maximum(largest, values[np.minimum(first + ahead, last)])
    return largest


def _largest_around(cells: Floats) -> Floats:
    """At each node the largest of the cells around it, along the first and last axes."""
    wide = np.pad(cells, ((1, 1), (0, 0), (1, 1)), mode="edge")
    either = np.maximum(wide[:-1], wide[1:])
    return np.maximum(either[..., :-1], either[..., 1:])
