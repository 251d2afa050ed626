"""Histories from everywhere: the same events are the same history, and errors are one sentence."""

import re
import sqlite3
from datetime import UTC, datetime

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones._times import check_zone
from bygones.audit import audit, read_history
from bygones.audit.read.clock import Clock, offsets
from bygones.audit.read.sources import readable
from bygones.audit.read.time_columns import microseconds
from bygones.ledger import Ledger, Rules

COLUMNS = {"agent": "driver", "time": "at", "utility": "fare"}
ROWS = [
    ("ana", "2026-03-28 12:00:00", 3.0),
    ("ben", "2026-03-29 12:00:00", 4.0),
    ("ana", "2026-03-30 12:00:00.25", 5.5),
    ("O'Brien", "2026-04-02 00:00:00", 0.0),
]


def table(zone=None):
    agents, times, fares = zip(*ROWS, strict=True)
    moments = pa.array([datetime.fromisoformat(time) for time in times], type=pa.timestamp("us", zone))
    return pa.table({"driver": agents, "at": moments, "fare": fares})


def in_duckdb(folder):
    path, events = folder / "rides.db", table()
    with duckdb.connect(str(path)) as connection:
        connection.register("events", events)
        connection.execute("CREATE TABLE rides AS SELECT * FROM events")
    return path, {"table": "rides"}


def in_sqlite(folder):
    path = folder / "rides.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE rides (driver TEXT, at TEXT, fare REAL, other)")
    connection.executemany("INSERT INTO rides VALUES (?, ?, ?, NULL)", ROWS)
    connection.commit()
    connection.close()
    return path, {}


def in_parquet(folder):
    path = folder / "rides.parquet"
    pq.write_table(table("UTC"), path)
    return path, {}


def in_several_parquet_files(folder):
    for n in range(2):
        pq.write_table(table().slice(2 * n, 2), folder / f"rides-{n}.parquet")
    return folder / "rides-*.parquet", {}


def in_a_folder_of_parquet_files(folder):
    (folder / "rides").mkdir()
    pq.write_table(table(), folder / "rides" / "part.parquet")
    return folder / "rides", {}


def in_csv(folder):
    path = folder / "rides.csv"
    path.write_text(" driver ,at,fare\n" + "".join(f"{a},{t},{f}\n" for a, t, f in ROWS))
    return path, {}


def in_memory(folder):
    return table(), {}


def in_ibis(folder):
    return ibis.memtable(table()), {}


FILES = [in_duckdb, in_sqlite, in_parquet, in_several_parquet_files, in_a_folder_of_parquet_files, in_csv]


@pytest.mark.parametrize("somewhere", [*FILES, in_memory, in_ibis])
def test_the_same_events_are_the_same_history_everywhere(somewhere, tmp_path):
    source, more = somewhere(tmp_path)
    found = audit(read_history(source, **COLUMNS, **more), ["1d", "inf"], at="2026-04-03")
    assert found.names == ("O'Brien", "ana", "ben")
    expected = [0, 3 * 2**-5.5 + 5.5 * 2 ** -(3.5 - 0.25 / 86400), 4 * 2**-4.5]
    np.testing.assert_allclose(found.standings[0].remembered, expected, rtol=1e-12)
    assert found.received.tolist() == [0, 8.5, 4]
    assert found.n_events == 4


def test_a_folder_is_named_as_it_was_given(tmp_path):
    folder, _ = in_a_folder_of_parquet_files(tmp_path)
    with pytest.raises(ValueError, match=rf"{re.escape(str(folder))}[^*]* 'nobody'"):
        read_history(folder, **COLUMNS | {"agent": "nobody"})


@pytest.mark.parametrize("somewhere", [in_csv, in_sqlite, in_memory, in_duckdb])
def test_times_without_a_zone_are_in_the_given_zone(somewhere, tmp_path):
    source, more = somewhere(tmp_path)
    history = read_history(source, **COLUMNS, **more, time_zone="Europe/Berlin")
    assert history.clock == Clock(zone="Europe/Berlin", assumed=True)
    assert history.clock.sentence() == (
        "Times without a time zone were read as Europe/Berlin; all times are shown in Europe/Berlin."
    )
    times = sorted(history.fetch(history.events)["time"].to_pylist())
    moments = [datetime.fromtimestamp(time / 1e6, UTC).isoformat() for time in times]
    # Summer time began on 29 March.
    assert moments == [
        "2026-03-28T11:00:00+00:00",
        "2026-03-29T10:00:00+00:00",
        "2026-03-30T10:00:00.250000+00:00",
        "2026-04-01T22:00:00+00:00",
    ]
    assert (history.first, history.last) == (times[0], times[-1])


