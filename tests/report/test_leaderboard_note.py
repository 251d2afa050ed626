"""What is written into the document follows from the results."""

from bygones.leaderboard import board
from bygones.report.leaderboard.leaderboard_note import note, written
from support.made_up_board import BOARD


def test_the_note_has_the_answer_and_both_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(board, "read", lambda folder: BOARD)
    lines = note(tmp_path).splitlines()
    assert lines[0] == "27 runs with nash welfare: 1,000 steps of learning, 3 seeds."
    assert lines[2] == "- Learning wins in 1 of 3 scenarios: job_scheduling (+50% with ppo, window T/10)."
    assert (
        "| `donut` | prices, perfect | 0.2000 (50.0% of the bound) | ppo, perfect | 0.1500 (37.5% of the bound) "
        "| most probable | -0.0500 to -0.0500 | a rule is enough |"
    ) in lines
    assert "| none | 50.0% | 50.0% |" in lines


def test_only_what_is_between_the_marks_is_replaced():
    text = "before\n<!-- from the runs -->\nold\n<!-- end -->\nafter\n"
    assert written(text, "new") == "before\n<!-- from the runs -->\nnew\n<!-- end -->\nafter\n"
