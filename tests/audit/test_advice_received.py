"""Advice about histories that do not record who asked: a half-life to begin with, and what to record."""

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from bygones.audit import advise, audit, read_history
from bygones.audit.advice.recommendation import OTHERS_TOO


def received(rows, **options):
    agents, times, amounts = zip(*rows, strict=True)
    return read_history(pa.table({"agent": agents, "time": times, "utility": amounts}), **options)


def turns(names="abcd", rounds=30, every=1):
    return [(name, float(len(names) * turn + i) * every, 5.0) for turn in range(rounds) for i, name in enumerate(names)]


def test_a_half_life_is_long_enough_for_a_few_turns():
    advice = advise(received(turns()))
    assert advice.turn == pytest.approx(4)
    assert (advice.period, advice.half_life) == (30, 30)  # the first round length of at least three turns, 12 steps
    assert advice.headline() == [
        "Begin with a half-life of 30 steps.",
        "Rules could not be compared, because this history records who received how much, but not who asked. One-step "
        "is the simplest.",
    ]
    assert any("need (the amount if they are chosen) and served (1 or 0)" in each for each in advice.doubts())
    assert advice.kind_assumed


def test_a_half_life_longer_than_the_history_is_a_guess():
    began = datetime(2026, 1, 5)
    rows = [(name, began + timedelta(days=day), 8.0) for name in ("ana", "ben") for day in (0, 25)]
    advice = advise(received(rows))
    assert advice.half_life > advice.span
    first, warning, _ = advice.headline()
    assert first == "Begin with a half-life of 90d."
    assert warning.startswith("This history covers only 25d, so the half-life follows from how often turns come and ")
    assert "and the history is too short to show who has left." in advice.reasons()[0]
    assert len(advise(received(turns())).headline()) == 2


def test_and_no_longer_than_agents_stay():
    rows = [(f"agent {i}", 10.0 * i + 4 * turn, 5.0) for i in range(20) for turn in range(4)]
    advice = advise(received(rows))
    assert (advice.turn, advice.stay) == (4, 12)
    assert (advice.period, advice.half_life) == (30, 10)


def test_of_the_round_lengths_within_a_stay_it_is_the_longest():
    began, week = datetime(2026, 1, 5), timedelta(weeks=1)
    rows = [(f"agent {i}", began + 3 * week * i + week * turn, 5.0) for i in range(20) for turn in range(4)]
    advice = advise(received(rows))
    assert [advice.clock.length_text(each) for each in (advice.turn, advice.stay)] == ["7d", "21d"]
    # Three turns are 21 days, of which the next round length is longer than anybody stays; 7 days would do as well.
    assert [advice.clock.length_text(each) for each in (advice.period, advice.half_life)] == ["30d", "14d"]


def test_a_period_that_is_asked_for_is_taken():
    advice = advise(received(turns()), period="77")
    assert (advice.period, advice.half_life) == (77, 77)
    with pytest.raises(ValueError, match="period must be finite"):
        advise(received(turns()), period="inf")


def test_it_says_whether_who_is_first_depends_on_it():
    # Ana had much long ago and ben a little just now.
    rows = [("ana", 0.0, 100.0), *[(name, 10.0 * turn, 5.0) for turn in range(1, 20) for name in ("ana", "ben")]]
    rows += [("ben", 191.0, 20.0)]
    advice = advise(received(rows), half_lives=["5", "10", "inf"], newcomers="zero")
    assert [each.first for each in advice.standings] == ["ana", "ana", "ben"]
    assert (
        advice.reasons()[-1]
        == "Who is owed most now depends on the half-life: ana at 5 steps to 10 steps and ben at inf, with the "
        "newcomer rule zero."
    )
    same = advise(received(rows), half_lives=["5", "10"], newcomers="zero")
    assert same.reasons()[-1].startswith("Who is owed most now does not depend on the half-life: ana")


def test_advice_and_audit_name_the_same_agent_and_say_what_another_newcomer_rule_would_change():
    # Ben came late. If he starts with nothing, he is owed most; if he starts with the mean, ana is, who has less since.
    rows = [("ana", 0.0, 50.0), ("ana", 10.0, 1.0), ("ben", 20.0, 5.0), ("ana", 30.0, 1.0), ("ben", 40.0, 5.0)]
    with received(rows) as history:
        advice, found = advise(history, half_lives=["inf"]), audit(history, ["inf"])
    assert advice.standings[0].first == "ben"
    assert found.conclusions.found[0].claim == "ben is owed most"
    assert advice.reasons()[-1].endswith("ben, at every one that was compared, with the newcomer rule zero.")
    other = "With the newcomer rule mean, the default of a ledger, ana would be owed most."
    assert other in advice.doubts()
    first = "1 agent first appears more than 1 after the history begins (newcomer rule: zero)."
    assert first in advice.notes
    assert found.newcomer_notes() == [first, other]
    assert set(found.newcomer_notes()) <= set(found.to_dict()["notes"])


