"""Every command that changes something says so by its exit code, even if its answer cannot be written."""

import shutil
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bygones.allocation import ChooseK
from bygones.cli.commands import PROGRAM
from bygones.cli.console import RECORDED
from bygones.cli.program import REFUSED, main
from bygones.ledger import Entry, Ledger
from bygones.ledger.plans.date_needs import read_dates
from bygones.ledger.proof import signing

READ_ONLY = {"standing", "explain", "export", "newcomers", "now", "planned", "verify", "anchors"}
FAR = f"{datetime.now(UTC) + timedelta(days=8):%Y-%m-%d}"
NEXT = f"{datetime.now(UTC) + timedelta(days=9):%Y-%m-%d}"

WRITING = (
    ["new", "new.db"],
    ["join", "team.db", "dana"],
    ["leave", "team.db", "cem"],
    ["hold", "team.db", "ben"],
    ["resume", "held.db", "ben"],
    ["record", "team.db", "ana", "1"],
    ["offset", "team.db", "ana", "1"],
    ["correct", "team.db", "5", "2"],
    ["rules", "team.db", "--half-life", "9d"],
    ["void", "team.db", "5"],
    ["decide", "team.db", "needs.csv", "--yes"],
    ["redecide", "late.db", "--from", "2026-01-01", "--accept"],
    ["plan", "team.db", "needs.csv", "--from", FAR, "--until", NEXT, "--publish"],
    ["plan", "team.db", "needs.csv", "--from", FAR, "--until", NEXT, "--publish", "--json"],
    ["replan", "planned.db", "--accept"],
    ["unplan", "planned.db"],
    ["swap", "swapped.db", "5", "6"],
    ["give", "swapped.db", "5", "ben"],
    ["sick", "team.db", "ana", "--until", FAR, "--accept"],
    ["import", "team.db", "history.csv"],
    ["undo-import", "imported.db", "5"],
    ["sign", "team.db", "--key", "team.key", "--anchor", "anchors.jsonl"],
    ["copy", "team.db", "copy.db"],
    ["backup", "team.db", "backup.db"],
    ["restore", "team.db", "restored.db"],
    ["rebuild", "team.db"],
    ["key", "new", "new.key"],
    ["key", "new", "new.key", "--json"],
    ["key", "public", "team.key", "--out", "team.pub"],
)  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with the ledgers that the commands need."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "needs.csv").write_text("agent,need\nana,1\nben,1\n")
    (folder / "history.csv").write_text("agent,amount,time\nana,2,2026-02-01\n")
    for name in ("team", "held", "late", "planned", "swapped", "imported"):
        with Ledger.new(folder / f"{name}.db", began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
            if name == "imported":
                ledger.record_all([Entry("ana", 2, "2026-02-01")], source="history.csv")
            ledger.record("ana", 1, at="2026-01-02")
            if name == "held":
                ledger.hold("ben")
            elif name == "late":
                ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")
                ledger.record("ben", 9, at="2026-01-02")
            elif name == "swapped":
                ledger.record("ben", 2, at="2026-01-03")
            elif name == "planned":
                ledger.plans.publish(read_dates(folder / "needs.csv", "UTC", [FAR]))
                ledger.hold("ben", at=FAR)
    signing.new_key(folder / "team.key")
    return folder


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    """A copy of it, in which the command is called."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def onto_a_full_disk(folder, monkeypatch):
    """The exit code of a command whose answer goes to a disk that is full."""

    def call(*words):
        # What is left is written once more when the file is closed.
        with suppress(OSError), Path("/dev/full").open("w", encoding="utf-8") as full, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            with pytest.raises(SystemExit) as ended:
                main(["ledger", *words])
        return ended.value.code

    return call


@pytest.mark.parametrize("words", WRITING, ids=lambda words: words[0])
def test_what_was_recorded_is_not_refused(onto_a_full_disk, capsys, words):
    assert onto_a_full_disk(*words) == RECORDED
    assert "recorded, but the answer could not be written: No space left on device" in capsys.readouterr().err


def test_every_command_is_tried():
    assert {words[0] for words in WRITING} | READ_ONLY == set(PROGRAM.commands["ledger"].commands)


def test_what_was_not_recorded_is_refused(onto_a_full_disk):
    assert onto_a_full_disk("plan", "team.db", "needs.csv", "--from", FAR, "--until", NEXT) == REFUSED
    assert onto_a_full_disk("redecide", "team.db", "--from", "2026-01-01", "--accept") == REFUSED
    assert onto_a_full_disk("replan", "team.db", "--accept") == REFUSED
    assert onto_a_full_disk("key", "public", "team.key") == REFUSED


def test_a_plan_is_published_though_its_figure_cannot_be_drawn(folder, capsys):
    with pytest.raises(SystemExit) as ended:
        main(
            ["ledger", "plan", "team.db", "needs.csv", "--from", FAR, "--until", NEXT, "--publish", "--out", "team.key"]
        )
    answer = capsys.readouterr()
    assert ended.value.code == RECORDED
    assert "Published." in answer.out
    assert "recorded, but the answer could not be written: team.key/plan.png: Not a directory" in answer.err
