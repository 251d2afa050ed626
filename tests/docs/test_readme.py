"""The README is short, its three starts run as they stand, and its links lead somewhere."""

import io
import re
import shlex

import numpy as np
import pytest
from docs.site import pictures

from bygones import Discounted, Instantaneous, PerfectRecall
from bygones.cli import program
from bygones.paper.examples import run
from support.extras import EXTRAS, ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
STARTS = dict(re.findall(r"^\*\*(You [\w ]+)\.\*\*(.*?)(?=^\*\*You|^## )", TEXT, re.DOTALL | re.MULTILINE))


def commands(text):
    """The commands of bygones in indented blocks, without their comments."""
    return [shlex.split(line, comments=True)[1:] for line in re.findall(r"^    (bygones .*)$", text, re.MULTILINE)]


def test_it_is_short():
    assert len(TEXT.splitlines()) < 120


def test_there_are_three_starts():
    assert list(STARTS) == ["You do research", "You schedule shifts", "You run a cluster"]
    for start in STARTS.values():
        assert commands(start)
        assert len(start.strip().splitlines()) <= 15


def test_extras_exist():
    named = {extra for extras in re.findall(r"pip install '\.\[(.*?)\]'", TEXT) for extra in extras.split(",")}
    assert named
    assert named <= set(EXTRAS)


def test_the_start_of_a_person_who_schedules_shifts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    for words in commands(STARTS["You schedule shifts"]):
        program.main(words)
    out = capsys.readouterr().out
    assert "Ben takes the " in out
    assert "Record this?" in out
    assert re.search(r"^ Ben +20 .*<-", out, re.MULTILINE) is None
    assert re.search(r"^ Ben +20 ", out, re.MULTILINE), "ten hours of January, and ten of the decision"


def test_the_start_of_a_person_who_runs_a_cluster(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ibis")
    monkeypatch.chdir(tmp_path)
    for words in commands(STARTS["You run a cluster"]):
        program.main(words)
    assert (tmp_path / "audit.html").stat().st_size > 100_000
    assert "jobs" in capsys.readouterr().out


@pytest.mark.parametrize("words", commands(TEXT), ids=" ".join)
def test_every_command_is_one(words):
    assert words[0] in program.PROGRAM.commands


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_picture_shows_the_numbers_of_its_text(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "concepts/pictures/alice-and-bob.svg" in text
    joins = max(pictures.BOB_IS_LATE.joins)
    waits = {}
    for name, memory in (
        ("none", Instantaneous()),
        ("half-life", Discounted(half_life=7)),
        ("recall", PerfectRecall()),
    ):
        owners = run(pictures.BOB_IS_LATE, memory, steps=75).owners
        assert (owners[:joins] == 0).all()
        waits[name] = int(np.argmax((owners[joins:] == 0).any(axis=1)))
        if name == "none":
            assert (owners[joins:, 1] == 0).all(), "Alice gets every donut"
    assert f"Bob joins {joins} steps late" in text
    assert f"With perfect recall, Alice gets nothing for {waits['recall']} steps" in text
    assert f"With a half-life of 7 steps, Bob catches up with the recent past in {waits['half-life']} steps" in text
