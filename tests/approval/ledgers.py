"""Ledgers that earlier versions wrote: everything that can be asked of one, and every event made void or corrected.

What is asked leaves a ledger's events as they were, so that hashes are recorded too. Changes are made in copies, and
followed by a look at everybody's standing.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from approval.recordings import Entry, entry
from approval.stage import REPOSITORY, Stage, command, has_json

FOLDER = REPOSITORY / "tests" / "ledger"

LEDGER = "old.db"

OWN_WELFARE = ("egalitarian", "nash", "power_burden(p=2)")
"""Of these, the ones that do not fit a ledger's kind are refused, which is recorded as well."""


def names() -> list[str]:
    """All frozen ledgers."""
    return [path.stem for path in sorted(FOLDER.glob("ledger_version_*.sql"))]


def look_through(name: str, folder: Path) -> Iterator[Entry]:
    """The outputs of all commands on a ledger."""
    with closing(sqlite3.connect(folder / LEDGER)) as connection:
        connection.executescript((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    stage = Stage(folder)
    yield from _asked(stage, ["verify"])
    events = json.loads(stage.rehearse(["ledger", "export", LEDGER, "--json"]).out)
    for words in _questions(events):
        yield from _asked(stage, words)
    for event in events:
        yield from _asked(stage, ["explain", str(event["seq"])], json=event["kind"] in ("decision", "plan", "void"))
    for words in ([name, LEDGER, *flags] for name in ("audit", "what-if", "advise") for flags in ((), ("--json",))):
        yield entry(command(words), stage.rehearse(words))
    kinds = {str(event["seq"]): event["kind"] for event in events}
    verified = set()
    for words in _changes(events):
        like = words[0], kinds.get("".join(words[1:2]))
        yield from _changed(stage, ["ledger", words[0], LEDGER, *words[1:]], verify=like not in verified)
        verified.add(like)


def _asked(stage: Stage, words: list[str], json: bool = True) -> Iterator[Entry]:
    line = ["ledger", words[0], LEDGER, *words[1:]]
    for flags in ((), ("--json",)) if json and has_json(line) else ((),):
        yield entry(command([*line, *flags]), stage.rehearse([*line, *flags]), hashes=True)


def _changed(stage: Stage, words: list[str], verify: bool) -> Iterator[Entry]:
    """A change, and where everybody stands after it; verifying takes ten times as long."""
    after = [["ledger", each, LEDGER] for each in ("standing", "verify")[: 1 + verify]]
    done, *seen = stage.rehearse_all([words, *after])
    yield entry(command(words), done)
    if done.code == 0:
        change = " ".join((words[1], *words[3:]))
        yield from (entry(f"{command(each)}  # after {change}", it) for each, it in zip(after, seen, strict=True))


def _questions(events: list[dict[str, Any]]) -> Iterator[list[str]]:
    """What can be asked of a ledger without changing it."""
    days = sorted({event["time"][:10] for event in events})
    yield ["rules"]
    yield ["export"]
    yield from (["export", "--kind", kind] for kind in ("received", "decision", "planned"))
    yield ["planned"]
    yield ["planned", "--from", days[0]]
    yield ["standing"]
    yield from (["standing", "--at", day] for day in days[len(days) // 4 :: max(1, len(days) // 4)])
    yield from (["standing", "--before", str(event["seq"])] for event in events if event["kind"] == "decision")
    yield from (["explain", agent] for agent in dict.fromkeys(event["agent"] for event in events if event["agent"]))
    yield ["newcomers", "--agent", "Newcomer", "--decisions", "5"]
    yield ["redecide", "--from", days[0]]
    yield ["redecide", "--from", days[len(days) // 2]]
    yield ["replan"]


def _changes(events: list[dict[str, Any]]) -> Iterator[list[str]]:
    """What changes a ledger, one at a time."""
    yield from (["void", str(event["seq"])] for event in events)
    turns = [str(event["seq"]) for event in events if event["kind"] in ("received", "planned")]
    yield from (["correct", turn, "1"] for turn in turns[::2])
    yield from (["swap", *pair] for pair in list(pairwise(turns))[::4])
    yield from (["undo-import", str(event["seq"])] for event in events if "import" in (event["details"] or {}))
    yield from (["join", "Newcomer", "--start", rule] for rule in ("zero", "mean", "median", "entitled-share", "2.5"))
    yield from (["rules", "--welfare", welfare] for welfare in OWN_WELFARE)
    yield ["rules", "--half-life", "7d"]
    yield ["redecide", "--from", events[0]["time"], "--accept"]
    yield ["replan", "--accept"]
    yield ["unplan"]
    yield from (["leave", event["agent"]] for event in events if event["kind"] == "join")
    yield from (["backup", "new.db"], ["copy", "new.db"], ["rebuild"])
