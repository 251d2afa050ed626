"""No number can be recorded that would make a sum infinite, by the ledger's own commands or by any other program."""

import json
import math

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from bygones.ledger import Ledger, LedgerError, Rules
from bygones.ledger.model import events, fold, rules
from bygones.ledger.proof.verification import rebuild
from bygones.ledger.storage import migrations, schema, store
from support.older_tables import to_version_1, without_what_came_later

BEYOND = [1.1e15, 1.7e308, math.inf, -math.inf, math.nan, 10**400]


@pytest.mark.parametrize("amount", BEYOND)
def test_an_amount_beyond_the_bounds_is_refused_and_nothing_is_recorded(team, amount):
    before = team.n_events()
    for record in (team.record, team.offset):
        with pytest.raises(ValueError, match=r"amount must be a number from (0|-1e\+15) to 1e\+15, got"):
            record("ana", amount)
    seq = team.record("ana", 8).seq
    with pytest.raises(ValueError, match="amount must be a number"):
        team.correct(seq, amount)
    assert team.n_events() == before + 1


def test_the_largest_amounts_add_up_and_can_be_corrected(team):
    for _ in range(3):
        seq = team.record("ana", events.LARGEST, at="2026-01-02").seq
        team.correct(seq, 0)
    team.offset("ben", -events.LARGEST, at="2026-01-02")
    low = team.n_events()
    team.correct(low, events.LARGEST)
    stood = team.standing("2026-01-02")
    assert stood.remembered.tolist() == [0, events.LARGEST, 0]
    assert team.verify().ok


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"half_life": "5e-324s"}, "half_life must be from 1s to 1000y"),
        ({"half_life": "0.5s"}, "half_life must be from 1s to 1000y"),
        ({"half_life": "1001y"}, "half_life must be from 1s to 1000y"),
        ({"entitlements": {"ana": 1e300}}, "entitlement of 'ana' must be from 1e-09 to 1e[+]09"),
        ({"entitlements": {"ana": 1e-300}}, "entitlement of 'ana' must be from 1e-09 to 1e[+]09"),
        ({"half_lives": {"ana": "0.5s"}}, "half_life of 'ana' must be from 1s to 1000y"),
        ({"cap": 1e300}, "cap must be at most 1e[+]15"),
        ({"newcomers": "1e308"}, "newcomers must start with at most 1e[+]15"),
    ],
)
def test_rules_beyond_the_bounds_are_refused(team, new_path, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Ledger.new(new_path(), Rules(**settings))
    with pytest.raises(ValueError, match=sentence):
        team.change_rules(**settings)


def test_an_agent_cannot_start_with_more_than_anybody_could_record(team):
    team.record("ana", events.LARGEST)
    with pytest.raises(ValueError, match=r"'dana' would start with .* give a number to start with"):
        team.join("dana", entitlement=1e9, newcomers="entitled share")
    with pytest.raises(ValueError, match=r"would start with 1e\+16"):
        team.join("dana", newcomers=1e16)


@given(st.floats(rules.ENTITLEMENTS[0], rules.ENTITLEMENTS[1]), st.floats(1, 1000 * 365.25 * 86400))
def test_everything_within_the_bounds_is_accepted(weight, seconds):
    rules.check_settings(Rules(f"{seconds!r}s", entitlements={"ana": weight}).to_dict())


@pytest.mark.parametrize("amount", ["1.7e308", "'Infinity'", "'NaN'", "-1.1e15"])
def test_the_tables_themselves_refuse_what_is_beyond_the_bounds(new_target, amount):
    target = new_target()
    with Ledger.new(target) as ledger:
        ledger.join("ana")
        ledger.record("ana", 8)
    engine = sa.create_engine(store.read_url(target))
    if engine.dialect.name == "sqlite":
        amount = amount.replace("'Infinity'", "9e999").replace("'NaN'", "-9e999")
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE events SET amount = {amount} WHERE seq = 3"))
    engine.dispose()


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1.7e308"])
@pytest.mark.parametrize("counter", ["received", "remembered"])
def test_counters_that_are_not_finite_are_not_stored_and_those_beyond_the_bounds_not_read(new_target, counter, number):
    target = new_target()
    with Ledger.new(target) as ledger:
        ledger.join("ana")
        ledger.record("ana", 8)
    engine = sa.create_engine(store.read_url(target))
    with engine.begin() as connection:
        counters = json.loads(connection.execute(sa.text("SELECT counters FROM agents")).scalar_one())
    counters[counter][0] = "NUMBER"
    text = json.dumps(counters).replace('"NUMBER"', number)
    change = sa.text("UPDATE agents SET counters = :counters")
    if "e" in number:
        with engine.begin() as connection:
            connection.execute(change, {"counters": text})
        with Ledger.open(target) as ledger, pytest.raises(ValueError, match="'ana' is not a finite number"):
            ledger.standing()
    else:
        with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
            connection.execute(change, {"counters": text})
    engine.dispose()


def test_a_snapshot_that_is_not_finite_is_neither_saved_nor_shown(new_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(schema.events, "constraints", schema.events.constraints - {migrations._check(schema.events)})
        for name in ("LARGEST", "LARGEST_CORRECTION"):
            patch.setattr(events, name, math.inf)
        team = Ledger.new(new_path())
        team.join("ana")
        team.record("ana", 0)
        with pytest.raises(ValueError, match="the sum of 'ana' is not a finite number"):
            team.record("ana", 1.5e308)
    assert team.verify().ok
    team.close()


def test_a_ledger_from_before_there_were_bounds_opens_and_says_what_to_do(new_target, monkeypatch):
    target = new_target()
    without_what_came_later(monkeypatch)
    checks = {table: migrations._check(table) for table in (schema.agents, schema.events)}
    with monkeypatch.context() as before:
        for table, check in checks.items():
            before.setattr(table, "constraints", table.constraints - {check})
        before.setattr(fold, "LARGEST_SUM", math.inf)
        for name in ("LARGEST", "LARGEST_CORRECTION"):
            before.setattr(events, name, math.inf)
        with Ledger.new(target, Rules(), began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben"], at="2026-01-01")
            ledger.record("ana", 1.7e308, at="2026-01-02")
            ledger.record("ben", 8, at="2026-01-02")
    engine = sa.create_engine(store.read_url(target))
    with engine.begin() as connection:
        to_version_1(connection)
    engine.dispose()
    with Ledger.open(target) as ledger:
        assert ledger.standing("2026-01-02").remembered.tolist() == [0, 8]
        found = ledger.verify()
        assert found.problems == (
            "event 4 has an amount of 1.7e+308, beyond 1e+15, and does not count: correct it to the right amount",
        )
        again = "INSERT INTO events (seq, kind, time, recorded, amount, note, hash) "
        again += "SELECT 9, kind, time, recorded, amount, note, hash FROM events WHERE seq = 4"
        with pytest.raises(LedgerError, match="events_bounds"), ledger._store.writing() as (connection, _):
            connection.execute(sa.text(again))
        assert rebuild(ledger._store) == 2
        assert not ledger.verify().ok
        ledger.correct(4, 3)
        assert ledger.standing("2026-01-02").remembered.tolist() == [3, 8]
        assert ledger.verify().ok
