"""Commands that record several things at once, or whose answer says more than their events: each counts once."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from bygones.allocation import ChooseK
from bygones.ledger import DateNeeds, Entry, Ledger, LedgerError, Rules
from bygones.ledger.model.times import instant
from bygones.ledger.storage import rows
from support.command_line import refused, run
from support.ledger_driver import comparable
from support.ledger_faults import CRASH, LOST, Crash, Fault

NAMES = ("cem", "ana", "ben")
DAY = 86_400_000_000
SOON = (datetime.now(UTC) + timedelta(days=3)).replace(hour=0, minute=0, second=0, microsecond=0)
WANTED = [
    DateNeeds(instant(SOON) + i * DAY, True, ChooseK(dict.fromkeys(NAMES, 2.0)), unavailable=("dan",)) for i in range(3)
]


def publish(ledger, **more):
    """Three dates: events 5 to 10, with a turn of each agent in 6, 8 and 10."""
    return ledger.plans.publish(WANTED, **more)


def let_some_fall_ill(ledger):
    """The agents of the first two dates cannot take their turns any more."""
    for each in publish(ledger).dates[:2]:
        ledger.hold(each.turns[0].agent, at=SOON - timedelta(days=1))


def learn_late(ledger):
    """Four decisions, and something that should have been known before the second of them."""
    for day in range(3, 7):
        ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0), k=2), at=f"2026-01-{day:02}")
    ledger.record("ben", 30, at="2026-01-03T12:00")


def bring_a_table(ledger):
    """An import of events 5 and 6."""
    ledger.record_all([Entry("ana", 1, "2026-01-02"), Entry("ben", 2, "2026-01-02")], source="a table")


BATCHES = {
    "publish": (lambda _: None, publish),
    "replan": (let_some_fall_ill, lambda ledger, **more: ledger.plans.redecide(accept=True, **more)),
    "unplan": (publish, lambda ledger, **more: ledger.plans.void(SOON, SOON + timedelta(days=2), **more)),
    "swap": (publish, lambda ledger, **more: ledger.plans.swap(6, 8, **more)),
    "redecide": (
        learn_late,
        lambda ledger, **more: ledger.redecide("2026-01-04", "2026-01-06", accept=True, **more),
    ),
    "undo_import": (bring_a_table, lambda ledger, **more: ledger.undo_import(5, **more)),
}
"""What has to be there before, and the command."""


@pytest.fixture(params=BATCHES)
def batch(request, new_target):
    """Where a ledger is in which all is prepared for a command, and the command."""
    prepare, command = BATCHES[request.param]
    target = new_target()
    with Ledger.new(target, Rules(half_life="7d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        prepare(ledger)
    return target, command


def test_the_same_again_gives_the_same_answer_and_records_nothing(batch, monkeypatch):
    target, command = batch
    with Ledger.open(target) as ledger:
        before = ledger.n_events()
        first, events = comparable(command(ledger, key="my key")), ledger.with_key("my key")
        assert first
        assert [event.seq for event in events] == list(range(before + 1, ledger.n_events() + 1))
        assert [event.key for event in events if event.key is not None] == ["my key"]
        ledger.record("ana", 40)
        ledger.join("eve")
        changed = ledger.head()
        for clock in (rows.clock, lambda _: instant(SOON) + 30 * DAY):
            monkeypatch.setattr(rows, "clock", clock)
            assert comparable(command(ledger, key="my key")) == first
            assert (ledger.head(), ledger.with_key("my key")) == (changed, events)
    with Ledger.open(target) as ledger:
        assert ledger.verify().problems == ()


def test_something_else_with_the_same_key_is_refused(batch):
    target, command = batch
    with Ledger.open(target) as ledger:
        used = ledger.record("ana", 1, key="used").seq
        command(ledger, key="my key")
        head = ledger.head()
        with pytest.raises(ValueError, match=f"'used' was used for something else, event {used}: choose another key"):
            command(ledger, key="used")
        first = ledger.with_key("my key")[0].seq
        with pytest.raises(ValueError, match=f"'my key' was used for something else, event {first}: choose"):
            command(ledger, key="my key", note="another")
        with pytest.raises(ValueError, match=f"'my key' was used for something else, event {first}: choose"):
            ledger.record("ana", 1, key="my key")
        assert ledger.head() == head


def test_what_is_asked_for_at_once_is_recorded_once(batch):
    target, command = batch
    waiting = Barrier(3)

    def ask(_):
        with Ledger.open(target, timeout=60) as ledger:
            waiting.wait()
            return comparable(command(ledger, key="my key"))

    with ThreadPoolExecutor(3) as pool:
        first, *others = pool.map(ask, range(3))
    assert others == [first, first]
    with Ledger.open(target) as ledger:
        assert ledger.with_key("my key")[-1].seq == ledger.n_events()
        assert ledger.verify().problems == ()


def test_an_answer_that_was_lost_is_told_again(batch):
    target, command = batch
    fault = Fault(LOST, 0, None)
    with Ledger.open(target) as ledger, pytest.raises(LedgerError), fault.on(ledger):
        command(ledger, key="my key")
    with Ledger.open(target) as ledger:
        head, recorded = ledger.head(), ledger.with_key("my key")
        assert recorded[-1].seq == ledger.n_events()
        answer = comparable(command(ledger, key="my key"))
        assert answer == comparable(command(ledger, key="my key"))
        assert answer
        assert ledger.head() == head


@pytest.mark.soak
def test_whoever_dies_at_any_statement_can_ask_again(batch, new_path):
    target, command = batch
    statement, struck = 0, True
    with Ledger.open(target) as ledger:
        before = ledger.n_events()
    while struck:
        statement += 1
        fault = Fault(CRASH, statement, new_path)
        with Ledger.open(target) as ledger:
            try:
                with fault.on(ledger):
                    answer = comparable(command(ledger, key="my key"))
            except Crash:
                answer = None
        struck, target = fault.struck, fault.left or target
        with Ledger.open(target) as ledger:
            assert ledger.n_events() == before or len(ledger.with_key("my key")) == ledger.n_events() - before
    assert statement > 10
    assert answer
    with Ledger.open(target) as ledger:
        assert comparable(command(ledger, key="my key")) == answer
        assert len(ledger.with_key("my key")) == ledger.n_events() - before
        assert ledger.verify().problems == ()


def test_where_nothing_changes_the_key_is_still_free(new_path):
    with Ledger.new(new_path(), Rules(half_life="7d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        publish(ledger)
        ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)), at="2026-01-03")
        head = ledger.head()
        assert ledger.plans.redecide(accept=True, key="my key") == []
        assert ledger.redecide("2026-01-03", accept=True, key="my key") == []
        assert (ledger.head(), ledger.with_key("my key")) == (head, [])
        with pytest.raises(ValueError, match="key 'my key' is for something that is recorded, but this is only shown"):
            ledger.redecide("2026-01-03", key="my key")
        with pytest.raises(ValueError, match="key 'my key' is for something that is recorded, but this is only shown"):
            ledger.plans.redecide(key="my key")


def test_another_period_date_or_turn_is_something_else(new_path):
    with Ledger.new(new_path(), Rules(half_life="7d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        ledger.plans.publish(WANTED, key="plan")
        others = {
            "plan": [
                lambda key: ledger.plans.publish(WANTED[:2], key=key),
                lambda key: ledger.plans.publish([WANTED[0]._replace(unavailable=()), *WANTED[1:]], key=key),
                lambda key: ledger.plans.publish([WANTED[0]._replace(all_day=False), *WANTED[1:]], key=key),
            ],
            "swap": [
                lambda key: ledger.plans.swap(6, 10, key=key),
                lambda key: ledger.plans.swap(8, 6, key=key),
            ],
            "unplan": [
                lambda key: ledger.plans.void(SOON, key=key),
                lambda key: ledger.plans.void(None, SOON + timedelta(days=9), key=key),
            ],
        }
        ledger.plans.swap(6, 8, key="swap")
        ledger.plans.void(key="unplan")
        learn_late(ledger)
        ledger.redecide("2026-01-04", accept=True, key="redecide")
        others["redecide"] = [
            lambda key: ledger.redecide("2026-01-03", accept=True, key=key),
            lambda key: ledger.redecide("2026-01-04", "2026-01-06", accept=True, key=key),
        ]
        head = ledger.head()
        for key, asked in others.items():
            for ask in asked:
                with pytest.raises(ValueError, match="was used for something else"):
                    ask(key)
        assert ledger.head() == head


def test_what_somebody_starts_with_is_no_part_of_what_is_recorded_next(new_path, monkeypatch):
    with Ledger.new(new_path(), Rules(half_life="7d", newcomers="mean"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        bring_a_table(ledger)
        ledger.join("eve", at=SOON)
        monkeypatch.setattr(rows, "clock", lambda _: instant(SOON) + DAY)
        undone = ledger.undo_import(5, key="my key")
        assert [(event.seq, event.refers) for event in undone] == [(9, 5), (10, 6)]
        assert ledger.undo_import(5, key="my key") == undone
        assert ledger.event(8).note == "start when joining"


PEOPLE = "agent,need,available\nana,2,\nben,2,\ncem,2,\nzoe,2,no\ndan,2,no\n"


@pytest.fixture
def ward(new_path, tmp_path, monkeypatch):
    """A ledger with something to undo and to decide again, and the tables for commands about plans."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "ill.csv").write_text(PEOPLE.replace("ana,2,", "ana,2,no"), encoding="utf-8")
    days = "".join(f"{SOON + timedelta(days=7):%Y-%m-%d},{name},2\n" for name in NAMES)
    (tmp_path / "dates.csv").write_text(f"date,agent,need\n{days}", encoding="utf-8")
    target = new_path()
    with Ledger.new(target, Rules(half_life="7d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        bring_a_table(ledger)
        learn_late(ledger)
    return target


def commands(ward):
    first, until = f"{SOON:%Y-%m-%d}", f"{SOON + timedelta(days=3):%Y-%m-%d}"
    yield "plan", ward, "people.csv", "--from", first, "--until", until, "--publish"
    yield "decide", ward, "dates.csv", "--yes"
    with Ledger.open(ward) as ledger:
        one, other = (turn.seq for turn in ledger.plans.turns()[:2])
    yield "swap", ward, one, other
    yield "replan", ward, "--table", "ill.csv", "--accept"
    yield "unplan", ward
    yield "redecide", ward, "--from", "2026-01-04", "--accept"
    yield "undo-import", ward, 5


@pytest.mark.parametrize("shown", [(), ("--json",)], ids=["people", "programs"])
def test_the_commands_print_the_same_answer_again(ward, capsys, shown):
    for number, command in enumerate(commands(ward)):
        key = ("--key", f"k{number}")
        first = run(capsys, "ledger", *command, *key, *shown)
        with Ledger.open(ward) as ledger:
            head = ledger.head()
        assert run(capsys, "ledger", *command, *key, *shown) == first, command
        with Ledger.open(ward) as ledger:
            assert ledger.head() == head, command
        with pytest.raises(SystemExit):
            run(capsys, "ledger", *command, *key, "--note", "another")
        assert f"key 'k{number}' was used for something else" in capsys.readouterr().err
        assert not shown or json.loads(first)


def test_a_table_stands_for_the_dates_it_was_read_for(ward, capsys, monkeypatch):
    first, until = f"{SOON:%Y-%m-%d}", f"{SOON + timedelta(days=3):%Y-%m-%d}"
    run(capsys, "ledger", "plan", ward, "people.csv", "--from", first, "--until", until, "--publish")
    command = ("ledger", "replan", ward, "--table", "ill.csv", "--accept", "--key", "k")
    answer = run(capsys, *command)
    assert "reassigned" in answer
    monkeypatch.setattr(rows, "clock", lambda _: instant(SOON) + DAY + 1)
    assert run(capsys, *command) == answer
    with pytest.raises(SystemExit):
        run(capsys, *("people.csv" if word == "ill.csv" else word for word in command))
    assert "key 'k' was used for something else" in capsys.readouterr().err


def test_a_key_for_what_is_only_shown_is_refused(ward, capsys):
    words = ("people.csv", "--from", f"{SOON:%Y-%m-%d}", "--until", f"{SOON + timedelta(days=3):%Y-%m-%d}")
    for command in (("plan", ward, *words), ("replan", ward), ("redecide", ward, "--from", "2026-01-04")):
        assert "key 'k' is for something that is recorded" in refused(capsys, "ledger", *command, "--key", "k")
