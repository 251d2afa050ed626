"""Where does each rule stand by the memory's own objective, the long-run mean of W(Zᵗ)?

    python -m benchmarks.own_objective

For two agents the best is known up to a small gap, for ten there is an upper bound. Rows are printed and written to
`evidence/rules/own-objective.json`; a run that was stopped goes on where it was. It takes some minutes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bygones import Discounted
from bygones.envs.needs import advantaged
from bygones.paper.foresight import foresight
from bygones.paper.two_agents import best_for_two
from bygones.simulation import POLICIES, policy_named, simulate

OUT = Path(__file__).parents[1] / "evidence" / "rules" / "own-objective.json"
GAMMAS = (0.5, 0.9, 0.99)
WELFARES = ("egalitarian", "nash")
STEPS, SEEDS = 10_000, (0, 1)
SETTLING = 1000
"""Steps that are not counted: ten windows of the longest memory."""
PARTS = 10
"""Into which a run is divided for the standard error; each is long against the longest memory."""

Row = dict[str, str | int | float | list[float]]


def rows(done: list[Row]) -> Iterator[Row]:
    known = {(row["agents"], row["welfare"], row["gamma"]) for row in done}
    for agents, served in ((2, 1), (10, 2)):
        for welfare in WELFARES:
            for gamma in GAMMAS:
                if (agents, welfare, gamma) not in known:
                    yield measured(agents, served, welfare, gamma)


def measured(agents: int, served: int, welfare: str, gamma: float) -> Row:
    """What is known of the best, and the long-run mean of every rule with its standard error."""
    needs, memory = advantaged(agents, max(1, agents // 5)), Discounted(gamma=gamma)
    row: Row = {"agents": agents, "served": served, "welfare": welfare, "gamma": gamma}
    policies = {name: policy_named(name, memory, welfare, needs, served) for name in POLICIES}
    bound = foresight(needs, memory, welfare, served)
    row |= {"foresight": [bound.bound, bound.error], "without fluctuation": bound.without_fluctuation}
    row["upper"] = bound.upper
    if agents == 2:
        best = best_for_two(needs, memory, welfare, nodes=150 if gamma > 0.9 else 100, bins=8 if gamma > 0.9 else 16)
        row |= {"lower": best.lower, "best": [best.value, best.error], "upper": min(best.upper, bound.upper)}
    for name, policy in policies.items():
        parts = []
        for seed in SEEDS:
            run = simulate(policy, needs, memory, welfare, SETTLING + STEPS, served, seed)
            parts += [part.mean() for part in np.split(run.welfare_remembered[SETTLING:], PARTS)]
        row[name] = [float(np.mean(parts)), float(np.std(parts, ddof=1)) / math.sqrt(len(parts))]
    return row


def shortened(value: str | int | float | list[float]) -> str | int | float | list[float]:
    if isinstance(value, list):
        return [round(each, 5) for each in value]
    return round(value, 5) if isinstance(value, float) else value


def main() -> None:
    done: list[Row] = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else []
    for row in rows(list(done)):
        done.append({name: shortened(value) for name, value in row.items()})
        print(done[-1], flush=True)
        lines = (json.dumps(each, ensure_ascii=False) for each in done)
        OUT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
