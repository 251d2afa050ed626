"""Agents are compared by what they are owed per unit of entitlement, in standings, decisions and audits alike."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.allocation import ChooseK, Divide
from bygones.audit import audit, read_history
from bygones.ledger import Ledger, Rules
from bygones.ledger.model.standing import per_unit, ranked
from support.command_line import run


@pytest.fixture
def uneven(new_path):
    """Big is owed most in all, Small per unit of entitlement."""
    path = new_path()
    rules = Rules(half_life="inf", entitlements={"Big": 10.0})
    with Ledger.new(path, rules, began="2026-01-01") as ledger:
        ledger.join_all(["Big", "Mid", "Small"], at="2026-01-01")
        for name, amount in (("Big", 95), ("Small", 8), ("Mid", 30)):
            ledger.record(name, amount, at="2026-01-02")
        yield ledger, path


def test_whoever_is_first_in_the_standing_is_served(uneven):
    ledger, _ = uneven
    stood = ledger.standing("2026-01-03")
    assert [stood.names[row] for row in stood.ranked()] == ["Small", "Big", "Mid"]
    proposal = ledger.propose(ChooseK({"Big": 1.0, "Small": 1.0, "Mid": 1.0}), at="2026-01-03")
    assert proposal.gets() == {"Small": "the place"}
    table = proposal.explanation.table
    assert [row[:4] for row in table.rows] == [["Small", 1, 8, 8], ["Big", 10, 95, 9.5], ["Mid", 1, 30, 30]]
    proposal = ledger.propose(ChooseK({"Big": 1.0, "Mid": 1.0}), at="2026-01-03")
    assert proposal.reasons()[0] == (
        "Big gets the place on 3 January 2026: lowest recent total per share of the two who asked."
    )
    assert "Did not ask: Small (8.0 per share)." in proposal.reasons()


def test_the_table_and_the_data_have_a_column_for_it(uneven, capsys):
    _, path = uneven
    printed = run(capsys, "ledger", "standing", path, "--at", "2026-01-03")
    assert printed.index("Small") < printed.index("Big") < printed.index("Mid")
    assert printed.startswith("Small is next, with the lowest recent total per share: 8.0.")
    assert "share  recent per share" in printed
    big = next(line for line in printed.splitlines() if line.startswith(" Big "))
    assert "is owed 15.8" in big
    assert " 10 " in big
    assert " 9.5 " in big
    printed = run(capsys, "ledger", "standing", path, "--at", "2026-01-03", "--json")
    rows = {row["agent"]: row for row in json.loads(printed)["agents"]}
    assert {name: row["owed_per_unit"] for name, row in rows.items()} == pytest.approx(
        {"Big": 133 / 12 - 9.5, "Small": 133 / 12 - 8, "Mid": 133 / 12 - 30}
    )


def test_the_audit_has_the_same_order_and_the_same_numbers(uneven):
    ledger, path = uneven
    found = audit(read_history(path), half_lives=["inf"], at="2026-01-03")
    stood, seen = ledger.standing("2026-01-03"), found.standings[0]
    assert [found.names[row] for row in found.ranked(seen)] == [stood.names[row] for row in stood.ranked()]
    by_name = dict(zip(stood.names, stood.per_unit, strict=True))
    np.testing.assert_allclose(found.per_unit_of(seen), [by_name[name] for name in found.names])


def test_equal_entitlements_have_no_column(team, capsys):
    team.record("ana", 2, at="2026-01-02")
    assert "per share" not in run(capsys, "ledger", "standing", team.name, "--at", "2026-01-03").lower()


PAST = st.lists(st.tuples(st.floats(0.0, 50.0), st.floats(0.1, 10.0)), min_size=2, max_size=6)


@pytest.mark.soak
@given(PAST, st.sampled_from(["egalitarian", "nash", "alpha_fair(alpha=2)", "generalized_gini"]))
@settings(max_examples=60, deadline=None)
def test_what_is_worth_a_little_per_unit_goes_to_the_first_of_the_standing(new_path, past, welfare):
    """An amount too small to change the order is divided by the order alone, under every welfare that is not total."""
    names = [f"agent {i}" for i in range(len(past))]
    rules = Rules(half_life="inf", welfare=welfare, entitlements=dict(zip(names, (w for _, w in past), strict=True)))
    with Ledger.new(new_path(), rules, began="2026-01-01") as ledger:
        ledger.join_all(names, at="2026-01-01")
        for name, (amount, _) in zip(names, past, strict=True):
            ledger.record(name, amount, at="2026-01-02")
        stood = ledger.standing("2026-01-03")
        decided = ledger.propose(Divide(1e-6, dict.fromkeys(names, 1.0)), at="2026-01-03")
        most = np.nanmax(stood.per_unit)
        first = {name for name, each in zip(stood.names, stood.per_unit, strict=True) if each >= most - 1e-3}
        assert set(decided.gets()) & first


def test_who_is_away_or_exempt_comes_last():
    owed = np.array([np.nan, 1.0, 2.0, np.nan])
    each = per_unit(owed, np.array([1.0, 1.0, 4.0, 0.0]))
    np.testing.assert_array_equal(each, [np.nan, 1.0, 0.5, np.nan])
    assert ranked(each, ["a", "b", "c", "d"]) == [1, 2, 0, 3]
