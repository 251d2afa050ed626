"""How fast is the simulator? 100,000 decisions for ten agents, one after the other and with many seeds side by side.

    python -m benchmarks.simulation

Each number is compared with that of a bare loop in the same run, which draws needs, serves the two largest and adds
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bygones import Discounted
from bygones.envs.needs import advantaged
from bygones.simulation import policy_named, simulate_seeds

DECISIONS, AGENTS, SERVED = 100_000, 10, 2


def bare(seeds: int) -> None:
    """The least that a simulator of this problem has to do."""
    rng, total = np.random.default_rng(0), np.zeros((seeds, AGENTS))
    rows = np.arange(seeds)[:, None]
    low, span = advantaged(AGENTS)
    for _ in range(DECISIONS // seeds):
        needs = low + span * rng.random((seeds, AGENTS))
        served = np.argpartition(-needs, SERVED, axis=-1)[:, :SERVED]
        total[rows, served] += needs[rows, served]


def seconds(run: Callable[[], object]) -> float:
    """Processor time, since the wall clock would count other people's work."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    needs, memory = advantaged(AGENTS), Discounted(gamma=0.99)
    for seeds in (1, 100):
        least = min(seconds(partial(bare, seeds)) for _ in range(2))
        print(f"{seeds} side by side: a bare loop makes {DECISIONS / least:,.0f} decisions a second")
        for name in ("prices", "largest-need", "proportional-fair"):
            policy = policy_named(name, memory, "egalitarian", needs, SERVED)
            sizes = DECISIONS // seeds, SERVED, range(seeds)
            run = partial(simulate_seeds, policy, needs, memory, "egalitarian", *sizes)
            took = min(seconds(run) for _ in range(2))
            rate = DECISIONS / took
            print(
                f"  {name}: {rate:,.0f} decisions a second, {AGENTS * rate:,.0f} agent-steps; "
                f"{took / least:.1f} times as long as the bare loop"
            )


if __name__ == "__main__":
    main()
