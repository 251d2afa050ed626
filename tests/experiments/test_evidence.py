"""The shipped evidence is the test: a verdict that changes fails here until someone has looked at it."""

import re
from pathlib import Path

import pytest

from bygones.experiments.claims import judge
from bygones.experiments.results import read

ROOT = Path(__file__).parents[2]
WORDS = {"holds": "holds", "fails": "fails", "?": "not enough runs", "–": "not enough runs"}


@pytest.fixture(scope="module")
def evidence():
    return read(*sorted((ROOT / "evidence" / "grid").iterdir()))


def test_every_run_is_there_and_finished(evidence):
    assert len(evidence) == 5790
    grid = evidence.where(total_steps=1_000_000, observe_denominator=False)
    for scale in ("none", "fixed", "window", "expected", "relative"):
        assert len(grid.where(observation_scale=scale)) == (1250 if scale == "none" else 1000)


def test_the_verdicts_are_those_that_the_note_gives(evidence):
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    rows = {
        name: cells for name, *cells in re.findall(r"^\| (C\d+) [^|]*" + r"\| (\S+) " * 5 + r"\|$", note, re.MULTILINE)
    }
    assert len(rows) == 13
    for judgement in judge(evidence):
        scales = ("none", "fixed", "window", "expected", "relative")
        found = [judgement.by_scale[scale].word for scale in scales]
        assert found == [WORDS[cell] for cell in rows[judgement.name]], judgement.name
