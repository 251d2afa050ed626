"""The engine's decayed sums are the memory, fed event by event."""

import math

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.audit import audit, expression, read_history
from bygones.audit.measure.sums import Periods, periods
from bygones.audit.read.clock import Clock
from support.remembering import remembered

MOMENTS = st.integers(0, 400 * 86_400_000_000)
EVENTS = st.lists(
    st.tuples(st.sampled_from(["ana", "ben", "cem"]), MOMENTS, st.floats(0, 1e6)), min_size=1, max_size=30
)
HALF_LIVES = ("1h", "1d", "30d", "inf")
HOURS = {"1h": 1, "1d": 24, "30d": 720, "inf": math.inf}


def arrow(events, start=0):
    agents, times, utilities = zip(*events, strict=True)
    moments = pa.array([start + time for time in times], type=pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table({"agent": agents, "time": moments, "utility": pa.array(utilities, type=pa.float64())})


@settings(max_examples=25)
@given(EVENTS, st.sampled_from([None, "1h", "7d", "100d"]))
def test_what_is_remembered_is_what_the_memory_remembers_event_by_event(events, every):
    span = max(time for _, time, _ in events) - min(time for _, time, _ in events)
    if every == "1h" and span > 1000 * 3_600_000_000:
        every = None
    found = audit(read_history(arrow(events, 1_700_000_000_000_000)), HALF_LIVES, every=every, refine=False)
    end = max(time for _, time, _ in events)
    for trajectory, half_life in zip(found.standings, HALF_LIVES, strict=True):
        expected = remembered(events, HOURS[half_life] * 3_600_000_000, end)
        values = [expected[name] for name in found.names]
        np.testing.assert_allclose(trajectory.remembered, values, rtol=1e-11, atol=1e-300)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.floats(-1e3, 1e3), st.floats(0, 10)), min_size=1, max_size=20)
)
def test_steps_may_be_any_numbers(events):
    agents, times, utilities = zip(*events, strict=True)
    table = pa.table(
        {"agent": agents, "time": pa.array(times, pa.float64()), "utility": pa.array(utilities, pa.float64())}
    )
    found = audit(read_history(table), ["0.5", "20", "inf"], refine=False)
    for trajectory, half_life in zip(found.standings, (0.5, 20.0, math.inf), strict=True):
        expected = remembered(events, half_life, max(times))
        values = [expected[name] for name in found.names]
        np.testing.assert_allclose(trajectory.remembered, values, rtol=1e-9, atol=1e-290)


def test_the_moment_of_the_audit_is_exact_in_the_engine():
    time = 0.0013247170827726817  # as a decimal, DuckDB takes it for the double below
    table = pa.table({"agent": ["a", "b"], "time": [time, time], "utility": [1.0, 3.0]})
    for at in (None, repr(time)):
        found = audit(read_history(table), ["0.5"], at=at)
        assert found.standings[0].remembered.tolist() == [1, 3]
    later = pa.table({"agent": ["a", "b"], "time": [time, 1.0], "utility": [1.0, 3.0]})
    assert audit(read_history(later), ["0.5"], at=repr(time)).n_events == 1
    asked = later.append_column("need", pa.array([1.0, 1.0])).append_column("served", pa.array([True, True]))
    with read_history(asked, needs="need", served="served", where=[f"time<={time!r}"]) as history:
        assert history.n_events == 1
        assert audit(history, ["0.5"]).what_if.decisions == 1


def test_an_audit_may_be_between_two_whole_steps():
    table = pa.table({"agent": ["a", "b"], "time": [0, 4], "utility": [8.0, 2.0]})
    found = audit(read_history(table), ["1"], at="1.5", newcomers=0)
    assert found.standings[0].remembered.tolist() == pytest.approx([8 * 0.5**1.5])


@settings(max_examples=15)
@given(EVENTS, st.sampled_from(["3d", "10d", "100d"]), st.sampled_from(["3d", "10d", "100d"]))
def test_the_length_of_a_period_changes_nothing_in_the_end(events, one, other):
    history = read_history(arrow(events))
    first, second = (audit(history, ["12h", "9d"], every=every, refine=False) for every in (one, other))
    for a, b in zip(first.standings, second.standings, strict=True):
        np.testing.assert_allclose(a.remembered, b.remembered, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("span", [1, 3, 7, 0.3, 59, 61, 86_400])
def test_the_first_event_counts_wherever_the_first_period_begins(span):
    table = pa.table({"agent": ["a", "b"], "time": pa.array([0.0, span], pa.float64()), "utility": [2.0, 1.0]})
    found = audit(read_history(table), [span, "inf"], newcomers=0)
    assert found.standings[1].remembered.tolist() == [2, 1]
    assert found.standings[0].remembered.tolist() == pytest.approx([1, 1])
    for owed in found.conclusions.asked.values():
        assert np.isfinite(owed).all()


def test_nothing_vanishes_that_counts_at_the_end_of_its_own_period():
    year = 365 * 86_400_000_000
    table = arrow([("ana", 0, 1.0), ("ana", year, 1.0)], 1_700_000_000_000_000)
    found = audit(read_history(table), ["1h"], every="30d", refine=False)
    assert found.standings[0].egalitarian[0] == pytest.approx(2.0**-120, rel=1e-12, abs=0)
    assert found.standings[0].remembered.tolist() == [1.0]


def test_the_heavy_work_is_one_expression_with_one_pass_over_the_events():
    events = ibis.table({"agent": "string", "time": "int64", "utility": "float64"}, name="events")
    text = ibis.to_sql(expression(events, Periods(100, 10.0, 11), [1.0, 7.0, math.inf]), dialect="duckdb")
    assert text.count('FROM "events"') == 1
    assert text.count("EXP(") == 2
    assert text.count("GROUP BY") == 1


def test_periods_cover_the_history_and_end_with_the_audit():
    cut = periods(Clock(steps=True), 0.0, 100.0, "30")
    assert (cut.count, cut.end_of(0), cut.start_of(cut.count - 1)) == (4, 100, -20)
    whole = cut.as_one()
    assert (whole.count, whole.end_of(0)) == (1, 100)
    assert whole.start_of(0) < cut.start_of(cut.count - 1)
    assert periods(Clock(steps=True), 0.0, 100.0, None).length == 2
    assert periods(Clock(steps=True), 5.0, 5.0, None).count == 1
    assert periods(Clock(steps=True), 0.0, 1.0, "0.02").count == 51
    with pytest.raises(ValueError, match=r"every must split the history into at most 2000 periods, got '0.001'"):
        periods(Clock(steps=True), 0.0, 100.0, "0.001")
    with pytest.raises(ValueError, match="every must be a finite length"):
        periods(Clock(), 0.0, 100.0, "inf")
