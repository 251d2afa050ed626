"""Prices compared with one step at a time, for assignments of items, divisions of an amount, and burdens.

    python -m benchmarks.rules_other_problems            # every problem and rule: share of the certified bound
    python -m benchmarks.rules_other_problems steps      # is the step of the prices well chosen? a sweep

Each prints its rows and writes them to `evidence/rules/`, and continues where it was stopped. A share of a burden is
the bound divided by the load, so 1 is the best for burdens, too. The bound is by duality, for the sampled problems: see
`benchmarks/hindsight.py`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hindsight import hindsight
from bygones import Discounted, Instantaneous
from bygones.allocation import Assign, ChooseK, Divide, Problem, allocate, calibrate
from bygones.allocation.pricing import learning
from bygones.memory import Memory, priced

OUT = Path(__file__).parents[1] / "evidence" / "rules"
STEPS, SEEN = 1_500, 300
"""How many problems are decided, and how many others a calibrated rule has seen before."""
GAMMAS = (1.0, 0.99, 0.9)
SIZES = (0.05, 0.125, 0.25, 0.5, 1.0, 2.0)


def assigned(rng: np.random.Generator) -> Problem:
    """Four items for six agents; things are usually worth nearly twice as much to the last as to the first."""
    return Assign(rng.lognormal(np.linspace(-0.3, 0.3, 6)[:, None], 0.6, (6, 4)))


def divided(rng: np.random.Generator) -> Problem:
    """An amount of 2 among eight agents who ask for up to 1.5 each; the last usually makes twice as much of a unit."""
    return Divide(2.0, rng.lognormal(np.linspace(-0.35, 0.35, 8), 0.4), rng.uniform(0.0, 1.5, 8))


def shifts(rng: np.random.Generator) -> Problem:
    """Two of six agents work a shift, which is up to three times as heavy for some as for others."""
    return ChooseK(rng.lognormal(np.linspace(-0.5, 0.6, 6), 0.5), 2, kind="burden")


def duties(rng: np.random.Generator) -> Problem:
    """Three duties for five agents, who cannot do one in five of them."""
    allowed = rng.random((5, 3)) < 0.8
    allowed[:3] |= np.eye(3, dtype=bool)  # every item has an agent who can take it
    return Assign(rng.lognormal(np.linspace(-0.5, 0.5, 5)[:, None], 0.5, (5, 3)), 1, allowed, kind="burden")


PROBLEMS = {
    "Assign 4 items to 6 agents": (assigned, ("egalitarian", "nash")),
    "Divide 2 among 8 agents": (divided, ("egalitarian", "nash")),
    "ChooseK 2 of 6, a burden": (shifts, ("egalitarian", "power_burden")),
    "Assign 3 items to 5 agents, a burden": (duties, ("egalitarian", "power_burden")),
}


def judged(mean: np.ndarray, welfare: str, problem: Problem) -> float:
    """The lowest mean utility or the geometric mean; of burdens the heaviest mean load or the power mean, below 0."""
    if problem.is_burden:
        return -float(mean.max() if welfare == "egalitarian" else math.sqrt((mean**2).mean()))
    return float(mean.min() if welfare == "egalitarian" else math.exp(np.log(mean).mean()))


def decided(problems: list[Problem], memory: Memory, welfare: str, rule: str) -> float:
    """The share of the bound that a rule reaches."""
    rng, state = np.random.default_rng(1), memory.init(problems[0].n_agents)
    received = np.zeros(problems[0].n_agents)
    for problem in problems:
        decision = allocate(problem, memory, state, welfare, rule=rule, rng=rng)
        state, received = decision.state_after, received + decision.utilities
    return judged(received / len(problems), welfare, problems[0])


def blindly(problems: list[Problem], welfare: str) -> float:
    """The share without any distinction between agents: by lot, or in equal parts."""
    rng, memory = np.random.default_rng(1), Instantaneous()
    received = np.zeros(problems[0].n_agents)
    for problem in problems:
        alike = _alike(problem)
        given = allocate(alike, memory, memory.init(problem.n_agents), "utilitarian", rng=rng).given
        received += problem.utilities_of(given)
    return judged(received / len(problems), welfare, problems[0])


def _alike(problem: Problem) -> Problem:
    if isinstance(problem, Assign):
        return Assign(np.ones(problem.utilities.shape), problem.capacity, problem.allowed, kind=problem.kind)
    if isinstance(problem, Divide):
        return Divide(problem.amount, np.ones(problem.n_agents), problem.caps, kind=problem.kind)
    assert isinstance(problem, ChooseK)
    return ChooseK(np.ones(problem.n_agents), problem.k, kind=problem.kind)


def share(made: float, bound: float) -> float:
    """The share of the bound; both are below 0 for burdens, where the bound is the smaller load."""
    return round(made / bound if bound > 0 else bound / made, 4)


def rules(done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every problem, welfare and memory: learned prices, calibrated ones, one step at a time, and blindly."""
    known = {(row["problem"], row["welfare"], row["gamma"]) for row in done}
    for name, (draw, welfares) in PROBLEMS.items():
        met, seen = (_drawn(draw, count, seed) for seed, count in enumerate((STEPS, SEEN)))
        for welfare in welfares:
            if all((name, welfare, gamma) in known for gamma in GAMMAS):
                continue
            bound, kind = hindsight(met, welfare).upper, met[0].kind
            random = share(blindly(met, welfare), bound)
            for gamma in GAMMAS:
                if (name, welfare, gamma) in known:
                    continue
                memory = Discounted(gamma=gamma)
                prices = learning(memory, welfare, kind=kind)
                start = replace(prices, start=calibrate(seen, memory, welfare))
                yield {
                    "problem": name,
                    "welfare": welfare,
                    "gamma": gamma,
                    "bound": round(bound, 4),
                    "prices": share(decided(met, prices, welfare, "prices"), bound),
                    "calibrated": share(decided(met, start, welfare, "prices"), bound),
                    "one-step": share(decided(met, memory, welfare, "one-step"), bound),
                    "random": random,
                }


def steps(done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The family of price rules: the size of the first step, from a tenth of the default to four times the default."""
    known = {(row["problem"], row["gamma"]) for row in done}
    for name, (draw, _) in PROBLEMS.items():
        met = _drawn(draw, STEPS, 0)
        bound = None
        for gamma in GAMMAS:
            if (name, gamma) in known:
                continue
            bound = hindsight(met, "egalitarian").upper if bound is None else bound
            memory = learning(Discounted(gamma=gamma), "egalitarian", kind=met[0].kind)
            row: dict[str, Any] = {"problem": name, "gamma": gamma}
            ours = priced.STEP
            for size in SIZES:
                priced.STEP = size
                row[str(size)] = share(decided(met, memory, "egalitarian", "prices"), bound)
            priced.STEP = ours
            yield row


def _drawn(draw: Callable[[np.random.Generator], Problem], count: int, seed: int) -> list[Problem]:
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


def main() -> None:
    part, file = (steps, "other-problems-steps") if "steps" in sys.argv[1:] else (rules, "other-problems")
    path = OUT / f"{file}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for row in part(list(rows)):
        print(row, flush=True)
        rows.append(row)
        lines = (json.dumps(each, ensure_ascii=False) for each in rows)
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
