"""A leaderboard as people read it: the answer in a few sentences, every player with its best memory, and the charts,
all scores and the method for those who look closer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bygones._text import amount, counted, listed
from bygones.document.document import Answer, Block, Bullets, Column, Document, Section, Share, Table
from bygones.document.document import Cell as TableCell
from bygones.leaderboard import players
from bygones.leaderboard.board import Board
from bygones.leaderboard.leaderboard_charts import memory_chart, verdict_chart
from bygones.leaderboard.matches import EPISODES
from bygones.leaderboard.standings import (
    BoardVerdict,
    Cell,
    answer,
    best_by_player,
    cells,
    gain_text,
    headline,
    remembering,
    verdicts,
)
from bygones.scenario_policies.rule_players import RULES

COLUMNS = (
    "scenario",
    "player",
    "memory",
    Column("actions", 5),
    Column("score", measure="score"),
    Column("± (95%)", 6),
    Column("of bound", 4),
    Column("Gini", 3),
    Column("worst-off", 2, measure="score"),
    Column("seconds", 1),
)
"""The columns of the tables of players."""

METHOD = (
    "The score of an episode is the equal utility per step that gives the same welfare of the true totals. For Nash "
    "welfare it is the geometric mean of the utilities per step. All learners learn from the same number of steps with "
    f"the default settings of bygones. Every player is evaluated in the same {EPISODES} episodes per seed. A learned "
    "policy plays them twice, with sampled and with greedy actions. All its numbers are of the way with the better "
    "score, which the column actions shows. Intervals are Student's over seeds, at 95%.",
    "The best rule and the best learner of a scenario are the best of many, with every memory and every length. One "
    "half of the seeds chooses them, and the other half compares them. The p-value is that of Student's test of their "
    "mean difference, corrected for the number of scenarios by Holm's method. A verdict needs a p-value of at most "
    "0.05.",
    "Rules see the same observations as policies. The rule lookahead also knows the functions of the scenario, and "
    "tries actions in them.",
    "A learner is given the reward of the paper: the change in the welfare of the memory with a weight of 0.9, and the "
    "sum of utilities with 0.1. The score is the welfare of the true totals. So a learner can gain in total utility "
    "and lose in score.",
    "A bound is a score that no policy exceeds on average, and possibly none reaches it. Seconds are those of training "
    "and evaluating one seed, on the machine of the run.",
)

SHOWN = 50
"""The most rows of the table of all results before its readers have to ask for more."""


@dataclass(frozen=True, eq=False)
class Leaderboard(Answer):
    """The results of rules and learners.

    Attributes:
        board: the scores.
        idle: the players that do not apply, from `bygones.leaderboard.board.left_out`.
    """

    board: Board
    idle: Sequence[dict[str, str]] = ()

    @cached_property
    def cells(self) -> list[Cell]:
        """Every player with every memory in every scenario, the best first."""
        return cells(self.board)

    def document(self) -> Document:
        """Where learning wins, which memory is best, and every player with its best memory."""
        steps = max(entry.steps for entry in self.board)
        seeds = len({entry.seed for entry in self.board})
        about = f"{next(iter(self.board)).welfare.capitalize()} welfare, {steps:,} steps of learning"
        best = Table(f"{about}, {counted(seeds, 'seed')}", COLUMNS, [_row(cell) for cell in best_by_player(self.cells)])
        pairs = sorted(verdicts(self.cells), key=lambda pair: -pair.gain)
        rules = Table("", ["rule", "description"], [[name, rule.about] for name, rule in RULES.items()])
        everything = Table("Every player with every memory", COLUMNS, [_row(cell) for cell in self.cells], most=SHOWN)
        return Document(
            headline(self.cells),
            [
                Bullets([*answer(self.cells), *self._left_out()]),
                *([Section("Rules and learners", _compared(pairs), background=True)] if pairs else []),
                Section("Memories", self._memories(), background=True),
                Section("Every player with its best memory", [best]),
                Section("The rules", [rules], background=True),
                Section("Method", METHOD, background=True),
                Section("All results", [everything], background=True),
            ],
            "Leaderboard",
            "When is learning worth it?",
        )

    def to_dict(self) -> dict[str, object]:
        """The answer and every cell as plain values, for JSON."""
        return {
            "answer": answer(self.cells),
            "cells": [_plain(cell) for cell in self.cells],
            "does_not_apply": list(self.idle),
        }

    def _left_out(self) -> list[str]:
        """The players that do not apply, one sentence for each player and reason, since most scenarios share them."""
        worlds: dict[tuple[str, str], list[str]] = {}
        for entry in self.idle:
            worlds.setdefault((entry["player"], entry["reason"]), []).append(entry["scenario"])
        return [
            f"In {listed(scenarios)}, {player} does not apply: {reason}."
            for (player, reason), scenarios in worlds.items()
        ]

    def _memories(self) -> list[Block]:
        """The charts of memories."""
        ranked = {who: remembering(self.cells, who == "rules") for who in ("rules", "learners")}
        scale = "T is the number of steps of an episode. Half-lives and lengths are fractions of T."
        return [scale, *(memory_chart(memories, who) for who, memories in ranked.items() if memories)]


def _row(cell: Cell) -> list[TableCell]:
    low, high = cell.interval
    memory = cell.memory if players.uses_memory(cell.player) else "not used"
    reach = None if math.isinf(high) else (high - low) / 2
    share = None if cell.share is None else Share(cell.share)
    gini = None if cell.gini is None else round(cell.gini, 4)
    # Further digits of a score are rounding errors.
    mean, reach, worst_off = (
        None if score is None else round(score, 6) for score in (cell.mean, reach, cell.worst_off)
    )
    return [cell.world, cell.player, memory, cell.actions, mean, reach, share, gini, worst_off, round(cell.seconds, 1)]


def _compared(pairs: Sequence[BoardVerdict]) -> list[Block]:
    """The best rule against the best learner, in a chart and in numbers."""
    return [
        verdict_chart(pairs),
        Table(
            "The best rule against the best learner",
            ["scenario", "verdict", "best rule", Column("its score", measure="score"), "best learner",
             Column("its score", measure="score"), "gain", "difference", "p-value"],
            [
                [
                    pair.world, pair.word, pair.rule.name, pair.rule.mean, pair.learner.name, pair.learner.mean,
                    gain_text(pair), _interval(*pair.difference), amount(pair.chance, 2),
                ]
                for pair in pairs
            ],
            note="The difference is the learner's score less the rule's, seed by seed, in the seeds that did not "
            "choose the two. The p-value is corrected for the number of scenarios.",
        ),
    ]  # fmt: skip


_FEWEST, _MOST = 4, 8
"""Decimals of a score. Further digits are rounding errors."""


def _interval(low: float, high: float) -> str:
    """An interval with as many decimals as show on which side of 0 it ends, however close; empty for a single seed."""
    if math.isinf(high):
        return ""
    sizes = [abs(end) for end in (low, high) if abs(end) >= 10.0**-_MOST]
    digits = max([_FEWEST, *(math.ceil(-math.log10(size)) for size in sizes)])
    return f"{low:z.{digits}f} to {high:z.{digits}f}".replace("-", "−")


def _plain(cell: Cell) -> dict[str, object]:
    return {
        "scenario": cell.scenario,
        "memory": cell.memory,
        "player": cell.player,
        "scores": cell.scores.tolist(),
        "actions": cell.actions,
        "gini": cell.gini,
        "worst_off": cell.worst_off,
        "total": cell.total,
        "bound": cell.bound,
        "seconds": cell.seconds,
        "mean": cell.mean,
        "interval": list(cell.interval),
        "share": cell.share,
    }
