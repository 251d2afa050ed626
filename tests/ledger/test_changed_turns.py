"""Turns that were corrected, swapped and planned again: what counts, and how each is explained."""

from datetime import UTC, datetime, timedelta

import pytest

from bygones import Assign, ChooseK
from bygones.ledger import Ledger, Rules
from bygones.ledger.model.times import instant
from bygones.ledger.plans.date_needs import DateNeeds

NAMES = ("ana", "ben", "cem")


def ahead(days):
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)


def needs(days, request):
    return DateNeeds(instant(ahead(days)), True, request)


@pytest.fixture
def ward(new_path):
    """Ana has the least work, then Ben, then Cem."""
    with Ledger.new(new_path(), Rules(kind="burden", half_life="inf", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        for amount, name in enumerate(NAMES):
            ledger.record(name, amount / 10, at="2026-01-02")
        yield ledger


def planned_for_two(ward):
    ward.plans.publish([needs(1, ChooseK(dict.fromkeys(NAMES, 10.0), 2))])
    return {turn.agent: turn for turn in ward.plans.turns()}


class TestCorrections:
    def test_a_corrected_turn_keeps_its_amount_with_whoever_takes_it(self, ward):
        turns = planned_for_two(ward)
        ward.correct(turns["ana"].seq, 14)
        ward.correct(turns["ben"].seq, 12)
        ward.hold("ben", at=ahead(1))
        (preview,) = ward.plans.redecide()
        (changed,) = ward.plans.redecide(accept=True, key="sick")
        assert preview == changed
        assert {turn.agent: turn.amount for turn in changed.after} == {"ana": 14, "cem": 12}
        assert {turn.agent: turn.amount for turn in ward.plans.turns()} == {"ana": 14, "cem": 12}
        assert ward.plans.redecide(accept=True, key="sick") == [changed]
        assert ward.verify().problems == ()

    def test_of_several_items_each_keeps_its_own(self, ward):
        items = Assign({name: {"night": 10.0, "day": 8.0} for name in NAMES})
        ward.plans.publish([needs(1, items)])
        turns = {turn.item: turn for turn in ward.plans.turns()}
        ward.correct(turns["night"].seq, 11)
        ward.hold(turns["day"].agent, at=ahead(1))
        ward.hold(turns["night"].agent, at=ahead(1))
        ward.join("dan", at="2026-01-03")
        wanted = Assign({name: {"night": 10.0, "day": 8.0} for name in ("cem", "dan")})
        ward.plans.redecide(needs=[needs(1, wanted)], accept=True)
        assert {turn.item: turn.amount for turn in ward.plans.turns()} == {"night": 11, "day": 8}
        assert ward.verify().problems == ()

    def test_a_swap_keeps_the_corrected_amount(self, ward):
        one, other = ward.record("ana", 8, at="2026-01-03"), ward.record("ben", 10, at="2026-01-04")
        ward.correct(one.seq, 12)
        before = ward.standing().received.sum()
        ward.plans.swap(one.seq, other.seq)
        received = dict(zip(ward.standing().names, ward.standing().received.tolist(), strict=True))
        assert received == pytest.approx({"ana": 10, "ben": 12.1, "cem": 0.2})
        assert ward.standing().received.sum() == before


class TestExplanations:
    def test_a_kept_turn_has_the_reasons_for_which_it_was_given_and_why_the_date_was_planned_again(self, ward):
        turns = planned_for_two(ward)
        ward.hold("ben", at=ahead(1))
        ward.plans.redecide(accept=True)
        again = {turn.agent: turn for turn in ward.plans.turns()}
        kept = [str(block) for block in ward.account(again["ana"].seq).document().blocks]
        assert any("ana and ben each take" in line for line in kept)
        plan = again["ana"].plan
        assert f"ana kept this turn when the date was planned again (event {plan}): ben is on hold." in kept
        assert not any("Decided again" in line for line in kept)
        filled = [str(block) for block in ward.account(again["cem"].seq).document().blocks]
        assert f"Planned again in place of event {turns['ana'].plan}: ben is on hold." in filled
        first = [str(block) for block in ward.account(turns["ana"].plan).document().blocks]
        (decided,) = (line for line in first if line.startswith("Decided again"))
        assert "ana:" in decided
        assert "cem:" in decided
        assert "cem" in ward.account(again["ana"].seq).why_not("cem")

    def test_a_turn_is_explained_by_its_own_changes_alone(self, ward):
        turns = planned_for_two(ward)
        ward.correct(turns["ana"].seq, 14)
        mine, other = (ward.account(turns[name].seq).changes for name in ("ana", "ben"))
        assert [change.now for change in mine] == [14]
        assert other == []
        ward.plans.publish([needs(2, ChooseK(dict.fromkeys(NAMES, 10.0)))])
        (cems,) = (turn for turn in ward.plans.turns() if turn.agent == "cem")
        anas = ward.plans.swap(turns["ana"].seq, cems.seq)
        after = [str(block) for block in ward.account(turns["ana"].seq).document().blocks]
        assert f"Swapped later: cem takes it (event {anas[0].seq})." in after
        taken = [str(block) for block in ward.account(anas[0].seq).document().blocks]
        assert f"cem took over the turn of ana (event {turns['ana'].seq})." in taken
        assert not any("Swapped later" in line for line in taken)


class TestRefusals:
    def test_a_table_with_an_unknown_agent_is_refused_with_the_date(self, ward):
        planned_for_two(ward)
        with pytest.raises(ValueError, match=rf"{ahead(1):%Y-%m-%d} 00:00 UTC: unknown agent 'anna'"):
            ward.plans.redecide(needs=[needs(1, ChooseK({"anna": 10.0}))])

    def test_a_table_of_another_form_is_refused_with_the_date(self, ward):
        planned_for_two(ward)
        with pytest.raises(ValueError, match=rf"{ahead(1):%Y-%m-%d} .* was planned from a table of another form"):
            ward.plans.redecide(needs=[needs(1, Assign({"ana": {"night": 10.0}}))])


class TestLeaving:
    def test_holds_and_resumes_ahead_become_void(self, ward):
        held, resumed = ward.hold("ana", at=ahead(5)), ward.resume("ana", at=ahead(9))
        left = ward.leave("ana", at=ahead(2), key="gone")
        assert left.kind == "leave"
        assert ward.leave("ana", at=ahead(2), key="gone") == left
        assert ward.void_since(held.seq) is not None
        assert ward.void_since(resumed.seq) is not None
        assert ward.standing(ahead(10)).status[0] == "away"
        assert ward.verify().problems == ()

    def test_who_is_on_hold_can_leave_before_they_would_resume(self, ward):
        ward.hold("ana", at="2026-01-05")
        resumed = ward.resume("ana", at=ahead(9))
        ward.leave("ana")
        assert ward.void_since(resumed.seq) is not None
        assert ward.verify().problems == ()
