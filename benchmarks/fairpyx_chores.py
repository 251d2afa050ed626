"""What fairpyx's algorithm for chores comes to, recorded for a test that compares it with ours.

    python -m venv /tmp/fairpyx && /tmp/fairpyx/bin/pip install fairpyx
    /tmp/fairpyx/bin/python -m benchmarks.fairpyx_chores > tests/parity/fairpyx_chores.json

fairpyx needs NumPy 1, so it has an environment of its own, and this file imports nothing of bygones. `hffd` (Huang and
Segal-Halevi 2024) hands out chores that all agents rank alike, so that nobody's load is above a threshold, and may
leave some over. The threshold recorded is the lowest, in whole numbers, at which it hands out all.
"""

import itertools
import json
from importlib.metadata import version

import fairpyx
import numpy as np
from fairpyx.algorithms.huang_segalhalevi import hffd

INSTANCES = 40


def instance(rng: np.random.Generator) -> np.ndarray:
    """What each chore costs each agent, the dearest first for everybody."""
    n_agents, n_chores = rng.integers(2, 5), rng.integers(4, 9)
    return -np.sort(-rng.integers(1, 30, (n_agents, n_chores)), axis=1)


def handed_out(costs: np.ndarray, threshold: int) -> list[list[int]] | None:
    """The chores of each agent, None where some are left over."""
    agents = range(len(costs))
    bundles = fairpyx.divide(hffd, fairpyx.Instance(valuations=costs), thresholds=dict.fromkeys(agents, threshold))
    chores = [sorted(int(chore) for chore in bundles[i]) for i in agents]
    return chores if sum(map(len, chores)) == costs.shape[1] else None


def main() -> None:
    rng, recorded = np.random.default_rng(0), []
    for _ in range(INSTANCES):
        costs = instance(rng)
        threshold, chores = next(
            (t, chores) for t in itertools.count(1) if (chores := handed_out(costs, t)) is not None
        )
        recorded.append({"costs": costs.tolist(), "threshold": threshold, "chores": chores})
    print(json.dumps({"fairpyx": version("fairpyx"), "instances": recorded}))


if __name__ == "__main__":
    main()
