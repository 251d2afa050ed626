"""The map as a page: one answer at the top, then the figures and all scores that it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bygones._text import counted, listed
from bygones.document.document import Cell as TableCell
from bygones.leaderboard import players
from bygones.leaderboard.board import Board
from bygones.leaderboard.matches import EPISODES
from bygones.leaderboard.rule_players import RULES
from bygones.leaderboard.standings import (
    BoardVerdict,
    Cell,
    best_memories,
    cells,
    compared,
    headline,
    remembering,
    verdicts,
)
from bygones.report.leaderboard.leaderboard_charts import best_by_player, memory_chart, verdict_chart
from bygones.report.page import Block, Page, Section, Table, write

METHOD = (
    "The score of an episode is what everybody would have to receive per step for the same welfare of the true totals: "
    "for Nash welfare the geometric mean of what agents received per step. All learners learn from the same number of "
    f"steps with the default settings of bygones. Every player is evaluated in {EPISODES} episodes per seed, which are "
    "the same for all. A learned policy plays them twice, with drawn and with most probable actions. All its numbers "
    "are of the way with the better score, and the column actions says which it is. Intervals are Student's over "
    "seeds, at 95%. The best rule and the best learner are chosen by the same results that compare them, so small "
    "differences mean little. Rules see what policies see.",
    "A learner is given the reward of the paper: the change in the welfare of what is remembered with a weight of 0.9, "
    "and the sum of utilities with 0.1. The score is the welfare of what was received. So a learner may gain in total "
    "what it loses in score.",
    "A bound is a score that no policy exceeds on average, and possibly none reaches it. Seconds are of training and "
    "evaluation of one seed, on the machine of the run.",
)


def write_leaderboard(board: Board, idle: Sequence[dict[str, str]], path: Path) -> Path:
    """Writes the map as a self-contained HTML file.

    Args:
        board: the results.
        idle: the players that do not apply, from `bygones.leaderboard.board.left_out`.
        path: the file.
    """
    return write(leaderboard_page(board, idle), path)


def leaderboard_page(board: Board, idle: Sequence[dict[str, str]]) -> Page:
    """The page of the map."""
    found = cells(board)
    pairs = verdicts(found)
    entry = next(iter(board))
    steps = max(each.steps for each in board)
    seeds = len({each.seed for each in board})
    return Page(
        title="When is learning worth it?",
        lede=headline(found),
        sections=[
            *([Section("Rules and learners", _compared(found, pairs))] if pairs else []),
            Section("Memories", _memories(found)),
            Section("Every player", [_players(best_by_player(found)), *_idle(idle), _rules()]),
            Section("Method", METHOD),
            Section("All results", [_all(found)]),
        ],
        kicker=f"{entry.welfare} welfare · {counted(len({each.world for each in board}), 'scenario')} · "
        f"{steps:,} steps of learning · {counted(seeds, 'seed')}",
        footer="Made by bygones leaderboard.",
    )


def _compared(found: list[Cell], pairs: Sequence[BoardVerdict]) -> list[Block]:
    return [*compared(found), verdict_chart(pairs), _verdicts(pairs)]


def _verdicts(pairs: Sequence[BoardVerdict]) -> Table:
    return Table(
        "The best rule against the best learner. The difference is the learner's score less the rule's, seed by seed.",
        ["scenario", "verdict", "best rule", "its score", "best learner", "its score", "gain", "difference"],
        [
            [
                pair.world, pair.word, pair.rule.name, pair.rule.mean, pair.learner.name, pair.learner.mean,
                _gain(pair), _interval(*pair.difference),
            ]
            for pair in sorted(pairs, key=lambda pair: -pair.gain)
        ],
    )  # fmt: skip


def _memories(found: list[Cell]) -> list[Block]:
    scale = "T is the number of steps of an episode; a half-life or a length is a part of it."
    blocks: list[Block] = [*best_memories(found), scale]
    for is_rule, who in ((True, "rules"), (False, "learners")):
        ranked = remembering(found, is_rule)
        if ranked:
            blocks.append(memory_chart(ranked, who))
    return blocks


def _players(best: Sequence[Cell]) -> Table:
    rows = [[cell.world, cell.player, _memory(cell), *_numbers(cell)] for cell in best]
    return Table("Every player in every scenario, with its best memory.", ["scenario", *_COLUMNS], rows)


def _idle(idle: Sequence[dict[str, str]]) -> list[Table]:
    """Who does not apply where: a row for each player and reason, since most scenarios share them."""
    where: dict[tuple[str, str], list[str]] = {}
    for one in idle:
        where.setdefault((one["player"], one["reason"]), []).append(one["scenario"])
    rows = [[player, listed(worlds), reason] for (player, reason), worlds in where.items()]
    return [Table("Players that do not apply.", ["player", "does not apply in", "because"], rows)] if rows else []


def _all(found: Sequence[Cell]) -> Table:
    rows = [[cell.world, cell.player, _memory(cell), *_numbers(cell)] for cell in found]
    return Table("Every player with every memory.", ["scenario", *_COLUMNS], rows)


_COLUMNS = ("player", "memory", "actions", "score", "95% interval", "of bound", "Gini", "worst-off", "seconds")


def _numbers(cell: Cell) -> list[TableCell]:
    share = "" if cell.share is None else f"{cell.share:.1%}"
    gini, worst_off = (None if value is None else round(value, 4) for value in (cell.gini, cell.worst_off))
    mean = round(cell.mean, 6)  # what is below that is a matter of rounding
    return [cell.actions, mean, _interval(*cell.interval), share, gini, worst_off, round(cell.seconds, 1)]


def _memory(cell: Cell) -> str:
    return cell.memory if players.uses_memory(cell.player) else "not used"


def _rules() -> Table:
    return Table("The rules.", ["rule", "what it does"], [[name, rule.about] for name, rule in RULES.items()])


_FEWEST, _MOST = 4, 8
"""Decimals of a score. What is below the last one is a matter of rounding."""


def _interval(low: float, high: float) -> str:
    """An interval with as many decimals as show on which side of 0 it ends, however close; empty for a single seed."""
    if math.isinf(high):
        return ""
    sizes = [abs(end) for end in (low, high) if abs(end) >= 10.0**-_MOST]
    digits = max([_FEWEST, *(math.ceil(-math.log10(size)) for size in sizes)])
    return f"{low:z.{digits}f} to {high:z.{digits}f}".replace("-", "−")


def _gain(pair: BoardVerdict) -> str:
    digits = 3 if 0 < abs(pair.gain) < 0.0005 else 1
    return f"{pair.gain:+z.{digits}%}".replace("-", "−")
