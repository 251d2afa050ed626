"""Symmetric policies compared with the MLP on one CPU core, in one run: steps a second for growing numbers of agents.

    PYTHONPATH=src taskset -c 0 python -m benchmarks.symmetric
    PYTHONPATH=src taskset -c 0 python -m benchmarks.symmetric --sizes 10,2 50,5 200,10

Both learn the paper's problem with the paper's settings, in turns, each on one thread; the best turn of each counts.
Times are of the processor, so other programs do not count. Sizes that an MLP cannot take have no ratio.
"""

from __future__ import annotations

import argparse

from benchmarks.learner import ours, turn
from bygones.learn import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["10,2"], help="agents and resources, e.g. 50,5")
    parser.add_argument("--turns", type=int, default=4, help="turns of each learner")
    parser.add_argument("--rollouts", type=int, default=4, help="rollouts in a turn")
    args = parser.parse_args()
    for size in args.sizes:
        n_agents, n_resources = (int(number) for number in size.split(","))
        sizes = Settings(policy="symmetric", n_agents=n_agents, n_resources=n_resources)
        learners = {"symmetric": ours(sizes, args.rollouts)}
        if sizes.problem().scenario.is_enumerable:
            learners["MLP"] = ours(sizes.replace(policy="mlp"), args.rollouts)
        best = dict.fromkeys(learners, float("inf"))
        for _ in range(args.turns):
            for name, learner in learners.items():
                best[name] = min(best[name], turn(*learner)[0])
        print(f"{n_agents} agents, {n_resources} resources")
        for name, seconds in best.items():
            print(
                f"  {name:16s}{1 / seconds:10.0f} steps/s   symmetric: {seconds / best['symmetric']:.0%} of its speed"
            )


if __name__ == "__main__":
    main()
