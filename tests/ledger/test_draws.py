"""Draws cannot be repeated until somebody likes them, and anybody can check them."""

import hashlib
import itertools
import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from bygones.allocation import ChooseK, Divide
from bygones.ledger import DateNeeds, Ledger, LedgerError, Rules, StaleProposalError, check_draw
from bygones.ledger.actions import remade
from bygones.ledger.actions.decisions import proposal, record
from bygones.ledger.model.draws import DAYS, LENGTH, Draw, hashed, number_of_day, seed_of
from bygones.ledger.model.times import day, instant
from bygones.ledger.plans.planned_dates import record_date
from bygones.ledger.storage import schema, timeline
from support.command_line import run
from support.forgery import rewrite

MINUTE, DAY = 60_000_000, 86_400_000_000
EVERYBODY = ChooseK({"ana": 1, "ben": 1, "cem": 1})


@pytest.fixture(autouse=True)
def known_secrets(monkeypatch):
    """The same secrets in every run of the tests."""
    numbers = itertools.count()
    monkeypatch.setattr("secrets.token_hex", lambda n: hashlib.sha256(b"%d" % next(numbers)).hexdigest()[: 2 * n])


def test_recording_nothing_does_not_draw_again(team):
    first = team.propose(EVERYBODY, at="2026-02-01").gets()
    for _ in range(12):
        team.record("ana", 0, at="2026-01-05")
        assert team.propose(EVERYBODY, at="2026-02-01").gets() == first
    team.hold("cem", at="2026-01-06")
    team.resume("cem", at="2026-01-06")
    assert team.decide(EVERYBODY, at="2026-02-01").gets() == first


