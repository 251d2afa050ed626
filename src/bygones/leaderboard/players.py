"""Who plays: rules that need no training, and learners, which are given the same number of steps.

A learner's name is its name in `bygones.learn.learners`; its policy is an MLP, or with `-symmetric` behind the name one
network that scores every agent.
"""

from __future__ import annotations

from bygones.envs.scenario_problem import ScenarioProblem
from bygones.leaderboard.rule_players import NOT_SERVED, RULES
from bygones.learn import learners
from bygones.learn.actors import actor_of
from bygones.learn.settings import Settings

SYMMETRIC = "-symmetric"


def names() -> tuple[str, ...]:
    """All players: the rules, then the learners."""
    return (*RULES, *(f"{name}{kind}" for name in learners.names() for kind in ("", SYMMETRIC)))


def check_players(players: tuple[str, ...]) -> None:
    """Refuses a player that nobody knows."""
    for player in players:
        if player not in names():
            raise ValueError(f"player must be one of {', '.join(names())}, got {player!r}")


def uses_memory(player: str) -> bool:
    """Whether what a player does depends on what is remembered."""
    return RULES[player].uses_memory if player in RULES else True


def settings_of(player: str, steps: int, seed: int) -> Settings:
    """How a learner learns."""
    name = player.removesuffix(SYMMETRIC)
    return Settings(
        learner=name, policy="symmetric" if player.endswith(SYMMETRIC) else "mlp", total_steps=steps, seed=seed
    )


def why_not(player: str, problem: ScenarioProblem) -> str | None:
    """Why a player cannot play in a problem; None if it can."""
    if player in RULES:
        return RULES[player].unfit(problem.scenario)
    if player.endswith(SYMMETRIC) and problem.scenario.n_served is None:
        return NOT_SERVED
    try:
        actor_of(settings_of(player, steps=1_000_000, seed=0), problem)
    except ValueError as error:
        return str(error)
    return None
