"""The results of a leaderboard: one Parquet file per scenario, one row per entry, with provenance.

A file is replaced as soon as an entry is finished, so nothing is lost when a run is stopped, and the next call plays
the missing entries. One process at a time writes to a folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from bygones import __version__
from bygones._files import replacing
from bygones._locks import locked
from bygones.leaderboard import players
from bygones.leaderboard.entries import MEMORIES, NONE, BoardEntry
from bygones.leaderboard.matches import Score, played
from bygones.learn.backends import has_accelerator
from bygones.paper import parquet
from bygones.paper.provenance import here
from bygones.scenario_policies.rule_players import rule_of

FORMAT = 2
SCHEMA = pa.schema(
    [
        ("scenario", pa.string()), ("welfare", pa.string()), ("memory", pa.string()), ("player", pa.string()),
        ("steps", pa.int64()), ("seed", pa.int64()),
        ("score", pa.float64()), ("score_most_probable", pa.float64()), ("gini", pa.float64()),
        ("worst_off", pa.float64()), ("total", pa.float64()), ("bound", pa.float64()), ("seconds", pa.float64()),
        ("version", pa.string()), ("date", pa.string()), ("provenance", pa.string()),
        ("gini_most_probable", pa.float64()), ("worst_off_most_probable", pa.float64()),
        ("total_most_probable", pa.float64()),
    ],
    {"bygones.leaderboard": str(FORMAT)},
)  # fmt: skip
"""The columns; `provenance` is JSON with software, hardware, command and commit."""

ADDED = ("gini_most_probable", "worst_off_most_probable", "total_most_probable")
"""The columns that format 1 does not have; they read as null."""

Board = dict[BoardEntry, Score]
"""The scores of entries."""


class Plays(Protocol):
    """Plays entries, as `bygones.leaderboard.matches.played` does."""

    def __call__(
        self, entries: Sequence[BoardEntry], workers: int | None = None
    ) -> Generator[tuple[BoardEntry, Score]]: ...


def entries(
    scenarios: Sequence[str],
    welfare: str,
    steps: int,
    seeds: int,
    memories: Sequence[str] = tuple(MEMORIES),
    who: Sequence[str] = (),
) -> list[BoardEntry]:
    """Every entry of a map, without those of players that do not apply; runs of one program stand together."""
    wanted = []
    for scenario in scenarios:
        for player in who or players.names():
            remembers = memories if players.uses_memory(player) else [NONE]
            budget = steps if rule_of(player) is None else 0
            first = BoardEntry(scenario, welfare, NONE, player, budget, 0)
            problem = first.problem()
            if players.why_not(player, problem) is None:
                wanted += [
                    first._replace(memory=memory, player=each, seed=s)
                    for each in players.with_lengths(player, problem)
                    for memory in remembers
                    for s in range(seeds)
                ]
    return wanted


def left_out(scenarios: Sequence[str], welfare: str, who: Sequence[str]) -> list[dict[str, str]]:
    """The players that do not apply to a scenario, each with the reason."""
    idle = []
    for scenario in scenarios:
        first = BoardEntry(scenario, welfare, NONE, "", 0, 0)
        for player in who:
            reason = players.why_not(player, first.problem())
            if reason is not None:
                idle.append({"scenario": first.world, "player": player, "reason": reason})
    return idle


def read(folder: Path) -> Board:
    """The results in a folder; empty where there is none."""
    board: Board = {}
    for path in sorted(folder.glob("*.parquet")):
        board |= _rows(path)
    return board


def fill(
    folder: Path,
    wanted: Iterable[BoardEntry],
    done: Callable[[BoardEntry], None] = lambda _: None,
    workers: int | None = None,
    command: str | None = None,
    plays: Plays | None = None,
) -> Board:
    """Plays the entries that a folder lacks, and returns the results of all that are wanted.

    Args:
        folder: of results; made if necessary.
        wanted: the entries of the map.
        done: called with each entry that was played.
        workers: processes on CPU cores; by default one per core.
        command: how to run it again, for the provenance; by default this process's own.
        plays: plays entries of players that bygones does not have; by default `played`.

    Raises:
        BlockingIOError: another process is writing to the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(wanted)
    with locked(folder / ".lock", folder, "is writing to this folder"):
        board = read(folder)
        source = json.dumps(asdict(here("accelerator" if has_accelerator() else "cpu", command)), sort_keys=True)
        missing = [entry for entry in wanted if entry not in board]
        with closing((plays or played)(missing, workers=workers)) as matches:
            for entry, score in matches:
                board[entry] = score
                _append(folder / f"{entry.world}.parquet", entry, score, source)
                done(entry)
    return {entry: board[entry] for entry in wanted}


def _append(path: Path, entry: BoardEntry, score: Score, source: str) -> None:
    row = {
        **entry._asdict(),
        **score._asdict(),
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "provenance": source,
    }
    table = pa.Table.from_pylist([row], schema=SCHEMA)
    if path.exists():
        table = pa.concat_tables([_table(path), table])
    with replacing(path) as file:
        file.write(parquet.packed(table.combine_chunks()))


def _rows(path: Path) -> Board:
    return {
        BoardEntry(_renamed(row["scenario"]), *(row[name] for name in BoardEntry._fields[1:])): Score(
            *(row[name] for name in Score._fields)
        )
        for row in _table(path).to_pylist()
    }


def _renamed(scenario: str) -> str:
    """The scenario of the paper was called `paper` in files of version 0.1."""
    return re.sub(r"^paper\b", "allocation", scenario)


def _table(path: Path) -> pa.Table:
    """The rows of a file, in the columns of this format."""
    table = parquet.unpacked(path)
    for name in SCHEMA.names:
        if name not in table.column_names:
            if name not in ADDED:
                raise ValueError(f"{path} is not a file of the leaderboard: it has no column {name!r}")
            table = table.append_column(name, pa.nulls(len(table), pa.float64()))
    return table.select(SCHEMA.names).cast(SCHEMA)