def test_alternating_proposals_and_records_wins_no_more_often_than_chance(new_path):
    """As in the attack: propose, record 0 and propose again, until the target would be served."""
    won = 0
    for _ in range(20):
        with Ledger.new(new_path(), Rules(), began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
            for _ in range(8):
                if "ana" in ledger.propose(EVERYBODY, at="2026-01-02").gets():
                    won += 1
                    break
                ledger.record("ana", 0, at="2026-01-01")
    assert won <= 10  # 7 of 20 by chance; with a new draw each time 19


def test_each_decision_has_a_draw_of_its_own(team):
    served = {name for _ in range(30) for name in _drawn(team)}
    assert served == {"ana", "ben", "cem"}


def _drawn(team):
    proposal = team.decide(EVERYBODY, at="2026-02-01")
    event = team.n_events()
    team.correct(event, 0.0)
    return proposal.gets()


def test_a_decision_reveals_the_seed_before_the_one_that_is_known(team):
    first, _ = team.accept(team.propose(EVERYBODY, at="2026-01-02"))
    second, _ = team.accept(team.propose(EVERYBODY, at="2026-01-03"))
    assert [event.details["draw"]["number"] for event in (first, second)] == [1, 2]
    seed = second.details["draw"]["seed"]
    assert hashlib.sha256(seed.encode()).hexdigest() == first.details["draw"]["seed"]
    assert hashed(seed, 2) == hashed(first.details["draw"]["seed"]) == team.event(1).details["draw"]["chain"]
    assert check_draw(first, team.event(1))
    assert check_draw(second, team.event(1))
    assert not check_draw(second, first)
    assert not check_draw(team.event(2), team.event(1))


def test_a_proposal_shows_the_commitment_and_not_the_seed(team):
    shown = json.dumps(team.propose(EVERYBODY, at="2026-01-02").to_dict())
    assert team.event(1).details["draw"]["chain"] in shown
    decision, _ = team.accept(team.propose(EVERYBODY, at="2026-01-02"))
    assert decision.details["draw"]["seed"] not in shown


def test_a_proposal_of_another_seed_is_stale(team):
    proposal = team.propose(EVERYBODY, at="2026-01-02")
    with pytest.raises(StaleProposalError, match="decide again"):
        team.accept(replace(proposal, draw=Draw("another", 1)))


def test_explain_says_how_to_check_the_draw(team, capsys):
    decision, _ = team.accept(team.propose(EVERYBODY, at="2026-01-02"))
    printed = run(capsys, "ledger", "explain", team.name, decision.seq)
    seed, published = decision.details["draw"]["seed"], team.event(1).details["draw"]["chain"]
    assert f"Draw 1 was made with the seed {seed}." in printed
    assert f"Its SHA-256 is {published}, as published in event 1." in printed


def test_the_lots_of_agents_do_not_depend_on_each_other():
    draw = Draw("ab" * 32, 1)
    names = [f"agent {i}" for i in range(20)]
    order = [names[i] for i in draw.order(names)]
    fewer = [name for name in reversed(names) if name not in ("agent 3", "agent 7")]
    assert [fewer[i] for i in draw.order(fewer)] == [name for name in order if name in fewer]
    assert [names[i] for i in draw._replace(day="2026-12-24").order(names)] != order


def test_to_make_a_decision_void_and_decide_again_draws_nothing_new(new_path):
    """As in the attack: void the decision and decide again, until the target is served."""
    for _ in range(15):
        with Ledger.new(new_path(), Rules(), began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
            first = ledger.decide(EVERYBODY, at="2026-01-02").gets()
            for _ in range(3):
                ledger.void(ledger.n_events() - 1)
                ledger.record("ben", 0, at="2026-01-02")
                assert ledger.decide(EVERYBODY, at="2026-01-02").gets() == first
            assert ledger.decide(EVERYBODY, at="2026-01-03").draw.number == 2
            assert ledger.verify().ok


def planned(ledger, *times, needs=None):
    needs = needs or EVERYBODY.to_dict()["needs"]
    return [turn.agent for date in ledger.plans.draft([DateNeeds(at, False, ChooseK(needs)) for at in times]).dates
            for turn in date.turns]  # fmt: skip


def test_to_move_a_date_by_minutes_draws_nothing_new(new_path):
    """As in the attack: draft the night at 20:00, 20:01 and so on, until somebody is spared."""
    night = instant(datetime.now(UTC).replace(hour=20, minute=0, second=0, microsecond=0)) + 3 * DAY
    with Ledger.new(new_path(), Rules(half_life="inf"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        first = planned(ledger, night)
        assert all(planned(ledger, night + minute * MINUTE) == first for minute in range(1, 40))
        assert len({tuple(planned(ledger, night + day * DAY)) for day in range(20)}) == 3, "every day has a draw"
        ledger.plans.publish([DateNeeds(night, False, EVERYBODY)])
        for later in range(3):
            ledger.plans.void()
            ledger.plans.publish([DateNeeds(night + later * MINUTE, False, EVERYBODY)])
            assert [turn.agent for turn in ledger.plans.turns()] == first
        assert ledger.verify().problems == ()


def test_to_make_decisions_void_in_another_order_exchanges_no_draws(team):
    morning, evening = EVERYBODY, ChooseK({"ana": 2, "ben": 2, "cem": 2})
    requests = {"2026-01-02": morning, "2026-01-03": evening}
    events = {at: team.accept(team.propose(request, at=at))[0] for at, request in requests.items()}
    numbers = {at: event.details["draw"]["number"] for at, event in events.items()}
    team.void(events["2026-01-02"].seq)
    assert team.propose(morning, at="2026-01-03").draw.number == numbers["2026-01-02"], "of the same request"
    assert team.propose(Divide(3.0, {"ana": 1.0}), at="2026-01-04").draw.number == 3, "of neither"
    team.void(events["2026-01-03"].seq)
    for at, request in [("2026-01-03", evening), ("2026-01-03T12:00", morning)]:
        assert team.decide(request, at=at).draw.number == numbers[at[:10] if request is evening else "2026-01-02"]
    assert team.verify().problems == ()


def test_a_void_decision_does_not_come_back_while_another_has_its_draw(team):
    first = team.accept(team.propose(EVERYBODY, at="2026-01-02"))[0]
    void = team.void(first.seq)
    again = team.accept(team.propose(ChooseK({"ana": 2, "ben": 1}), at="2026-01-02T08:00"))[0]
    with pytest.raises(ValueError, match=f"event {first.seq} was decided again as event {again.seq}"):
        team.void(void.seq)
    team.void(again.seq)
    team.void(void.seq)
    assert team.void_since(first.seq) is None
    assert team.verify().problems == ()


def in_days(days):
    return instant(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)) + days * DAY


def test_neither_dates_planned_before_nor_decisions_change_the_draw_of_a_date(team):
    dates = [in_days(days) for days in (3, 9, 6)]
    draws = [team.plans.draft([DateNeeds(at, False, EVERYBODY)]).dates[0].proposal.draw for at in dates]
    team.decide(ChooseK({"ana": 0, "ben": 0}), at="2026-01-02")
    for at, draw in reversed(list(zip(dates, draws, strict=True))):
        assert team.plans.publish([DateNeeds(at, False, EVERYBODY)]).dates[0].proposal.draw == draw
    assert team.verify().problems == ()
    for plan in (event for event, _ in team.events() if event.kind == "plan"):
        assert check_draw(plan, team.committing(plan))


def test_explain_says_how_to_check_the_draw_of_a_date(team, capsys):
    team.plans.publish([DateNeeds(in_days(3), False, EVERYBODY)])
    (plan,) = [event for event, _ in team.events() if event.kind == "plan"]
    printed = run(capsys, "ledger", "explain", team.name, plan.seq)
    drawn = plan.details["draw"]
    assert f"The draw of {drawn['day']} was made with the seed {drawn['seed']}." in printed
    assert f"times with SHA-256, it is {team.event(1).details['draw']['days']}, as published in event 1." in printed


ALONE = ChooseK({"ana": 1.0})


def forged(ledger, wanted, **changes):
    """The problems that are found once an event has another draw."""
    path = ledger.name
    rewrite(path, lambda event: event._replace(details=event.details | changes) if event.seq == wanted else event)
    return ledger.verify().problems


def test_verify_finds_a_date_with_the_draw_of_another(team):
    for days in (3, 4):
        team.plans.publish([DateNeeds(in_days(days), False, ALONE)])
    first, second = (event for event, _ in team.events() if event.kind == "plan")
    (problem,) = forged(team, second.seq, draw=first.details["draw"])
    assert problem.startswith(f"decision {second.seq} has the draw of ")


def test_verify_finds_a_date_with_another_seed(team):
    team.plans.publish([DateNeeds(in_days(3), False, ALONE)])
    plan = next(event for event, _ in team.events() if event.kind == "plan")
    drawn = plan.details["draw"]
    for forgery, problem in [
        (drawn | {"seed": "0" * 64}, f"the seed of decision {plan.seq} is not the one published for {drawn['day']}"),
        ({}, f"decision {plan.seq} does not reveal the seed of its day"),
    ]:
        with pytest.raises(LedgerError, match=problem):
            forged(team, plan.seq, draw=forgery)


def decided_again(team):
    """A decision, the one made in its place, and one of another day."""
    team.record("ben", 3, at="2026-01-02")
    first = team.accept(team.propose(ChooseK({"ana": 1.0, "ben": 1.0}), at="2026-01-03"))[0]
    other = team.accept(team.propose(ChooseK({"cem": 1.0}), at="2026-01-04"))[0]
    team.record("ana", 50, at="2026-01-02T12:00")
    assert team.redecide("2026-01-03", "2026-01-04", accept=True)
    again = next(event for event, _ in team.events() if "redecides" in (event.details or {}))
    assert team.verify().problems == ()
    return first, again, other


def test_verify_finds_a_decision_made_again_with_another_draw(team):
    first, again, other = decided_again(team)
    problem = f"decision {again.seq} has another draw than decision {first.seq}, which it replaces"
    assert problem in forged(team, again.seq, draw=other.details["draw"])


def test_verify_finds_a_decision_in_place_of_another_one_that_it_does_not_replace(team):
    _, again, other = decided_again(team)
    problem = f"decision {again.seq} is not decision {other.seq} made again, but another one"
    assert problem in forged(team, again.seq, draw=other.details["draw"], redecides=other.seq)


def test_verify_finds_another_draw_of_a_decision_that_it_cannot_repeat(team):
    team.decide(ALONE, at="2026-01-02")
    team.decide(ALONE, at="2026-01-03")
    first, second = (event for event, _ in team.events() if event.kind == "decision")
    problem = f"decision {second.seq} has draw 1, but it was the turn of 2"
    assert problem in forged(team, second.seq, draw=first.details["draw"], optimal=False)


@pytest.mark.parametrize("kind", ["decision", "plan"])
def test_verify_finds_a_decision_in_place_of_one_that_still_counted(team, kind):
    """Made from a standing with the first, it serves someone else."""
    if kind == "plan":
        team.plans.publish([DateNeeds(in_days(3), False, EVERYBODY)])
    else:
        team.decide(EVERYBODY, at="2026-01-02")
    first = next(event for event, _ in team.events() if event.kind == kind)

    def act(tx):
        stood = timeline.standing(tx.connection, tx.book, first.time)
        draw = remade.draw_of(tx.connection, first)
        again = proposal(tx.connection, stood, EVERYBODY, int(tx.head.head), draw, [first.seq])
        details = again.details() | {"draw": first.details["draw"], "redecides": first.seq, "all_day": False}
        if kind == "plan":
            record_date(tx, first.time, details | {"turns": []}, again.given)
            return tx.next - 2
        return record(tx, first.time, again, details, "")[0].seq

    seq = team._recorder.write(act)
    assert f"decision {seq} takes the place of decision {first.seq}, which was not void" in team.verify().problems


def crafted(ledger, kind="received", secret="0" * 64, number=LENGTH, **details):
    """An event by which a person who can append and change the secret would choose all further draws."""

    def act(tx):
        row = tx.connection.execute(sa.select(schema.draws)).one()
        drawn = {"number": number, "seed": seed_of(row.seed, 1), "chain": seed_of(secret, 0), "before": number}
        tx.connection.execute(schema.draws.update().values(seed=secret, before=number, event=tx.next))
        agent = {} if kind in ("decision", "rules") else {"agent": "ana", "amount": 0.0}
        return tx.append(kind, instant("2026-01-02"), **agent, details={"draw": drawn, **details})

    return ledger._recorder.write(act)


def test_verify_finds_a_seed_exchanged_by_an_event_that_is_no_decision(team):
    event = crafted(team)
    problems = team.verify().problems
    assert problems[0] == f"event {event.seq} reveals a seed, but it is no decision"


@pytest.mark.parametrize(("number", "problem"), [
    (LENGTH, "reveals draw 10000 of the chain, but 1 is the next"),
    (1, "begins another chain of seeds, but that of event"),
])  # fmt: skip
def test_verify_finds_a_seed_exchanged_by_a_decision(team, number, problem):
    details = team.propose(ALONE, at="2026-01-02").details() | {"given": []}
    crafted(team, "decision", number=number, **details)
    assert any(problem in each for each in team.verify().problems)


def test_verify_finds_that_the_days_were_exchanged(team):
    def act(tx):
        tx.connection.execute(schema.draws.update().values(days="0" * 64))
        return tx.append("rules", instant("2026-01-02"), details={"draw": {"days": seed_of("0" * 64, 0, DAYS)}})

    event = team._recorder.write(act)
    assert team.verify().problems == (
        f"event {event.seq} begins another chain of days",
        "the seeds of the coming days do not fit the published chain",
    )


def test_a_day_is_hashed_in_iso_form():
    assert day(instant("0999-12-31T23:30"), "UTC") == "0999-12-31"
    assert number_of_day("2020-01-01") == 1
    assert number_of_day("2119-12-31") == DAYS
    for beyond in ("2019-12-31", "2120-01-01"):
        with pytest.raises(ValueError, match="must be from the year 2020 to 2119"):
            number_of_day(beyond)


def test_a_chain_that_is_used_up_publishes_the_next(team, monkeypatch):
    monkeypatch.setattr("bygones.ledger.model.draws.LENGTH", 3)
    monkeypatch.setattr("bygones.ledger.storage.draw_table.LENGTH", 3)
    path = team.name.replace(".db", "-short.db")
    with Ledger.new(path, Rules(), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        decisions = [ledger.accept(ledger.propose(EVERYBODY, at=f"2026-01-{day:02}"))[0] for day in range(2, 10)]
        assert [event.details["draw"]["number"] for event in decisions] == list(range(1, 9))
        assert [event.details["draw"].get("before") for event in decisions if "chain" in event.details["draw"]] == [
            3,
            6,
        ]
        assert ledger.verify().problems == ()
        assert all(check_draw(event, ledger.committing(event)) for event in decisions)


def test_the_chain_is_that_of_the_secret():
    assert seed_of("ab" * 32, LENGTH) == "ab" * 32
    assert hashed(seed_of("ab" * 32, 8), 8) == seed_of("ab" * 32, 0)
    for beyond in (-1, LENGTH + 1, 2**63):  # the secret itself, or hashes for ever
        with pytest.raises(ValueError, match="a chain of seeds has draws 0 to 10000"):
            seed_of("ab" * 32, beyond)


@pytest.mark.parametrize("change", ["event = NULL", "event = NULL, seed = '0'", "before = 1", "before = -1"])
def test_verify_finds_that_the_seed_is_not_said_to_be_published(team, change):
    team.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-02")
    (first,) = [event for event, _ in team.events() if event.kind == "decision"]
    connection = sqlite3.connect(team.name)
    connection.execute(f"UPDATE draws SET {change}")
    connection.commit()
    connection.close()
    assert team.verify().problems[0].startswith("the seed of the next draw is not the one that event")
    if "event" in change:
        with pytest.raises(ValueError, match="the table draws lacks the event that published draw 1"):
            team.committing(first)


@pytest.mark.parametrize("seed", ["0" * 64, "not even a number"])
def test_verify_finds_a_seed_that_was_exchanged(team, seed):
    connection = sqlite3.connect(team.name)
    connection.execute("UPDATE draws SET seed = ?", [seed])
    connection.commit()
    connection.close()
    assert team.verify().problems == ("the seed of the next draw is not the one that event 1 committed to",)


def test_verify_finds_a_decision_with_another_seed_than_was_committed_to(team):
    connection = sqlite3.connect(team.name)
    connection.execute("UPDATE draws SET seed = ?", ["0" * 64])
    connection.commit()
    connection.close()
    team.decide(EVERYBODY, at="2026-01-02")
    assert team.verify().problems == ("the seed of decision 5 is not the one that event 1 committed to",)


def test_verify_finds_a_second_commitment_before_the_first_was_revealed(team):
    connection = sqlite3.connect(team.name)
    connection.execute("UPDATE draws SET event = NULL, seed = ?", ["0" * 64])
    connection.commit()
    connection.close()
    team.record("ana", 1, at="2026-01-02")
    (problem,) = team.verify().problems
    assert problem == "event 5 begins another chain of seeds, but that of event 1 goes on"


def test_an_old_ledger_commits_at_its_first_write(tmp_path):
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "ledger_version_1.sql").read_text(encoding="utf-8"))
    connection.close()
    with Ledger.open(path) as ledger:
        event = ledger.record("Ben O'Hara", 1, at="2026-01-20")
        assert set(event.details) == {"draw"}
        request = ChooseK({"Ben O'Hara": 1, "Zoë 🌙": 1})
        decision, _ = ledger.accept(ledger.propose(request, at="2026-01-21"))
        assert check_draw(decision, event)
        ledger.change_rules(half_life="60d", at="2026-01-22")
        assert ledger.verify().ok
        assert ledger.rules("2026-01-22").half_life == "60d"


@pytest.mark.parametrize("is_decided", [True, False])
def test_an_old_ledger_whose_first_write_is_tried_before_commits_all_the_same(tmp_path, is_decided):
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "ledger_version_1.sql").read_text(encoding="utf-8"))
    connection.close()
    with Ledger.open(path) as ledger:
        if is_decided:
            request = ChooseK({"Ben O'Hara": 1, "Zoë 🌙": 1})
            first = ledger.accept(ledger.propose(request, at="2026-01-20"))[0]
            assert ledger.committing(first) is None
        else:
            first = ledger.void(next(event.seq for event, _ in ledger.events() if event.kind == "received"))
        assert {"chain", "days"} <= set(first.details["draw"])
        assert ledger.verify().problems == ()


