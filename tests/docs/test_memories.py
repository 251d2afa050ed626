"""The comparison of memories in `docs/memories.md` is what its own program measures."""

import re

import numpy as np
import pytest

import bygones
from support.guides import DOCS, run_guide

PAGE = DOCS / "memories.md"


@pytest.fixture(scope="module")
def names():
    return run_guide(PAGE)


def test_every_row_of_the_table_is_measured(names):
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if "|" in line]
    table = {row[0]: tuple(row[1:]) for row in cells if len(row) == 7 and row[0] not in ("Memory", "---")}
    assert table == names["rows"]


def test_the_sizes_are_those_in_the_text(names):
    kept, n = names["numbers_kept"], 7
    sizes = {
        bygones.Discounted(half_life=20): 2 * n + 2,
        bygones.Capped(bygones.PerfectRecall(), 4): 2 * n + 2,
        bygones.Relative(bygones.PerfectRecall()): 2 * n + 3,
        bygones.Reset(29): 2 * n + 3,
        bygones.SlidingWindow(29): 29 * (n + 1),
    }
    for memory, size in sizes.items():
        assert kept(memory.init(n)) == size
    assert kept(bygones.PerAgent(half_lives=[20] * n).init(n)) == 4 * n


def test_every_memory_of_the_first_table_can_be_made_as_it_says():
    built = [eval(text, {**vars(bygones.memory), "memory": bygones.PerfectRecall()})
             for text in re.findall(r"^\| `(.*?)` \|", PAGE.read_text(), re.MULTILINE)]  # fmt: skip
    assert {type(memory) for memory in built} >= {
        bygones.Discounted, bygones.PerAgent, bygones.SlidingWindow, bygones.Reset, bygones.Capped, bygones.Relative,
    }  # fmt: skip
    assert {0.0, 1.0} <= {memory.gamma for memory in built if isinstance(memory, bygones.Discounted)}


def test_under_perfect_recall_ten_times_the_past_takes_ten_times_as_long(names):
    memory, rng = bygones.PerfectRecall(), np.random.default_rng(0)
    for steps, turns in ((200, 50), (2000, 500)):
        state = memory.update(memory.init(5), np.array([1, 1, 1, 1, 0]) * steps / 4)
        assert names["turns_in_a_row"](memory, state, rng) == turns
