"""Where does each rule stand by the memory's own objective, the long-run mean of W(Zᵗ)?

    python -m benchmarks.own_objective [processes]
    python -m benchmarks.own_objective rules    # the rules again, with the known bounds

For two agents the best is known up to a small gap, for ten there is an upper bound. Rows are printed and written to
`evidence/rules/own-objective.json`; a run that was stopped goes on where it was. It takes about
15 minutes on two busy cores.
"""

from __future__ import annotations

import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from benchmarks.foresight import foresight
from benchmarks.rules import RULES
from benchmarks.two_agents import best_for_two
from bygones import Discounted
from bygones.envs.needs import advantaged
from bygones.simulation import policy_named, simulate

OUT = Path(__file__).parents[1] / "evidence" / "rules" / "own-objective.json"
GAMMAS = (0.5, 0.9, 0.99)
WELFARES = ("egalitarian", "nash")
STEPS, SEEDS = 10_000, (0,)
SETTLING = 1000
"""Steps that are not counted: ten windows of the longest memory."""
PARTS = 10
"""Into which a run is divided for the standard error; each is long against the longest memory."""

Row = dict[str, str | int | float | list[float]]


CELLS = [
    (agents, served, welfare, gamma) for agents, served in ((2, 1), (10, 2)) for welfare in WELFARES for gamma in GAMMAS
]


def measured(agents: int, served: int, welfare: str, gamma: float) -> Row:
    """The bounds on the best policy, and the long-run mean of every rule with its standard error."""
    needs, memory = advantaged(agents, max(1, agents // 5)), Discounted(gamma=gamma)
    row: Row = {"agents": agents, "served": served, "welfare": welfare, "gamma": gamma}
    bound = foresight(needs, memory, welfare, served)
    row |= {"foresight": [bound.bound, bound.error], "without fluctuation": bound.without_fluctuation}
    row["upper"] = bound.upper
    if agents == 2:
        best = best_for_two(needs, memory, welfare, nodes=100, bins=12)
        row |= {"lower": best.lower, "best": [best.value, best.error], "upper": min(best.upper, bound.upper)}
    return row | rules(agents, served, welfare, gamma)


def rules(agents: int, served: int, welfare: str, gamma: float) -> Row:
    """The long-run mean of every rule with its standard error."""
    needs, memory = advantaged(agents, max(1, agents // 5)), Discounted(gamma=gamma)
    row: Row = {}
    for name in RULES:
        policy = policy_named(name, memory, welfare, needs, served)
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
    if sys.argv[1:] == ["rules"]:
        for row in done:
            row |= {name: shortened(value) for name, value in rules(*cell_of(row)).items()}
            print(row, flush=True)
            write(done)
        return
    missing = [cell for cell in CELLS if cell not in map(cell_of, done)]
    with ProcessPoolExecutor(int(sys.argv[1]) if len(sys.argv) > 1 else 1) as pool:
        for future in as_completed([pool.submit(measured, *cell) for cell in missing]):
            done.append({name: shortened(value) for name, value in future.result().items()})
            print(done[-1], flush=True)
            write(done)


def write(rows: list[Row]) -> None:
    ordered = sorted(rows, key=lambda row: CELLS.index(cell_of(row)))
    lines = (json.dumps(row, ensure_ascii=False) for row in ordered)
    OUT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def cell_of(row: Row) -> tuple[int, int, str, float]:
    return row["agents"], row["served"], row["welfare"], row["gamma"]  # type: ignore[return-value]


if __name__ == "__main__":
    main()
