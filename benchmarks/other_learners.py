"""Other people's learners on the leaderboard: the same scenarios, steps, seeds, episodes and scores as ours.

    python -m benchmarks.other_learners --scenario "donut(horizon=100)" --player sb3-a2c sb3-dqn --out out/others

needs `bygones[learn,report]` and `bygones[sb3]`; the players whose names begin with `morl-` need `bygones[morl]`.
Results are kept as those of `bygones leaderboard` are, with the same columns, and the same command plays the
missing runs. So a folder of both is one leaderboard, and `bygones.leaderboard.board.read` reads it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from benchmarks import morl_learners, sb3_learners
from bygones._parts import MissingPartError
from bygones.leaderboard import board
from bygones.leaderboard.entries import MEMORIES, SIZES, BoardEntry, check_entries
from bygones.leaderboard.matches import Score, score_of_policy
from bygones.leaderboard.standings import cells

PLAYERS = (*sb3_learners.NAMES, *morl_learners.NAMES)


def main() -> None:
    quick = SIZES["quick"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", nargs="+", default=["donut(horizon=100)"], help="with its parameters")
    parser.add_argument("--player", nargs="+", default=list(sb3_learners.NAMES), choices=PLAYERS)
    parser.add_argument("--memory", nargs="+", default=["perfect"], choices=list(MEMORIES))
    parser.add_argument("--welfare", default="nash", choices=("nash", "egalitarian", "utilitarian"))
    parser.add_argument("--steps", type=int, default=quick.steps)
    parser.add_argument("--seeds", type=int, default=quick.seeds)
    parser.add_argument("--out", type=Path, default=Path("out/others"))
    given = parser.parse_args()
    check_entries(given.memory, given.seeds, given.steps)
    wanted = [
        BoardEntry(scenario, given.welfare, memory, player, given.steps, seed)
        for scenario in given.scenario
        for player in given.player
        for memory in ([morl_learners.MEMORY] if player in morl_learners.NAMES else given.memory)
        for seed in range(given.seeds)
    ]
    try:
        results = board.fill(given.out, wanted, lambda entry: print(*entry, flush=True), plays=played)
    except MissingPartError as error:
        raise SystemExit(str(error)) from None
    for cell in cells(results):
        print(f"{cell.world}, {cell.name}: {cell.mean:.4f} ({cell.actions} actions), {cell.seconds:.0f} s")


def played(entries: Sequence[BoardEntry], workers: int | None = None) -> Generator[tuple[BoardEntry, Score]]:
    """Plays entries one after the other, and yields each with its score."""
    for entry in entries:
        started = time.monotonic()
        learners = morl_learners if entry.player in morl_learners.NAMES else sb3_learners
        policy = learners.trained(entry)
        yield entry, score_of_policy(entry, policy, time.monotonic() - started)


if __name__ == "__main__":
    main()
