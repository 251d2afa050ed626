"""Rules that need no training, as policies: they see what policies see, and are evaluated in the same way.

A rule is called as `evaluate` calls any policy, with the observations of all episodes. Its memory of an episode is
passed back to it, as to a recurrent policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Floats
from bygones.allocation.policies import DynamicMaxMin, Prices, RankingPolicy, RoundRobin, Utilitarian
from bygones.allocation.ties import SEEN, best_of_rows
from bygones.envs.batches import mapped, taken
from bygones.envs.problem import FairProblem
from bygones.envs.scenario import MOST_ACTIONS, Scenario
from bygones.envs.walking import joint
from bygones.learn.evaluation import Predict
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.welfare import as_judge

NOT_SERVED = "an action does not serve agents"
NOT_FORESEEN = "the utilities of an action are not known in advance"
TOO_MANY = f"it compares all actions, and there are more than {MOST_ACTIONS:,}"
NOT_GOING = "agents do not go or stay"


class Rule(NamedTuple):
    """A rule: its description, where it applies, and how to make it."""

    about: str
    uses_memory: bool
    unfit: Callable[[Scenario], str | None]
    """Why it does not apply to a scenario; None if it does."""
    made: Callable[[FairProblem, np.random.Generator], Predict]


class Seen(NamedTuple):
    """A rule's memory of its episodes, one row each."""

    step: int
    memory: AnyState


def _begun(memory: Memory, n_agents: int, rows: int) -> Seen:
    state = mapped(lambda array: np.broadcast_to(array, (rows, *np.shape(array))), memory.init(n_agents))
    return Seen(0, state)


@dataclass(frozen=True, eq=False)
class Serving:
    """A rule that ranks agents by their needs, and serves the first k."""

    problem: FairProblem
    policy: RankingPolicy
    rng: np.random.Generator

    def __call__(self, observation: np.ndarray, state: Seen | None = None, **_: object) -> tuple[np.ndarray, Seen]:
        n, k = self.problem.n_agents, self.problem.scenario.n_served
        assert k is not None
        needs = np.asarray(observation[:, :n], float)
        memory: Memory = getattr(self.policy, "memory", self.problem.memory)
        past = state or _begun(memory, n, len(needs))
        served = self.policy.rows(needs, k, past.memory, past.step, self.rng.spawn(len(needs)))
        received = np.zeros_like(needs)
        np.put_along_axis(received, served, np.take_along_axis(needs, served, axis=1), axis=1)
        return served, Seen(past.step + 1, memory.advance(past.memory, received))


@dataclass(frozen=True, eq=False)
class BestNow:
    """The action after which welfare is largest, without looking ahead. Ties: leximin, then by lot."""

    problem: FairProblem
    rng: np.random.Generator

    def __call__(self, observation: np.ndarray, state: Seen | None = None, **_: object) -> tuple[np.ndarray, Seen]:
        brings = self.problem.scenario.brings(np.asarray(observation, float))
        assert brings is not None
        memory, rows = self.problem.memory, len(brings)
        past = state or _begun(memory, self.problem.n_agents, rows)
        after = np.stack([memory.ahead(taken(past.memory, row), brings[row]) for row in range(rows)])
        welfare = np.asarray(as_judge(self.problem.welfare)(after))
        best = best_of_rows(welfare, after, self.rng)
        return best, Seen(past.step + 1, memory.advance(past.memory, brings[np.arange(rows), best]))


def _at_random(problem: FairProblem, rng: np.random.Generator) -> Predict:
    if problem.scenario.is_enumerable:
        return lambda observation, **_: (rng.integers(problem.scenario.n_actions, size=len(observation)), None)
    n, k = problem.n_agents, problem.scenario.n_served
    return lambda observation, **_: (rng.random((len(observation), n)).argsort(axis=1)[:, :k], None)


def _all_go(problem: FairProblem, rng: np.random.Generator) -> Predict:
    return lambda observation, **_: (np.full(len(observation), problem.scenario.n_actions - 1), None)


def _behind(problem: FairProblem, rng: np.random.Generator) -> Predict:
    """The agents with at most the mean memory go; the action is their binary number."""

    def chosen(observation: np.ndarray, **_: object) -> tuple[np.ndarray, None]:
        Z: Floats = np.asarray(observation[:, -problem.n_agents :], float)
        goes = Z.mean(axis=1, keepdims=True) + SEEN >= Z
        return goes @ (1 << np.arange(problem.n_agents)[::-1]), None

    return chosen


def _ranking(make: Callable[[FairProblem], RankingPolicy]) -> Callable[..., Predict]:
    return lambda problem, rng: Serving(problem, make(problem), rng)


def _serves(scenario: Scenario) -> str | None:
    return NOT_SERVED if scenario.n_served is None else None


def _foresees(scenario: Scenario) -> str | None:
    if not scenario.is_enumerable:
        return TOO_MANY
    nothing = np.zeros((1, len(scenario.seen_bounds[0])))
    return NOT_FORESEEN if scenario.brings(nothing) is None else None


def _goes(scenario: Scenario) -> str | None:
    every_subset = 2**scenario.n_agents == scenario.n_actions
    is_going = scenario.n_served is None and every_subset
    return None if is_going and np.array_equal(scenario.actions(), joint(scenario.n_agents, "go")) else NOT_GOING


RULES: dict[str, Rule] = {
    "random": Rule("Any action, by lot.", False, lambda _: None, _at_random),
    "round-robin": Rule("Every agent in turn.", False, _serves, _ranking(lambda _: RoundRobin())),
    "largest-need": Rule("The largest needs, whatever the past.", False, _serves, _ranking(lambda _: Utilitarian())),
    "max-min": Rule(
        "The agent with the smallest memory among those with a need.",
        True,
        _serves,
        _ranking(lambda problem: DynamicMaxMin(problem.memory)),
    ),
    "one-step": Rule("The action after which welfare is largest.", True, _foresees, BestNow),
    "prices": Rule(
        "The largest needs times prices, which are learned on the way.",
        True,
        _serves,
        _ranking(lambda problem: Prices(problem.memory, as_judge(problem.welfare))),
    ),
    "everybody": Rule("All agents go.", False, _goes, _all_go),
    "whoever-is-behind": Rule("Agents whose memory is at most the mean go.", True, _goes, _behind),
}
"""The rules by name."""
