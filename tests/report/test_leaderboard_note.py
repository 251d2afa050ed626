"""What is written into the document follows from the results."""

from benchmarks.leaderboard_note import FULL_MARKS, note, others_note, steps_note, written

from bygones.leaderboard import board
from bygones.leaderboard.entries import MEMORIES
from support.made_up_board import BOARD, made


def test_the_note_has_the_answer_and_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(board, "read", lambda folder: BOARD)
    lines = note([tmp_path]).splitlines()
    assert lines[0].startswith("**Learning wins in 1 of 3 scenarios: job_scheduling. A rule is enough in 1, and in 1 ")
    assert lines[2].startswith("- With the two halves of the seeds exchanged: Learning wins in 2 of 3 scenarios: ")
    assert lines[5] == "27 runs with nash welfare: 1,000 steps of learning, 3 seeds."
    assert lines[7] == "- Learning wins in 1 of 3 scenarios: job_scheduling (+51% with ppo, window T/10)."
    # Seed 1 chooses, so seeds 0 and 2 are compared.
    (row,) = (line for line in lines if line.startswith("| `donut` | prices, perfect | 0.1950 (48.8% of the bound) |"))
    assert "| ppo, perfect | 0.1450 (36.3% of the bound) | greedy | -0.05 to -0.05 |" in row
    assert row.endswith("| a rule is enough |")
    assert "| `donut` | 1 | 0.9 | 0.100 | 0.200 |" in lines
    assert "| none | 50.0% | 50% | 50.0% | 50% |" in lines
    assert "| window T/10 |  |  | 100.0% | 100% |" in lines


def test_the_steps_are_compared_in_scenarios_that_are_the_same_in_both_maps(tmp_path, monkeypatch):
    few = {
        **_every_memory("donut", "ppo", 0.1),
        **_every_memory("queues", "ppo", 0.1),
        **_every_memory("donut", "prices", 0.2),
    }
    longer = {
        entry._replace(scenario="queues(horizon=20)"): score for entry, score in few.items() if "queues" in entry[0]
    }
    many = {**_every_memory("donut", "ppo", 0.3), **longer, **_every_memory("donut", "prices", 0.2)}
    monkeypatch.setattr(board, "read", lambda folder: few if folder == tmp_path else many)
    _, _, *rows = steps_note(tmp_path, tmp_path / "full").splitlines()
    assert rows == [f"| `donut` | ppo | {' | '.join(['25.0% → 75.0%'] * len(MEMORIES))} |"]


def _every_memory(world, player, score):
    return {entry: each for memory in MEMORIES for entry, each in made(world, player, memory, [score] * 3).items()}


def test_others_stand_beside_the_best_rule_and_learners_with_the_same_memory(tmp_path, monkeypatch):
    theirs = made("donut", "sb3-a2c", "perfect", [0.18, 0.18, 0.18], likely=[0.1, 0.1, 0.1])
    monkeypatch.setattr(board, "read", lambda folder: theirs if folder == tmp_path else BOARD)
    _, _, *rows = others_note(tmp_path).splitlines()
    assert [row.split(" | ")[1] for row in rows] == ["prices, perfect", "sb3-a2c, perfect", "ppo, perfect"]
    assert rows[1] == (
        "| `donut` | sb3-a2c, perfect | 3 | 0.1800 (45.0% of the bound) | 0.1800 to 0.1800 | sampled | 0.100 | 2 |"
    )


def test_only_what_is_between_the_marks_is_replaced():
    begin, end = FULL_MARKS
    text = f"before\n{begin}\nold\n{end}\nafter\n"
    assert written(text, "new", FULL_MARKS) == f"before\n{begin}\nnew\n{end}\nafter\n"