def test_times_with_a_zone_stay_the_instants_they_are():
    history = read_history(table("UTC"), **COLUMNS, time_zone="Europe/Berlin")
    assert history.clock.sentence() == "All times are shown in Europe/Berlin."
    assert datetime.fromtimestamp(history.first / 1e6, UTC).isoformat() == "2026-03-28T12:00:00+00:00"
    assert history.first == min(history.fetch(history.events)["time"].to_pylist())


def test_an_hour_that_comes_twice_is_the_earlier_one_everywhere(write):
    text = write(("agent", "time", "utility"), ("ana", "2026-10-25T02:30", 1), ("ana", "2026-03-29T02:30", 1))
    moments = pa.array([datetime(2026, 10, 25, 2, 30), datetime(2026, 3, 29, 2, 30)], pa.timestamp("us"))
    for source in (text, pa.table({"agent": ["a", "a"], "time": moments, "utility": [1, 1]})):
        history = read_history(source, time_zone="Europe/Berlin")
        edges = [datetime.fromtimestamp(edge / 1e6, UTC).isoformat() for edge in (history.first, history.last)]
        assert edges == ["2026-03-29T01:30:00+00:00", "2026-10-25T00:30:00+00:00"]


def test_a_zone_in_the_text_is_kept_and_its_absence_is_noted(write):
    path = write(("agent", "time", "utility"), ("ana", "2026-07-01T12:00+05:00", 1), ("ana", "2026-07-01T12:00Z", 1))
    history = read_history(path, time_zone="Europe/Berlin")
    assert not history.clock.assumed
    assert history.last - history.first == 5 * 3_600_000_000
    assert history.clock.shown(history.last) == "2026-07-01 14:00"
    path = write(("agent", "time", "utility"), ("ana", "2026-07-01T12:00Z", 1), ("ana", "2026-07-02", 1))
    assert read_history(path).clock.assumed


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"])
def test_offsets_are_those_of_the_zone(zone):
    from zoneinfo import ZoneInfo

    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1e6) for year in (2024, 2027))
    steps = offsets(zone, first, last)
    for moment in range(first, last, 7_250_000_000):
        offset = [after for since, after in steps if moment >= since][-1]
        local = datetime(1970, 1, 1) + (
            datetime.fromtimestamp(moment / 1e6, UTC).replace(tzinfo=None) - datetime(1970, 1, 1)
        )
        assert offset == local.replace(tzinfo=ZoneInfo(zone)).utcoffset().total_seconds() * 1e6
    with pytest.raises(ValueError, match="time_zone must be a name such as UTC"):
        check_zone("Mars/Olympus")


def test_dates_are_midnights_and_whole_numbers_are_steps():
    days = pa.table({"agent": ["a", "b"], "time": pa.array([0, 1], pa.date32()), "utility": [1, 2]})
    history = read_history(days, time_zone="Europe/Berlin")
    assert (history.first, history.last) == (-3_600_000_000, 86_400_000_000 - 3_600_000_000)
    steps = read_history(pa.table({"agent": ["a", "b"], "time": [3, 17], "utility": [1, 2]}))
    assert steps.clock.steps
    assert (steps.first, steps.last) == (3, 17)
    assert steps.clock.sentence() == "Times are step numbers."


def test_step_numbers_in_csv(write):
    history = read_history(write(("agent", "time", "utility"), ("a", "3", "1"), ("a", "17.5", "1")))
    assert (history.clock.steps, history.last) == (True, 17.5)
    assert audit(history).clock.length_text(audit(history).standings[0].half_life) == "10"


