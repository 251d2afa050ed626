"""What there is to hand out, by name."""

import json
import math

import pytest

from bygones.allocation import Amount, Assign, ChooseK, Divide, Items, Places, Request


def test_places():
    request = Places({"ana": 2, "ben": 1.5}, 2)
    problem = request.problem(["ben", "cem", "ana"])
    assert isinstance(problem, ChooseK)
    assert (problem.needs.tolist(), problem.k) == ([1.5, 0, 2], 2)
    assert (request.agents, request.items) == (("ana", "ben"), None)
    assert request.to_dict() == {"needs": {"ana": 2, "ben": 1.5}, "k": 2}


def test_items():
    request = Items({"ana": {"late": 1}, "ben": {"early": 0, "late": 2}}, None)
    problem = request.problem(["ben", "cem", "ana"])
    assert isinstance(problem, Assign)
    assert problem.utilities.tolist() == [[2, 0], [0, 0], [1, 0]]
    assert problem.allowed.tolist() == [[True, True], [False, False], [True, False]]
    assert (request.agents, request.items) == (("ana", "ben"), ("late", "early"))
    assert request.to_dict() == {
        "utilities": {"ana": {"late": 1}, "ben": {"early": 0, "late": 2}}, "capacity": None, "items": ["late", "early"],
    }  # fmt: skip


def test_items_that_nobody_may_take_are_kept_in_order():
    request = Items({"ana": {"late": 1}}, 1, ("early", "late"))
    assert request.problem(["ana"]).allowed.tolist() == [[False, True]]
    assert (request.items, request.to_dict()["items"]) == (("early", "late"), ["early", "late"])
    with pytest.raises(ValueError, match=r"order must name every item, got .* without 'late'"):
        Items({"ana": {"late": 1}}, 1, ("early",))


def test_amounts():
    request = Amount(9, {"ana": 1}, {"ben": 2, "cem": math.inf})
    problem = request.problem(["ben", "cem", "ana"])
    assert isinstance(problem, Divide)
    assert (problem.rates.tolist(), problem.caps.tolist()) == ([0, 0, 1], [2, math.inf, math.inf])
    assert (request.agents, request.items) == (("ana", "ben", "cem"), None)
    assert json.loads(json.dumps(request.to_dict(), allow_nan=False)) == {
        "amount": 9, "rates": {"ana": 1}, "caps": {"ben": 2},
    }  # fmt: skip


def test_without_caps_an_amount_is_limited_for_nobody():
    request = Amount(9, {"ana": 1})
    problem = request.problem(["ben", "ana"])
    assert (problem.amount, problem.rates.tolist()) == (9, [0, 1])
    assert problem.caps.tolist() == [math.inf, math.inf]
    assert request.to_dict()["caps"] is None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Places({"ana": math.nan}), "need of 'ana' must be a finite number of at least 0, got nan"),
        (Places({"ana": "many"}), "need of 'ana' must be a finite number of at least 0, got 'many'"),
        (Items({"ana": {"x": -1}}), "utility of 'x' to 'ana' must be a finite number of at least 0, got -1"),
        (Amount(1, {"ana": math.inf}), "rate of 'ana' must be a finite number of at least 0, got inf"),
        (Amount(1, {"ana": 1}, {"ana": -1}), "cap of 'ana' must be a number of at least 0, got -1"),
    ],
)
def test_what_is_wrong_is_named(request_, message):
    assert isinstance(request_, Request)
    with pytest.raises(ValueError, match=message):
        request_.problem(["ana"])
