"""Plays entries: a learner is trained first, and all players are evaluated in the same episodes.

The worlds of an evaluation depend on the entry's seed only, so two players meet the same chances, and are compared seed
by seed. On CPU cores entries are played side by side. On an accelerator learners are trained in batches.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import NamedTuple

import jax
import numpy as np

from bygones.envs.problem import FairProblem, most_welfare
from bygones.envs.scenarios.allocation import Allocation
from bygones.leaderboard.entries import BoardEntry
from bygones.leaderboard.players import rewarded, settings_of
from bygones.learn import Run, Settings, evaluate, processes
from bygones.learn.backends import cache_compilations, has_accelerator, in_batches
from bygones.learn.evaluation import Evaluation, Predict, Predicts
from bygones.learn.runs import train_batch
from bygones.paper.optimum import equal_utility, for_settings
from bygones.scenario_policies.rule_players import made, rule_of

EPISODES = 10
"""How many episodes each entry is evaluated in."""


class Score(NamedTuple):
    """The results of an entry: means over its episodes, of true utilities per step.

    A learned policy plays its episodes twice, with sampled and with greedy actions. Its results with greedy actions
    are in the columns `…_most_probable`, which are None for a rule.

    The score is the equal utility per step that gives the same welfare of the totals: the geometric mean
    for Nash welfare, the worst-off agent's utility for egalitarian welfare, the mean for utilitarian welfare.
    """

    score: float
    score_most_probable: float | None
    gini: float
    worst_off: float
    total: float
    bound: float | None
    """The score that no policy exceeds on average, where that is known."""
    seconds: float
    """How long training and evaluation took; in a batch, the entry's share of it."""
    gini_most_probable: float | None = None
    """None for a learned policy as well, in files of format 1; so are the two below."""
    worst_off_most_probable: float | None = None
    total_most_probable: float | None = None


def played(entries: Sequence[BoardEntry], workers: int | None = None) -> Generator[tuple[BoardEntry, Score]]:
    """Plays entries in any order, and yields each with its score.

    Args:
        entries: what to play.
        workers: processes on CPU cores; by default one per core.
    """
    if not has_accelerator():
        yield from _on_cores(entries, workers or processes.usable_cores())
        return
    learned = [entry for entry in entries if rule_of(entry.player) is None]
    runs = [_run(entry) for entry in learned]
    for entry in entries:
        if rule_of(entry.player) is not None:
            yield entry, _score_of_rule(entry)
    with closing(in_batches(runs, lambda _: None)) as batches:
        for batch in batches:
            seconds = batch.seconds / len(batch.runs)
            for position, result in zip(batch.runs, batch.results, strict=True):
                yield learned[position], score_of_policy(learned[position], result.policy, seconds)


def play(entry: BoardEntry) -> Score:
    """Plays one entry in this process."""
    if rule_of(entry.player) is not None:
        return _score_of_rule(entry)
    started = time.monotonic()
    cache_compilations()
    (result,) = train_batch([_run(entry)])
    return score_of_policy(entry, result.policy, time.monotonic() - started)


def bound(entry: BoardEntry) -> float | None:
    """The score that no policy exceeds on average; None where that is not known."""
    problem = entry.problem()
    settings = _in_the_paper(problem)
    welfare = most_welfare(problem) if settings is None else for_settings(settings).upper
    return None if welfare is None else float(_scores(np.array([welfare]), problem)[0])


def _in_the_paper(problem: FairProblem) -> Settings | None:
    """Settings of the paper's problem that have the optimum of this one; None if it is another."""
    world = problem.scenario
    if not isinstance(world, Allocation):
        return None
    plain = world.arguments()
    # The optimum does not depend on the policy, and a symmetric one plays with any number of agents.
    return None if "needs" in plain else Settings(**plain, welfare=str(problem.judge), policy="symmetric")


def _on_cores(entries: Sequence[BoardEntry], workers: int) -> Generator[tuple[BoardEntry, Score]]:
    if workers == 1:
        yield from ((entry, play(entry)) for entry in entries)
        return
    # New processes for each scenario, so no process keeps the compiled programs of all.
    for _, group in itertools.groupby(entries, key=lambda entry: entry.scenario):
        some = list(group)
        scores = processes.in_processes(
            _play_for, [(entry,) for entry in some], lambda *_: None, workers=workers, environment=processes.one_core()
        )
        with closing(scores):
            for position, score in scores:
                yield some[position], score


def _play_for(report: Callable[[object], None], entry: BoardEntry) -> Score:
    return play(entry)


def _run(entry: BoardEntry) -> Run:
    return Run(settings_of(entry.player, entry.steps, entry.seed), rewarded(entry.player, entry.problem()))


def _score_of_rule(entry: BoardEntry) -> Score:
    started = time.monotonic()
    policy = made(entry.player, entry.problem(), np.random.default_rng([entry.seed, 1]))
    return _scored(entry, _evaluated(policy, entry), None, time.monotonic() - started)


def score_of_policy(entry: BoardEntry, policy: Predicts | Predict, seconds: float) -> Score:
    """The score of a learned policy in the episodes of an entry.

    Args:
        entry: whose episodes are played.
        policy: ours, or anything else that `bygones.learn.evaluate` takes.
        seconds: how long training took.
    """
    started = time.monotonic()
    sampled, greedy = (_evaluated(policy, entry, deterministic) for deterministic in (False, True))
    return _scored(entry, sampled, greedy, seconds + time.monotonic() - started)


def _evaluated(policy: Predicts | Predict, entry: BoardEntry, deterministic: bool = False) -> Evaluation:
    with jax.default_device(jax.devices("cpu")[0]):
        return evaluate(policy, entry.problem(), episodes=EPISODES, seed=entry.seed, deterministic=deterministic)


def _scored(entry: BoardEntry, sampled: Evaluation, greedy: Evaluation | None, seconds: float) -> Score:
    problem = entry.problem()
    again = {} if greedy is None else _means(greedy, problem)
    return Score(
        **_means(sampled, problem),
        score_most_probable=again.get("score"),
        bound=bound(entry),
        seconds=seconds,
        gini_most_probable=again.get("gini"),
        worst_off_most_probable=again.get("worst_off"),
        total_most_probable=again.get("total"),
    )


def _means(evaluation: Evaluation, problem: FairProblem) -> dict[str, float]:
    return {
        "score": float(_scores(evaluation.episodes["welfare"], problem).mean()),
        "gini": evaluation.mean["gini"],
        "worst_off": evaluation.mean["utility_least"],
        "total": evaluation.mean["utility_per_step"],
    }


def _scores(welfare: np.ndarray, problem: FairProblem) -> np.ndarray:
    """Welfare of totals as the equal utility per step that gives it."""
    return np.asarray(equal_utility(problem.welfare, welfare, problem.n_agents) / problem.horizon)