def test_a_ledger_and_its_export_are_the_same_history(tmp_path):
    import io

    from bygones.ledger.exchange import write_events

    path, export = tmp_path / "team.db", tmp_path / "events.csv"
    with Ledger.new(path, Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "=ben()", "cem"], at="2026-01-01", newcomers=5)
        ledger.record("ana", 80, at="2026-01-02")
        ledger.record("=ben()", 3, at="2026-01-03T12:00")
        ledger.offset("=ben()", 9, at="2026-01-03")
        ledger.correct(5, 8)
        ledger.correct(5, 7)
        ledger.correct(2, 1)
        text = io.StringIO()
        write_events(text, ledger.events())
        export.write_text(text.getvalue(), encoding="utf-8")
    for source in (path, export):
        found = audit(read_history(source), ["7d"], at="2026-01-09")
        assert found.names == ("=ben()", "ana", "cem")
        assert found.received.tolist() == [3, 7, 0]
        faded = 2 ** (-8 / 7)
        expected = [3 * 2 ** (-5.5 / 7) + 9 * 2 ** (-6 / 7) + 5 * faded, 3.5 + faded, 5 * faded]
        np.testing.assert_allclose(found.standings[0].remembered, expected)
        assert "This history is a ledger, replayed by its own rules" in found.notes[1]


@pytest.mark.parametrize(
    ("message", "header", "rows"),
    [
        (r"no column 'time' \(did you mean 'Time'\?\): found 'agent', 'Time', 'x'", "agent,Time,x", "a,1,1"),
        ("no column 'utility': found 'agent', 'time', 'x'; name the column with --utility$", "agent,time,x", "a,1,1"),
        ("no column 'agent': found 'who', 'time', 'x'; name the column with --agent$", "who,time,x", "a,1,1"),
        (r"row 3: time must be a date or time .* got 'soon'", "agent,time,utility", "a,2026-01-01,1\nb,soon,2"),
        (r"row 3: time must be a number, as in the first row, got 'x'", "agent,time,utility", "a,1,1\nb,x,2"),
        (r"row 3: time must be a date .* got nothing", "agent,time,utility", "a,2026-01-01,1\nb,,2"),
        (r"row 2: time must be a finite number, got 'inf'", "agent,time,utility", "a,inf,1\nb,1,2"),
        (r"row 3: utility must be a finite number of at least 0, got 'much'", "agent,time,utility", "a,1,1\nb,2,much"),
        (r"row 2: .* got '1,234,500': write 1234500, without", "agent,time,utility", 'a,1,"1,234,500"\nb,2,2'),
        (r"row 2: utility must be a finite number of at least 0, got 'nan'", "agent,time,utility", "a,1,nan\nb,2,2"),
        (r"row 3: utility must be a finite number of at least 0, got '-1'", "agent,time,utility", "a,1,1\nb,2,-1"),
        (r"row 3: utility must be a finite number of at least 0, got 'inf'", "agent,time,utility", "a,1,1\nb,2,inf"),
        (r"row 3: utility must be a finite number of at least 0, got nothing", "agent,time,utility", "a,1,1\nb,2,"),
        (r"row 3: agent must be a name, got nothing", "agent,time,utility", "a,1,1\n,2,2"),
        (r"row 3: agent must be a name, got '  '", "agent,time,utility", "a,1,1\n  ,2,2"),
        (r"sum of the utilities is too large", "agent,time,utility", "a,1,1e308\na,2,1e308"),
        (r"contains no events", "agent,time,utility", ""),
    ],
)  # fmt: skip
def test_errors_name_the_row(tmp_path, message, header, rows):
    path = tmp_path / "bad.csv"
    path.write_text(f"{header}\n{rows}\n")
    with pytest.raises(ValueError, match=message):
        audit(read_history(path))


