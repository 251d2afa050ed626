"""Rules that need no training, as policies: they see what policies see, and are evaluated in the same way.

A rule is called as `evaluate` calls any policy, with the observations of all episodes. Its memory of an episode is
passed back to it, as to a recurrent policy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Floats, Ints, check_count
from bygones._registry import Named, as_text
from bygones.allocation.policies import ALL_GO, BEHIND_GO
from bygones.allocation.policy_contract import AllocationPolicy, Setting, policies, policy_of, served_rows
from bygones.allocation.ties import SEEN, best_of_rows
from bygones.envs.batches import mapped, taken
from bygones.envs.problem import FairProblem
from bygones.envs.scenario import MOST_ACTIONS, Scenario
from bygones.envs.walking import joint
from bygones.learn.evaluation import Predict
from bygones.memory import Memory, PerfectRecall
from bygones.memory.contract import AnyState
from bygones.scenario_policies import lookahead
from bygones.welfare import as_judge

NOT_SERVED = "an action does not serve agents"
NOT_FORESEEN = "the utilities of an action are not known in advance"
TOO_MANY = f"it compares all actions, and there are more than {MOST_ACTIONS:,}"
NOT_GOING = "agents do not go or stay"
NOT_ALONE = "no action is for one agent alone"
SERVED = "an action serves agents, and slices serve them in turn"
ROUNDS = (1, 2, 4, 8, 16)
"""How many rounds of turns an episode has, for the lengths that are tried of a rule that takes turns."""


class Rule(NamedTuple):
    """A rule: its description, where it applies, and how to make it."""

    about: str
    uses_memory: bool
    unfit: Callable[[Scenario], str | None]
    """Why it does not apply to a scenario; None if it does."""
    made: Callable[..., Predict]
    """Makes it from a problem, a generator and, if it has one, a length."""
    turns: Callable[[Scenario], int] | None = None
    """How many turns are a round, for a rule with a length; None for a rule without."""

    def lengths(self, scenario: Scenario) -> tuple[int, ...]:
        """The lengths to choose from, the longest first: an episode in 1, 2, 4, 8 and 16 rounds, and a single step."""
        assert self.turns is not None
        turns = self.turns(scenario)
        return tuple(dict.fromkeys([*(math.ceil(scenario.horizon / (turns * rounds)) for rounds in ROUNDS), 1]))


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
    policy: AllocationPolicy
    rng: np.random.Generator

    def __call__(self, observation: np.ndarray, state: Seen | None = None, **_: object) -> tuple[np.ndarray, Seen]:
        n, k = self.problem.n_agents, self.problem.scenario.n_served
        assert k is not None
        needs = np.asarray(observation[:, :n], float)
        memory: Memory = getattr(self.policy, "memory", self.problem.memory)
        past = state or _begun(memory, n, len(needs))
        served = served_rows(self.policy)(needs, k, past.memory, past.step, self.rng.spawn(len(needs)))
        received = np.zeros_like(needs)
        np.put_along_axis(received, served, np.take_along_axis(needs, served, axis=1), axis=1)
        return served, Seen(past.step + 1, memory.advance(past.memory, received))


@dataclass(frozen=True, eq=False)
class InTurn:
    """A rule that takes its actions in turn, each for a block of steps."""

    actions: np.ndarray
    """In the order of the turns: numbers of actions, or rows of agents to serve."""
    length: int

    def __call__(self, observation: np.ndarray, state: int | None = None, **_: object) -> tuple[np.ndarray, int]:
        step = 0 if state is None else state + 1
        action = self.actions[step // self.length % len(self.actions)]
        return np.broadcast_to(action, (len(observation), *np.shape(action))), step


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


def _groups(scenario: Scenario) -> Ints:
    """Who is served in each turn, as round-robin serves: k agents per row, until all rows are different."""
    n, k = scenario.n_agents, scenario.n_served
    assert k is not None
    turns = n // math.gcd(n, k)
    return np.sort((np.arange(turns)[:, None] * k + np.arange(k)) % n, axis=1)


def _alone(scenario: Scenario) -> Ints | None:
    """For each agent the action that gives most to it and nothing to others; None if an agent has no such action."""
    rows = scenario.actions()
    n = scenario.n_agents
    are_moves = len(rows) == 5**n and np.array_equal(rows, joint(n, "moves"))
    if rows.shape[1] != n or are_moves:
        return None
    alone = np.where((rows > 0).sum(axis=1, keepdims=True) == 1, rows, 0.0)
    return alone.argmax(axis=0) if alone.any(axis=0).all() else None


def _slices(problem: FairProblem, rng: np.random.Generator, length: int) -> Predict:
    scenario = problem.scenario
    turns = _alone(scenario) if scenario.n_served is None else _groups(scenario)
    assert turns is not None
    return InTurn(turns, length)


def _turns(problem: FairProblem, rng: np.random.Generator, length: int) -> Predict:
    return InTurn(np.arange(problem.scenario.n_actions), length)


def _base(scenario: Scenario) -> Floats:
    """The actions that the base rule of `lookahead` takes in turn: slices where they apply, else every action."""
    rows = scenario.actions()
    if scenario.n_served is not None:
        return np.array([rows[scenario.action(group)] for group in _groups(scenario)])
    alone = _alone(scenario)
    return rows if alone is None else rows[alone]


def _lookahead(problem: FairProblem, rng: np.random.Generator, length: int) -> Predict:
    return lookahead.Lookahead(problem, rng, _base(problem.scenario), length)


def _is_for_one(scenario: Scenario) -> str | None:
    return NOT_ALONE if scenario.n_served is None and _alone(scenario) is None else None


def _is_no_service(scenario: Scenario) -> str | None:
    return None if scenario.n_served is None else SERVED


def _serving(name: str) -> Callable[..., Predict]:
    """A policy that serves agents by their needs."""

    def made(problem: FairProblem, rng: np.random.Generator, **parameters: object) -> Predict:
        return Serving(problem, policy_of(as_text(name, parameters), Setting(problem.memory, problem.judge)), rng)

    return made


def _serves(scenario: Scenario) -> str | None:
    return NOT_SERVED if scenario.n_served is None else None


def _unfit(player: str, scenario: Scenario) -> str | None:
    """Why a policy that serves agents does not apply."""
    try:
        policy_of(player, Setting(PerfectRecall(), "egalitarian"))
    except ValueError as error:
        return str(error)
    return _serves(scenario)


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
    "round-robin": Rule("Every agent in turn.", False, _serves, _serving("round-robin")),
    "largest-need": Rule("The largest needs, whatever the past.", False, _serves, _serving("largest-need")),
    "largest-need-fair-ties": Rule(
        "The largest needs; among equal needs the agent with the smallest memory.",
        True,
        _serves,
        _serving("largest-need-fair-ties"),
    ),
    "max-min": Rule(
        "The agent with the smallest memory among those with a need.",
        True,
        _serves,
        _serving("max-min"),
    ),
    "one-step": Rule("The action after which welfare is largest.", True, _foresees, BestNow),
    "prices": Rule(
        "The largest needs times prices, which are learned on the way.",
        True,
        _serves,
        _serving("prices"),
    ),
    ALL_GO: Rule("All agents go.", False, _goes, _all_go),
    BEHIND_GO: Rule("Agents whose memory is at most the mean go.", True, _goes, _behind),
    "slices": Rule(
        "Everything is for one agent, or for the k agents that an action serves, for a block of steps; then for the "
        "next.",
        False,
        _is_for_one,
        _slices,
        lambda scenario: scenario.n_agents if scenario.n_served is None else len(_groups(scenario)),
    ),
    "turns": Rule(
        "Every action in turn, each for a block of steps.",
        False,
        _is_no_service,
        _turns,
        lambda scenario: scenario.n_actions,
    ),
    "lookahead": Rule(
        f"Every action is tried for a block of steps in {lookahead.SAMPLES} futures, drawn from the scenario's own "
        "functions, in which slices or turns follow; the one with the largest welfare of the totals is taken.",
        False,
        lookahead.why_not,
        _lookahead,
        lambda scenario: len(_base(scenario)),
    ),
}
"""The rules by name."""


def rule_of(player: str) -> Rule | None:
    """The rule of a player such as `prices`, `slices` or `slices(length=25)`; None if it is a learner."""
    name = player.partition("(")[0]
    if name in RULES:
        return RULES[name]
    if name not in policies.names() and ":" not in name:
        return None
    # Files of results name players as well, and no module is imported because of them.
    return Rule("Agents by their needs.", True, functools.partial(_unfit, player), _serving(name))


def made(player: str, problem: FairProblem, rng: np.random.Generator) -> Predict:
    """A rule as a policy for a problem, with the parameters in its name.

    Raises:
        ValueError: no policy has this name, or it does not apply to the scenario.
    """
    named = _read(player)
    rule = rule_of(str(named))
    assert rule is not None
    reason = rule.unfit(problem.scenario)
    if reason is not None:
        raise ValueError(f"policy {player} cannot play this scenario: {reason}")
    return rule.made(problem, rng, **named.parameters)


def check_rule(player: str) -> None:
    """Refuses a rule with parameters that it does not take; the name alone means all its lengths."""
    if player not in RULES:
        _read(player)


def _read(player: str) -> Named[AllocationPolicy]:
    named = policies.read(player)
    if named.name in RULES:
        for name, length in named.parameters.items():
            check_count(name, length)
    return named
