"""How good are the rules that need no training? Measured against certified bounds, and when people misreport.

    python -m benchmarks.rules long-run     # every kind of needs, every rule: share of the bound
    python -m benchmarks.rules sweep        # are the constants of the prices well chosen? a sweep over the family
    python -m benchmarks.rules change       # how fast a rule follows when needs change
    python -m benchmarks.rules reports      # the gain of one agent that misreports

Each prints its rows and writes them to `evidence/rules/`, and goes on where it was stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.hindsight import Hindsight, hindsight
from bygones import Discounted
from bygones.allocation import ChooseK, RankingPolicy, pricing
from bygones.envs import needs as kinds
from bygones.memory import priced
from bygones.simulation import Simulation, policy_named, simulate_seeds

OUT = Path(__file__).parents[1] / "evidence" / "rules"
STEPS = 10_000
GAMMAS = (1.0, 0.99, 0.9)
RULES = (
    "prices",
    "calibrated",
    "one-step",
    "proportional-fair",
    "max-min",
    "round-robin",
    "random",
    "largest-need",
)
SEEDS = range(4)
WELFARES = ("egalitarian", "nash")


class Sparse(NamedTuple):
    """A need of U(0, 1) with a chance of one in ten, else none."""

    n_agents: int = 10
    chance: float = 0.1
    bounds: Any = (np.zeros(10), np.ones(10))
    mean: Any = np.full(10, 0.05)

    def start(self, uniforms):
        return uniforms[..., :0]

    def draw(self, uniforms, state, t):
        return np.where(uniforms < self.chance, uniforms / self.chance, 0.0), state


class Changing(NamedTuple):
    """The paper's needs until half-way; then others are the advantaged, and the first two need half as much."""

    n_agents: int = 10
    bounds: Any = (np.zeros(10), np.ones(10))
    mean: Any = np.full(10, 0.5)

    def start(self, uniforms):
        return uniforms[..., :0]

    def draw(self, uniforms, state, t):
        needs = uniforms.copy()
        late = t > STEPS // 2
        rich = slice(-2, None) if late else slice(0, 2)
        needs[..., rich] = 0.8 + 0.2 * needs[..., rich]
        if late:
            needs[..., :2] *= 0.5
        return needs, state


KINDS: dict[str, tuple[Any, int]] = {
    "the paper's needs": (kinds.advantaged(), 2),
    "3 agents, 1 served": (kinds.advantaged(3, 1), 1),
    "100 agents, 5 served": (kinds.advantaged(100, 20), 5),
    "1000 agents, 20 served": (kinds.advantaged(1000, 200), 20),
    "log-normal, different scales": (kinds.lognormal(np.linspace(-1, 1, 10), np.linspace(1.2, 0.3, 10)), 2),
    "lingering (ρ = 0.95)": (kinds.correlated(kinds.advantaged(), 0.95), 2),
    "sparse (one in ten asks)": (Sparse(), 2),
    "sudden change half-way": (Changing(), 2),
}


class Fixed(RankingPolicy):
    """Constant prices: the best there are for the distribution of needs, whatever the luck of a horizon."""

    def __init__(self, prices: np.ndarray) -> None:
        self.prices = prices

    def keys(self, needs: np.ndarray, k: int, state: Any, step: int) -> tuple[np.ndarray, ...]:
        return (needs * self.prices,)


def made_by(rule: str | RankingPolicy, needs: Any, k: int, welfare: str, gamma: float) -> list[Simulation]:
    memory = Discounted(gamma=gamma)
    policy = policy_named(rule, memory, welfare, needs, k) if isinstance(rule, str) else rule
    return simulate_seeds(policy, needs, memory, welfare, STEPS, k, SEEDS)


def bounds_of(needs: Any, k: int, welfare: str, part: slice = slice(None)) -> list[Hindsight]:
    """What anybody could have reached in part of each simulation."""
    seen = made_by("largest-need", needs, k, welfare, 1.0)
    return [hindsight([ChooseK(x, k) for x in one.needs[part]], welfare) for one in seen]


