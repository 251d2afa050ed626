"""What an audit says: standings as the ledger's, newcomers, since when, welfare over time."""

import math

import numpy as np
import pyarrow as pa
import pytest

from bygones.audit import audit, read_history
from bygones.audit.replay.past_decisions import measure
from bygones.inequality import gini
from bygones.ledger import Ledger, Rules


def steps(*rows):
    agents, times, utilities = zip(*rows, strict=True)
    return read_history(pa.table({"agent": agents, "time": times, "utility": utilities}))


def test_an_audit_stands_as_the_ledger_does(nights, tmp_path):
    found = audit(read_history(nights), ["30d"], at="2026-03-01", entitlements={"ana": 2}, others=1)
    with Ledger.new(tmp_path / "team.db", Rules(half_life="30d"), began="2026-01-01") as ledger:
        ledger.join_all(found.names, at="2026-01-01", newcomers="zero")
        ledger.change_rules(at="2026-01-01", entitlements={"ana": 2})
        for line in nights.read_text().splitlines()[1:]:
            agent, time, amount = line.split(",")
            ledger.record(agent, float(amount), at=time)
        stood = ledger.standing("2026-03-01")
        since = ledger.owed_since("2026-03-01")
    assert stood.names == found.names
    np.testing.assert_allclose(found.standings[0].remembered, stood.remembered, rtol=1e-12)
    np.testing.assert_allclose(found.standings[0].owed, stood.owed, rtol=1e-12)
    np.testing.assert_allclose(found.entitled, [0.4, 0.2, 0.2, 0.2])
    for row, name in enumerate(found.names):
        at = found.since(found.standings[0], row)
        assert (at is None) == (name not in since)
        if at is not None and found.members.first[row] == found.periods.count - 1:
            assert since[name] == at  # no period has more than one event


def test_since_is_never_before_anything_happened():
    history = steps(("a", 0, 4), ("b", 0, 4), ("a", 7, 2), ("a", 9, 2), ("b", 20, 1))
    found = audit(history, ["inf"], every="5")
    assert (found.since(found.standings[0], 1), found.since_note()) == (
        7, "Owed since: the first event of the 5-step period in which the agent became owed.",
    )  # fmt: skip


def test_of_many_events_the_start_of_the_period_is_given(monkeypatch):
    for module in ("pasts", "findings"):
        monkeypatch.setattr(f"bygones.audit.measure.{module}.DATED_EVENTS", 4)
    found = audit(steps(("a", 0, 4), ("b", 0, 4), ("a", 7, 2), ("a", 9, 2), ("b", 20, 1)), ["inf"], every="5")
    assert (found.since(found.standings[0], 1), found.since_note()) == (
        5, "Owed since: the start of the 5-step period in which the agent became owed.",
    )  # fmt: skip


def test_agents_join_at_their_first_event_and_are_owed_nothing_before():
    found = audit(steps(("a", 0, 9), ("a", 11, 4), ("b", 13, 1), ("a", 30, 1)), ["inf"], every="10")
    assert found.joined(1) == 13
    assert found.since(found.standings[0], 1) == 13


def test_welfare_over_time_is_that_of_the_memory_at_the_end_of_each_period():
    found = audit(steps(("a", 0, 4), ("b", 0, 1), ("a", 10, 2), ("b", 20, 3)), ["10", "inf"], every="10")
    faded, kept = found.standings
    np.testing.assert_allclose(faded.egalitarian, [1, 0.5, 2], rtol=1e-12)
    np.testing.assert_allclose(faded.gini, gini([[4, 1], [4, 0.5], [2, 3.25]]), rtol=1e-12)
    np.testing.assert_allclose(faded.nash, np.sqrt([4, 2, 6.5]), rtol=1e-12)
    np.testing.assert_allclose(kept.egalitarian, [1, 1, 4])
    assert found.ends() == [0, 10, 20]


def test_an_agent_of_entitlement_two_counts_as_two():
    remembered, entitlements = np.array([6.0, 4.0, 1.0]), np.array([2.0, 1.0, 1.0])
    assert measure(remembered, entitlements) == pytest.approx(measure(np.array([3.0, 3, 4, 1]), np.ones(4)))
    assert measure(np.array([3.0, 3, 4, 1]), np.ones(4)) == pytest.approx((gini([3, 3, 4, 1]), 1, 36**0.25, 2.75, 4))
    assert measure(np.zeros(3), np.ones(3)) == (0, 0, 0, 0, 0)


def test_those_who_come_later_start_as_the_newcomer_rule_says():
    history = steps(("a", 0, 8), ("b", 0, 4), ("c", 25, 1), ("a", 30, 0))
    expected = {"zero": 0, "mean": 6 / 2**2, "median": 6 / 2**2, "entitled-share": 6 / 2**2, 5: 5.0}
    for rule, start in expected.items():
        found = audit(history, ["10"], every="10", newcomers=rule)
        a, b, c = found.standings[0].remembered
        founders = 5 / 2**4 if rule == 5 else 0.0
        assert c == pytest.approx(1 / math.sqrt(2) + start / 2)
        assert (a, b) == pytest.approx((1 + founders, 0.5 + founders))
        assert found.joined(2) == 25
        assert [found.names[row] for row in found.newcomers()] == ["c"]


def test_whoever_comes_within_the_first_period_is_no_newcomer():
    found = audit(steps(("a", 1, 8), ("b", 6, 4), ("c", 25, 1), ("a", 30, 0)), ["10"], every="10")
    assert [found.joined(row) for row in range(3)] == [1, 6, 25]
    assert [found.names[row] for row in found.newcomers()] == ["c"]


