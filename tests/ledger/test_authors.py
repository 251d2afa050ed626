"""Events name who recorded them, and on PostgreSQL a role can record but neither change nor remove an event."""

import getpass
from contextlib import suppress

import psycopg
import pytest
import sqlalchemy as sa

from bygones.allocation import ChooseK
from bygones.ledger import Ledger, LedgerError
from bygones.ledger.proof.verification import rebuild
from bygones.ledger.storage import schema
from support.guides import DOCS


def authors(ledger):
    return [event.author for event, _ in ledger.events()]


def test_the_author_is_who_they_say_else_the_environment_else_the_user(new_path, monkeypatch):
    monkeypatch.delenv("BYGONES_AUTHOR", raising=False)
    path, user = new_path(), getpass.getuser()
    Ledger.new(path).close()
    monkeypatch.setenv("BYGONES_AUTHOR", "the desk")
    with Ledger.open(path) as ledger:
        ledger.join("ana")
    with Ledger.open(path, author="  Mary ") as ledger:
        ledger.join("ben")
        assert authors(ledger) == [user, "the desk", "Mary"]
        assert ledger.verify().ok
    with pytest.raises(ValueError, match="author must not contain control characters"):
        Ledger.open(path, author="Ma\x1bry")


def test_without_users_nobody_is_named(new_path, monkeypatch):
    def nobody():
        raise OSError("no user")

    monkeypatch.setattr(getpass, "getuser", nobody)
    monkeypatch.delenv("BYGONES_AUTHOR", raising=False)
    with Ledger.new(new_path()) as ledger:
        assert authors(ledger) == [""]


@pytest.fixture
def desk(new_database):
    """A ledger with the role of the documentation and some work done in it, as its owner and as that role see it."""
    owner = new_database()
    Ledger.new(owner, began="2026-01-01", author="Mary").close()
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute((DOCS / "sql" / "append-only-role.sql").read_text(encoding="utf-8"))
        with suppress(psycopg.errors.DuplicateObject):  # roles belong to the server, which tests share
            connection.execute("CREATE ROLE desk LOGIN IN ROLE ledger_writer")
    url = owner.replace("postgres@", "desk@")
    with Ledger.open(url, author="Ana") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
        ledger.correct(4, 7)
        ledger.hold("ben", at="2026-01-02")
        ledger.resume("ben", at="2026-01-03")
        ledger.change_rules(half_life="7d", at="2026-01-04")
        ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-05")
    return owner, url


def test_the_append_only_role_records_and_decides_in_its_own_name(desk):
    for url in desk:
        with Ledger.open(url) as ledger:
            assert ledger.verify().ok
            assert set(authors(ledger)) == {"Mary as postgres", "Ana as desk"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET amount = 0",
        "UPDATE events SET author = 'Mary as postgres' WHERE seq = 1",
        "DELETE FROM events",
        "TRUNCATE events CASCADE",
        "DROP TABLE events",
        "ALTER TABLE events DISABLE TRIGGER events_author",
        "DELETE FROM agents",
        "UPDATE agents SET name = 'Ana' WHERE name = 'ana'",
        "DELETE FROM ledger",
        "UPDATE schema_version SET version = 1",
        "CREATE OR REPLACE FUNCTION check_author() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ],
)
def test_the_append_only_role_cannot_alter_or_remove(desk, statement):
    with psycopg.connect(desk[1]) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE ledger SET head = 1", "the head of the ledger must be its last event, got event 1"),
        ("UPDATE ledger SET head = head + 5", "the head of the ledger must be its last event"),
        ("UPDATE ledger SET head_hash = ''", "the head of the ledger must be its last event"),
        ("UPDATE draws SET seed = '00'", "the secret of the draws must stay until a decision reveals it"),
        ("UPDATE draws SET before = 10000", "the secret of the draws must stay until a decision reveals it"),
        ("UPDATE draws SET days = '00'", "the secret of the days must stay"),
        ("UPDATE draws SET days_event = NULL", "the secret of the days must stay"),
        (
            "CREATE TEMPORARY TABLE events AS SELECT 99 AS seq, ''::bytea AS hash, (SELECT seed FROM draws) AS details;"
            "UPDATE ledger SET head = 99, head_hash = ''",
            "the head of the ledger must be its last event, got event 99",
        ),
    ],
)
def test_the_append_only_role_cannot_spoil_what_the_events_do_not_give_back(desk, statement, message):
    connection = psycopg.connect(desk[1])
    connection.execute(statement)
    with pytest.raises(psycopg.errors.RaiseException, match=message):
        connection.commit()
    connection.close()