def test_it_does_not_mention_the_other_rule_where_it_says_the_same():
    rows = [("ana", 0.0, 5.0), ("ana", 10.0, 5.0), ("ben", 20.0, 90.0), ("ana", 30.0, 5.0), ("ben", 40.0, 90.0)]
    with received(rows) as history:
        advice, found = advise(history, half_lives=["5", "inf"]), audit(history, ["5", "inf"])
    assert advice.otherwise == ""
    assert advice.reasons()[-1].endswith("ana, at every one that was compared.")
    assert len(found.newcomer_notes()) == 1


@pytest.fixture
def long_jobs(tmp_path):
    """Nine tenths of the usage are in jobs of 12 hours, and there are many jobs of a minute in between."""
    path, began = tmp_path / "sacct.txt", datetime(2026, 1, 5)
    rows = ["JobID|User|Start|End|Elapsed|AllocCPUS"]
    for user, shift in (("ana", 0), ("ben", 12)):
        for day in range(30):
            start = began + timedelta(days=day, hours=shift)
            rows.append(
                f"{user}{day}|{user}|{start.isoformat()}|{(start + timedelta(hours=12)).isoformat()}|12:00:00|8"
            )
            for i in range(12):
                at = start + timedelta(hours=i)
                rows.append(
                    f"{user}{day}_{i}|{user}|{at.isoformat()}|{(at + timedelta(minutes=1)).isoformat()}|00:01:00|8"
                )
    path.write_text("\n".join(rows))
    return path


def test_small_jobs_do_not_shorten_the_half_life_of_large_ones(long_jobs):
    with read_history(long_jobs) as history:
        advice = advise(history)
        hour = 3600e6
        assert advice.job / hour == pytest.approx(12 * 12 / 12.2 + 0.2 / 60 / 12.2, abs=0.02)
        assert advice.turn / hour == pytest.approx(
            24, rel=0.1
        )  # one large job a day, as if the small ones were not there
        assert advice.half_life > advice.job
        assert all(each.half_life >= advice.job for each in advice.standings)
        assert any(each.startswith("Weighted by usage, a job lasts 11.8h.") for each in advice.reasons())
        for name, given in (("period", "10min"), ("half_lives", ["10min", "7d"])):
            message = rf"{name} must be at least 11\.8h, the length of a job weighted by usage, got 10min: half of its"
            with pytest.raises(ValueError, match=message):
                advise(history, **{name: given})


def test_a_history_in_which_nobody_has_two_turns_is_too_short():
    with pytest.raises(ValueError, match="the table is too short to advise on: it has 1 event, and no agent has two"):
        advise(received([("ana", 1.0, 2.0)]))
    once = received([("ana", 1.0, 2.0), ("ben", 9.0, 2.0)])
    with pytest.raises(ValueError, match=r"it has 2 events, .* give more of the history, or --period with the time"):
        advise(once)
    assert advise(once, period="20").half_life == 20


def test_whoever_has_gone_is_not_first_in_line():
    rows = [*turns("abc", rounds=40), ("gone", 0.0, 0.1), ("gone", 9.0, 0.1)]
    advice = advise(received(rows), half_lives=["30", "inf"])
    assert len(advice.standings) == 2
    assert "gone" not in {each.first for each in advice.standings}
    assert "Agents without an event for 20 count as away." in advice.notes


def test_one_agent_alone():
    advice = advise(received([("ana", 1.0, 2.0), ("ana", 2.0, 2.0)]))
    assert advice.reasons() == ["There is only one agent in this history, so there is no one to be fair to."]
    assert advice.doubts() == [OTHERS_TOO]
    assert advice.table().rows == []
    assert advice.notes[0] == "There is one agent, who counts as entitled to everything."
    assert json.dumps(advice.to_dict())


def test_of_burdens_it_speaks_of_who_is_due():
    advice = advise(received(turns()), kind="burden")
    assert advice.table().columns[-1] == "due next"
    assert advice.headline()[1].endswith("who worked how much, but not who was available. One-step is the simplest.")
    assert not advice.kind_assumed
