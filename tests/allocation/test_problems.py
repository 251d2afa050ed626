"""What the problems know about their own allocations, and what a new kind of problem has to provide."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bygones.allocation import Assign, ChooseK, Divide, Problem
from bygones.allocation.problems import in_words
from bygones.kinds import Thing

ANA, BEN, CEM = AGENTS = ("Ana", "Ben", "Cem")
ITEMS = ("early", "late", "night")
TABLE = np.array([[3.0, 1.0, 2.0], [0.0, 2.0, 1.0], [1.0, 1.0, 1.0]])

CASES = {
    "choose": (ChooseK([2.0, 1.5, 0.0], 2), np.array([0, 1]), [2.0, 1.5, 0.0]),
    "choose with one left": (ChooseK([2.0, 1.5, 0.0], 3), np.array([0, 1]), [2.0, 1.5, 0.0]),
    "assign": (Assign(TABLE, 2), np.array([0, 1, 0]), [5.0, 2.0, 0.0]),
    "assign with one left": (Assign(sparse.csr_array(TABLE)), np.array([0, 1, -1]), [3.0, 2.0, 0.0]),
    "divide": (Divide(9.0, [1.0, 2.0, 0.0]), np.array([6.0, 3.0, 0.0]), [6.0, 6.0, 0.0]),
    "divide with some left": (Divide(9.0, [1.0, 2.0, 1.0], 2.0), np.array([2.0, 2.0, 0.0]), [2.0, 4.0, 0.0]),
}
WORDS = {
    "choose": ["a place (need 2)", "a place (need 1.5)", ""],
    "choose with one left": ["a place (need 2)", "a place (need 1.5)", "1 place is"],
    "assign": ["early and night", "late", ""],
    "assign with one left": ["early", "late", "1 item is"],
    "divide": ["6 of 9", "3 of 9", ""],
    "divide with some left": ["2 of 9", "2 of 9", "5 of 9 is"],
}
COLUMNS = {
    "choose": ("served", ["yes", "yes", "no"]),
    "choose with one left": ("served", ["yes", "yes", "no"]),
    "assign": ("items", ["early; night", "late", ""]),
    "assign with one left": ("items", ["early", "late", ""]),
    "divide": ("amount", [6.0, 3.0, 0.0]),
    "divide with some left": ("amount", [2.0, 2.0, 0.0]),
}
DATA = {
    "choose": {},
    "choose with one left": {},
    "assign": {"owners": {"early": ANA, "late": BEN, "night": ANA}},
    "assign with one left": {"owners": {"early": ANA, "late": BEN, "night": None}},
    "divide": {"amounts": [6.0, 3.0, 0.0]},
    "divide with some left": {"amounts": [2.0, 2.0, 0.0]},
}


@pytest.mark.parametrize("case", CASES)
def test_a_problem_knows_what_an_allocation_means(case):
    problem, given, utilities = CASES[case]
    names = {"agents": AGENTS} | ({"items": ITEMS} if isinstance(problem, Assign) else {})
    problem = replace(problem, **names)
    assert problem.n_agents == 3
    assert problem.n_items == (3 if isinstance(problem, Assign) else 0)
    assert problem.utilities_of(given).tolist() == utilities
    assert problem.served(given).tolist() == [0, 1]
    gets = in_words(problem.handed_out(given), problem, "good")
    assert [*gets.values(), problem.left_over(given)] == WORDS[case]
    assert problem.column(given) == COLUMNS[case]
    data = problem.given_data(given)
    assert json.loads(json.dumps(data)) == data == DATA[case]


class Lottery(Problem):
    """One prize, worth 1 to whoever wins it: as little as a new kind of problem must provide."""

    agents = AGENTS

    @property
    def n_agents(self):
        return 3

    def utilities_of(self, given):
        return np.eye(3)[given]

    def left_over(self, given):
        return ""

    def column(self, given):
        return "prize", ["yes" if agent == given else "" for agent in range(3)]


def test_a_new_kind_of_problem_is_one_class():
    lottery = Lottery()
    assert lottery.served(np.array(1)).tolist() == [1]
    assert in_words(lottery.handed_out(np.array(1)), lottery, "good", Thing("prize")) == {"Ben": "the prize"}
    assert (lottery.n_items, lottery.given_data(np.array(1))) == (0, {})
    assert lottery.has_next_best
    assert not lottery.next_best_is_slow
    with pytest.raises(TypeError, match="abstract"):
        Problem()


def test_prices_ask_for_what_a_new_kind_of_problem_need_not_know():
    for name in ("share_served", "worth_once"):
        with pytest.raises(ValueError, match=f"rule 'prices' needs to know {name} of Lottery: define it"):
            getattr(Lottery(), name)


@pytest.mark.parametrize(
    ("problem", "share", "worth"),
    [
        (ChooseK([4.0, 1.0, 2.0], 2), 2 / 3, 3.0),
        (Assign(TABLE), 1.0, (3 + 2 + 2) / 3),
        (Assign(sparse.csr_array(TABLE[:, :2])), 2 / 3, 2.5),
        (Divide(6.0, [1.0, 1.0, 1.0]), 1 / 3, 6.0),
        (Divide(6.0, [1.0, 2.0, 3.0], 3.0), 2 / 3, 6.0),
        (Divide(6.0, [1.0, 1.0, 1.0], 1.0), 1.0, 1.0),
    ],
)
def test_how_many_are_served_and_what_it_is_worth_to_them(problem, share, worth):
    assert problem.share_served == pytest.approx(share)
    assert problem.worth_once == pytest.approx(worth)
