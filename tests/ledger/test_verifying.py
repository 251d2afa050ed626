"""`verify` finds damage in the database itself, and decisions that do not follow from what was before them."""

import random
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from bygones.allocation import Assign, ChooseK, Divide
from bygones.ledger import Entry, Ledger, LedgerError, Rules
from bygones.ledger.actions import decisions as deciding
from bygones.ledger.model import times
from bygones.ledger.proof import integrity
from bygones.ledger.proof.verification import rebuild
from bygones.ledger.storage import store, timeline
from support.forgery import rewrite

NAMES = [f"agent {i}" for i in range(12)]
MOMENTS = ("2026-01-05", "2026-02-01", "2026-04-01")


def fill(target, events=600):
    """A ledger with many events of many agents, some of them corrected, and some decisions."""
    draw = random.Random(3)
    with Ledger.new(target, Rules(half_life="30d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        ledger.record_all(
            [Entry(draw.choice(NAMES), draw.randint(1, 9), f"2026-01-{draw.randint(10, 28)}") for _ in range(events)]
        )
        for seq in draw.sample(range(20, events), 40):
            ledger.correct(seq, 2)
        for day in ("2026-03-01", "2026-03-02"):
            ledger.decide(ChooseK(dict.fromkeys(NAMES, 4.0), k=3), at=day)
    return target


def told(ledger):
    """All that a ledger says through its indexes and without them."""
    stood = [ledger.standing(at).to_dict() for at in MOMENTS]
    parts = [ledger.contributions(name, MOMENTS[-1]) for name in NAMES]
    return stood, parts, list(ledger.events())


def index_pages(whole):
    """Where the pages of a SQLite file are that belong to indexes."""
    size = int.from_bytes(whole[16:18])
    return size, [start for start in range(0, len(whole), size) if whole[start] in (0x02, 0x0A)]


def flip(path, whole, known, draw):
    """Flips a bit in an index and says what comes of it: refused, reported or harmless."""
    size, pages = index_pages(whole)
    damaged = bytearray(whole)
    damaged[draw.choice(pages) + draw.randrange(size)] ^= 1 << draw.randrange(8)
    path.write_bytes(damaged)
    try:
        with Ledger.open(path) as ledger:
            if not ledger.verify().ok:
                return "reported"
            assert told(ledger) == known
            return "harmless"
    except LedgerError:
        return "refused"


def check_flips(path, number, seed):
    with Ledger.open(fill(path)) as ledger:
        known = told(ledger)
        assert ledger.verify().ok
    whole, draw = path.read_bytes(), random.Random(seed)
    came = [flip(path, whole, known, draw) for _ in range(number)]
    return {what: came.count(what) for what in ("refused", "reported", "harmless")}


def test_a_flipped_bit_in_an_index_is_reported_or_harmless(new_path):
    came = check_flips(new_path(), 8, seed=1)
    assert came["reported"] >= 1


@pytest.mark.soak
def test_hundreds_of_flipped_bits_in_indexes_are_reported_or_harmless(new_path):
    came = check_flips(new_path(), 400, seed=2)
    assert came["reported"] > 50


def test_an_index_that_lost_an_entry_is_reported_and_can_be_rebuilt(new_path):
    path = fill(new_path())
    with closing(sqlite3.connect(path)) as connection, connection:  # the index no longer has what the table has
        connection.execute("PRAGMA writable_schema = ON")
        text = "CREATE INDEX events_of_agent ON events (agent, time)"
        partial = f"{text} WHERE seq <> 400"
        connection.execute("DROP INDEX events_of_agent")
        connection.execute(partial)
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'events_of_agent'", (text,))
    with Ledger.open(path) as ledger:
        assert ledger.verify().problems == (
            "the file is damaged: row 400 missing from index events_of_agent",
            "the file is damaged: wrong # of entries in index events_of_agent",
        )
        rebuild(ledger._store)
        assert ledger.verify().ok


def test_verify_reads_no_index(new_path):
    with Ledger.open(fill(new_path())) as ledger, ledger._store.reading() as connection:
        plans = []

        def explain(on, cursor, statement, parameters, *_):
            if statement.lstrip().startswith("SELECT") and "events" in statement:
                plans.extend(row[-1] for row in on.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

        with integrity.without_indexes(connection):
            sa.event.listen(connection, "before_cursor_execute", explain)
            timeline.rebuilt(connection, times.now())
        assert plans
        assert not [plan for plan in plans if "INDEX" in plan and "AUTOMATIC" not in plan]


def test_postgresql_has_its_indexes_checked_with_amcheck_and_without(new_database):
    target = fill(new_database(), events=60)
    engine = sa.create_engine(store.read_url(target))

    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = CAST('events_of_agent' AS regclass)"

    def run(*statements):
        for statement in statements:
            with engine.begin() as connection:
                connection.execute(sa.text(statement))

    with Ledger.open(target) as ledger:
        assert ledger.verify().ok
        run("CREATE EXTENSION amcheck")
        assert ledger.verify().ok
        run(
            ready.format("false"),  # a row that is written now does not enter the index
            "CREATE TABLE kept AS SELECT * FROM events WHERE seq = 40",
            "DELETE FROM events WHERE seq = 40",
            "INSERT INTO events SELECT * FROM kept",
            ready.format("true"),
        )
        (fault, *_) = ledger.verify().problems
        assert fault.startswith("index events_of_agent is damaged: ")
        run("DROP EXTENSION amcheck")
        (fault, *_) = ledger.verify().problems
        assert fault.startswith("index events_of_agent is damaged: the ")
        assert "rows that it finds are not the" in fault
        rebuild(ledger._store)
        assert ledger.verify().ok
    engine.dispose()


REQUESTS = (
    ChooseK(dict.fromkeys(NAMES, 4.0), k=3),
    Assign({"agent 1": {"day": 3.0, "night": 1.0}, "agent 2": {"day": 1.0, "night": 3.0}}),
    Divide(12.0, {"agent 3": 1.0, "agent 4": 2.0}),
)


@pytest.mark.parametrize("rules", [{}, {"rule": "prices", "welfare": "nash"}, {"reports": "normalised"}])
def test_every_decision_comes_out_again(new_target, rules):
    with Ledger.new(new_target(), Rules(newcomers="zero", **rules), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for day in range(2, 8):
            ledger.decide(REQUESTS[day % 3], at=f"2026-01-{day:02}")
            ledger.record("agent 5", 3, at="2026-01-01T12:00")  # recorded late, and not known to the decision
            ledger.correct(ledger.n_events() - 1, 1.5)
        ledger.hold("agent 6", at="2026-01-05")
        ledger.resume("agent 6", at="2026-01-06")
        ledger.change_rules(half_life="3d", at="2026-01-08")
        ledger.decide(REQUESTS[0], at="2026-01-09")
        found = ledger.verify()
        assert (found.problems, found.decisions, len(found.unchecked)) == ((), 7, 0)


def test_decisions_come_out_again_from_what_was_in_effect_then(new_path):
    with Ledger.new(new_path(), Rules(newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 2, at="2026-01-02")
        both = ChooseK({"ana": 4.0, "ben": 4.0})
        assert list(ledger.decide(both, at="2026-01-03").utilities) == ["ben"]
        number = ledger.n_events() - 1
        ledger.decide(ChooseK({"ana": 1.0}), at="2026-01-04")
        void = ledger.void(number)
        assert list(ledger.decide(ChooseK({"ana": 2, "ben": 2}), at="2026-01-05").utilities) == ["ben"]
        ledger.decide(ChooseK({"ana": 2.5}), at="2026-01-06")
        ledger.void(void.seq)
        assert list(ledger.decide(both, at="2026-01-07").utilities) == ["ana"]
        found = ledger.verify()
        assert (found.problems, found.decisions) == ((), 5)


def test_a_part_that_is_rounded_otherwise_is_the_same_and_another_is_not(new_path):
    path = new_path()
    with Ledger.new(path, Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.decide(Divide(51.25, {"ana": 1.0, "ben": 1.0}), at="2026-01-03")
        (_, ana), (_, ben) = [(agent, part) for agent, _, part, _ in ledger.event(4).details["given"]]
        assert ana == ben == 25.625
    for part, expected in ((25.625 * (1 + 1e-12), 0), (26.625, 1)):

        def divided(event, part=part):
            if event.kind != "decision":
                return event
            given = [["ana", None, 25.625, 25.625], ["ben", None, part, 25.625]]
            return event._replace(details=event.details | {"given": given})

        rewrite(path, divided)
        with Ledger.open(path) as ledger:
            assert len(ledger.verify().problems) == expected


WARDS = {name: {"ward": 1.0, "theatre": 1.0, "icu": 1.0} for name in NAMES[:5]}


def test_items_that_are_not_in_alphabetical_order_are_drawn_again_as_they_were(new_target):
    with Ledger.new(new_target(), Rules(newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for day in range(2, 8):
            ledger.decide(Assign(WARDS), at=f"2026-01-{day:02}")
        assert ledger.redecide("2026-01-02") == []
        found = ledger.verify()
        assert (found.problems, found.decisions) == ((), 6)


def test_items_whose_order_was_not_recorded_are_judged_by_what_was_recorded_of_them(new_path, monkeypatch):
    def to_dict(request):
        return {"utilities": request.worth, "capacity": request.capacity}

    path = new_path()
    with Ledger.new(path, Rules(newcomers="zero"), began="2026-01-01") as ledger, monkeypatch.context() as earlier:
        earlier.setattr(Assign, "to_dict", to_dict)
        ledger.join_all(NAMES, at="2026-01-01")
        for day in range(2, 8):
            ledger.decide(Assign(WARDS), at=f"2026-01-{day:02}")
    with Ledger.open(path) as ledger:
        found = ledger.verify()
        assert (found.problems, found.decisions, len(found.unchecked)) == ((), 0, 6)


def forged(event):
    """The decision and what followed from it, in favour of another agent."""
    if event.kind == "decision":
        details = event.details | {"given": [["ben", None, None, 1.0]]}
        return event._replace(details=details)
    return event._replace(agent="ben") if event.refers else event


def decided(path):
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ben", 1, at="2026-01-02")
        ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")
        assert ledger.verify().ok
    return path


def test_a_decision_that_does_not_follow_is_named_with_what_would(new_path):
    path = decided(new_path())
    rewrite(path, forged)
    with Ledger.open(path) as ledger:
        assert ledger.verify().problems == (
            "decision 5 does not follow from the events before it: with the same request, rules and past, ana "
            "gets the place, but it was recorded that ben gets the place",
        )


def test_a_decision_by_another_method_is_judged_by_what_was_recorded_of_it(new_path, monkeypatch):
    path = decided(new_path())
    rewrite(path, forged)
    monkeypatch.setattr("bygones.ledger.actions.remade.METHODS", (deciding.METHOD + 1,))
    with Ledger.open(path) as ledger:
        found = ledger.verify()
        assert (found.problems, found.decisions, len(found.unchecked)) == ((), 0, 1)
    rewrite(path, lambda event: event._replace(agent="ana") if event.refers else event)
    with Ledger.open(path) as ledger:
        assert ledger.verify().problems == (
            "by decision 5 ben gets 1, but by the amounts recorded as received through it ana gets 1",
        )
