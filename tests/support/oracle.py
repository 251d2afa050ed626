"""The paper's learning problem in plain Python floats, straight from its formulas. Slow, and made to be read.

Nothing here is imported from bygones: this is what the environments are compared with.
"""

import math
from dataclasses import dataclass, field


@dataclass
class AdditiveMemory:
    """Definition 3: Zᵗ = γ·Zᵗ⁻¹ + uᵗ."""

    gamma: float
    n: int
    d: float = 0.0
    averages = False

    def __post_init__(self):
        self.Z = [0.0] * self.n

    def receive(self, u):
        self.Z = [self.gamma * z + x for z, x in zip(self.Z, u, strict=True)]
        self.d = self.gamma * self.d + 1.0


@dataclass
class AveragedMemory(AdditiveMemory):
    """Definition 4: Zᵗ = (γ·dₜ₋₁·Zᵗ⁻¹ + uᵗ)/(γ·dₜ₋₁ + 1)."""

    averages = True

    def receive(self, u):
        kept = self.gamma * self.d
        self.Z = [(kept * z + x) / (kept + 1.0) for z, x in zip(self.Z, u, strict=True)]
        self.d = kept + 1.0


@dataclass
class LinearMemory:
    """Theorem 5: Zᵗ = A·Zᵗ⁻¹ + uᵗ; d is what Z would be had every utility been one, on average over the agents."""

    A: list
    averages = False

    def __post_init__(self):
        self.Z = [0.0] * len(self.A)
        self.ones = [0.0] * len(self.A)

    @property
    def d(self):
        return sum(self.ones) / len(self.ones)

    def receive(self, u):
        def after(Z, x):
            return [sum(a * z for a, z in zip(row, Z, strict=True)) + new for row, new in zip(self.A, x, strict=True)]

        self.Z, self.ones = after(self.Z, u), after(self.ones, [1.0] * len(self.A))


@dataclass
class MultiscaleMemory:
    """Several additive memories, seen as their weighted sum."""

    gammas: tuple
    weights: tuple
    n: int
    averages = False

    def __post_init__(self):
        self.scales = [AdditiveMemory(gamma, self.n) for gamma in self.gammas]

    def receive(self, u):
        for scale in self.scales:
            scale.receive(u)

    @property
    def Z(self):
        return [sum(w * s.Z[i] for w, s in zip(self.weights, self.scales, strict=True)) for i in range(self.n)]

    @property
    def d(self):
        return sum(w * s.d for w, s in zip(self.weights, self.scales, strict=True))


def log_nash(Z):
    return sum(math.log(z + 1e-6) for z in Z)


def egalitarian(Z):
    return min(Z)


def utilitarian(Z):
    return sum(Z)


def alpha_fair(alpha):
    shift = 1e-6 if alpha > 1 else 0.0
    return lambda Z: sum((z + shift) ** (1 - alpha) for z in Z) / (1 - alpha)


def generalized_gini(Z):
    """The mean times one minus the Gini coefficient, the latter from its definition by pairs."""
    total = sum(Z)
    return (total / len(Z)) * (1 - gini(Z)) if total else 0.0


def gini(x):
    pairs = sum(abs(a - b) for a in x for b in x)
    return pairs / (2 * len(x) * sum(x)) if sum(x) else 0.0


@dataclass
class Oracle:
    """One episode: give it a memory, a welfare function and the switches, then `step` with needs and who is served."""

    memory: object
    welfare: object
    weight: float = 0.9
    divisor: float = 1.0
    relative: bool = False
    observe_memory: bool = True
    denominator_divisor: float | None = None
    shaping: float = 1.0
    received: list = field(default_factory=list)

    def observation(self, needs):
        Z = self.memory.Z
        if self.relative:
            mean = sum(Z) / len(Z)
            seen = [z / mean - 1 for z in Z] if mean > 0 else [0.0] * len(Z)
        else:
            seen = [z / self.divisor for z in Z]
        if not self.observe_memory:
            seen = [0.0] * len(Z)
        tail = [] if self.denominator_divisor is None else [self.memory.d / self.denominator_divisor]
        return [*needs, *seen, *tail]

    def step(self, needs, served):
        u = [need if i in served else 0.0 for i, need in enumerate(needs)]
        before = self.welfare(self.memory.Z)
        self.memory.receive(u)
        after = self.welfare(self.memory.Z)
        self.received.append(u)
        reward = (1 - self.weight) * sum(u) + self.weight * (self.shaping * after - before)
        return u, reward

    def cumulative(self):
        return [math.fsum(column) for column in zip(*self.received, strict=True)]

    def true_welfare(self):
        share = len(self.received) if self.memory.averages else 1
        return self.welfare([x / share for x in self.cumulative()])