def test_the_append_only_role_cannot_exchange_the_seed_by_an_event_that_has_it(desk):
    def act(tx):
        secret = tx.connection.execute(sa.select(schema.draws.c.seed)).scalar_one()
        tx.connection.execute(schema.draws.update().values(seed="0" * 64))
        return tx.append("received", tx.recorded, agent="ana", amount=0.0, details={"draw": {"seed": secret}})

    refusal = "the secret of the draws must stay until a decision reveals it"
    with Ledger.open(desk[1]) as ledger, pytest.raises(LedgerError, match=refusal):
        ledger._recorder.write(act)


def test_the_append_only_role_begins_another_chain_with_the_last_draw(desk):
    with psycopg.connect(desk[0]) as connection:  # as if ten thousand draws had been made
        connection.execute("ALTER TABLE draws DISABLE TRIGGER draws_seed")
        connection.execute("UPDATE draws SET before = before + 2 - 10000")
        connection.execute("ALTER TABLE draws ENABLE TRIGGER draws_seed")
        (secret,) = connection.execute("SELECT seed FROM draws").fetchone()
    with Ledger.open(desk[1], author="Ana") as ledger:
        decision = ledger.accept(ledger.propose(ChooseK({"ana": 1, "ben": 1}), at="2026-01-06"))[0]
        assert decision.details["draw"]["seed"] == secret
        assert decision.details["draw"]["before"] == 2


def test_what_the_append_only_role_can_spoil_is_found_and_rebuilt(desk):
    owner, url = desk
    spoilt = {
        "UPDATE ledger SET rules = '[]'": "the rules in the snapshot do not follow",
        "UPDATE ledger SET rules = 'x'": "the rules in the snapshot do not follow",
        "UPDATE ledger SET settled = 5": "the settled instant in the snapshot does not follow",
        "UPDATE agents SET counters = replace(counters, '[', '[9')": "the remembered utility of 'ana' does not follow",
        "UPDATE agents SET counters = 'x'": "the counters of the agents are damaged",
        "UPDATE agents SET participation = '[]'": "the agents in the snapshot do not follow",
        "UPDATE agents SET participation = 'x'": "the participation of the agents is damaged",
        "INSERT INTO revised VALUES (4, 6, NULL, NULL)": "which events count, and with what amounts, does not follow",
    }
    for statement, problem in spoilt.items():
        with psycopg.connect(url) as connection:
            connection.execute(statement)
        with Ledger.open(url) as ledger:
            assert problem in " ".join(ledger.verify().problems), statement
            with suppress(ValueError):  # refused in a sentence, or not noticed by this; never a crash
                ledger.standing()
        with Ledger.open(owner) as ledger:
            rebuild(ledger._store)
            assert ledger.verify().ok, statement


def test_the_append_only_role_puts_somebody_back_whose_joining_was_void(desk):
    with Ledger.open(desk[1]) as ledger:
        joined = ledger.join("dora")
        ledger.void(joined.seq)
        ledger.join("dora")
        assert ledger.verify().ok


def test_the_script_of_the_append_only_role_can_be_run_again(desk):
    with psycopg.connect(desk[0], autocommit=True) as connection:
        connection.execute((DOCS / "sql" / "append-only-role.sql").read_text(encoding="utf-8"))
    with Ledger.open(desk[1], author="Ana") as ledger:
        ledger.record("ben", 3, at="2026-01-06")
        assert ledger.verify().ok


def test_the_append_only_role_cannot_record_in_another_name(desk, monkeypatch):
    monkeypatch.setattr("bygones.ledger.storage.dialects.in_database", lambda connection, author: "Mary as postgres")
    with (
        Ledger.open(desk[1]) as ledger,
        pytest.raises(LedgerError, match="recorded by desk must name it as their author"),
    ):
        ledger.join("cem")


def test_a_role_that_may_not_use_amcheck_verifies_all_the_same(desk):
    with psycopg.connect(desk[0], autocommit=True) as connection:
        connection.execute("CREATE EXTENSION amcheck")
    with Ledger.open(desk[1]) as ledger:
        assert ledger.verify().ok


def test_the_append_only_role_is_told_who_can_rebuild(desk):
    with (
        Ledger.open(desk[1]) as ledger,
        pytest.raises(LedgerError, match="can be rebuilt by the owner of its tables only, not by this user"),
    ):
        rebuild(ledger._store)
    with Ledger.open(desk[0]) as ledger:
        rebuild(ledger._store)
        assert ledger.verify().ok
