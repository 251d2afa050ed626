"""Reports as multiples of what each agent usually reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.allocation import Assign, ChooseK, Divide, normalised, usual_reports

numbers = st.floats(0.01, 100)


def test_what_is_usual_is_the_mean_of_what_was_asked_for():
    past = [
        ChooseK({"ana": 4.0, "ben": 0.0, "cem": None}),
        Assign({"ana": {"desk": 2.0, "lamp": 0.0}, "ben": {"desk": 6.0}}),
        Divide(3.0, {"ben": 2.0}),
    ]
    assert usual_reports(past) == {"ana": 3.0, "ben": 4.0}


def test_every_kind_of_request_is_scaled_by_agent():
    usual = {"ana": 2.0, "ben": 0.5}
    places = normalised(ChooseK({"ana": 4.0, "ben": 1.0, "cem": 3.0, "dan": None}, 2), usual)
    assert places.to_dict() == ChooseK({"ana": 2.0, "ben": 2.0, "cem": 3.0, "dan": None}, 2).to_dict()
    items = normalised(Assign({"ana": {"desk": 4.0}, "ben": {"lamp": 1.0}}, None), usual)
    assert items.to_dict() == Assign({"ana": {"desk": 2.0}, "ben": {"lamp": 2.0}}, None).to_dict()
    amount = normalised(Divide(5.0, {"ana": 4.0, "ben": 1.0}, {"ana": 1.0}), usual)
    assert amount.to_dict() == Divide(5.0, {"ana": 2.0, "ben": 2.0}, {"ana": 1.0}).to_dict()


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), st.floats(0.001, 1000))
def test_units_do_not_matter(days, unit):
    requests = [ChooseK({"ana": ana, "ben": ben}) for ana, ben in days]
    others = [ChooseK({"ana": unit * ana, "ben": ben}) for ana, ben in days]
    mine, theirs = (normalised(some[-1], usual_reports(some)).to_dict()["needs"] for some in (requests, others))
    assert mine == pytest.approx(theirs)