def shares(made: list[Simulation], bounds: list[Hindsight], welfare: str, part: slice = slice(None)) -> list[float]:
    """The lowest utility (egalitarian) or the geometric mean (Nash), as shares of the bounds."""
    found = []
    for one, bound in zip(made, bounds, strict=True):
        mean = one.utilities[part].mean(axis=0)
        value = mean.min() if welfare == "egalitarian" else np.exp(np.log(np.maximum(mean, 1e-300)).mean())
        found.append(float(value / bound.upper))
    return found


def long_run(done: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """All kinds of needs and all rules.

    `fixed` are the best constant prices for the distribution, from a separate sample of needs. Their
    distance from 1 is only the luck of a horizon. `error` is the standard error of `prices` over seeds.
    """
    for kind, (needs, k) in KINDS.items():
        for welfare in WELFARES:
            todo = [gamma for gamma in GAMMAS if (kind, welfare, gamma) not in done]
            if not todo:
                continue
            bounds = bounds_of(needs, k, welfare)
            steady = Fixed(np.mean([bound.prices for bound in _elsewhere(needs, k, welfare)], axis=0))
            fixed = float(np.mean(shares(made_by(steady, needs, k, welfare, 1.0), bounds, welfare)))
            for gamma in todo:
                row: dict[str, Any] = {"needs": kind, "welfare": welfare, "gamma": gamma}
                row |= {"bound": float(np.mean([bound.upper for bound in bounds])), "fixed": fixed}
                for rule in RULES if kind == "the paper's needs" else COMPARED:
                    each = shares(made_by(rule, needs, k, welfare, gamma), bounds, welfare)
                    row[rule] = float(np.mean(each))
                    if rule == "prices":
                        row["error"] = float(np.std(each, ddof=1) / np.sqrt(len(each)))
                yield row


COMPARED = ("prices", "calibrated", "one-step", "proportional-fair", "random")
"""The rules measured on needs other than the paper's."""


def _elsewhere(needs: Any, k: int, welfare: str) -> list[Hindsight]:
    memory = Discounted(gamma=1.0)
    policy = policy_named("largest-need", memory, welfare, needs, k)
    seen = simulate_seeds(policy, needs, memory, welfare, STEPS, k, range(100, 104))
    return [hindsight([ChooseK(x, k) for x in one.needs], welfare) for one in seen]


def sweep(done: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """The family of price rules: other first steps (ours is 0.5), other corrections (ours is 0.25)."""
    ours = priced.STEP, pricing.CORRECTION
    for kind, (needs, k) in KINDS.items():
        for welfare in WELFARES:
            if all((kind, welfare, gamma) in done for gamma in GAMMAS):
                continue
            bounds = bounds_of(needs, k, welfare)
            for gamma in GAMMAS:
                if (kind, welfare, gamma) in done:
                    continue
                row: dict[str, Any] = {"needs": kind, "welfare": welfare, "gamma": gamma}
                for step in (0.125, 0.25, 0.5, 1.0, 2.0):
                    priced.STEP = step
                    each = shares(made_by("prices", needs, k, welfare, gamma), bounds, welfare)
                    row[f"step {step:g}"] = float(np.mean(each))
                priced.STEP = ours[0]
                for c in (0.0, 0.1, 0.5, 1.0):
                    pricing.CORRECTION = c
                    each = shares(made_by("prices", needs, k, welfare, gamma), bounds, welfare)
                    row[f"correction {c:g}"] = float(np.mean(each))
                pricing.CORRECTION = ours[1]
                yield row


def change(done: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """After needs change half-way: share of the bound in the next 1000 steps, and in the whole second half."""
    (needs, k), half = KINDS["sudden change half-way"], STEPS // 2
    for welfare in WELFARES:
        parts = {"next 1000 steps": slice(half, half + 1000), "second half": slice(half, None)}
        bounds = {name: bounds_of(needs, k, welfare, part) for name, part in parts.items()}
        for rule in ("prices", "one-step"):
            for gamma in (1.0, 0.999, 0.99, 0.9):
                if (welfare, rule, gamma) in done:
                    continue
                made = made_by(rule, needs, k, welfare, gamma)
                row: dict[str, Any] = {"welfare": welfare, "rule": rule, "gamma": gamma}
                for name, part in parts.items():
                    row[name] = float(np.mean(shares(made, bounds[name], welfare, part)))
                yield row


class Lie(NamedTuple):
    """How one agent reports."""

    name: str
    report: Callable[[np.ndarray, int], np.ndarray]


LOOKING = tuple(rule for rule in RULES if rule not in ("round-robin", "random"))
"""The rules that look at needs; by the others nobody can gain."""

LIAR = 9
LIES = (
    Lie("honest", lambda x, t: x),
    Lie("doubles", lambda x, t: 2 * x),
    Lie("doubles when likely", lambda x, t: np.where(x > 0.5, 2 * x, x)),
    Lie("silent for a while", lambda x, t: 0 * x if t % 1000 < 200 else x),
    Lie("a hundredth", lambda x, t: x / 100),
)


def reports(done: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """The gain of agent 9 of the paper's problem by misreporting (1 is no gain), and the utility of the lowest other.

    The allocator and its memory see reports only; gains are in true utilities. With `normalised`, each report is
    divided by the agent's own mean report so far.
    """
    for gamma in (0.99, 0.9):
        for rule in LOOKING:
            for normalised in (False, True):
                if (gamma, rule, normalised) in done:
                    continue
                made = {lie.name: _received(rule, gamma, lie, normalised) for lie in LIES}
                honest, row = made.pop("honest"), {"gamma": gamma, "rule": rule, "normalised": normalised}
                for name, received in made.items():
                    row[name] = float(np.mean(received[:, LIAR] / honest[:, LIAR]))
                    others = np.delete(received, LIAR, axis=1).min(axis=1) / np.delete(honest, LIAR, axis=1).min(axis=1)
                    row[f"{name}: lowest other"] = float(np.mean(others))
                yield row


class Reported(NamedTuple):
    """The paper's needs, as one agent reports them."""

    lie: Lie
    n_agents: int = 10
    bounds: Any = (np.zeros(10), np.full(10, np.inf))
    mean: Any = np.full(10, 0.5)

    def start(self, uniforms):
        return uniforms[..., :0]

    def draw(self, uniforms, state, t):
        needs, _ = kinds.advantaged().draw(uniforms, state, t)
        reported = np.array(needs)
        reported[..., LIAR] = self.lie.report(needs[..., LIAR], t - 1)
        return reported, state


class Normalised(NamedTuple):
    """Needs as multiples of the agent's own mean so far, over the steps at which it had a need."""

    needs: Reported
    n_agents: int = 10
    bounds: Any = (np.zeros(10), np.full(10, np.inf))
    mean: Any = np.ones(10)

    def start(self, uniforms):
        nothing = np.zeros_like(uniforms)
        return np.concatenate([self.needs.start(uniforms), nothing, nothing], axis=-1)

    def draw(self, uniforms, state, t):
        n = self.n_agents
        needs, inner = self.needs.draw(uniforms, state[..., : -2 * n], t)
        total, count = state[..., -2 * n : -n] + needs, state[..., -n:] + (needs > 0)
        own = needs * count / np.where(total > 0, total, 1.0)
        return own, np.concatenate([inner, total, count], axis=-1)


def _received(rule: str, gamma: float, lie: Lie, normalised: bool) -> np.ndarray:
    """The true utilities of all agents, one row per seed, where decisions rest on reports."""
    true = made_by("largest-need", kinds.advantaged(), 2, "egalitarian", 1.0)
    reported = Normalised(Reported(lie)) if normalised else Reported(lie)
    made = made_by(rule, reported, 2, "egalitarian", gamma)
    return np.array([((m.utilities > 0) * t.needs).sum(axis=0) for m, t in zip(made, true, strict=True)])


KEYS = {
    "long-run": ("needs", "welfare", "gamma"),
    "sweep": ("needs", "welfare", "gamma"),
    "change": ("welfare", "rule", "gamma"),
    "reports": ("gamma", "rule", "normalised"),
}
MEASURES = {"long-run": long_run, "sweep": sweep, "change": change, "reports": reports}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in MEASURES:
        sys.exit(f"usage: python -m benchmarks.rules {'|'.join(MEASURES)}")
    name = sys.argv[1]
    path = OUT / f"{name}.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    done = {tuple(row[key] for key in KEYS[name]) for row in rows}
    for row in MEASURES[name](done):
        rows.append({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
        print(rows[-1], flush=True)
        lines = (json.dumps(each, ensure_ascii=False) for each in rows)
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
