"""The results of rules that need no training in the problem of a run, and whether learning is worth it there.

A rule has the memory, welfare, agents and horizon of the run that it is compared with, and is measured as runs are: by
the Gini coefficient, the welfare and the utilities of whole episodes. What the rules reach in the paper's problem was
simulated once (`python -m benchmarks.untrained`) and is part of the evidence; other problems are simulated when asked.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bygones import inequality
from bygones._arrays import Floats
from bygones.envs.needs import advantaged
from bygones.learn.settings import Settings
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import memory_label
from bygones.paper.optimum import for_settings
from bygones.simulation import policy_named, simulate_seeds
from bygones.welfare import as_judge

if TYPE_CHECKING:
    from bygones.paper.results import Results

RULES = ("prices", "calibrated", "one-step", "proportional-fair", "random")
"""The rules that are compared with trained policies, by their names in `bygones.simulation.POLICIES`."""
SEEDS, FEW_SEEDS = 5, 2
"""How many episodes the evidence holds, and how many are simulated for a problem that it does not hold."""
STORED = Path("rules/untrained.json")
"""The file of evidence, next to the folder of the shipped runs."""
MARGIN = 0.005
"""Learning is worth it if it reaches this much more of the best possible welfare than the best rule."""

PROBLEM = ("welfare", "n_agents", "n_resources", "n_advantaged", "gamma")
"""The settings on which the decisions of a rule depend. Whether a memory adds up or averages does not change them."""


class Reached(NamedTuple):
    """The results of a rule in an episode, in the metrics of runs."""

    gini: float
    welfare: float
    utility_per_step: float
    utility_least: float
    utility_most: float


def reached(rule: str, run: Settings, horizons: Sequence[int]) -> dict[int, Reached]:
    """The results of a rule in the problem of a run at these horizons, as means over episodes."""
    stored = _stored(evidence_folder().parent / STORED)
    problem = Settings(**{name: getattr(run, name) for name in PROBLEM})
    keys = {horizon: (rule, problem, horizon) for horizon in horizons}
    if all(key in stored for key in keys.values()):
        received = {horizon: stored[key] for horizon, key in keys.items()}
    else:
        received = _simulated_once(rule, problem, tuple(sorted(set(horizons))))
    return {horizon: as_reached(received[horizon], run, horizon) for horizon in horizons}


def as_reached(received: Floats, run: Settings, horizon: int) -> Reached:
    """The totals of episodes of a horizon, one row for each, in the metrics of a run; means over episodes."""
    means = received / horizon
    metrics = (
        inequality.gini(received),
        as_judge(run.welfare)(means if run.aggregation == "averaged" else received),
        means.sum(axis=-1),
        means.min(axis=-1),
        means.max(axis=-1),
    )
    return Reached(*(float(np.mean(metric)) for metric in metrics))


def simulated(rule: str, run: Settings, horizons: Sequence[int], seeds: int = FEW_SEEDS) -> dict[int, Floats]:
    """The totals of all agents in episodes of these horizons, one row per seed.

    Rules do not know the horizon, so a short episode is the beginning of a long one.
    """
    problem, needs = run.problem(), advantaged(run.n_agents, run.n_advantaged)
    welfare = "log_nash" if run.welfare == "nash" else run.welfare
    policy = policy_named(rule, problem.memory, welfare, needs, run.n_resources)
    steps, k = max(horizons), run.n_resources
    played = simulate_seeds(policy, needs, problem.memory, welfare, steps, k, range(seeds))
    return {horizon: np.array([each.cumulative[horizon - 1] for each in played]) for horizon in horizons}


class Best(NamedTuple):
    """A policy, trained or not, and its share of the best possible welfare."""

    name: str
    share: float


class Worth(NamedTuple):
    """Whether learning is worth it in a problem: the best rule and the best of the trained policies."""

    welfare: str
    horizon: int
    rule: Best
    trained: Best
    n_trained: int

    @property
    def learning(self) -> bool:
        """Whether the best trained policy is ahead of the best rule."""
        return self.trained.share > self.rule.share + MARGIN

    def __str__(self) -> str:
        rule = f"{self.rule.name} reaches {self.rule.share:.1%} of the best possible welfare without training"
        which = "the trained policy" if self.n_trained == 1 else f"the best of {self.n_trained:,} trained policies"
        trained = f"{which}, with {self.trained.name}, reaches {self.trained.share:.1%}"
        if self.learning:
            return f"learning is worth it: {trained}; the best rule, {rule}."
        return f"learning is not worth it: {rule}; {trained}."


def worth(runs: Results) -> Worth:
    """Whether learning is worth it, from runs of one problem: only their memories, seeds and learners differ.

    The best rule is one that starts with nothing. That leaves out `calibrated`, which has seen a sample of needs.
    """
    for name in (*PROBLEM[:-1], "aggregation", "horizon"):
        if len(runs.distinct(name)) != 1:
            raise ValueError(f"runs must be of one problem, got several with {name} {runs.distinct(name)}")
    shares = shares_of_optimum(runs)
    top = int(np.argmax(shares))
    rules = [
        Best(f"{rule} with {with_memory(gamma)}", share)
        for gamma in runs.distinct("gamma")
        for rule, share in rule_shares(runs, gamma).items()
        if rule != "calibrated"
    ]
    network = "" if runs["policy"][top] == Settings().policy else f"the {runs['policy'][top]} network and "
    trained = Best(network + with_memory(runs["gamma"][top]), float(shares[top]))
    return Worth(
        runs["welfare"][0], int(runs["horizon"][0]), max(rules, key=lambda rule: rule.share), trained, len(runs)
    )


def shares_of_optimum(runs: Results) -> Floats:
    """The final welfare of each run as a share of the best possible; all runs are of one problem."""
    return for_settings(_first(runs)).share(runs["final_welfare"])


def rule_shares(runs: Results, gamma: float) -> dict[str, float]:
    """The welfare of each rule with this memory in the problem of the runs, as a share of the best possible."""
    run = _first(runs)
    by_rule = {rule: reached(rule, run.replace(gamma=gamma), [run.horizon])[run.horizon] for rule in RULES}
    return {rule: float(for_settings(run).share(result.welfare)) for rule, result in by_rule.items()}


def with_memory(gamma: float) -> str:
    """The memory of an agent in a sentence: `memory_label`, where the memory of the myopic agent has another name."""
    return "an instantaneous memory" if gamma == 0 else memory_label(gamma)


@functools.cache
def _stored(path: Path) -> dict[tuple[str, Settings, int], Floats]:
    """The evidence by rule, problem and horizon; empty where there is none, as in an installed package."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {
        (row["rule"], Settings(**{name: row[name] for name in PROBLEM}), row["horizon"]): np.array(row["received"])
        for row in rows
    }


@functools.cache
def _simulated_once(rule: str, run: Settings, horizons: tuple[int, ...]) -> dict[int, Floats]:
    return simulated(rule, run, horizons)


def _first(runs: Results) -> Settings:
    return type(runs)(runs.table.slice(0, 1)).settings()[0]