def test_whoever_vanishes_is_away_and_comes_back_as_a_newcomer():
    history = steps(("a", 0, 8), ("b", 0, 8), ("b", 40, 8), ("a", 80, 1))
    never = audit(history, ["inf"], every="10")
    assert never.is_present.all()
    gone = audit(history, ["inf"], every="10", gone_after="30", newcomers="mean")
    assert gone.is_present.tolist() == [True, False]
    assert math.isnan(gone.standings[0].owed[1])
    assert math.isnan(gone.standings[0].share[1])
    # When a came back b was still there, with 16: a had 8, was given 8 more, and received 1.
    assert gone.standings[0].remembered.tolist() == [17, 16]
    early = audit(history, ["inf"], every="10", gone_after="30", at="60")
    assert early.is_present.tolist() == [False, True]
    alone = audit(history, ["inf"], every="10", gone_after="20", newcomers="mean")
    assert alone.standings[0].remembered.tolist() == [9, 16 + 0]


def test_agents_with_an_entitlement_but_no_event_are_seen():
    found = audit(steps(("a", 0, 6), ("a", 30, 6)), ["inf"], entitlements={"zoe": 2.0, "a": 1.0})
    assert found.names == ("a", "zoe")
    assert found.standings[0].owed.tolist() == [-8, 8]
    assert found.since(found.standings[0], 1) == 0
    assert found.newcomers() == []


def test_events_after_the_moment_of_the_audit_are_left_out():
    found = audit(steps(("a", 0, 6), ("b", 10, 3), ("b", 30, 6)), ["inf"], at="20")
    assert found.received.tolist() == [6, 3]
    assert found.n_events == 2
    with pytest.raises(ValueError, match=r"at must not be before the first event \(0\), got '-1'"):
        audit(steps(("a", 0, 6)), ["inf"], at="-1")


def test_bad_settings_are_refused():
    history = steps(("a", 0, 6))
    for message, settings in (
        ("half_life must be a number of steps above 0", {"half_lives": ["0"]}),
        ("half_life must be a number of steps above 0", {"half_lives": ["7d"]}),
        ("newcomers must be zero", {"newcomers": "lots"}),
        ("entitlement of 'a' must be", {"entitlements": {"a": 0}}),
        ("gone_after must be a number", {"gone_after": "soon"}),
    ):
        with pytest.raises(ValueError, match=message):
            audit(history, **{"half_lives": ["1"], **settings})


def test_everything_for_programs_is_plain(nights):
    import json

    data = audit(read_history(nights, time_zone="Europe/Berlin"), ["7d", "inf"], gone_after="20d").to_dict()
    text = json.dumps(data, allow_nan=False, default=str)
    assert "NaN" not in text
    assert data["time_zone"] == "Europe/Berlin"
    assert data["at"] == "2026-02-21T21:00:00Z"
    assert data["half_lives"][0]["half_life"] == "7d"
    first = data["half_lives"][0]["agents"][0]
    assert set(first) >= {"agent", "share", "entitled_share", "owed", "owed_since", "remembered"}
    assert len(data["half_lives"][0]["over_time"]["gini"]) == len(data["half_lives"][0]["over_time"]["at"])


def test_shares_over_time_sum_to_one(nights):
    found = audit(read_history(nights), ["7d"])
    shares = found.over_time(found.standings[0], range(len(found.names)))
    np.testing.assert_allclose(np.nansum(shares, axis=1), 1.0)
    np.testing.assert_allclose(shares[-1], found.standings[0].share)


def test_control_characters_in_names_are_spelled_out():
    found = audit(steps(("\x1b[31mred", 0, 1.0), ("b", 1, 1.0)), ["inf"])
    assert found.names == ("\\x1b[31mred", "b")


def test_who_is_owed_since_a_change_of_rules(tmp_path):
    """Ana becomes entitled to three times as much, and is owed something from then on, as nobody else is."""
    with Ledger.new(tmp_path / "team.db", Rules(half_life="30d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        for agent, amount, day in (("ana", 10, 5), ("ben", 10, 12), ("ana", 10, 20), ("cem", 6, 25)):
            ledger.record(agent, amount, at=f"2026-01-{day:02}")
        ledger.change_rules(at="2026-02-01", entitlements={"ana": 3})
        since = ledger.owed_since("2026-03-01")
    assert list(since) == ["ana"]
    found = audit(read_history(tmp_path / "team.db"), ["30d"], at="2026-03-01")
    assert [found.since(found.standings[0], row) for row in range(3)] == [since["ana"], None, None]


def test_rows_say_where_everybody_stands_the_most_owed_first():
    found = audit(steps(("a", 0, 9), ("b", 0, 1), ("c", 0, 2), ("a", 30, 1), ("b", 30, 1)), ["inf"], gone_after="5")
    first, second, away = found.rows(found.standings[0])
    assert (first.agent, first.owed, first.owed_per_unit, first.owed_since) == ("b", 4, 4, 30)
    assert (second.agent, second.remembered, second.share, second.entitled_share) == ("a", 10, 10 / 12, 0.5)
    assert (away.agent, away.status, away.present, away.owed, away.share) == ("c", "away", False, None, None)
    assert (away.received, away.factors) == (2, {})
    assert found.rows(found.standings[0], [1]) == [first]
