"""The results of rules and learners in job scheduling, in the measures of FEN's published results.

    python -m benchmarks.published --steps 100000

Jiang and Lu ("Learning Fairness in Multi-Agent Systems", NeurIPS 2019) let four agents with five moves each share one
machine for 1000 steps. Resource utilisation is the share of steps in which an agent is at the machine, CV the sample
standard deviation of the agents' utilities per step divided by their mean. `docs/leaderboard.md` shows all results.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.sb3_learners import environment
from bygones.leaderboard.entries import BoardEntry
from bygones.leaderboard.players import settings_of
from bygones.learn import train
from bygones.learn.evaluation import Predict
from bygones.scenario_policies.rule_players import RULES, made

GO, MOVES = (f'job_scheduling(n=4, control="{control}", horizon=1000)' for control in ("go", "moves"))
PLAYERS = (
    (MOVES, "random", "none"),
    (GO, "everybody", "none"),
    (GO, "whoever-is-behind", "perfect"),
    (GO, "ppo", "discounted T/2"),
    (MOVES, "ppo", "discounted T/2"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="that learners learn from")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print(
        "| agents decide | player | resource utilisation | CV | min utility | max utility |\n|---|---|---|---|---|---|"
    )
    for scenario, player, memory in PLAYERS:
        steps = 0 if player in RULES else given.steps
        entries = [BoardEntry(scenario, "nash", memory, player, steps, seed) for seed in range(given.seeds)]
        print(row(entries[0], np.array([measures(received(entry)) for entry in entries])), flush=True)


def policy_of(entry: BoardEntry) -> Predict:
    if entry.player in RULES:
        return made(entry.player, entry.problem(), np.random.default_rng([entry.seed, 1]))
    return train(settings_of(entry.player, entry.steps, entry.seed), problem=entry.problem()).policy.predict


def received(entry: BoardEntry) -> np.ndarray:
    """The utility of each agent per step of an episode, with sampled actions."""
    env, predict, over, past = environment(entry), policy_of(entry), False, None
    seen, info = env.reset(seed=entry.seed)
    while not over:
        actions, past = predict(seen[None], state=past, deterministic=False)
        seen, _, _, over, info = env.step(int(actions[0]))
    per_step: np.ndarray = info["cumulative"] / entry.problem().horizon
    return per_step


def measures(per_step: np.ndarray) -> tuple[float, ...]:
    """Resource utilisation, CV, and the least and the largest utility."""
    mean = per_step.mean()
    return per_step.sum(), per_step.std(ddof=1) / mean if mean else np.nan, per_step.min(), per_step.max()


def row(entry: BoardEntry, found: np.ndarray) -> str:
    means, deviations = found.mean(axis=0), found.std(axis=0, ddof=1)
    used, *others = (f"{mean:.2f} ± {spread:.2f}" for mean, spread in zip(means, deviations, strict=True))
    decide = "to go or not" if entry.scenario == GO else "their moves"
    return " | ".join([f"| {decide}", f"{entry.player}, {entry.memory}", used, *others]) + " |"


if __name__ == "__main__":
    main()
