"""Problems by the names of agents and items, as tables and ledgers have them."""

import json
import math

import numpy as np
import pytest
from scipy import sparse

from bygones import PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, Problem, allocate
from bygones.allocation.problems import problem_from


def test_places():
    problem = ChooseK({"ana": 2, "ben": 1.5}, 2)
    assert (problem.agents, problem.items, problem.asking) == (("ana", "ben"), None, ("ana", "ben"))
    assert json.dumps(problem.to_dict()) == '{"needs": {"ana": 2, "ben": 1.5}, "k": 2}'
    others = problem.among(["ben", "cem", "ana"])
    assert (others.needs.tolist(), others.k, others.agents) == ([1.5, 0, 2], 2, ("ben", "cem", "ana"))
    assert others.asking == ("ben", "ana")


def test_items():
    problem = Assign({"ana": {"late": 1}, "ben": {"early": 0, "late": 2}}, None)
    assert (problem.agents, problem.items) == (("ana", "ben"), ("late", "early"))
    assert problem.to_dict() == {
        "utilities": {"ana": {"late": 1}, "ben": {"early": 0, "late": 2}}, "capacity": None, "items": ["late", "early"],
    }  # fmt: skip
    others = problem.among(["ben", "cem", "ana"])
    assert others.utilities.tolist() == [[2, 0], [0, 0], [1, 0]]
    assert others.allowed.tolist() == [[True, True], [False, False], [True, False]]
    assert (others.asking, others.items, others.capacity) == (("ben", "ana"), ("late", "early"), None)


def test_items_that_nobody_may_take_are_kept_in_order():
    problem = Assign({"ana": {"late": 1}}, items=("early", "late"))
    assert problem.allowed.tolist() == [[False, True]]
    assert (problem.items, problem.to_dict()["items"]) == (("early", "late"), ["early", "late"])
    with pytest.raises(ValueError, match=r"items must name every item, got .* without 'late'"):
        Assign({"ana": {"late": 1}}, items=("early",))


def test_amounts():
    problem = Divide(9, {"ana": 1}, {"ben": 2, "cem": math.inf})
    assert (problem.agents, problem.asking) == (("ana", "ben", "cem"), ("ana",))
    assert json.loads(json.dumps(problem.to_dict(), allow_nan=False)) == {
        "amount": 9, "rates": {"ana": 1}, "caps": {"ben": 2},
    }  # fmt: skip
    others = problem.among(["ben", "cem", "ana"])
    assert (others.rates.tolist(), others.caps.tolist()) == ([0, 0, 1], [2, math.inf, math.inf])


def test_without_caps_an_amount_is_limited_for_nobody():
    problem = Divide(9, {"ana": 1}).among(["ben", "ana"])
    assert (problem.amount, problem.rates.tolist()) == (9, [0, 1])
    assert problem.caps.tolist() == [math.inf, math.inf]
    assert problem.to_dict()["caps"] is None


@pytest.mark.parametrize(
    "problem",
    [
        ChooseK([2.0, 1.0], agents=["ana", "ben"]),
        ChooseK([2.0, 1.0], allowed=[True, False], agents=["ana", "ben"], kind="burden"),
        Assign([[2.0, 1.0], [0.0, 3.0]], 2, agents=["ana", "ben"], items=["early", "late"]),
        Assign(sparse.csr_array([[2.0, 1.0], [0.0, 3.0]]), agents=["ana", "ben"], items=["early", "late"]),
        Divide(4.0, [2.0, 1.0], 3.0, agents=["ana", "ben"]),
        Divide(4.0, [2.0, 1.0], allowed=[True, False], agents=["ana", "ben"], kind="burden"),
    ],
)
def test_a_problem_by_position_with_names_is_one_by_name(problem):
    read = problem_from(problem.to_dict()).among(problem.agent_names, problem.kind)
    memory = PerfectRecall()
    decisions = [
        allocate(each, memory, memory.init(2), "egalitarian", rng=np.random.default_rng(0)) for each in (problem, read)
    ]
    assert decisions[0].handed_out == decisions[1].handed_out


def test_agents_without_names_have_numbers():
    assert Assign([[1.0]]).to_dict() == {"utilities": {"agent 0": {"item 0": 1.0}}, "capacity": 1, "items": ["item 0"]}


def test_a_problem_by_name_is_checked_when_it_is_decided():
    memory = PerfectRecall()
    for problem, n_agents, message in (
        (ChooseK({"ana": 1}, 3), 1, r"k must be at most the number of agents \(1\), got 3"),
        (ChooseK({}), 0, "needs must be one number per agent"),
        (Assign({"ana": {}}), 1, "utilities must allow at least one pair of agent and item"),
        (Divide(1, {}, {}), 0, "rates must be one number per agent"),
        (ChooseK({"ana": None}, kind="burden"), 1, "allowed must be True for at least one agent"),
    ):
        with pytest.raises(ValueError, match=message):
            allocate(problem, memory, memory.init(max(n_agents, 1)), "egalitarian")
    assert ChooseK({"ana": 1}, 3).among(["ana", "ben", "cem"]).check() is None


def test_names_are_given_once():
    with pytest.raises(ValueError, match="agents must be left out where agents are given by name"):
        ChooseK({"ana": 1}, agents=["ben"])
    with pytest.raises(ValueError, match="allowed must be left out where agents are given by name"):
        Divide(1, {"ana": 1}, allowed=[True])
    with pytest.raises(ValueError, match="agents must be 2 names, one for each, got 1"):
        ChooseK([1, 2], agents=["ana"])
    with pytest.raises(ValueError, match="items must be 1 names, one for each, got 2"):
        Assign([[1]], items=["x", "y"])


def test_capacities_by_position_cannot_be_handed_to_others():
    with pytest.raises(ValueError, match="capacity must be one number for all agents by name"):
        Assign([[1], [1]], [1, 1], agents=["ana", "ben"]).among(["ben"])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (lambda: ChooseK({"ana": math.nan}), "need of 'ana' must be a finite number of at least 0, got nan"),
        (lambda: ChooseK({"ana": "many"}), "need of 'ana' must be a finite number of at least 0, got 'many'"),
        (lambda: Assign({"ana": {"x": -1}}), "utility of 'x' to 'ana' must be a finite number of at least 0, got -1"),
        (lambda: Divide(1, {"ana": math.inf}), "rate of 'ana' must be a finite number of at least 0, got inf"),
        (lambda: Divide(1, {"ana": 1}, {"ana": -1}), "cap of 'ana' must be a number of at least 0, got -1"),
    ],
)
def test_what_is_wrong_is_named(problem, message):
    with pytest.raises(ValueError, match=message):
        problem()


def test_a_kind_of_ones_own_says_what_a_ledger_lacks():
    class Mine(Problem):
        n_agents = 1
        utilities_of = gets = left_over = column = None

    class Twice(ChooseK):
        pass

    for name in ("worth", "asking"):
        with pytest.raises(ValueError, match="a ledger needs to know worth of Mine: define it"):
            getattr(Mine(), name)
    with pytest.raises(ValueError, match="a ledger needs to know with_worth of Mine: define it"):
        Mine().with_worth({}, "good")
    for problem in (Mine(), Twice([1])):
        with pytest.raises(ValueError, match="a ledger needs to know to_dict of"):
            problem.to_dict()
    assert Mine().vacancies([None]) is None
