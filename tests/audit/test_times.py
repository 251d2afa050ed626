"""Times as people write them: read as they are meant, with a note, or refused with what to say."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.audit import read_history
from bygones.audit.read import time_columns


def read(times, **more):
    n = len(times)
    return read_history(pa.table({"agent": ["a"] * n, "time": times, "utility": [1.0] * n}), **more)


def csv_file(tmp_path, *times):
    path = tmp_path / "history.csv"
    path.write_text("agent,time,utility\n" + "".join(f'a,"{time}",1\n' for time in times))
    return path


def instant(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp() * 1e6


@pytest.mark.parametrize(
    ("times", "first", "note"),
    [
        (("01/31/2026", "02/01/2026"), (2026, 1, 31), "with the month first: '01/31/2026' is 2026-01-31 00:00"),
        (("02/01/2026 1:05 PM", "02/28/2026 11:00 AM"), (2026, 2, 1, 13, 5), "with the month first"),
        (("31/01/2026 08:30", "01/02/2026 09:00"), (2026, 1, 31, 8, 30), "with the day first"),
        (("31.01.2026", "01.02.2026 09:00"), (2026, 1, 31), "with the day first"),
        (("31-Jan-2026", "01-Feb-2026"), (2026, 1, 31), "by the month's name"),
        (("Jan 31, 2026", "Feb 1, 2026"), (2026, 1, 31), "by the month's name"),
        (("1767225600", "1767312000"), (2026, 1, 1), "as Unix seconds: 1767225600 is 2026-01-01 00:00 UTC"),
        (("1767225600500", "1767312000000"), (2026, 1, 1, 0, 0, 0, 500_000), "as Unix milliseconds"),
    ],
)
def test_dates_are_detected_and_the_reading_is_shown(tmp_path, times, first, note):
    history = read_history(csv_file(tmp_path, *times))
    assert history.first == instant(*first)
    assert not history.clock.steps
    assert note in history.notes[0]


def test_numbers_in_a_table_are_unix_times_if_they_can_be():
    seconds = read([1767225600, 1767312000])
    assert (seconds.clock.steps, seconds.last) == (False, instant(2026, 1, 2))
    fractions = read([1767225600.25, 1767312000.0])
    assert fractions.first == instant(2026, 1, 1) + 250_000
    assert read([1767225600_000_000_000]).first == instant(2026, 1, 1)
    assert read([1767225600, 1767312000], time_format="steps").clock.steps
    assert read([0, 17, 100_000]).clock.steps
    assert read([5_000, 9_000], time_format="unix").first == 5_000e6


def test_what_can_be_read_in_two_ways_has_to_be_said(tmp_path):
    path = csv_file(tmp_path, "02/03/2026", "03/04/2026")
    with pytest.raises(ValueError, match="can be read with the month or the day first: add --time-format"):
        read_history(path)
    assert read_history(path, time_format="month-first").first == instant(2026, 2, 3)
    assert read_history(path, time_format="day-first").first == instant(2026, 3, 2)
    with pytest.raises(ValueError, match="has both days first and months first"):
        read_history(csv_file(tmp_path, "31/01/2026", "01/31/2026"))
    with pytest.raises(
        ValueError, match="row 3: time must be a date or time written as '02/28/2026' is, got '02/30/2026'"
    ):
        read_history(csv_file(tmp_path, "02/28/2026", "02/30/2026"))


def test_a_format_can_be_given(tmp_path):
    path = csv_file(tmp_path, "2026week031", "2026week042")
    with pytest.raises(ValueError, match="time must be a date or time"):
        read_history(path)
    history = read_history(csv_file(tmp_path, "20260131-0830", "20260201-0900"), time_format="%Y%m%d-%H%M")
    assert history.first == instant(2026, 1, 31, 8, 30)
    assert "as %Y%m%d-%H%M" in history.notes[0]
    with pytest.raises(ValueError, match=r"time_format must be one of auto, .* or a format such as"):
        read_history(path, time_format="fortnights")
    with pytest.raises(ValueError, match="time must be numbers for time_format 'unix'"):
        read_history(path, time_format="unix")
    with pytest.raises(ValueError, match="time must be text for time_format 'month-first', got numbers"):
        read([1, 2], time_format="month-first")


def test_a_zone_shifts_dates_over_a_change_of_clocks(tmp_path):
    history = read_history(csv_file(tmp_path, "03/28/2026 12:00", "03/30/2026 12:00"), time_zone="Europe/Berlin")
    assert (history.first, history.last) == (instant(2026, 3, 28, 11), instant(2026, 3, 30, 10))


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("ns", "Asia/Tokyo"), pa.date32()]
)
def test_the_footers_of_parquet_files_state_the_bounds(tmp_path, monkeypatch, kind):
    days = [datetime(2026, 1, day, 0, 0, 0, 123000 if kind != pa.date32() else 0) for day in (5, 1, 9, 3)]
    for n, some in enumerate((days[:3], days[3:])):
        times = pa.array(some, pa.timestamp("us")).cast(kind, safe=False)
        rows = pa.table({"agent": ["a"] * len(some), "time": times, "utility": [1.0] * len(some)})
        pq.write_table(rows, tmp_path / f"{n}.parquet", row_group_size=2)
    asked = []
    monkeypatch.setattr(time_columns, "_bounds", lambda *a, **k: asked.append(a))
    with read_history(tmp_path, time_zone="Europe/Berlin") as history:
        bounds = history.first, history.last, history.n_events
    assert not asked
    monkeypatch.undo()
    monkeypatch.setattr(time_columns, "_bounds_in_footers", lambda *a: None)
    with read_history(tmp_path, time_zone="Europe/Berlin") as history:
        assert bounds == (history.first, history.last, history.n_events)


def test_footers_are_not_asked_where_rows_are_left_out_or_times_are_missing(tmp_path):
    table = pa.table({"agent": ["a", "b"], "time": [datetime(2026, 1, 1), datetime(2026, 1, 9)], "utility": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    with read_history(tmp_path / "t.parquet", where=["agent=a"]) as history:
        assert (history.n_events, history.first) == (1, history.last)
    pq.write_table(table.set_column(1, "time", pa.array([None, datetime(2026, 1, 9)])), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="row 1: time must be given, got nothing"):
        read_history(tmp_path / "t.parquet")
