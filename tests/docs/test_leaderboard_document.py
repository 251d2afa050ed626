"""`docs/leaderboard.md` runs as it stands, and says what the shipped runs show."""

from bygones.leaderboard import board
from bygones.leaderboard.entries import SIZES
from bygones.report.leaderboard.leaderboard_note import (
    DOCUMENT,
    EVIDENCE,
    OTHERS_MARKS,
    note,
    others_note,
    written,
)
from support.walkthrough import walk_through


def test_the_page_runs(tmp_path):
    walk_through(DOCUMENT, tmp_path)


def test_the_page_says_what_the_runs_show():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == written(text, note())
    assert text == written(text, others_note(), OTHERS_MARKS)


def test_the_shipped_runs_are_small_and_complete():
    results = board.read(EVIDENCE)
    seeds = {}
    for entry in results:
        seeds.setdefault(entry._replace(seed=0), set()).add(entry.seed)
    assert set(map(len, seeds.values())) == {SIZES["quick"].seeds}
    assert sum(path.stat().st_size for path in EVIDENCE.glob("*.parquet")) < 300_000
