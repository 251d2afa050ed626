"""The audit of a ledger says what the ledger says: holds, offsets, newcomers, departures, since when."""

import csv
import io
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.allocation import ChooseK
from bygones.audit import audit, read_history
from bygones.audit.measure.groups import next_steps
from bygones.ledger import Ledger, Rules
from bygones.ledger.actions import records
from bygones.ledger.exchange import write_events
from bygones.ledger.model.times import instant, iso
from bygones.ledger.plans.date_needs import DateNeeds


def agree(ledger, history, half_life, at):
    """That the audit and the ledger say the same."""
    stood, since = ledger.standing(at), ledger.owed_since(at)
    found = audit(history, [half_life], at=at, refine=False)
    rows = [stood.names.index(name) for name in found.names]
    assert sorted(stood.names) == list(found.names)
    assert [stood.status[row] for row in rows] == list(found.statuses)
    trajectory = found.standings[0]
    np.testing.assert_allclose(trajectory.remembered, stood.remembered[rows], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(trajectory.owed, stood.owed[rows], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.received, stood.received[rows], rtol=1e-12)
    for row, name in enumerate(found.names):
        assert found.since(trajectory, row) == since.get(name), name
    first = {event.agent: event.time for event, _ in reversed(list(ledger.events())) if event.kind == "join"}
    assert [found.joined(row) for row in range(len(found.names))] == [first[name] for name in found.names]


@pytest.fixture
def team(tmp_path):
    with Ledger.new(tmp_path / "team.db", Rules(half_life="7d", newcomers="mean"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        ledger.record("ana", 10, at="2026-01-02")
        ledger.record("ben", 4, at="2026-01-03T12:00")
        ledger.hold("ben", at="2026-01-05")
        slip = ledger.record("cem", 6, at="2026-01-06")
        ledger.correct(slip.seq, 7)
        ledger.offset("cem", -2, at="2026-01-08")
        ledger.join("dana", at="2026-01-10T09:30", entitlement=0.5)
        ledger.resume("ben", at="2026-01-12")
        ledger.record("dana", 3, at="2026-01-13")
        ledger.leave("ana", at="2026-01-15")
        ledger.record("ben", 2, at="2026-01-16")
        ledger.join("ana", at="2026-01-18")
        yield ledger, tmp_path / "team.db"


@pytest.mark.parametrize("at", ["2026-01-04", "2026-01-07", "2026-01-11", "2026-01-14", "2026-01-17", "2026-01-25"])
def test_the_audit_agrees_with_the_ledger_at_its_own_half_life(team, at, tmp_path):
    ledger, path = team
    for source in (path, exported(ledger, tmp_path / "events.csv")):
        with read_history(source) as history:
            agree(ledger, history, "7d", at)


def exported(ledger, path):
    text = io.StringIO()
    write_events(text, ledger.events())
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def test_what_is_void_does_not_count(team, tmp_path):
    ledger, path = team
    slip = ledger.record("ben", 90, at="2026-01-19")
    ledger.correct(slip.seq, 80)
    decision, *_ = ledger.accept(ledger.propose(ChooseK(dict.fromkeys(("ana", "ben"), 5.0)), at="2026-01-20"))
    hold = ledger.hold("cem", at="2026-01-20")
    rules = ledger.change_rules(at="2026-01-20", half_life="1d", entitlements={"ben": 9})
    offset = ledger.offset("cem", 2, at="2026-01-20")
    voids = [ledger.void(event.seq) for event in (slip, decision, hold, rules, offset)]
    ledger.void(voids[-1].seq)
    for source in (path, exported(ledger, tmp_path / "events.csv")):
        with read_history(source) as history:
            agree(ledger, history, "7d", "2026-01-25")
            assert audit(history, ["7d"], at="2026-01-25", refine=False).received.sum() == 26


def test_of_several_corrections_and_versions_the_last_counts(team, tmp_path, monkeypatch):
    ledger, path = team
    for check in ("_check_can_be_put_back", "_check_corrections"):  # earlier versions recorded such voids
        monkeypatch.setattr(records, check, lambda *_: None)
    slip = ledger.record("ben", 80, at="2026-01-19")
    first = ledger.correct(slip.seq, 8)
    ledger.correct(slip.seq, 20)
    ledger.void(first.seq)
    decision, *received = ledger.accept(
        ledger.propose(ChooseK(dict.fromkeys(("ana", "cem"), 5.0), k=1), at="2026-01-20")
    )
    ledger.record(received[0].agent, 50, at="2026-01-19")
    assert ledger.redecide("2026-01-20", accept=True)
    voids = {event.refers: event.seq for event, _ in ledger.events("void")}
    (again,) = ledger.decisions_at("2026-01-20")
    undone = ledger.void(again)
    ledger.void(voids[decision.seq])
    ledger.void(undone.seq)
    assert ledger.decisions_at("2026-01-20") == [again]
    for source in (path, exported(ledger, tmp_path / "events.csv")):
        with read_history(source) as history:
            agree(ledger, history, "7d", "2026-01-25")
            assert audit(history, ["7d"], at="2026-01-25", refine=False).received.sum() == 26 + 20 + 5 + 50


def test_an_export_in_which_events_refer_to_each_other_in_a_circle_is_read(team, tmp_path):
    ledger, _ = team
    path = exported(ledger, tmp_path / "events.csv")
    (header, *rows), n = csv.reader(path.read_text(encoding="utf-8").splitlines()), ledger.n_events()
    refers, number = header.index("refers"), header.index("seq")
    slip = next(row for row in rows if row[header.index("kind")] == "correction")
    for seq, other in ((n + 1, n + 2), (n + 2, n + 1), (n + 3, n + 3)):
        rows.append([*slip])
        rows[-1][number], rows[-1][refers] = str(seq), str(other)
    rows[1][refers] = rows[-1][number]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    with read_history(path) as history:
        agree(ledger, history, "7d", "2026-01-25")
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([str(n + 4), *slip[1:-4], "{", *slip[-3:]])
    with pytest.raises(ValueError, match=f"the details of event {n + 4} are damaged"):
        read_history(path)


def test_what_lies_ahead_waits(team):
    ledger, path = team
    ledger.hold("cem", at=datetime.now(UTC) + timedelta(days=30))
    tomorrow = instant(datetime.now(UTC) + timedelta(days=1))
    ledger.plans.publish([DateNeeds(tomorrow, False, ChooseK({"ana": 50.0}))])
    with read_history(path) as history:
        found = audit(history, ["7d"], refine=False)
        assert found.statuses == ("present",) * 4
        assert found.received.sum() == ledger.standing().received.sum() == 26


def test_days_are_those_of_the_ledgers_time_zone(team, tmp_path):
    ledger, path = team
    ledger.change_rules(time_zone="Asia/Tokyo")
    for source in (path, exported(ledger, tmp_path / "events.csv")):
        with read_history(source) as history:
            assert history.clock.zone == "Asia/Tokyo"
            assert audit(history, ["7d"], at="2026-01-25", refine=False).to_dict()["time_zone"] == "Asia/Tokyo"
        with read_history(source, time_zone="UTC") as history:
            assert history.clock.zone == "UTC"


def test_under_another_half_life_it_is_the_ledger_that_was_kept_with_it(team, tmp_path):
    ledger, path = team
    events = [event for event, _ in ledger.events()]
    with Ledger.new(tmp_path / "other.db", Rules(half_life="30d", newcomers="mean"), began="2026-01-01") as other:
        other.join_all(["ana", "ben", "cem"], at="2026-01-01")
        for event in events:
            when = iso(event.time)
            if event.kind == "received":
                other.record(event.agent, event.amount, at=when)
            elif event.kind == "offset":
                other.offset(event.agent, event.amount, at=when)
            elif event.kind in ("hold", "resume", "leave"):
                getattr(other, event.kind)(event.agent, at=when)
            elif event.kind == "correction":
                other.correct(len(list(other.events())), 7)
            elif event.kind == "join" and event.agent == "dana":
                other.join("dana", at=when, entitlement=0.5)
            elif event.kind == "join" and event.time > instant("2026-01-02"):
                other.join(event.agent, at=when)
        with read_history(path) as history:
            agree(other, history, "30d", "2026-01-25")


def test_a_start_that_no_rule_gave_stays(tmp_path):
    with Ledger.new(tmp_path / "team.db", Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 10, at="2026-01-02")
        ledger.join("cem", at="2026-01-03", newcomers=3)
    with read_history(tmp_path / "team.db") as history:
        kept = audit(history, ["inf"], refine=False)
        zero = audit(history, ["inf"], newcomers="zero", refine=False)
    assert kept.standings[0].remembered.tolist() == [10, 0, 3]
    assert zero.standings[0].remembered.tolist() == [10, 0, 0]


def test_what_the_audit_says_of_a_ledger(team):
    _, path = team
    with read_history(path) as history:
        found = audit(history, at="2026-01-17")
        with pytest.raises(ValueError, match="gone_after does not apply to a ledger"):
            audit(history, gone_after="7d")
        with pytest.raises(ValueError, match="got 'zoe', who has not joined"):
            audit(history, entitlements=dict.fromkeys(["ana", "ben", "cem", "dana", "zoe"], 1.0))
    assert "7d" in [found.clock.length_text(stood.half_life) for stood in found.standings]
    assert dict(zip(found.names, found.statuses, strict=True))["ana"] == "away"
    assert "Its own half-life is 7d." in found.notes[1]
    assert found.since_note() == "Owed since: the moment at which the agent became owed, as in the ledger."
    agents = found.to_dict()["half_lives"][0]["agents"]
    assert {each["agent"]: each["joined"] for each in agents}["dana"] == "2026-01-10T09:30:00Z"


def test_the_audit_of_a_ledger_has_its_unit(tmp_path):
    with Ledger.new(tmp_path / "ward.db", Rules(half_life="7d", unit="h", kind="burden"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 10, at="2026-01-02")
    with read_history(tmp_path / "ward.db") as history:
        assert audit(history, ["inf"]).unit == "h"
        assert audit(history, ["inf"], unit="hours").unit == "hours"
        assert next_steps(audit(history, ["inf"])) == [
            "With perfect recall, the next turn is for ben (due 5 h). ana is furthest ahead, and level again once the "
            "others have worked another 10 h."
        ]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["received", "received", "offset", "hold", "resume", "leave", "join"]),
        st.sampled_from(["ana", "ben", "cem"]),
        st.integers(1, 300),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=15,
)


@settings(max_examples=8)
@given(STEPS, st.sampled_from(["zero", "mean", "entitled share", "2"]), st.booleans())
def test_any_ledger_agrees_with_its_audit(tmp_path_factory, steps, rule, stops):
    path = tmp_path_factory.mktemp("ledger") / "team.db"
    rules = Rules(half_life="7d", newcomers=rule, hold_stops_clock=stops)
    with Ledger.new(path, rules, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        for kind, agent, hour, amount in sorted(steps, key=lambda step: step[2]):
            at = iso(instant("2026-01-01") + hour * 3_600_000_000)
            try:
                if kind == "received":
                    ledger.record(agent, amount, at=at)
                elif kind == "offset":
                    ledger.offset(agent, amount, at=at)
                else:
                    getattr(ledger, kind)(agent, at=at)
            except ValueError:
                continue  # the ledger refuses what makes no sense
        with read_history(path) as history:
            agree(ledger, history, "7d", "2026-01-20")


def test_a_ledger_with_another_memory_is_audited_under_half_lives_and_the_audit_says_how_it_remembers(tmp_path):
    path, rules = tmp_path / "quota.db", Rules(memory="reset(every=month)", cap=6, newcomers="mean")
    with Ledger.new(path, rules, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
        ledger.record("ben", 2, at="2026-02-03")
        ledger.join("cem", at="2026-02-03")
        ledger.record("cem", 1, at="2026-02-05")
        found = audit(read_history(path), ["inf"], at="2026-02-05")
    assert "Its own memory is reset every month, at most 6." in " ".join(found.notes)
    # Under perfect recall cem would have started with the mean of 8 and 2.
    assert dict(zip(found.names, found.standings[0].remembered, strict=True)) == {"ana": 8, "ben": 2, "cem": 6}
