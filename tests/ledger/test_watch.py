"""Since when somebody has been owed, against the standing at every event one by one."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bygones.ledger import Entry, Ledger, Rules
from bygones.ledger.model.times import as_datetime
from bygones.ledger.storage import rows

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("ana", "ben", "cem", "dan")
moments = st.integers(0, 60)


def moment(number):
    return BEGAN + timedelta(hours=12 * number)


def by_definition(ledger, at):
    """The standing at every instant of an event, in the order of time."""
    since, present = {}, set()
    for time in sorted({event.time for event, _ in ledger.events() if event.kind != "decision"}):
        if as_datetime(time) > at:
            break
        stood = ledger.standing(as_datetime(time))
        enough = 1e-9 * stood.remembered[stood.present].sum()
        owed = {name for name, owed in zip(stood.names, stood.owed, strict=True) if owed > enough}
        on_hold = {name for name, state in zip(stood.names, stood.status, strict=True) if state == "on hold"}
        since = {name: since.get(name, time) for name in owed} | {n: t for n, t in since.items() if n in on_hold}
        present = owed
    return {name: time for name, time in since.items() if name in present}


@st.composite
def happenings(draw):
    kind = draw(st.sampled_from(["received"] * 6 + ["offset", "correct", "hold", "resume", "leave", "join", "rules"]))
    amount = draw(st.one_of(st.integers(0, 5), st.floats(0, 10)))
    return kind, draw(st.sampled_from(NAMES)), draw(moments), float(amount)


def happen(ledger, kind, who, at, amount):
    when = moment(at)
    if kind == "received":
        ledger.record_all([Entry(who, amount, when), Entry(who, 1.0, when + timedelta(hours=5))])
    elif kind == "offset":
        ledger.offset(who, 3.0 - amount, at=when)
    elif kind == "correct":
        ledger.correct(ledger.n_events(), amount)
    elif kind == "rules":
        ledger.change_rules(at=when, entitlements={who: 1.0 + amount})
    else:
        getattr(ledger, kind)(who, at=when)


@given(
    st.lists(happenings(), max_size=40),
    st.sampled_from(["3d", "6h", "inf"]),
    st.booleans(),
    st.sampled_from([1, 3, 50_000]),
    moments,
)
@pytest.mark.soak
@example([("received", "ana", 0, 0.0), ("offset", "ben", 0, 8.0), ("hold", "ana", 1, 0.0)], "3d", False, 1, 1)
@example([("correct", "ana", 0, 5e-76), ("received", "ana", 1, 0.0), ("received", "ana", 2, 0.0)], "3d", False, 3, 2)
@settings(max_examples=150)
def test_owed_since_is_what_the_standings_say(new_path, events, half_life, stops, chunk, at):
    rules = Rules(half_life=half_life, newcomers="zero", hold_stops_clock=stops)
    with Ledger.new(new_path(), rules, began=BEGAN) as ledger:
        ledger.join_all(NAMES[:3], at=BEGAN)
        for each in events:
            try:
                happen(ledger, *each)
            except ValueError:
                continue  # not possible just then
        before, rows.IN_CHUNKS["yield_per"] = rows.IN_CHUNKS["yield_per"], chunk
        try:
            assert ledger.owed_since(moment(at)) == by_definition(ledger, moment(at))
        finally:
            rows.IN_CHUNKS["yield_per"] = before


def test_nobody_absent_is_owed_even_if_all_together_have_less_than_nothing(new_path):
    with Ledger.new(new_path(), Rules(half_life="3d", newcomers="zero"), began=BEGAN) as ledger:
        ledger.join_all(NAMES[:3], at=BEGAN)
        ledger.offset("ben", -1.0, at=BEGAN)
        ledger.hold("ana", at=BEGAN)
        assert ledger.owed_since(BEGAN).keys() == by_definition(ledger, BEGAN).keys() == {"ben"}


def test_a_long_history_is_followed(new_path):
    rng = np.random.default_rng(0)
    names = [f"agent {i}" for i in range(20)]
    with Ledger.new(new_path(), Rules(half_life="2d", newcomers="zero"), began=BEGAN) as ledger:
        ledger.join_all(names, at=BEGAN)
        when = BEGAN + np.sort(rng.integers(0, 30 * 86400, 400)) * timedelta(seconds=1)
        ledger.record_all([Entry(str(rng.choice(names)), float(rng.integers(1, 9)), time) for time in when])
        at = BEGAN + timedelta(days=31)
        assert ledger.owed_since(at) == by_definition(ledger, at)
        assert len(ledger.owed_since(at)) > 5
