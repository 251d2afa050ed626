"""The document of a leaderboard gives its answer first, then who does not apply; its page shows all scores too."""

from __future__ import annotations

from pathlib import Path

import pytest

from bygones.document.document import Bullets, Chart, Document, Section, Table
from bygones.leaderboard.leaderboard import COLUMNS, Leaderboard
from bygones.leaderboard.standings import answer, cells, headline
from bygones.report.page import document_page, render, write
from support.browser import PHONE, complaints, opened, overflow
from support.made_up_board import BOARD, made

IDLE = [
    {"scenario": world, "player": "prices", "reason": "an action does not serve agents"}
    for world in ("lending", "donut")
]


def sections(document: Document) -> dict[str, Section]:
    return {block.title: block for block in document.blocks if isinstance(block, Section)}


def test_the_answer_is_at_the_top_and_all_that_it_rests_on_below() -> None:
    document = Leaderboard(BOARD, IDLE).document()
    every = cells(BOARD)
    assert document.headline == headline(every)
    assert document.blocks[0] == Bullets(
        [*answer(every), "In lending and donut, prices does not apply: an action does not serve agents."]
    )
    by_title = sections(document)
    assert list(by_title) == [
        "Rules and learners", "Memories", "Every player with its best memory", "The rules", "Method", "All results",
    ]  # fmt: skip
    assert [title for title, section in by_title.items() if not section.is_for_pages] == [
        "Every player with its best memory"
    ]
    assert [type(block) for block in by_title["Rules and learners"].blocks] == [Chart, Table]
    assert [type(block) for block in by_title["Memories"].blocks] == [str, Chart, Chart]
    (players,) = by_title["Every player with its best memory"].blocks
    # Each player once, with its best memory.
    assert [row[:3] for row in players.rows if row[0] == "donut"] == [
        ["donut", "prices", "perfect"], ["donut", "ppo", "perfect"], ["donut", "random", "not used"],
    ]  # fmt: skip
    (whole,) = by_title["All results"].blocks
    assert len(whole.rows) == len(every)


def test_the_page_has_all_of_the_document() -> None:
    shown = render(document_page(Leaderboard(BOARD, IDLE).document()))
    assert "When is learning worth it?" in shown
    assert headline(cells(BOARD)) in shown
    assert shown.count('class="chart"') == 3
    assert "window T/10" in shown


def test_a_board_without_learners_has_a_document_too() -> None:
    rules = {entry: score for entry, score in BOARD.items() if entry.player != "ppo"}
    document = Leaderboard(rules).document()
    assert "Rules and learners" not in sections(document)
    assert "nothing to compare" in document.headline


def test_a_difference_is_never_rounded_to_nothing() -> None:
    close = {
        **made("donut", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("donut", "ppo", "perfect", [0.19999, 0.19998, 0.199999]),
        **made("queues", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("queues", "ppo", "perfect", [0.2, 0.2, 0.2]),
    }
    _, shown = sections(Leaderboard(close).document())["Rules and learners"].blocks
    assert {row[0]: row[6:] for row in shown.rows} == {
        "donut": ["−0.003%", "−0.00006 to 0.00005", "0.87"], "queues": ["+0%", "0.0000 to 0.0000", "1"],
    }  # fmt: skip


def test_what_is_nothing_but_rounding_is_shown_as_nothing() -> None:
    nobody = {
        entry: score._replace(score=9.5e-8, gini=2.4e-8, worst_off=0.0)
        for entry, score in made("donut", "prices", "perfect", [0.0, 0.0, 0.0]).items()
    }
    (whole,) = sections(Leaderboard(nobody).document())["All results"].blocks
    headings = [column.name for column in whole.headings]
    assert len(headings) == len(COLUMNS)
    assert [whole.texts()[0][headings.index(name)] for name in ("score", "Gini", "worst-off")] == ["0", "0", "0"]


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(chromium, tmp_path: Path, scheme: str) -> None:
    path = write(document_page(Leaderboard(BOARD, IDLE).document()), tmp_path / "leaderboard.html")
    with opened(chromium, path, PHONE, scheme) as page:
        assert overflow(page) <= 0
        assert complaints(page) == []
