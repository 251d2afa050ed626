"""The page of the map gives its answer first, and shows who does not apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from bygones.leaderboard.standings import answer, cells
from bygones.report.leaderboard.leaderboard_page import leaderboard_page, write_leaderboard
from bygones.report.page import Table
from support.browser import PHONE, complaints, opened, overflow
from support.made_up_board import BOARD, made

IDLE = [{"scenario": "lending", "player": "prices", "reason": "an action does not serve agents"}]


def test_the_answer_is_at_the_top_and_all_that_it_rests_on_below() -> None:
    page = leaderboard_page(BOARD, IDLE)
    assert page.lede == " ".join(answer(cells(BOARD)))
    assert [section.title for section in page.sections] == [
        "Rules and learners", "Memories", "Every player", "All results", "Method",
    ]  # fmt: skip
    players, whole = (next(b for b in page.sections[i].blocks if isinstance(b, Table)) for i in (2, 3))
    assert len(whole.rows) == len(cells(BOARD))
    assert ["lending", "prices", "does not apply: an action does not serve agents"] in [row[:3] for row in players.rows]
    # Each player once, with its best memory.
    assert [row[:3] for row in players.rows if row[0] == "donut"] == [
        ["donut", "prices", "perfect"], ["donut", "ppo", "perfect"], ["donut", "random", "not used"],
    ]  # fmt: skip


def test_a_board_without_learners_has_a_page_too() -> None:
    page = leaderboard_page({entry: score for entry, score in BOARD.items() if entry.player != "ppo"}, [])
    assert page.sections[0].title == "Memories"
    assert "nothing to compare" in page.lede


def test_a_difference_is_never_rounded_to_nothing() -> None:
    close = {
        **made("donut", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("donut", "ppo", "perfect", [0.19999, 0.199985, 0.199999]),
        **made("queues", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("queues", "ppo", "perfect", [0.2, 0.2, 0.2]),
    }
    shown = leaderboard_page(close, []).sections[0].blocks[1]
    assert isinstance(shown, Table)
    assert {row[0]: row[6:] for row in shown.rows} == {
        "donut": ["−0.004%", "−0.000026 to 0.000009"], "queues": ["+0.0%", "0.0000 to 0.0000"],
    }  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(chromium, tmp_path: Path, scheme: str) -> None:
    path = write_leaderboard(BOARD, IDLE, tmp_path / "leaderboard.html")
    with opened(chromium, path, PHONE, scheme) as page:
        assert overflow(page) <= 0
        assert complaints(page) == []
