"""A leaderboard as people read it: the answer in a few sentences, and every player with its best memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bygones._text import counted, listed
from bygones.document.document import Answer, Bullets, Column, Document, Share, Table
from bygones.document.document import Cell as TableCell
from bygones.leaderboard.board import Board
from bygones.leaderboard.standings import Cell, answer, best_by_player, cells, headline

COLUMNS = (
    "scenario",
    "player",
    "memory",
    Column("actions", 5),
    Column("score", measure="score"),
    Column("± (95%)", 6, measure="score"),
    Column("of bound", 4),
    Column("Gini", 3),
    Column("worst-off", 2, measure="score"),
    Column("seconds", 1),
)
"""The columns of the table of players."""


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
        welfare = next(iter(self.board)).welfare
        about = f"{welfare} welfare, {steps:,} steps of learning, {counted(seeds, 'seed')}"
        table = Table(
            f"Every player with its best memory: {about}", COLUMNS, [_row(cell) for cell in best_by_player(self.cells)]
        )
        return Document(headline(self.cells), [Bullets([*answer(self.cells), *self._left_out()]), table], "Leaderboard")

    def to_dict(self) -> dict[str, object]:
        """The answer and every cell as plain values, for JSON."""
        return {
            "answer": answer(self.cells),
            "cells": [_plain(cell) for cell in self.cells],
            "does_not_apply": list(self.idle),
        }

    def _left_out(self) -> list[str]:
        """The players that do not apply, one sentence for each scenario and reason."""
        players: dict[tuple[str, str], list[str]] = {}
        for entry in self.idle:
            players.setdefault((entry["scenario"], entry["reason"]), []).append(entry["player"])
        return [
            f"In {world}, {listed(names)} {'does' if len(names) == 1 else 'do'} not apply: {reason}."
            for (world, reason), names in players.items()
        ]


def _row(cell: Cell) -> list[TableCell]:
    low, high = cell.interval
    reach = None if math.isinf(high) else (high - low) / 2
    share = None if cell.share is None else Share(cell.share)
    numbers = [cell.mean, reach, share, cell.gini, cell.worst_off, round(cell.seconds, 1)]
    return [cell.world, cell.player, cell.memory, cell.actions, *numbers]


def _plain(cell: Cell) -> dict[str, object]:
    return {
        **cell._asdict(),
        "scores": cell.scores.tolist(),
        "mean": cell.mean,
        "interval": list(cell.interval),
        "share": cell.share,
    }
