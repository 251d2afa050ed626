"""Results of the map that were made up, in which each verdict occurs once."""

from __future__ import annotations

from bygones.leaderboard.board import Board
from bygones.leaderboard.entries import BoardEntry
from bygones.leaderboard.matches import Score


def made(world: str, player: str, memory: str, scores: list[float], likely: list[float] | None = None) -> Board:
    """A player with a memory, by its scores in seeds 0, 1 and so on.

    With greedy actions its Gini is twice as large.
    """
    steps = 1000 if player.startswith(("ppo", "sb3")) else 0
    return {
        BoardEntry(f"{world}(horizon=10)", "nash", memory, player, steps, seed): Score(
            score,
            likely and likely[seed],
            gini=0.1,
            worst_off=0.05,
            total=1.0,
            bound=0.4 if world == "donut" else None,
            seconds=2.0,
            gini_most_probable=0.2 if likely else None,
            worst_off_most_probable=0.04 if likely else None,
            total_most_probable=0.9 if likely else None,
        )
        for seed, score in enumerate(scores)
    }


BOARD = {
    **made("donut", "random", "none", [0.10, 0.11, 0.12]),
    **made("donut", "prices", "perfect", [0.20, 0.21, 0.19]),
    **made("donut", "prices", "none", [0.10, 0.10, 0.10]),
    **made("donut", "ppo", "perfect", [0.05, 0.06, 0.04], likely=[0.15, 0.16, 0.14]),
    **made("job_scheduling", "whoever-is-behind", "perfect", [0.20, 0.21, 0.19]),
    **made("job_scheduling", "ppo", "window T/10", [0.30, 0.31, 0.29], likely=[0.0, 0.0, 0.0]),
    **made("job_scheduling", "ppo", "none", [0.15, 0.15, 0.15]),
    **made("lending", "one-step", "perfect", [0.20, 0.21, 0.19]),
    **made("lending", "ppo", "perfect", [0.19, 0.22, 0.20]),
}