def test_bad_sources_are_refused(tmp_path, write):
    with pytest.raises(FileNotFoundError):
        read_history(tmp_path / "absent.csv")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"broken.parquet cannot be read: "):
        read_history(broken)
    with pytest.raises(FileNotFoundError):
        read_history(tmp_path / "none-*.csv")
    path, _ = in_duckdb(tmp_path)
    with pytest.raises(ValueError, match=r"has no table 'ride': found 'rides'"):
        read_history(path, table="ride")
    path, _ = in_sqlite(tmp_path)
    with pytest.raises(ValueError, match=r"has no table 'ride': found 'rides'"):
        read_history(path, table="ride")
    torn = tmp_path / "torn.sqlite"
    torn.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match="cannot be read"):
        read_history(torn, **COLUMNS)
    with pytest.raises(ValueError, match="table applies only to databases"):
        read_history(write(("agent", "time", "utility"), ("a", 1, 1)), table="x")
    with pytest.raises(ValueError, match=r"foo://x cannot be read|Don't know how to connect"):
        read_history("foo://x")
    with pytest.raises(ValueError, match="format must be"):
        read_history("x.csv", format="excel")
    with pytest.raises(ValueError, match=r"resource applies only to log formats \(sacct, swf, prometheus, kueue\)"):
        read_history("x.csv", resource="gpu")
    with pytest.raises(ValueError, match="needs and served must be given together"):
        read_history("x.csv", needs="need")
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, got 0"):
        read_history(write(("agent", "time", "utility"), ("a", 1, 1)), threads=0)
    with pytest.raises(ValueError, match="memory must be an amount such as 3GB, got 'lots'"):
        read_history(write(("agent", "time", "utility"), ("a", 1, 1)), memory="lots")


def test_tables_may_have_any_name(tmp_path):
    name, column = 'ri"des; DROP TABLE x', 'dri"ver'
    quoted = [text.replace('"', '""') for text in (name, column)]
    make = f'CREATE TABLE "{quoted[0]}" ("{quoted[1]}" TEXT, "at" TEXT, fare REAL)'
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(make)
        connection.execute(f"""INSERT INTO "{quoted[0]}" VALUES ('ana', '2026-01-01', 2)""")
    connection = sqlite3.connect(tmp_path / "b.sqlite")
    connection.execute(make)
    connection.execute(f"""INSERT INTO "{quoted[0]}" VALUES ('ana', '2026-01-01', 2)""")
    connection.commit()
    connection.close()
    for file in ("a.duckdb", "b.sqlite"):
        with read_history(tmp_path / file, table=name, agent=column, time="at", utility="fare") as history:
            assert audit(history, ["inf"]).received.tolist() == [2]


def test_a_name_is_the_same_in_every_spelling():
    names = ["Zoe\u0308", "Zo\u00eb", " Zo\u00eb ", "ana"]
    found = audit(read_history(pa.table({"agent": names, "time": [0, 5, 9, 9], "utility": [1, 2, 4, 8]})), ["inf"])
    assert found.names == ("Zo\u00eb", "ana")
    assert found.received.tolist() == [7, 8]
    assert found.standings[0].remembered.tolist() == [7, 8]


def test_csv_files_come_in_many_ways(tmp_path):
    import gzip

    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"agent,time,utility\nana,1,2\n"))
    (tmp_path / "b.csv").write_bytes('\ufeffagent;time;utility\r\n"ana; ""a""";1;2\r\n'.encode())
    (tmp_path / "c.tsv").write_text("agent\ttime\tutility\nana\t1\t2\n")
    for name, agent in (("a.csv.gz", "ana"), ("b.csv", 'ana; "a"'), ("c.tsv", "ana")):
        found = audit(read_history(tmp_path / name), ["1"])
        assert (found.names, found.received.tolist()) == ((agent,), [2])
    for part in range(2):
        (tmp_path / f"part-{part}.csv").write_text(f"agent,time,utility\nana,{part},2\n")
    assert read_history(tmp_path / "part-*.csv").n_events == 2


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("has no header", b""),
        ("has the column 'time' twice", b"agent,time,time,utility\na,1,1,1\n"),
        ("is not a CSV file in UTF-8", "agent,time,utility\nJos\xe9,1,1\n".encode("latin-1")),
        ("row 2: expected 3 cells as in the header, got 2", b"agent,time,utility\na,1\n"),
        ("time must span less than 285 years, got times from 202-06-01 to 2026-06-01",
         b"agent,time,utility\na,0202-06-01,1\na,2026-06-01,1\n"),
    ],
)  # fmt: skip
def test_broken_csv_files_are_refused(tmp_path, message, content):
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_history(path)


