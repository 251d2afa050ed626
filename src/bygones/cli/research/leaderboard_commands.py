"""`bygones leaderboard`: rules and learners in every scenario. What needs JAX is imported when the command runs."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from bygones._text import counted, listed
from bygones.cli.arguments import Json, optional
from bygones.cli.console import print_json, print_paths, print_sentences, print_table, progress
from bygones.leaderboard.entries import MEMORIES, SIZES, WelfareName, check_entries, scenarios

if TYPE_CHECKING:
    from bygones.leaderboard.standings import Cell

COLUMNS = [
    "scenario", "player", "memory", "actions", "score", "± (95%)", "of bound", "Gini", "worst-off", "seconds",
]  # fmt: skip


def leaderboard(
    size: Annotated[
        Literal["quick", "full"],
        arg(
            help="quick: five scenarios with T = 100, in minutes; full: all scenarios and learners, a million steps "
            "each."
        ),
    ] = "quick",
    welfare: Annotated[WelfareName, arg(help="The welfare that is learned and judged.")] = "nash",
    scenario: Annotated[
        tuple[str, ...],
        optional('Only these scenarios, such as donut or, with its own T, "queues(n_servers=2, horizon=50)".', "NAME…"),
    ] = (),
    memory: Annotated[tuple[str, ...], optional(f"Only these memories, out of {', '.join(MEMORIES)}.", "NAME…")] = (),
    player: Annotated[
        tuple[str, ...],
        optional(
            "Only these rules and learners, such as prices or ppo; ppo-welfare learns from welfare alone.", "NAME…"
        ),
    ] = (),
    steps: Annotated[
        int | None, optional("Steps that each learner learns from; by default the size's.", "NUMBER")
    ] = None,
    seeds: Annotated[int | None, optional("Number of seeds; by default the size's.", "NUMBER")] = None,
    workers: Annotated[int | None, optional("Processes on a CPU; by default one per core.", "NUMBER")] = None,
    out: Annotated[Path, arg(help="Folder for the results and the page.")] = Path("out/leaderboard"),
    json: Json = False,
) -> None:
    """Compare rules and learners in every scenario, with every memory, and say where learning is worth it.

    All learners learn from the same number of steps, and all players are evaluated in the same episodes. The score is
    what everybody would have to receive per step for the same welfare. Results are kept in Parquet files: the same
    command plays only what is missing.

    Example: bygones leaderboard --scenario donut queues --player prices ppo --steps 100000
    """
    from bygones._arrays import check_count
    from bygones.leaderboard import board, players
    from bygones.leaderboard.rule_players import RULES
    from bygones.leaderboard.standings import answer, cells

    chosen = SIZES[size]
    budget, n_seeds = chosen.steps if steps is None else steps, chosen.seeds if seeds is None else seeds
    check_entries(memory, n_seeds, budget)
    players.check_players(player)
    if workers is not None:
        check_count("workers", workers, most=1024)
    who = player or ((*RULES, *chosen.learners) if chosen.learners else players.names())
    worlds = scenarios(chosen, scenario)
    wanted = board.entries(worlds, welfare, budget, n_seeds, memory or tuple(MEMORIES), who)
    missing = len(set(wanted) - set(board.read(out)))
    with progress(f"{missing} of {len(wanted)} runs", missing) as advance:
        try:
            results = board.fill(out, wanted, lambda _: advance(), workers)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the same command plays what is missing") from None
    found = cells(results)
    idle = board.left_out(worlds, welfare, who)
    page = None
    if importlib.util.find_spec("jinja2") and importlib.util.find_spec("plotly"):
        from bygones.report.leaderboard.leaderboard_page import write_leaderboard

        page = write_leaderboard(results, idle, out / "leaderboard.html")
    if json:
        print_json({"answer": answer(found), "cells": [_object(cell) for cell in found], "does_not_apply": idle})
        return
    print_table(
        f"{welfare} welfare, {budget:,} steps of learning, {counted(n_seeds, 'seed')}: "
        "every player with its best memory",
        COLUMNS,
        _rows(found),
    )
    print_sentences([*answer(found), *_left_out(idle)])
    print_paths([page] if page else [])


def _rows(found: list[Cell]) -> list[list[object]]:
    """One row per scenario and player, with its best memory, the best first."""
    firsts: dict[tuple[str, str], Cell] = {}
    for cell in found:
        firsts.setdefault((cell.scenario, cell.player), cell)
    return [_row(cell) for cell in firsts.values()]


def _left_out(idle: list[dict[str, str]]) -> list[str]:
    """The players that do not apply, one sentence for each scenario and reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in idle:
        grouped.setdefault((one["scenario"], one["reason"]), []).append(one["player"])
    return [
        f"In {world}, {listed(who)} {'does' if len(who) == 1 else 'do'} not apply: {reason}."
        for (world, reason), who in grouped.items()
    ]


def _row(cell: Cell) -> list[object]:
    low, high = cell.interval
    share = "" if cell.share is None else f"{cell.share:.1%}"
    gini, worst_off = (None if value is None else round(value, 4) for value in (cell.gini, cell.worst_off))
    reach = "" if math.isinf(high) else round((high - low) / 2, 4)
    shown = [reach, share, gini, worst_off, round(cell.seconds, 1)]
    return [cell.world, cell.player, cell.memory, cell.actions, round(cell.mean, 4), *shown]


def _object(cell: Cell) -> dict[str, object]:
    return {
        **cell._asdict(),
        "scores": cell.scores.tolist(),
        "mean": cell.mean,
        "interval": list(cell.interval),
        "share": cell.share,
    }
