"""What a turn counts for depends on when it is."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import Assign, ChooseK
from bygones.ledger import Ledger, Rules
from bygones.ledger.model import turn_weights
from bygones.ledger.model.span import Span, lasting, lasting_all
from bygones.ledger.model.times import instant
from bygones.ledger.model.turn_weights import read_weights
from bygones.ledger.plans.date_needs import DateNeeds
from support.command_line import run

BERLIN = "Europe/Berlin"


def weight(line, at, length="10h"):
    start = instant(at, zone=BERLIN)
    return read_weights(line).of(lasting(length, start, BERLIN) if length else Span(start, start), BERLIN)


class TestLine:
    @pytest.mark.parametrize(
        ("line", "at", "length", "expected"),
        [
            ("", "2026-03-27T20:00", "10h", 1),
            ("sat-sun=1.5", "2026-03-27T20:00", "10h", (4 + 6 * 1.5) / 10),  # Friday night
            ("sat-sun=1.5", "2026-03-28T20:00", "20:00-06:00", 1.5),
            ("22:00-06:00=2", "2026-03-26T20:00", "10h", (2 + 8 * 2) / 10),
            ("22:00-06:00=2, fri=3", "2026-03-26T20:00", "10h", (2 + 2 * 2 + 6 * 3) / 10),  # the larger one counts
            ("2026-12-24..2026-12-26=2", "2026-12-24", "12h", 2),
            ("2026-12-24=0.5", "2026-12-24", "12h", 0.5),
            ("hours", "2026-03-28T20:00", "20:00-06:00", 9),
            ("hours, sun=2", "2026-03-28T20:00", "20:00-06:00", 4 + 5 * 2),
            ("hours, sun=2", "2026-03-29", "", 2),  # an instant has no length
            ("08:00-16:00=3", "2026-03-29T12:00", "", 3),
        ],
    )
    def test_the_largest_weight_of_each_moment_counts(self, line, at, length, expected):
        assert weight(line, at, length) == pytest.approx(expected)

    @given(hours=st.integers(1, 200), low=st.floats(0.1, 1), high=st.floats(1, 9), start=st.integers(0, 10**15))
    def test_a_weight_is_between_the_least_and_the_largest(self, hours, low, high, start):
        line = f"sat-sun={high}, 22:00-06:00={low}, mon={low}"
        value = read_weights(line).of(lasting(f"{hours}h", start, BERLIN), BERLIN)
        assert low - 1e-9 <= value <= high + 1e-9
        assert read_weights(f"hours, {line}").of(lasting(f"{hours}h", start, BERLIN), BERLIN) == pytest.approx(
            value * hours
        )

    @pytest.mark.parametrize("line", ["weekend=2", "sat", "sat=x", "25:00-26:00=2", "holiday(germany)=2", "=2"])
    def test_what_is_no_weight_is_refused(self, line):
        with pytest.raises(ValueError, match="turn_weights must be conditions with their weights"):
            Rules(turn_weights=line)

    def test_weights_have_bounds(self):
        with pytest.raises(ValueError, match="turn_weights must be from 0 to 1000"):
            Rules(turn_weights="sat=-1")


class TestHolidays:
    def test_public_holidays_of_a_country_and_of_a_part_of_it(self):
        pytest.importorskip("holidays")
        assert weight("holiday(DE)=2", "2026-12-25", "24h") == 2
        assert weight("holiday(DE)=2", "2026-03-08", "24h") == 1
        assert weight("holiday(DE-BE)=2", "2026-03-08", "24h") == 2  # a holiday in Berlin alone
        assert weight("holiday(DE)=2", "2026-12-31T20:00", "8h") == pytest.approx((4 + 4 * 2) / 8)

    def test_unknown_holidays_are_refused_when_the_rules_are_set(self, new_path):
        pytest.importorskip("holidays")
        with pytest.raises(ValueError, match="the public holidays of XX are not known"):
            Ledger.new(new_path(), Rules(turn_weights="holiday(XX)=2"))

    def test_the_extra_is_named_where_the_library_is_missing(self, new_path, monkeypatch):
        turn_weights._holidays.cache_clear()
        monkeypatch.setitem(sys.modules, "holidays", None)
        with pytest.raises(
            ModuleNotFoundError, match=r"a weight of public holidays needs holidays.*bygones\[calendar\]"
        ):
            Ledger.new(new_path(), Rules(turn_weights="holiday(DE)=2"))


@pytest.fixture
def ward(new_path):
    rules = Rules(
        kind="burden", half_life="inf", newcomers="zero", time_zone=BERLIN, turn_weights="sat-sun=1.5, 22:00-06:00=1.25"
    )
    with Ledger.new(new_path(), rules, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        yield ledger


class TestLedger:
    def test_decisions_count_by_their_weight_and_are_verified(self, ward):
        made = ward.decide(ChooseK({"ana": 10.0}), at="2026-03-28T08:00", lengths={"": "8h"})
        assert made.utilities == {"ana": 15}
        items = Assign({"ana": {"day": 8.0}, "ben": {"night": 8.0}})
        made = ward.decide(items, at="2026-03-30T06:00", lengths={"day": "06:00-14:00", "night": "22:00-06:00"})
        assert made.utilities == {"ana": 8, "ben": 10}
        assert ward.verify().problems == ()

    def test_a_plan_and_its_changes_count_by_their_weight(self, ward, monkeypatch):
        def night(day):
            at = instant(f"{day}T22:00", zone=BERLIN)
            spans = lasting_all({"": "22:00-06:00"}, at, BERLIN)
            return DateNeeds(at, False, ChooseK({"ana": 8.0, "ben": 8.0}), spans=spans)

        monkeypatch.setattr(turn_weights, "needed_by", None)  # no list of holidays is read
        monkeypatch.setattr("bygones.ledger.model.times.now", lambda: instant("2027-03-20"))
        ward.plans.publish([night("2027-03-24"), night("2027-03-27")])
        assert [turn.amount for turn in ward.plans.turns()] == [10, 12]
        ward.hold(ward.plans.turns()[1].agent, at="2027-03-27")
        ward.plans.redecide(needs=[night("2027-03-24"), night("2027-03-27")], accept=True)
        assert [turn.amount for turn in ward.plans.turns()] == [10, 12]
        assert ward.verify().problems == ()

    def test_a_table_stands_for_its_dates(self, new_path, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "feasts.csv").write_text("date,name\n2026-12-24,a\n2026-12-31,b\n")
        path = new_path()
        run(capsys, "ledger", "new", path, "--turn-weights", "sun=2, feasts.csv=3")
        rules = json.loads(run(capsys, "ledger", "rules", path, "--json"))
        assert rules["turn_weights"] == "sun=2, 2026-12-24=3, 2026-12-31=3"
        assert "turn weights" in run(capsys, "ledger", "rules", path)
        run(capsys, "ledger", "rules", path, "--turn-weights", "")
        assert "turn weights" not in run(capsys, "ledger", "rules", path)
