"""The page of the map gives its answer first, and shows who does not apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from bygones.leaderboard.leaderboard import Leaderboard
from bygones.leaderboard.standings import best_memories, cells, compared, headline
from bygones.report.leaderboard.leaderboard_page import leaderboard_page, write_leaderboard
from bygones.report.page import Table
from support.browser import PHONE, complaints, opened, overflow
from support.made_up_board import BOARD, made

IDLE = [
    {"scenario": world, "player": "prices", "reason": "an action does not serve agents"}
    for world in ("lending", "donut")
]


def test_the_answer_is_at_the_top_and_all_that_it_rests_on_below() -> None:
    page = leaderboard_page(Leaderboard(BOARD, IDLE))
    found = cells(BOARD)
    assert page.lede == headline(found)
    assert [section.title for section in page.sections] == [
        "Rules and learners", "Memories", "Every player", "Method", "All results",
    ]  # fmt: skip
    against, memories = (section.blocks for section in page.sections[:2])
    assert against[:3] == compared(found)
    assert memories[:2] == best_memories(found)
    players, idle = (block for block in page.sections[2].blocks[:2] if isinstance(block, Table))
    (whole,) = page.sections[4].blocks
    assert isinstance(whole, Table)
    assert len(whole.rows) == len(found)
    assert idle.rows == [["prices", "lending and donut", "an action does not serve agents"]]
    # Each player once, with its best memory.
    assert [row[:3] for row in players.rows if row[0] == "donut"] == [
        ["donut", "prices", "perfect"], ["donut", "ppo", "perfect"], ["donut", "random", "not used"],
    ]  # fmt: skip


def test_a_board_without_learners_has_a_page_too() -> None:
    page = leaderboard_page(Leaderboard({entry: score for entry, score in BOARD.items() if entry.player != "ppo"}))
    assert page.sections[0].title == "Memories"
    assert "nothing to compare" in page.lede


def test_a_difference_is_never_rounded_to_nothing() -> None:
    close = {
        **made("donut", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("donut", "ppo", "perfect", [0.19999, 0.199985, 0.199999]),
        **made("queues", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("queues", "ppo", "perfect", [0.2, 0.2, 0.2]),
    }
    (shown,) = (block for block in leaderboard_page(Leaderboard(close)).sections[0].blocks if isinstance(block, Table))
    assert {row[0]: row[6:] for row in shown.rows} == {
        "donut": ["−0.004%", "−0.000026 to 0.000009"], "queues": ["+0.0%", "0.0000 to 0.0000"],
    }  # fmt: skip


def test_what_is_nothing_but_rounding_is_shown_as_nothing() -> None:
    nobody = {
        entry: score._replace(score=9.5e-8, gini=2.4e-8, worst_off=0.0)
        for entry, score in made("donut", "prices", "perfect", [0.0, 0.0, 0.0]).items()
    }
    (whole,) = leaderboard_page(Leaderboard(nobody)).sections[-1].blocks
    assert isinstance(whole, Table)
    assert [whole.rows[0][whole.columns.index(name)] for name in ("score", "Gini", "worst-off")] == [0, 0, 0]


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(chromium, tmp_path: Path, scheme: str) -> None:
    path = write_leaderboard(Leaderboard(BOARD, IDLE), tmp_path / "leaderboard.html")
    with opened(chromium, path, PHONE, scheme) as page:
        assert overflow(page) <= 0
        assert complaints(page) == []
