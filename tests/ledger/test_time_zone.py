"""A ledger has a time zone: text without one is read in it, days belong to it, and times are shown in it."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import _times
from bygones.allocation import ChooseK
from bygones.cli import program
from bygones.ledger import Ledger, Rules
from bygones.ledger.model.times import as_datetime, day, format_instant, instant, iso, shown

BERLIN = "Europe/Berlin"


class TestReading:
    @pytest.mark.parametrize(
        ("text", "zone", "expected"),
        [
            ("2026-01-01T00:30", BERLIN, "2025-12-31T23:30:00Z"),
            ("2026-07-01", BERLIN, "2026-06-30T22:00:00Z"),
            ("01.07.2026", BERLIN, "2026-06-30T22:00:00Z"),
            ("2026-W27-3", BERLIN, "2026-06-30T22:00:00Z"),
            ("2026-07-01T00:30+09:00", BERLIN, "2026-06-30T15:30:00Z"),
            ("2026-10-25T02:30", BERLIN, "2026-10-25T00:30:00Z"),  # occurs twice: the first
            ("2026-10-25T03:00", BERLIN, "2026-10-25T02:00:00Z"),
            ("2024-09-08", "America/Santiago", "2024-09-08T04:00:00Z"),  # a day that begins at 01:00
            ("2026-01-01", "Pacific/Kiritimati", "2025-12-31T10:00:00Z"),
        ],
    )
    def test_a_time_without_a_zone_is_one_in_the_ledgers(self, text, zone, expected):
        assert iso(instant(text, zone=zone)) == expected

    def test_dates_and_datetimes_of_python_are_read_alike(self):
        assert instant(date(2026, 7, 1), zone=BERLIN) == instant("2026-07-01", zone=BERLIN)
        assert instant(datetime(2026, 7, 1, 8), zone=BERLIN) == instant("2026-07-01T08:00", zone=BERLIN)

    def test_a_time_that_clocks_skipped_is_refused(self):
        for value in ("2026-03-29T02:30", datetime(2026, 3, 29, 2, 30)):
            with pytest.raises(
                ValueError, match=r"at must be a time that exists, .* skipped: 03:30 is the same moment"
            ):
                instant(value, zone=BERLIN)
        assert iso(instant("2026-03-29T03:00", zone=BERLIN)) == "2026-03-29T01:00:00Z"

    @pytest.mark.parametrize("text", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00+14:00"])
    def test_what_is_beyond_the_calendar_is_refused(self, text):
        with pytest.raises(ValueError, match="at must be between the years 1 and 9999 in UTC"):
            instant(text)
        with pytest.raises(ValueError, match="between the years 1 and 9999"):
            instant("0001-01-01", zone=BERLIN)
        with pytest.raises(ValueError, match="between the years 1 and 9999 in UTC and in Europe/Berlin"):
            instant("9999-12-31T23:30Z", zone=BERLIN)  # in Berlin it is the year 10000 already

    @given(
        st.datetimes(datetime(1970, 1, 1), datetime(2037, 1, 1)), st.sampled_from([BERLIN, "America/New_York", "UTC"])
    )
    def test_what_is_shown_is_read_again(self, moment, zone):
        at = instant(moment.replace(second=0, microsecond=0, tzinfo=UTC))
        read = instant(shown(at, zone), zone=zone)
        assert read == at or as_datetime(at).astimezone(ZoneInfo(zone)).fold  # of two, the first
        assert day(at, zone) == shown(at, zone)[:10]
        assert instant(day(at, zone), zone=zone) <= at

    @pytest.mark.parametrize(
        ("zone", "near"),
        [
            ("Berlin", "Europe/Berlin"),
            ("Europe/Brelin", "Europe/Berlin"),
            ("utc", "UTC"),
            ("New York", "America/New_York"),
        ],
    )
    def test_a_wrong_zone_is_refused_with_a_near_one(self, zone, near):
        with pytest.raises(ValueError, match=f"time_zone must be a name such as UTC .*; did you mean {near}\\?"):
            Rules(time_zone=zone)
        with pytest.raises(ValueError, match=r"got '\.\./etc'$"):
            _times.check_zone("../etc")

    @pytest.mark.parametrize("zone", ["localtime", "posixrules"])
    def test_the_zone_of_a_machine_is_refused(self, zone):
        with pytest.raises(ValueError, match=f"UTC or Europe/Berlin, got '{zone}', which is another zone on an"):
            Rules(time_zone=zone)

    @pytest.mark.parametrize("zone", ["right/UTC", "posix/Europe/Berlin", "europe/berlin"])
    def test_a_zone_that_some_machines_have_is_refused_on_all(self, zone):
        with pytest.raises(ValueError, match="time_zone must be a name such as UTC or Europe/Berlin"):
            _times.check_zone(zone)


@pytest.fixture
def ward(new_path):
    with Ledger.new(new_path(), Rules(half_life="7d", kind="burden", time_zone=BERLIN), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        yield ledger


def test_a_night_after_midnight_belongs_to_its_day(ward):
    event = ward.record("ana", 8, at="2026-03-02T00:30")
    assert iso(event.time) == "2026-03-01T23:30:00Z"
    assert format_instant(event.time, ward.zone()) == "2026-03-02 00:30 Europe/Berlin"
    assert iso(ward.event(1).time) == "2025-12-31T23:00:00Z"
    assert ward.standing("2026-03-02").received.sum() == 0
    assert ward.standing("2026-03-03").received.sum() == 8
    table = ward.propose(ChooseK({"ana": 1, "ben": 1}, 2), at="2026-03-03").explanation.table
    assert {row[0]: row[-1] for row in table.rows} == {"ana": "2 Mar", "ben": "never"}
    with pytest.raises(ValueError, match=r"before the ledger began \(2026-01-01 00:00 Europe/Berlin\)"):
        ward.record("ana", 8, at="2025-12-31T23:59")


def test_the_zone_can_change_and_holds_for_the_whole_ledger(ward):
    ward.record("ana", 8, at="2026-03-02T00:30")
    change = ward.change_rules(time_zone="Asia/Tokyo")
    assert ward.zone() == "Asia/Tokyo"
    assert ward.standing("2026-03-02").zone == "Asia/Tokyo"
    ward.void(change.seq)
    assert ward.zone() == BERLIN
    assert ward.verify().ok


def test_commands_show_and_read_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words):
        program.main(["ledger", *map(str, words)])
        return capsys.readouterr().out

    ward, history = tmp_path / "ward.db", tmp_path / "history.csv"
    run("new", ward, "--time-zone", BERLIN, "--began", "2026-01-01")
    history.write_text("agent,time,amount\nana,2026-03-02 00:30,8\nben,03.03.2026,8\n")
    run("import", ward, history, "--join")
    assert "Standing of 2026-03-04 00:00 Europe/Berlin, with" in run("standing", ward, "--at", "2026-03-04")
    printed = run("explain", ward, "ana", "--at", "2026-03-04")
    assert "Days are in Europe/Berlin." in printed
    assert "2026-03-02" in printed
    assert "2026-03-01" not in printed
    assert "at 2026-03-02 00:30 Europe/Berlin, recorded at" in run("explain", ward, 4)
    assert "2026-03-01T23:30:00Z" in run("export", ward)
    assert "time zone" in run("rules", ward)
    run("rules", ward, "--time-zone", "UTC")
    assert "at 2026-03-01 23:30 UTC" in run("explain", ward, 4)
    with pytest.raises(SystemExit):
        run("new", tmp_path / "other.db", "--time-zone", "Berlin")
    assert "did you mean Europe/Berlin?" in capsys.readouterr().err


def test_an_older_ledger_is_in_utc(new_path):
    with Ledger.new(new_path(), began="2026-01-01") as ledger:
        assert ledger.zone() == "UTC"
        assert ledger.event(1).time == instant(datetime(2026, 1, 1, tzinfo=UTC))
        assert as_datetime(ledger.event(1).time) + timedelta(0) == datetime(2026, 1, 1, tzinfo=UTC)
