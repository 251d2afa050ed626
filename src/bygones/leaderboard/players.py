"""The players: rules that need no training, and learners, which are given the same number of steps.

A learner's name is its name in `bygones.learn.learners`; its policy is an MLP, or with `-symmetric` behind the name one
network that scores every agent. With `-welfare` behind all that, as in `ppo-symmetric-welfare`, its reward is the
change of welfare alone: the sum of utilities, which is no part of the score, is no part of the reward either (λ = 1).
Its other settings are the defaults, unless they are in brackets at the end, as in `dqn(counterfactuals=4)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bygones._registry import parsed
from bygones.envs.problem import FairProblem
from bygones.learn import learners
from bygones.learn.actors import actor_of
from bygones.learn.settings import OF_PROBLEM, Settings
from bygones.scenario_policies.rule_players import NOT_SERVED, RULES, check_rule, rule_of

SYMMETRIC, WELFARE = "-symmetric", "-welfare"

BOARDS = ("learner", "policy", "total_steps", "seed")
"""The settings of a learner that its name, or the leaderboard, determines."""


def names() -> tuple[str, ...]:
    """The players of a whole map: the rules, then the learners, with the reward of the paper."""
    return (*RULES, *(f"{name}{kind}" for name in learners.names() for kind in ("", SYMMETRIC)))


def check_players(players: tuple[str, ...]) -> None:
    """Refuses an unknown player."""
    for player in players:
        if rule_of(player) is not None:
            check_rule(player)
            continue
        written, unnamed, settings = parsed("player", player)
        if written.removesuffix(WELFARE) not in names()[len(RULES) :]:
            raise ValueError(
                f"player must be one of {', '.join(names())}, where {WELFARE} may follow the name of a learner, "
                f"got {player!r}"
            )
        for setting in settings:
            if setting not in Settings().to_dict() or setting in (*OF_PROBLEM, *BOARDS):
                raise ValueError(f"player {player}: {setting!r} is not a setting of a learner")
        if unnamed:
            raise ValueError(f"player {player} needs a name for each setting, as in {written}(learning_rate=0.001)")
        settings_of(player, steps=1, seed=0)
        if written.endswith(WELFARE) and _learner(player).name in learners.WITHOUT_REWARD:
            learner = player.replace(WELFARE, "", 1)
            raise ValueError(f"player {player} would be {learner} once more, which does not learn from the reward")


def uses_memory(player: str) -> bool:
    """Whether a player's actions depend on the memory."""
    rule = rule_of(player)
    return True if rule is None else rule.uses_memory


def with_lengths(player: str, problem: FairProblem) -> list[str]:
    """The player; a rule that has a length, and is named without one, with each of its lengths."""
    rule = RULES.get(player)
    if rule is None or rule.turns is None:
        return [player]
    return [f"{player}(length={length})" for length in rule.lengths(problem.scenario)]


def settings_of(player: str, steps: int, seed: int) -> Settings:
    """The settings with which a learner learns."""
    learner = _learner(player)
    return Settings(
        learner=learner.name,
        policy="symmetric" if learner.is_symmetric else "mlp",
        total_steps=steps,
        seed=seed,
        **learner.settings,
    )


def rewarded(player: str, problem: FairProblem) -> FairProblem:
    """A problem with the reward that a learner learns from."""
    return replace(problem, weight=1.0) if _learner(player).is_for_welfare else problem


def why_not(player: str, problem: FairProblem) -> str | None:
    """Why a player cannot play in a problem; None if it can."""
    rule = rule_of(player)
    if rule is not None:
        return rule.unfit(problem.scenario)
    if _learner(player).is_symmetric and problem.scenario.n_served is None:
        return NOT_SERVED
    try:
        actor_of(settings_of(player, steps=1_000_000, seed=0), problem)
    except ValueError as error:
        return str(error)
    return None


class _Learner(NamedTuple):
    """The parts of a learner's name."""

    name: str
    is_symmetric: bool
    is_for_welfare: bool
    settings: Mapping[str, Any]


def _learner(player: str) -> _Learner:
    written, _, settings = parsed("player", player)
    network = written.removesuffix(WELFARE)
    return _Learner(network.removesuffix(SYMMETRIC), network.endswith(SYMMETRIC), written.endswith(WELFARE), settings)
