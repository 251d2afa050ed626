"""What results say, on results that were made up."""

from __future__ import annotations

import numpy as np
import pytest

from bygones.leaderboard.board import Board
from bygones.leaderboard.entries import MEMORIES
from bygones.leaderboard.leaderboard_charts import verdict_chart
from bygones.leaderboard.standings import (
    Remembering,
    answer,
    best_by_player,
    cells,
    headline,
    remembering,
    verdicts,
)
from bygones.paper.statistics import mean_interval
from support.made_up_board import BOARD, made


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


def test_all_numbers_of_a_cell_are_of_one_way_to_act() -> None:
    by_name = {(cell.world, cell.player, cell.memory): cell for cell in cells(BOARD)}
    rule, greedy = by_name["donut", "prices", "perfect"], by_name["donut", "ppo", "perfect"]
    sampled = by_name["job_scheduling", "ppo", "window T/10"]
    assert [cell.actions for cell in (rule, greedy, sampled)] == [None, "greedy", "sampled"]
    assert (greedy.gini, greedy.worst_off, greedy.total) == pytest.approx((0.2, 0.04, 0.9))
    assert (sampled.gini, sampled.worst_off, sampled.total) == pytest.approx((0.1, 0.05, 1.0))


def test_what_files_of_format_1_do_not_tell_is_not_made_up() -> None:
    untold = dict.fromkeys(("gini_most_probable", "worst_off_most_probable", "total_most_probable"))
    old = cells({entry: score._replace(**untold) for entry, score in BOARD.items()})
    likely = next(cell for cell in old if cell.actions == "greedy")
    assert (likely.gini, likely.worst_off, likely.total) == (None, None, None)
    assert likely.mean == pytest.approx(0.15)


def test_a_verdict_follows_from_the_difference_seed_by_seed() -> None:
    found = {pair.world: pair for pair in verdicts(cells(BOARD))}
    assert {world: pair.word for world, pair in found.items()} == {
        "donut": "a rule is enough",
        "job_scheduling": "learning wins",
        "lending": "no clear difference",
    }
    # Seed 1 chose the two, so the other seeds compare them: 0.30 and 0.29 with 0.20 and 0.19.
    assert found["job_scheduling"].gain == pytest.approx(0.59 / 0.39 - 1)
    # All seeds differ by the same, so the interval is a point.
    assert found["job_scheduling"].difference == pytest.approx((0.1, 0.1))


def test_a_single_seed_decides_nothing() -> None:
    found = cells({entry: score for entry, score in BOARD.items() if entry.seed == 0})
    assert {pair.word for pair in verdicts(found)} == {"no clear difference"}
    assert {cell.interval for cell in found} == {(-np.inf, np.inf)}
    assert verdict_chart(verdicts(found)).figure["data"][0]["error_x"]["array"] == [0, 0, 0]


def test_the_best_of_many_players_that_are_all_alike_does_not_win() -> None:
    """If the seeds that chose it compared it too, it would win, by luck alone."""
    rng = np.random.default_rng(0)
    board = made("donut", "prices", "perfect", [0.5] * 10)
    for memory in MEMORIES:
        for player in ("ppo", "ppo-symmetric", "ppo-welfare", "ppo-symmetric-welfare"):
            board |= made("donut", player, memory, rng.normal(0.5, 0.1, 10).tolist())
    found = cells(board)
    (rule,) = (cell for cell in found if cell.is_rule)
    luckiest = max((cell for cell in found if not cell.is_rule), key=lambda cell: cell.mean)
    assert mean_interval(luckiest.scores - rule.scores).low > 0
    (pair,) = verdicts(found)
    assert pair.word == "no clear difference"
    assert (len(pair.learner.scores), len(pair.rule.scores)) == (5, 5)


def test_seeds_that_compare_do_not_choose() -> None:
    """Whatever the seeds that compare show, the same players and the same actions are compared."""
    choosing = made("donut", "ppo", "perfect", [0.0, 0.3, 0.0, 0.3], likely=[0.9, 0.2, 0.9, 0.2])
    other = made("donut", "ppo", "none", [0.9, 0.1, 0.9, 0.1])
    rules = {
        **made("donut", "prices", "perfect", [0.1, 0.2, 0.1, 0.2]),
        **made("donut", "max-min", "none", [0.9, 0.1, 0.9, 0.1]),
    }
    (pair,) = verdicts(cells({**choosing, **other, **rules}))
    assert (pair.rule.player, pair.learner.memory, pair.learner.actions) == ("prices", "perfect", "sampled")
    assert (pair.rule.scores.tolist(), pair.learner.scores.tolist()) == ([0.1, 0.1], [0.0, 0.0])


