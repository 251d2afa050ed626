"""What do rules that need no training reach in the paper's problem, under every memory and at every horizon?

    python -m benchmarks.untrained

Writes what every agent received to `evidence/rules/untrained.json`. Figures, the report and `docs/claims.md` show it
next to the trained policies. It takes about five minutes on a core.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

from bygones.paper.grid import HORIZONS, grid
from bygones.paper.untrained import PROBLEM, RULES, SEEDS, STORED, simulated

OUT = Path(__file__).parents[1] / "evidence" / STORED


def main() -> None:
    if len(sys.argv) != 1:
        sys.exit("usage: python -m benchmarks.untrained")
    runs = grid("paper", aggregation=("additive",), horizon=HORIZONS[-1:], seeds=1).runs()
    lines = []
    for run, rule in itertools.product(runs, RULES):
        for horizon, received in simulated(rule, run, HORIZONS, SEEDS).items():
            problem = {name: getattr(run, name) for name in PROBLEM}
            rounded = [[float(f"{total:.6g}") for total in episode] for episode in received]
            lines.append(json.dumps({"rule": rule, **problem, "horizon": horizon, "received": rounded}))
        print(rule, problem, flush=True)
    OUT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
