"""The results of fairpyx's algorithm for chores, recorded for a test that compares bygones with it.

    python -m venv /tmp/fairpyx && /tmp/fairpyx/bin/pip install fairpyx
    /tmp/fairpyx/bin/python -m benchmarks.fairpyx_chores > tests/parity/fairpyx_chores.json

fairpyx needs NumPy 1, so it has a separate environment, and this file imports nothing of bygones. `hffd` (Huang and
Segal-Halevi 2024) assigns chores that all agents rank alike. It keeps every load below a threshold, and may leave
chores over. The recorded threshold is the lowest whole number at which it assigns all chores.
"""

import itertools
import json
from importlib.metadata import version

import fairpyx
import numpy as np
from fairpyx.algorithms.huang_segalhalevi import hffd

INSTANCES = 40


def instance(rng: np.random.Generator) -> np.ndarray:
    """The cost of each chore to each agent, the dearest first for all agents."""
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
