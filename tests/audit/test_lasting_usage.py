"""Usage that lasts is integrated over the time it lasts, in closed form, by the engine."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from bygones.audit import audit, read_history


def lasting(rows):
    agents, starts, ends, utilities = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "start": starts, "time": ends, "utility": utilities})
    return read_history(table, start="start")


def by_hand(rows, name, half_life, end):
    """The integral of the rate of use times what is left of it, by quadrature."""
    total = 0.0
    for agent, start, stop, amount in rows:
        if agent != name or start > end:
            continue
        if stop == start:
            total += amount * 2 ** (-(end - stop) / half_life)
            continue
        # In parts of its duration, which may be too short for a rate per unit of time.
        age, lasts = end - start, stop - start
        part = min(1.0, age / lasts)
        kept, _ = quad(lambda s, age=age, lasts=lasts: 2 ** (-(age - s * lasts) / half_life), 0, part, epsrel=1e-12)
        total += amount * kept
    return total


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.floats(0, 100), st.floats(0, 60), st.floats(0.1, 50)), min_size=1, max_size=8
).map(lambda rows: [(name, start, start + lasts, amount) for name, start, lasts, amount in rows])


@settings(max_examples=20)
@example([("a", 0.0, 6.87941128435674e-309, 2.0)], None)
@given(ROWS, st.sampled_from([None, "7", "33"]))
def test_what_is_remembered_is_the_integral(rows, every):
    found = audit(lasting(rows), ["5", "40", "inf"], every=every, refine=False)
    end = max(stop for _, _, stop, _ in rows)
    for stood in found.standings:
        for row, name in enumerate(found.names):
            expected = (
                by_hand(rows, name, stood.half_life, end)
                if math.isfinite(stood.half_life)
                else sum(amount for agent, _, _, amount in rows if agent == name)
            )
            assert stood.remembered[row] == pytest.approx(expected, rel=1e-9)


def test_what_lasts_beyond_the_moment_of_the_audit_counts_up_to_it():
    rows = [("a", 0.0, 100.0, 50.0), ("b", 10.0, 10.0, 3.0), ("b", 60.0, 70.0, 5.0)]
    found = audit(lasting(rows), ["8", "inf"], at="40", refine=False)
    assert found.received.tolist() == pytest.approx([20, 3])
    assert found.standings[0].remembered.tolist() == pytest.approx([by_hand(rows, n, 8, 40) for n in "ab"])
    assert [found.joined(row) for row in (0, 1)] == [0, 10]


def test_who_used_something_from_the_first_moment_on_is_no_newcomer():
    rows = [("a", 0.0, 24.0, 8.0), ("b", 0.0, 3.0, 5.0), ("c", 7.0, 9.0, 5.0)]
    found = audit(lasting(rows), ["8"], every="3", refine=False)
    assert [found.names[row] for row in found.newcomers()] == ["c"]


def test_a_long_job_under_a_short_half_life_is_exact():
    # Booked at the end of hourly parts, this was 38.6% too much.
    day = 86_400_000_000
    moments = [pa.scalar(n, pa.int64()).cast(pa.timestamp("us", "UTC")) for n in (0, day)]
    table = pa.table({"agent": ["a"], "start": [moments[0]], "end": [moments[1]], "utility": [24.0]})
    found = audit(read_history(table, time="end", start="start"), ["1h", "1d", "inf"], refine=False)
    exact = [(1 - 2**-24) / math.log(2), 24 * (1 - 0.5) / math.log(2), 24.0]
    np.testing.assert_allclose([stood.remembered[0] for stood in found.standings], exact, rtol=1e-12)


def test_flips_are_searched_with_the_integral():
    rows = [("a", 0.0, 40.0, 40.0), ("b", 44.0, 50.0, 20.0)]
    found = audit(lasting(rows), ["2", "20", "inf"])
    (flip,) = found.conclusions.found[0].flips
    low, high = (by_hand(rows, "a", h, 50) - by_hand(rows, "b", h, 50) for h in (flip.low, flip.high))
    assert low < 0 < high


def test_a_start_after_the_end_is_refused():
    with pytest.raises(ValueError, match=r"row 2: start must be at or before time, got 5.0"):
        lasting([("a", 0.0, 1.0, 1.0), ("b", 5.0, 3.0, 1.0)])