def test_on_either_database_seeds_are_kept_and_verified(new_target):
    with Ledger.new(new_target(), Rules(), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        for day in range(2, 6):
            ledger.decide(EVERYBODY, at=f"2026-01-0{day}")
        ledger.decide(Divide(3.0, {"ana": 1.0, "ben": 1.0}), at="2026-01-07")
        assert ledger.verify().ok


def test_a_draw_of_version_2_is_the_same_for_the_same_seed():
    assert Draw("ab" * 32).rng.random() == Draw("ab" * 32).rng.random()


def test_what_is_decided_again_is_what_would_have_been_decided_in_time(new_path, monkeypatch):
    """Every decision keeps its lot, also if it is decided again more than once: nobody gains by asking again."""
    names = [f"agent {i:02}" for i in range(12)]

    def decided(in_time, late):
        """Who is served if some have received much, which is known in time, or only later of one after the other."""
        numbers = itertools.count()
        monkeypatch.setattr("secrets.token_hex", lambda n: hashlib.sha256(b"%d" % next(numbers)).hexdigest()[: 2 * n])
        with Ledger.new(new_path(), Rules(half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
            ledger.join_all(names, at="2026-01-01")
            for name in in_time:
                ledger.record(name, 100, at="2026-01-02")
            for day in (3, 4, 5):
                ledger.decide(ChooseK(dict.fromkeys(names, 1.0), k=4), at=f"2026-01-0{day}")
            for name in late:
                ledger.record(name, 100, at="2026-01-02")
                assert ledger.redecide("2026-01-03", accept=True)
                assert ledger.redecide("2026-01-03") == []
            assert ledger.verify().problems == ()
            made = [event for event, _ in ledger.events(in_effect=True) if event.kind == "decision"]
        return [[each[0] for each in event.details["given"]] for event in sorted(made, key=lambda event: event.time)]

    much = (names[1], names[4], names[8])
    assert decided([], late=much) == decided(much, late=[])
