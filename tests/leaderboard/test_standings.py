"""What results say, on results that were made up."""

from __future__ import annotations

import pytest

from bygones.leaderboard.standings import answer, cells, remembering, verdicts
from support.made_up_board import BOARD


def test_cells_are_sorted_and_have_the_better_way_to_act() -> None:
    found = cells(BOARD)
    assert [(cell.world, cell.player) for cell in found[:4]] == [
        ("donut", "prices"), ("donut", "ppo"), ("donut", "random"), ("donut", "prices"),
    ]  # fmt: skip
    best, learner = found[:2]
    assert (best.mean, best.share) == (pytest.approx(0.2), pytest.approx(0.5))
    assert best.interval.low < 0.2 < best.interval.high
    assert learner.mean == pytest.approx(0.15)
    assert next(cell for cell in found if cell.memory == "window T/10").mean == pytest.approx(0.3)
    assert found[-1].share is None


def test_a_verdict_follows_from_the_difference_seed_by_seed() -> None:
    said = {pair.world: pair for pair in verdicts(cells(BOARD))}
    assert {world: pair.word for world, pair in said.items()} == {
        "donut": "a rule is enough",
        "job_scheduling": "learning wins",
        "lending": "no clear difference",
    }
    assert said["job_scheduling"].gain == pytest.approx(0.5)
    # All seeds differ by the same, so the interval is a point.
    assert said["job_scheduling"].difference == pytest.approx((0.1, 0.1))


def test_memories_are_compared_within_rules_and_within_learners() -> None:
    rules, learners = (remembering(cells(BOARD), is_rule) for is_rule in (True, False))
    assert [(each.memory, each.mean) for each in rules] == [
        ("perfect", pytest.approx(1.0)),
        ("none", pytest.approx(0.5)),
    ]
    assert {each.memory: each.shares for each in learners}["none"] == {"job_scheduling": pytest.approx(0.5)}


def test_the_answer_names_problems_players_and_memories() -> None:
    said = answer(cells(BOARD))
    assert said[:3] == [
        "Learning wins in 1 of 3 scenarios: job_scheduling (+50% with ppo, window T/10).",
        "A rule is enough in 1 of 3 scenarios: donut (prices, perfect; learning is −25%).",
        "There is no clear difference in 1 of 3 scenarios: lending (one-step, perfect and ppo, perfect).",
    ]
    assert said[3] == (
        "Of the memories, perfect is best for rules: on average 100.0% of what they reach with the best one, against "
        "50% if nothing is remembered."
    )
    only = {entry: score for entry, score in BOARD.items() if entry.player != "ppo"}
    assert answer(cells(only)) == ["No scenario has both a rule and a learner, so there is nothing to compare."]