def test_a_verdict_is_corrected_for_the_number_of_scenarios() -> None:
    def compared(world: str, gains: list[float]) -> Board:
        scores = [0.2 + gain for gain in gains for _ in (0, 1)]
        return {**made(world, "prices", "none", [0.2] * len(scores)), **made(world, "ppo", "none", scores)}

    board = compared("donut", [0.01, 0.02, 0.03])
    (alone,) = verdicts(cells(board))
    assert alone.word == "no clear difference"
    board = compared("donut", [0.010, 0.012, 0.014])
    (alone,) = verdicts(cells(board))
    assert (alone.word, alone.chance) == ("learning wins", pytest.approx(0.00913, abs=1e-5))
    for world in ("lending", "queues", "replay", "vaccines", "arrivals"):
        board |= compared(world, [0.01, -0.01, 0.0])
    first = next(pair for pair in verdicts(cells(board)) if pair.world == "donut")
    assert (first.word, first.chance) == ("no clear difference", pytest.approx(6 * alone.chance))


def test_a_rule_that_takes_turns_is_shown_with_its_best_length() -> None:
    board = {
        **made("donut", "slices(length=2)", "none", [0.1, 0.1]),
        **made("donut", "slices(length=20)", "none", [0.2, 0.2]),
    }
    (best,) = best_by_player(cells(board))
    assert (best.name, best.is_rule) == ("slices(length=20)", True)


def test_memories_are_compared_within_rules_and_within_learners() -> None:
    rules, learners = (remembering(cells(BOARD), is_rule) for is_rule in (True, False))
    assert [(each.memory, each.mean) for each in rules] == [
        ("perfect", pytest.approx(1.0)),
        ("none", pytest.approx(0.5)),
    ]
    assert {each.memory: each.shares for each in learners}["none"] == {"job_scheduling": pytest.approx(0.5)}


def test_a_memory_is_worth_least_in_one_scenario() -> None:
    worth = Remembering("none", {"donut": 0.5, "queues": 0.9})
    assert (worth.mean, worth.least) == pytest.approx((0.7, 0.5))


def test_the_answer_names_problems_players_and_memories() -> None:
    sentences = answer(cells(BOARD))
    assert sentences[:3] == [
        "Learning wins in 1 of 3 scenarios: job_scheduling (+51% with ppo, window T/10).",
        "A rule is enough in 1 of 3 scenarios: donut (prices, perfect; learning is −26%).",
        "There is no clear difference in 1 of 3 scenarios: lending (one-step, perfect and ppo, perfect).",
    ]
    assert sentences[3] == (
        "Best memory for rules: perfect. On average they reach 100.0% of the score with the ideal memory for each "
        "scenario; without a memory they reach 50%."
    )
    only = {entry: score for entry, score in BOARD.items() if entry.player != "ppo"}
    assert answer(cells(only)) == ["No scenario has both a rule and a learner, so there is nothing to compare."]


def test_the_headline_says_where_learning_wins_and_how_often_it_does_not() -> None:
    assert headline(cells(BOARD)) == (
        "Learning wins in 1 of 3 scenarios: job_scheduling. "
        "A rule is enough in 1, and in 1 there is no clear difference."
    )
    without = {entry: score for entry, score in BOARD.items() if entry.world != "job_scheduling"}
    assert headline(cells(without)).startswith("Learning wins in none of 2 scenarios. A rule is enough in 1, and in 1")
    only = {entry: score for entry, score in BOARD.items() if entry.world == "job_scheduling"}
    assert headline(cells(only)) == "Learning wins in 1 of 1 scenario: job_scheduling."


@pytest.mark.parametrize(
    ("world", "rest"), [("donut", "A rule is enough."), ("lending", "There is no clear difference.")]
)
def test_of_a_single_scenario_it_does_not_say_none_of_1(world: str, rest: str) -> None:
    found = cells({entry: score for entry, score in BOARD.items() if entry.world == world})
    assert headline(found) == f"Learning does not win in the one scenario compared. {rest}"
    assert answer(found)[0] == "Learning does not win in the one scenario compared."


def test_no_memory_as_the_best_one_is_not_called_none() -> None:
    swapped = {"none": "perfect", "perfect": "none"}
    board = {entry._replace(memory=swapped.get(entry.memory, entry.memory)): score for entry, score in BOARD.items()}
    assert answer(cells(board))[3] == (
        "Best memory for rules: no memory. On average they reach 100.0% of the score with the ideal memory for each "
        "scenario."
    )


def test_the_answer_says_where_random_is_the_only_rule() -> None:
    learner = made("attention", "ppo", "perfect", [0.30, 0.31, 0.30])
    alone = {**learner, **made("attention", "random", "none", [0.20, 0.21, 0.20])}
    beside = {**alone, **made("attention", "prices", "perfect", [0.10, 0.11, 0.10])}
    assert "+50% with ppo, perfect, where random is the only rule)" in answer(cells(alone))[0]
    assert "+50% with ppo, perfect)" in answer(cells(beside))[0]


def test_a_small_gain_is_not_rounded_up() -> None:
    close = {
        **made("queues", "prices", "perfect", [0.2, 0.2, 0.2]),
        **made("queues", "ppo", "perfect", [0.2012, 0.2012, 0.2013]),
    }
    assert "+0.6% with ppo" in answer(cells(close))[0]
