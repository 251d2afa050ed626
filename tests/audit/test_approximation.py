"""What the sums of powers say of any half-life is close to what is remembered, and only says where to look."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.audit import audit, read_history
from bygones.audit.measure.flips import conclude
from bygones.audit.measure.sums import Moments, moments_expression
from support.remembering import remembered

EVENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.floats(0, 1e4), st.floats(0, 100)), min_size=1, max_size=30
)


def history(events):
    agents, times, utilities = zip(*events, strict=True)
    return read_history(pa.table({"agent": agents, "time": times, "utility": utilities}))


@settings(max_examples=40)
@given(EVENTS, st.floats(0.5, 50), st.floats(1, 1e6))
def test_every_half_life_from_the_shortest_on_is_answered_closely(events, shortest, longer):
    found = history(events)
    table = found.fetch(moments_expression(found.events, found.last, shortest))
    names = sorted({name for name, _, _ in events})
    rows = np.array([names.index(name) for name in table["agent"].to_pylist()])
    known = Moments(table, rows, len(names), shortest)
    received = sum(utility for _, _, utility in events)
    for half_life in (shortest, shortest * longer, math.inf):
        expected = remembered(events, half_life, found.last)
        values = [expected[name] for name in names]
        np.testing.assert_allclose(known.remembered(half_life), values, rtol=1e-12, atol=1e-6 * received + 1e-300)


def flips(found):
    return [each.sentence(found.clock.length_text) for each in found.conclusions.flip]


@pytest.mark.soak
@settings(max_examples=15)
@given(EVENTS.filter(lambda events: len(events) > 4))
def test_a_first_look_changes_no_answer(events):
    half_lives, found = ["20", "500", "inf"], history(events)
    exact = audit(found, half_lives)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bygones.audit.measure.pasts.ASKED_AT_ONCE", 0)
        looked = audit(found, half_lives)
    asked = sorted(looked.conclusions.asked)
    standings = audit(found, asked, refine=False).standings
    assert [stood.half_life for stood in standings] == asked
    for stood in standings:
        owed = looked.conclusions.asked[stood.half_life]
        np.testing.assert_allclose(owed, stood.owed / (stood.remembered.sum() or 1.0), rtol=1e-9, atol=1e-12)
    answers = [
        {(e.kind, e.agent): e.answers for e in found.conclusions.found if e.kind != "order"}
        for found in (looked, exact)
    ]
    assert answers[0] == answers[1]


def test_flips_are_found_with_few_questions(monkeypatch):
    found = history([("ana", 0, 10.0), ("ben", 20, 6.0), ("cem", 25, 3.0), ("ana", 30, 0.0)])
    exact = audit(found, ["2", "20", "inf"])
    monkeypatch.setattr("bygones.audit.measure.pasts.ASKED_AT_ONCE", 0)
    looked = audit(found, ["2", "20", "inf"])
    assert flips(looked) == flips(exact) != []
    assert len(looked.conclusions.asked) < len(exact.conclusions.asked) / 2
    # Those who are present later, or start with something, are asked about without a first look.
    assert flips(audit(found, ["2", "20", "inf"], at="45")) != []
    assert flips(audit(found, ["2", "20", "inf"], newcomers=0)) == flips(exact)


def test_a_wrong_guess_costs_time_and_nothing_else():
    asked = []

    def ask(half_lives):
        asked.extend(half_lives)
        return {h: np.array([1.0, -1.0]) * (h - 5.0) for h in half_lives}

    def guess(half_lives):
        return {h: np.array([1.0, -1.0]) * (h - 4.0) for h in half_lives}

    found = conclude(["a", "b"], ask([1.0, 9.0]), ask, guess=guess)
    assert found.flip
    for each in found.flip:
        assert each.flips[0].low <= 5 <= each.flips[0].high
        assert each.flips[0].is_exact
    assert len(asked) < 30