def test_a_rate_times_a_duration_is_an_amount(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("agent,time,cpus,run_time,note\nana,2026-01-01,4,2.5,\nben,2026-01-02,2,1,3 not a number\n")
    history = read_history(path, utility="cpus*run_time")
    found = audit(history, ["inf"], refine=False)
    assert dict(zip(found.names, found.received.tolist(), strict=True)) == {"ana": 10, "ben": 2}
    assert history.columns["utility"] == "cpus × run_time"
    weighted = read_history(path, utility="cpus*run_time=2,cpus=0.5")
    assert audit(weighted, ["inf"], refine=False).received.tolist() == [22, 5]
    with pytest.raises(ValueError, match="gpus"):
        read_history(path, utility="gpus*run_time")
    path.write_text("agent,time,cpus,run_time\nana,2026-01-01,-4,-2.5\n")
    history = read_history(path, utility="cpus*run_time")
    with pytest.raises(ValueError, match="a finite number of at least 0"):
        audit(history, ["inf"], refine=False)


def test_the_broken_one_of_several_files_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("agent,time,utility\nana,1,2\n")
    (tmp_path / "b.csv").write_text("agent,time,time,utility\nana,1,1,2\n")
    with pytest.raises(ValueError, match=r"b\.csv has the column 'time' twice"):
        read_history([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_several_files_are_one_history_if_they_are_of_one_kind(tmp_path):
    half = len(ROWS) // 2
    for name, rows in (("a.csv", ROWS[:half]), ("b.csv", ROWS[half:])):
        (tmp_path / name).write_text("driver,at,fare\n" + "".join(f"{a},{t},{f}\n" for a, t, f in rows))
    pq.write_table(table().slice(0, half), tmp_path / "a.parquet")
    pq.write_table(table().slice(half), tmp_path / "b.parquet")
    (tmp_path / "a.sqlite").write_bytes(in_sqlite(tmp_path)[0].read_bytes())
    for first, second in (("a.csv", "b.csv"), ("a.parquet", "b.parquet")):
        with read_history([tmp_path / first, tmp_path / second], **COLUMNS) as history:
            found = audit(history, ["inf"])
        assert dict(zip(found.names, found.received, strict=True)) == {"O'Brien": 0, "ana": 8.5, "ben": 4}
        assert found.label == f"{tmp_path / first} and 1 more"
        with pytest.raises(ValueError, match="table applies only to databases"):
            read_history([tmp_path / first, tmp_path / second], **COLUMNS, table="rides")
    for first, second in (("a.csv", "b.parquet"), ("a.parquet", "b.csv"), ("a.sqlite", "rides.sqlite")):
        paths = [tmp_path / first, tmp_path / second]
        message = f"several files must all be CSV or all Parquet, got {paths[0]}, {paths[1]}"
        with pytest.raises(ValueError, match=re.escape(message)):
            read_history(paths, **COLUMNS)


def test_an_engine_that_is_not_there_is_one_sentence():
    with pytest.raises(ValueError, match=r"oracle://me:\*\*\*@host/x cannot be read: ") as refusal:
        read_history("oracle://me:secret@host/x", table="y")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "shown"), [("\n  no such column: x \n\nLINE 1: SELECT x", "no such column: x"), ("", "Error")]
)
def test_what_an_engine_says_first_is_passed_on(text, shown):
    with pytest.raises(ValueError, match=rf"^rides\.parquet cannot be read: {shown}$"), readable("rides.parquet"):
        raise duckdb.Error(text)


def test_times_of_other_engines_are_microseconds_too():
    times = ibis.table({"time": "timestamp"}, name="t")
    assert "EXTRACT(microsecond" in ibis.to_sql(microseconds(times.time, "bigquery").name("x"), dialect="bigquery")


def test_columns_of_the_wrong_type_are_refused():
    with pytest.raises(ValueError, match="time must be times, dates or step numbers, got a column of type"):
        read_history(pa.table({"agent": ["a"], "time": [[1]], "utility": [1.0]}))
    with pytest.raises(ValueError, match="utility must be numbers, got a column of type"):
        read_history(pa.table({"agent": ["a"], "time": [1], "utility": [[1.0]]}))


def test_needs_are_looked_for_only_if_that_is_asked():
    table = pa.table({"agent": ["a", "b"], "time": [0, 0], "need": [4.0, 3.0], "served": [1, 0]})
    with pytest.raises(ValueError, match="has no column 'utility'"):
        read_history(table)
    assert read_history(table, look_for_needs=True).requests is not None
    plain = pa.table({"agent": ["a"], "time": [0], "utility": [4.0]})
    assert read_history(plain, look_for_needs=True).requests is None
    with pytest.raises(ValueError, match=r"a column .need., but .* who was served: name it with --served"):
        read_history(table.drop_columns("served"), look_for_needs=True)
    with pytest.raises(ValueError, match="give either --utility, or --needs and --served"):
        read_history(table, utility="need", served="served", look_for_needs=True)


def test_clocks_read_and_show_lengths_and_moments():
    clock, steps = Clock(zone="Europe/Berlin"), Clock(steps=True)
    assert clock.length("90min") == 5_400_000_000
    assert [clock.length_text(clock.length(text)) for text in ("90s", "90min", "30h", "11.3d", "3y", "inf")] == [
        "1.5min", "1.5h", "1.25d", "11.3d", "3y", "inf",
    ]  # fmt: skip
    assert clock.shown(clock.moment("2026-07-01T12:00")) == "2026-07-01 12:00"
    assert clock.json_time(clock.moment("2026-07-01T12:00")) == "2026-07-01T10:00:00Z"
    assert clock.drawn(clock.moment("2026-07-01T12:00Z")) == "2026-07-01T14:00:00"
    assert (steps.length("3"), steps.moment("7"), steps.drawn(7), steps.length_text(12345)) == (3, 7, 7, "12,345")
    for wrong in ("7d", "0", "-1", "nan"):
        with pytest.raises(ValueError, match="half_life must be a number of steps above 0"):
            steps.length(wrong)
    with pytest.raises(ValueError, match="after a half-life of zero nothing is remembered"):
        clock.length("0d")
    with pytest.raises(ValueError, match="at must be a date or time"):
        clock.moment("soon")
    for beyond in ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z"):
        with pytest.raises(ValueError, match="at must be between the years 1 and 9999 in UTC and in Europe/Berlin"):
            clock.moment(beyond)
    with pytest.raises(ValueError, match="at must be a time that exists"):
        clock.moment("2026-03-29T02:30")
    for wrong in ("soon", "inf", "nan", "1e400"):
        with pytest.raises(ValueError, match="at must be a step number"):
            steps.moment(wrong)


def test_landmarks_between_half_lives_are_powers_of_ten_or_round_lengths_of_time():
    clock = Clock()
    assert Clock(steps=True).landmarks([2, 500, float("inf")]) == [10, 100]
    found = clock.landmarks([clock.length("2h"), clock.length("60d")])
    assert [clock.length_text(length) for length in found] == ["6h", "1d", "7d"]


@pytest.mark.parametrize("days", [0.001, 1, 30, 400, 40_000])
def test_periods_are_as_people_would_choose_them(days):
    span = days * 86_400e6
    length = Clock().period(span)
    assert 1 <= span / length <= 60
    assert Clock(steps=True).period(days) * 60 >= days


@pytest.mark.parametrize(("days", "length"), [(60, 1), (61, 2), (121, 7), (21_900, 365), (40_000, 2 * 365)])
def test_periods_are_days_weeks_and_years_of_365_days(days, length):
    assert Clock().period(days * 86_400e6) == length * 86_400e6


def test_tables_as_spreadsheets_in_much_of_europe_write_them(tmp_path):
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    here.write_text("agent;time;utility\nana;1.2.2026;4,5\nben;03.02.2026 22:30;2\nana;05.02.2026;,25\n")
    there.write_text("agent,time,utility\nana,2026-02-01,4.5\nben,2026-02-03T22:30,2\nana,2026-02-05,0.25\n")
    with read_history(here, time_zone="Europe/Berlin") as one, read_history(there, time_zone="Europe/Berlin") as other:
        found, expected = audit(one, ["3d", "inf"]), audit(other, ["3d", "inf"])
    assert (found.first, found.periods, found.received.tolist()) == (
        expected.first, expected.periods, expected.received.tolist()
    )  # fmt: skip
    here.write_text('agent,time,utility\nana,2026-02-01,"4,5"\n')
    with (
        read_history(here) as history,
        pytest.raises(ValueError, match=r"row 2: utility must be a finite .* got '4,5'"),
    ):
        audit(history, ["inf"])
    for odd in ("1.234,5", "31.02.2026"):
        here.write_text(f"agent;time;utility\nana;{'01.02.2026' if ',' in odd else odd};{odd}\n")
        with (
            pytest.raises(ValueError, match=f"row 2: (utility|time) must be .* got '{odd}'"),
            read_history(here) as one,
        ):
            audit(one, ["inf"])


def test_a_point_that_may_set_thousands_apart_is_refused_where_others_write_commas(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("agent;time;utility\nana;2026-02-01;8,5\nben;2026-02-02;1.000\n")
    message = r"row 3: utility must be .* got '1.000', in a table with decimal commas: write 1000 or 1$"
    with pytest.raises(ValueError, match=message), read_history(path) as history:
        audit(history, ["inf"])
    path.write_text("agent;time;utility\nana;2026-02-01;8.5\nben;2026-02-02;1.500\n")
    with read_history(path) as history:
        assert audit(history, ["inf"]).received.tolist() == [8.5, 1.5]


@pytest.mark.parametrize("table", [None, "events"])
def test_the_events_of_a_ledger_are_taken_for_what_they_are(tmp_path, table):
    with Ledger.new(tmp_path / "team.db", Rules(), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 3, at="2026-01-05")
    with read_history(tmp_path / "team.db", table=table) as history:
        found = audit(history, ["inf"])
    assert (found.names, found.received.tolist(), found.clock.steps) == (("ana", "ben"), [3, 0], False)


def test_an_amount_corrected_to_nothing_is_nothing(tmp_path):
    with Ledger.new(tmp_path / "team.db", Rules(), began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
        slip = ledger.record("ana", 0.1, at="2026-01-05")
        # In floating point these corrections and the amount sum to less than zero.
        for amount in (0.4, 0.3, 0.0):
            ledger.correct(slip.seq, amount)
    with read_history(tmp_path / "team.db") as history:
        assert audit(history, ["inf"]).received.tolist() == [0]


def test_a_ledger_is_audited_by_its_own_entitlements(tmp_path):
    with Ledger.new(tmp_path / "team.db", Rules(entitlements={"ana": 2}), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ben", 3, at="2026-01-05")
        ledger.change_rules(at="2026-02-01", entitlements={"ben": 4})
        ledger.record("ana", 3, at="2026-03-05")
        stood = ledger.standing("2026-01-10")
    with read_history(tmp_path / "team.db") as history:
        early, late = audit(history, ["30d"], at="2026-01-10"), audit(history, ["30d"])
        asked = audit(history, ["30d"], entitlements={"ana": 1, "ben": 1})
    assert early.entitled.tolist() == pytest.approx([2 / 3, 1 / 3])
    np.testing.assert_allclose(early.standings[0].owed, stood.owed, rtol=1e-12)
    assert late.entitled.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert asked.entitled.tolist() == [0.5, 0.5]
    assert "holds, offsets, departures, entitlements and the newcomer rule (mean) count" in late.notes[1]


def test_files_that_are_no_text_are_refused_with_what_to_do(tmp_path):
    book, late = tmp_path / "book.csv", tmp_path / "late.csv"
    book.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(ValueError, match=r"book.csv is a spreadsheet workbook: save it as CSV$"):
        read_history(book)
    late.write_bytes(b"agent,time,utility\n" + b"ana,1,1\n" * 50_000 + "José,2,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"late.csv is not a CSV file in UTF-8: save it again as CSV in UTF-8$"):
        audit(read_history(late), ["inf"])


def test_rows_in_more_than_one_file_are_counted_and_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other, last = (tmp_path / name for name in ("one.csv", "other.csv", "last.csv"))
    one.write_text("agent,time,utility,id\nana,1,2,a\nana,1,2,a\nben,2,3,b\n")
    other.write_text("id,agent,time,utility\nb,ben,2,3\nc,ana,1,2\n")
    last.write_text("agent,time,utility,id\nana,9,2,z\n")

    def repeats(*files, **options):
        with read_history(list(files), **options) as found:
            return [each for each in found.notes if "more than one file" in each], found.n_events

    words = "in more than one file and {} each time; if that is not meant, leave out one of the files."
    assert repeats(one, other) == ([f"1 row occurs {words.format('counts')}"], 5)
    assert repeats(one, one) == ([f"2 rows occur {words.format('count')}"], 6)
    assert repeats("one.csv", "./one.csv", last) == ([f"2 rows occur {words.format('count')}"], 7)
    assert repeats(one, other, where=["agent=ana"]) == ([], 3)
    assert repeats(one, last) == ([], 4)


def test_the_column_with_the_names_of_files_is_none_of_theirs(tmp_path):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    for path in (one, other):
        path.write_text("agent,time,utility\nana,1,2\n")
    with pytest.raises(ValueError, match=r"has no column 'state': found 'agent', 'time', 'utility'$"):
        read_history([one, other], where=["state=1"])


def test_a_view_in_a_duckdb_file_reads_no_other_file(tmp_path):
    path, secret = tmp_path / "rides.duckdb", tmp_path / "secret"
    secret.write_text("hunter2")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 'ana' AS agent, 1 AS time, 2.0 AS utility")
        connection.execute("CREATE VIEW plain AS SELECT * FROM mine")
        for name, read in (("text", "read_text"), ("lines", "read_csv"), ("names", "glob")):
            column = "file" if read == "glob" else "*"
            connection.execute(f"CREATE VIEW {name} AS SELECT {column} FROM {read}('{secret}')")
    for url in (path, f"duckdb:///{path}"):
        for name in ("text", "lines", "names"):
            with pytest.raises(ValueError, match=r"cannot be read: Permission Error"):
                read_history(url, table=name)
        with read_history(url, table="plain") as history, read_history(url, table="mine") as other:
            assert audit(history, ["inf"]).received.tolist() == audit(other, ["inf"]).received.tolist() == [2]
            with pytest.raises(duckdb.Error, match="external access"):
                history.source.table.get_backend().raw_sql("SET enable_external_access = true")


def test_the_url_of_a_file_that_is_not_there_creates_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for scheme in ("sqlite", "duckdb"):
        for url in (f"{scheme}:///typo.db", f"{scheme}://typo.db"):
            missing = rf"{url} cannot be read: there is no file typo\.db; .* absolute path begins with {scheme}:////"
            with pytest.raises(ValueError, match=missing):
                read_history(url)
        with pytest.raises(ValueError, match=rf"there is no file {tmp_path}/typo\.db$"):
            read_history(f"{scheme}:///{tmp_path}/typo.db")
    with pytest.raises(ValueError, match=rf"there is no file {tmp_path}/typo\.db"):
        read_history(f"file://{tmp_path}/typo.db")
    assert not list(tmp_path.iterdir())


def test_the_url_of_a_file_is_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, _ = in_sqlite(tmp_path)
    for url in (f"sqlite:///{path.name}", f"sqlite:///{path}", f"file://{path}"):
        assert audit(read_history(url, **COLUMNS), ["inf"]).received.tolist() == [0, 8.5, 4]
    with pytest.raises(ValueError, match="is not a DuckDB file"):
        read_history(f"duckdb:///{path}")


def test_a_table_in_a_schema_must_be_there(tmp_path):
    path = tmp_path / "rides.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rides AS SELECT 'ana' AS agent, 1 AS time, 2.0 AS utility")
        connection.execute("CREATE SCHEMA old")
        for name in ('old."rides"', '"dotted.rides"', "gone"):
            connection.execute(f"CREATE TABLE {name} AS SELECT 'ana' AS agent, 1 AS time, 3.0 AS utility")
        connection.execute("CREATE VIEW broken AS SELECT * FROM gone")
        connection.execute("DROP TABLE gone")
    for there, amount in {"rides": 2, "main.rides": 2, "old.rides": 3, "dotted.rides": 3}.items():
        with read_history(path, table=there) as history:
            assert audit(history, ["inf"]).received.tolist() == [amount]
    with pytest.raises(ValueError, match=r"the schema 'old' of .*rides\.duckdb has no table 'typo': found 'rides'"):
        read_history(path, table="old.typo")
    with pytest.raises(ValueError, match=r"has no table 'rides': found none"):
        read_history(path, table="typo.rides")
    with pytest.raises(ValueError, match=r"cannot be read: "):
        read_history(path, table="broken")
