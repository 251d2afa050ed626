"""The same again with the same key records nothing, whatever it is; something else with the same key is refused."""

import json

import pytest

from bygones.allocation import ChooseK
from bygones.ledger import Entry, Ledger, Rules
from support.command_line import refused, run

AT = "2026-01-02"

WRITES = {
    "join": lambda ledger, key: ledger.join("dana", at=AT, entitlement=2.0, key=key),
    "join_all": lambda ledger, key: ledger.join_all(["dana", "elif"], at=AT, key=key),
    "leave": lambda ledger, key: ledger.leave("ana", at=AT, key=key),
    "hold": lambda ledger, key: ledger.hold("ana", at=AT, key=key),
    "resume": lambda ledger, key: ledger.resume("cem", at="2026-01-03", key=key),
    "record": lambda ledger, key: ledger.record("ana", 2, at=AT, key=key),
    "record now": lambda ledger, key: ledger.record("ana", 2, key=key),
    "record_all": lambda ledger, key: ledger.record_all([Entry("ana", 1, AT), Entry("ben", 2)], key=key),
    "record and join": lambda ledger, key: ledger.record_all([Entry("zoe", 1, AT)], join=True, key=key),
    "offset": lambda ledger, key: ledger.offset("ana", -2, at=AT, key=key),
    "correct": lambda ledger, key: ledger.correct(6, 1.0, key=key),
    "void": lambda ledger, key: ledger.void(6, note="wrong", key=key),
    "rules": lambda ledger, key: ledger.change_rules(half_life="60d", at="2026-03-01", key=key),
}


@pytest.fixture
def ledger(new_target):
    """Three agents, one of them on hold, and one event to correct."""
    with Ledger.new(new_target(), Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        ledger.hold("cem", at="2026-01-01")
        ledger.record("ben", 2, at="2026-01-01")
        yield ledger


@pytest.mark.parametrize("name", WRITES)
def test_the_same_again_returns_the_original_and_records_nothing(ledger, name):
    first = WRITES[name](ledger, "my key")
    head, standing = ledger.head(), ledger.standing("2026-01-04").to_dict()
    assert WRITES[name](ledger, "my key") == first
    assert ledger.head() == head
    assert ledger.standing("2026-01-04").to_dict() == standing
    assert ledger.with_key("my key")[0].key == "my key"
    assert ledger.verify().ok


@pytest.mark.parametrize("name", WRITES)
def test_something_else_with_the_same_key_is_refused(ledger, name):
    ledger.record("ben", 7, at=AT, key="my key")
    head = ledger.head()
    with pytest.raises(ValueError, match="'my key' was used for something else, event 7: choose another key"):
        WRITES[name](ledger, "my key")
    assert ledger.head() == head


def test_without_a_key_the_same_is_recorded_twice(ledger):
    one, two = (ledger.record("ana", 2, at=AT) for _ in range(2))
    assert two.seq == one.seq + 1
    assert ledger.with_key("unused") == []


def test_another_amount_time_or_note_is_something_else(ledger):
    ledger.record("ana", 2, at=AT, note="night", key="k")
    for change in ({"amount": 3}, {"at": "2026-01-03"}, {"note": "day"}, {"agent": "ben"}):
        wanted = {"agent": "ana", "amount": 2, "at": AT, "note": "night", **change}
        with pytest.raises(ValueError, match="something else"):
            ledger.record(**wanted, key="k")


ASKED = {
    "join": ({"agent": "dana", "entitlement": 2.0}, {"agent": "elif", "entitlement": 3.0, "newcomers": 5.0}),
    "leave": ({"agent": "ana"}, {"agent": "ben"}),
    "hold": ({"agent": "ana"}, {"agent": "ben"}),
    "resume": ({"agent": "cem"}, {"agent": "ana"}),
    "record": ({"agent": "ana", "amount": 2}, {"agent": "ben", "amount": 3}),
    "offset": ({"agent": "ana", "amount": -2}, {"agent": "ben", "amount": 2}),
    "correct": ({"seq": 6, "amount": 1.0}, {"seq": 7, "amount": 0.0}),
    "void": ({"seq": 6}, {"seq": 5}),
    "change_rules": ({"half_life": "60d"}, {"half_life": "61d", "welfare": "nash"}),
}


@pytest.mark.parametrize("name", ASKED)
def test_any_other_argument_is_something_else(ledger, name):
    asked, others = ASKED[name]
    if name not in ("correct", "void"):  # which are at the time of the event
        asked, others = {**asked, "at": "2026-01-03"}, {**others, "at": "2026-01-04"}
    write = getattr(ledger, name)
    write(**asked, note="as agreed", key="k")
    for change in (*({argument: value} for argument, value in others.items()), {"note": "by mistake"}):
        with pytest.raises(ValueError, match="'k' was used for something else"):
            write(**{"note": "as agreed", **asked, **change}, key="k")


def test_a_decision_is_made_once(ledger):
    request = ChooseK({"ana": 1.0, "ben": 1.0})
    first = ledger.decide(request, at=AT, key="monday")
    again = ledger.decide(request, at=AT, key="monday")
    assert (again.gets(), again.reasons(), again.utilities) == (first.gets(), first.reasons(), first.utilities)
    assert again.to_dict() == first.to_dict()
    assert ledger.verify().ok
    with pytest.raises(ValueError, match="something else"):
        ledger.decide(ChooseK({"ana": 2.0, "ben": 1.0}), at=AT, key="monday")


def test_a_proposal_is_accepted_once(ledger):
    proposal = ledger.propose(ChooseK({"ana": 1.0, "ben": 1.0}), at=AT)
    first = ledger.accept(proposal, key="monday")
    assert ledger.accept(proposal, key="monday") == first


def test_entries_with_keys_of_their_own_are_recorded_once_each(ledger):
    first = ledger.record_all([Entry("ana", 1, AT, key="a"), Entry("ben", 2, AT, key="b")])
    second = ledger.record_all(
        [Entry("ben", 2, AT, key="b"), Entry("ana", 3, AT, key="c"), Entry("ana", 1, AT, key="a")]
    )
    assert (second[0], second[2]) == (first[1], first[0])
    assert second[1].seq == first[-1].seq + 1
    with pytest.raises(ValueError, match="key must be used only once, got 'd' twice"):
        ledger.record_all([Entry("ana", 1, AT, key="d"), Entry("ana", 1, AT, key="d")])
    with pytest.raises(ValueError, match="not both"):
        ledger.record_all([Entry("ana", 1, AT, key="d")], key="all")
    with pytest.raises(ValueError, match="key must not be empty"):
        ledger.record("ana", 1, key=" ")


def test_the_command_gives_the_same_answer_again(team, capsys):
    command = ("ledger", "record", team.name, "ana", "2", "--at", AT, "--key", "k")
    first = run(capsys, *command, "--json")
    run_again = run(capsys, *command, "--json")
    assert json.loads(run_again) == json.loads(first)
    assert "something else" in refused_after_a_note(capsys, "ledger", "record", team.name, "ana", "3", "--key", "k")


def refused_after_a_note(capsys, *arguments):
    """The refusal, which comes after the note that the key was used before."""
    with pytest.raises(SystemExit) as stop:
        run(capsys, *arguments)
    assert stop.value.code == 2
    note, refusal = capsys.readouterr().err.splitlines()
    assert note.startswith("The key 'k' was used before, for event ")
    return refusal


def test_a_key_for_nothing_is_refused(team, capsys):
    assert "key must not be empty" in refused(capsys, "ledger", "hold", team.name, "ana", "--key", "")
