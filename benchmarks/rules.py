"""How good are the rules that need no training? Measured against certified bounds, and when people misreport.

    python -m benchmarks.rules long-run     # every kind of needs, every rule: share of the bound
    python -m benchmarks.rules steps        # is the step of the prices well chosen? a sweep over the family
    python -m benchmarks.rules reports      # what somebody gains by misreporting

Each prints its rows and writes them to `evidence/rules/`; `long-run` goes on where it was stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bygones import Discounted
from bygones.allocation import ChooseK
from bygones.allocation.hindsight import hindsight
from bygones.envs import needs as kinds
from bygones.memory import priced
from bygones.simulation import policy_named, simulate

OUT = Path(__file__).parents[1] / "evidence" / "rules"
STEPS = 10_000
GAMMAS = (1.0, 0.99, 0.9)
RULES = (
    "prices",
    "calibrated",
    "one-step",
    "proportional-fair",
    "dynamic-max-min",
    "round-robin",
    "random",
    "utilitarian",
)
SEEDS = (0, 1)


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


def met(needs: Any, steps: int, seed: int) -> np.ndarray:
    """The needs that `simulate` meets with this seed."""
    noise = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    state, rows = needs.start(noise.random(needs.n_agents)), []
    for t in range(steps):
        now, state = needs.draw(noise.random(needs.n_agents), state, t + 1)
        rows.append(now)
    return np.array(rows)


def long_run(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lowest utility (egalitarian) and the geometric mean (Nash), as shares of what anybody could have reached."""
    done = {(row["needs"], row["welfare"], row["gamma"]) for row in rows}
    for kind, (needs, k) in KINDS.items():
        for welfare, measure in (("egalitarian", "egalitarian"), ("nash", "nash")):
            if all((kind, welfare, gamma) in done for gamma in GAMMAS):
                continue
            bounds = [hindsight([ChooseK(x, k) for x in met(needs, STEPS, s)], welfare).upper for s in SEEDS]
            for gamma in GAMMAS:
                if (kind, welfare, gamma) in done:
                    continue
                memory = Discounted(gamma=gamma)
                row: dict[str, Any] = {
                    "needs": kind,
                    "welfare": welfare,
                    "gamma": gamma,
                    "bound": float(np.mean(bounds)),
                }
                for rule in RULES:
                    if kind != "the paper's needs" and rule not in (
                        "prices",
                        "one-step",
                        "proportional-fair",
                        "random",
                    ):
                        continue
                    made = [
                        simulate(policy_named(rule, memory, welfare, needs, k), needs, memory, welfare, STEPS, k, s)
                        for s in SEEDS
                    ]
                    row[rule] = float(np.mean([m.summary()[measure] / b for m, b in zip(made, bounds, strict=True)]))
                yield row


def steps(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The family of price rules: the size of the first step, from a tenth of ours to four times as much."""
    for kind, (needs, k) in KINDS.items():
        if needs.n_agents > 100:
            continue
        bound = hindsight([ChooseK(x, k) for x in met(needs, STEPS, 0)], "egalitarian").upper
        for gamma in GAMMAS:
            memory, row = Discounted(gamma=gamma), {"needs": kind, "gamma": gamma}
            for size in (0.05, 0.125, 0.25, 0.5, 1.0, 2.0):
                priced.STEP = size
                policy = policy_named("prices", memory, "egalitarian", needs, k)
                row[f"{size:g}"] = (
                    simulate(policy, needs, memory, "egalitarian", STEPS, k).summary()["egalitarian"] / bound
                )
            priced.STEP = 0.5
            yield row


def reports(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What agent 9 of the paper's problem gains (1 is nothing) by misreporting, and what it costs the others."""
    needs, k = kinds.advantaged(), 2
    liar, true = 9, met(needs, STEPS, 0)
    usual = np.median(true[:, liar])

    def honest(t: int, x: np.ndarray) -> np.ndarray:
        return x

    def doubled(t: int, x: np.ndarray) -> np.ndarray:
        return np.where(np.arange(10) == liar, 2 * x, x)

    def when_likely(t: int, x: np.ndarray) -> np.ndarray:
        return np.where((np.arange(10) == liar) & (x > usual), 2 * x, x)

    def nothing_for_a_while(t: int, x: np.ndarray) -> np.ndarray:
        return np.where((np.arange(10) == liar) & (t % 1000 < 200), 0.0, x)

    for gamma in (0.99, 0.9):
        for rule in RULES:
            for normalised in (False, True):
                made = {
                    lie.__name__: _received(rule, Discounted(gamma=gamma), true, lie, k, normalised)
                    for lie in (honest, doubled, when_likely, nothing_for_a_while)
                }
                row: dict[str, Any] = {"gamma": gamma, "rule": rule, "normalised": normalised}
                for name, received in made.items():
                    if name != "honest":
                        row[name] = float(received[liar] / made["honest"][liar])
                        row[f"{name}, others"] = float(np.delete(received, liar).min() / made["honest"].min())
                yield row


def _received(rule: str, memory: Any, true: np.ndarray, lie: Any, k: int, normalised: bool) -> np.ndarray:
    """True utilities, where the allocator knows and remembers reports only."""
    policy = policy_named(rule, memory, "egalitarian", kinds.advantaged(), k)
    memory = getattr(policy, "memory", memory)
    state, received, rng = memory.init(10), np.zeros(10), np.random.default_rng(0)
    total, count = np.zeros(10), 0
    for t, x in enumerate(true):
        reported = lie(t, x)
        if normalised:
            total, count = total + reported, count + 1
            reported = np.where(total > 0, reported * count / np.maximum(total, 1e-300), 0.0)
        served = policy(reported, k, state, t, rng)
        utilities = np.zeros(10)
        utilities[served] = reported[served]
        received[served] += x[served]
        state = memory.advance(state, utilities)
    return received


def main() -> None:
    what = {"long-run": long_run, "steps": steps, "reports": reports}
    if len(sys.argv) != 2 or sys.argv[1] not in what:
        sys.exit(f"usage: python -m benchmarks.rules {'|'.join(what)}")
    path = OUT / f"{sys.argv[1]}.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() and sys.argv[1] == "long-run" else []
    for row in what[sys.argv[1]](list(rows)):
        rows.append({name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()})
        print(rows[-1], flush=True)
        lines = (json.dumps(each, ensure_ascii=False) for each in rows)
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
