"""Ledgers of burdens: the same sums, handed out the other way round."""

import itertools

import numpy as np
import pytest

from bygones.allocation import Assign, ChooseK, Divide
from bygones.ledger import Ledger, Rules
from bygones.ledger.forecast import foresee_all


@pytest.fixture
def nights(new_path):
    """Ana has carried 12 hours, Ben 4, Cem 8; Dana works half-time and has carried 2; Elif is exempt."""
    ledger = Ledger.new(new_path(), Rules(half_life="never", kind="burden"), began="2026-01-01")
    for name, share, hours in (("ana", 1, 12), ("ben", 1, 4), ("cem", 1, 8), ("dana", 0.5, 2), ("elif", 0, 0)):
        ledger.join(name, at="2026-01-01", entitlement=share, newcomers="zero")
        if hours:
            ledger.record(name, hours, at="2026-01-02")
    yield ledger
    ledger.close()


def test_a_shift_goes_to_whoever_it_burdens_least(new_path):
    with Ledger.new(new_path(), Rules(kind="burden"), began="2026-01-01") as ledger:
        ledger.join_all(["a", "b", "c"], at="2026-01-01")
        assert ledger.propose(ChooseK({"a": 12, "b": 2, "c": 4}), at="2026-01-02").utilities == {"b": 2}


def test_the_least_burdened_takes_the_night(nights):
    shifts = Assign({name: {"night": 12, "evening": 4} for name in ("ana", "ben", "cem", "elif")})
    proposal = nights.propose(shifts, at="2026-01-03")
    assert proposal.gets() == {"ben": "night", "cem": "evening"}
    reasons = proposal.reasons()
    assert reasons[0] == (
        "ben takes night and cem evening on 3 January 2026: with every other assignment someone would have a recent "
        "load as heavy or heavier."
    )
    assert proposal.explanation.table.rows == [  # Dana's two hours are four per share, and she did not ask
        ["ben", "night", 4, 16, "2 Jan"], ["cem", "evening", 8, 12, "2 Jan"], ["ana", "", 12, 12, "2 Jan"],
    ]  # fmt: skip
    nights.accept(proposal)
    assert dict(zip(nights.standing().names, nights.standing().received, strict=True))["ben"] == 16


def test_those_on_hold_who_had_less_are_named_apart_from_those_who_were_not_available(nights):
    nights.hold("ben", at="2026-01-03")
    proposal = nights.propose(ChooseK({"ana": 10, "cem": None}), at="2026-01-03")
    notes = proposal.reasons()
    assert "Not available: dana (4 h per share) and cem (8 h)." not in notes  # the ledger has no unit
    assert "Not available: dana (4 per share) and cem (8)." in notes
    assert "On hold: ben (4)." in notes
    assert proposal.why_not("ben") == "ben was on hold."
    with pytest.raises(ValueError, match="must name an agent who had joined by 2026-01-03 00:00 UTC, such as ana, "):
        proposal.why_not("zoe")


def test_a_standing_shows_true_totals_whole_and_the_shares_it_compares_by(nights):
    nights.record("ana", 16.75, at="2026-01-02")
    table = nights.standing("2026-01-03").document().blocks[0]
    headings = [column.name for column in table.headings]
    assert headings[:6] == ["agent", "worked", "recent", "", "share", "recent per share"]
    cells = {row[0]: row for row in table.texts()}
    assert (cells["ana"][1], cells["ben"][1], cells["dana"][4]) == ("28.75", "4", "0.5")
    assert nights.standing("2026-01-03").document().headline == (
        "ben and dana are tied for the next turn, with the lowest recent workload per share: 4.0."
    )


def test_who_is_not_asked_or_exempt_carries_nothing(nights):
    assert nights.propose(ChooseK({"ana": 1, "cem": 1, "elif": 1}), at="2026-01-03").gets() == {"cem": "the job"}
    assert nights.propose(ChooseK({"ana": 1, "ben": None}), at="2026-01-03").gets() == {"ana": "the job"}
    divided = nights.propose(Divide(4.0, {"ana": 1.0, "cem": 1.0}), at="2026-01-03")
    assert divided.gets() == {"cem": "4 of 4"}
    with pytest.raises(ValueError, match=r"k must be at most the number of agents who can take the burden \(0\)"):
        nights.propose(ChooseK({"elif": 1}), at="2026-01-03")


def test_due_is_by_the_share_of_the_load(nights):
    stood = nights.standing("2026-01-03")
    np.testing.assert_allclose(stood.owed, [26 / 3.5 - 12, 26 / 3.5 - 4, 26 / 3.5 - 8, 13 / 3.5 - 2, np.nan])
    assert set(nights.owed_since("2026-01-03")) == {"ben", "dana"}
    assert nights.standing("2026-01-03").to_dict()["rules"]["kind"] == "burden"


def test_what_the_exempt_carried_before_is_nobodys_share(nights):
    nights.record("elif", 70, at="2026-01-02")
    assert nights.standing("2026-01-03").owed[1] == pytest.approx(26 / 3.5 - 4)
    assert set(nights.owed_since("2026-01-03")) == {"ben", "dana"}
    assert nights.join("fay", at="2026-01-03").amount == pytest.approx((12 + 4 + 8 + 4) / 4)


def test_a_ledger_of_before_there_were_kinds_is_about_goods():
    settings = Rules().to_dict()
    del settings["kind"]
    assert Rules().changed(settings).kind == "good"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "chore"}, "kind must be one of good, burden, got 'chore'"),
        ({"kind": "burden", "welfare": "nash"}, "welfare nash has no meaning for burdens"),
        ({"welfare": "power_burden"}, "welfare power_burden is for burdens"),
        ({"entitlements": {"ana": 0}}, "entitlement of 'ana' must be a finite number above 0, got 0"),
        ({"kind": "burden", "entitlements": {"ana": -1}}, "entitlement of 'ana' must be a finite number of at least 0"),
    ],
)
def test_rules_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Rules(**settings)


def test_the_kind_cannot_change(nights, team):
    for ledger, kind in ((nights, "good"), (team, "burden")):
        with pytest.raises(ValueError, match="kind cannot change, since it defines the meaning of amounts"):
            ledger.change_rules(kind=kind)


def test_a_newcomer_who_starts_with_zero_is_swamped(nights):
    outcomes = {each.rule: each for each in foresee_all(nights.standing("2026-01-03"), agent="fay", decisions=9)}
    # With nothing behind them they carry every turn until they have caught up with Ben, at 4, and Dana.
    assert outcomes["zero"].received[4] == 4
    share = 9 / 4.5
    assert outcomes["zero"].received[-1] > 2 * share
    for rule in ("mean", "median", "entitled share"):
        assert outcomes[rule].received[-1] <= share
    assert outcomes["mean"].start == pytest.approx((12 + 4 + 8 + 4) / 4)
    assert outcomes["entitled share"].start == pytest.approx(26 / 3.5)


def test_over_time_a_half_timer_carries_half(new_path):
    with Ledger.new(new_path(), Rules(half_life="30d", kind="burden"), began="2026-01-01") as ledger:
        for name, share in (("ana", 1.0), ("ben", 0.5), ("cem", 0.0)):
            ledger.join(name, at="2026-01-01", entitlement=share)
        for day in itertools.islice(itertools.count(2), 24):
            ledger.decide(ChooseK({"ana": 8, "ben": 8, "cem": 8}), at=f"2026-01-{day:02}")
        assert ledger.standing("2026-01-26").received.tolist() == [128, 64, 0]
