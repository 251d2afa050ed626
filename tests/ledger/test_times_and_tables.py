"""Instants, durations and tables as people write them."""

import csv
import io
import math
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bygones import _csv
from bygones.ledger import Entry, Ledger
from bygones.ledger import exchange as csv_files
from bygones.ledger.model.times import as_datetime, day, duration, instant, iso, now, shown


def test_instants():
    expected = instant(datetime(2026, 3, 2, 21, tzinfo=UTC))
    for value in (
        "2026-03-02T22:00+01:00",
        " 2026-03-02T21:00 ",
        "2026-03-02 21:00:00Z",
        "02.03.2026 21:00",
        "2.3.2026 22:00+01:00",
        datetime(2026, 3, 2, 21),
        datetime(2026, 3, 2, 22, tzinfo=timezone(timedelta(hours=1))),
    ):
        assert instant(value) == expected
    assert instant("2026-03-02") == instant(date(2026, 3, 2)) == expected - 21 * 3600 * 10**6
    assert (iso(expected), shown(expected), day(expected)) == ("2026-03-02T21:00:00Z", "2026-03-02 21:00", "2026-03-02")
    assert abs(as_datetime(now()) - datetime.now(UTC)) < timedelta(minutes=1)
    for bad in ("soon", "2026-13-01", "13.13.2026", "02/03/2026", "2.3.26", "", 5, None):
        with pytest.raises(ValueError, match="when must be a date"):
            instant(bad, "when")
    for bad, hint in [
        ("32.03.2026", "there is no such day"),
        ("01.03.26", "write the year with four digits"),
        ("01/03/2026", "with slashes, day and month cannot be told apart"),
    ]:
        with pytest.raises(ValueError, match=f"such as 2026-03-02, 02.03.2026 or .*, got '{bad}': {hint}$"):
            instant(bad, "when")


@pytest.mark.parametrize(
    ("named", "ask"),
    [
        ("at", lambda ledger: ledger.record("ana", 1, at="soon")),
        ("at", lambda ledger: ledger.hold("ana", at="soon")),
        ("at", lambda ledger: ledger.standing("soon")),
        ("as_recorded", lambda ledger: ledger.standing(as_recorded="soon")),
        ("until", lambda ledger: ledger.outlook("soon")),
        ("from", lambda ledger: ledger.redecide("soon")),
        ("to", lambda ledger: ledger.redecide("2026-01-01", "soon")),
        ("from", lambda ledger: ledger.plans.turns("soon")),
        ("until", lambda ledger: ledger.plans.turns(end="soon")),
        ("from", lambda ledger: ledger.plans.redecide("soon")),
        ("from", lambda ledger: ledger.plans.void("soon")),
        ("until", lambda ledger: ledger.plans.void(end="soon")),
    ],
)
def test_a_time_that_is_none_is_named_as_it_was_asked_for(team, named, ask):
    with pytest.raises(ValueError, match=f"^{named} must be a date or time such as .*, got 'soon'$"):
        ask(team)


@given(st.integers(-(2**50), 2**52))
def test_an_instant_is_kept_to_the_microsecond(at):
    assert instant(as_datetime(at)) == instant(iso(at)) == at


def test_durations():
    seconds = {"30d": 2592000, "12h": 43200, "1.5 d": 129600, "90min": 5400, "2w": 1209600, "1e3s": 1000,
               "INF": math.inf, "30 days": 2592000, "1 Week": 604800, "2 hours": 7200, "1year": 31557600}  # fmt: skip
    assert {text: duration(text) for text in seconds} == seconds
    for bad in ("30", "d", "-1d", "nan", "5 months", "3m", ""):
        with pytest.raises(ValueError, match="above 0 with its unit"):
            duration(bad)
    with pytest.raises(ValueError, match="half-life of zero nothing is remembered"):
        duration("0d")
    with pytest.raises(ValueError, match=r"every must be a time above 0 .* 12h, got '0d'$"):
        duration("0d", "every")
    with pytest.raises(ValueError, match="write inf for a time without end"):
        duration("1e999d")


@given(st.text())
def test_text_that_looks_like_a_formula_comes_back_as_it_was(text):
    assert _csv.unshield(_csv.shield(text)) == text
    assert not _csv.shield(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.lists(st.text("x =+-@;,|'\"\t\r\n\uff1d"), min_size=1, max_size=4))
@example(["ana", "x;=HYPERLINK(1)"])
@example(["ana", 'x;"=HYPERLINK(1)'])
@example(["ana", "x; \uff1dHYPERLINK(1)"])
@example(["ana", "x\n=HYPERLINK(1)"])
def test_no_formula_begins_wherever_a_spreadsheet_splits_a_line(cells):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(map(_csv.shield, cells))
    for separator in ",;\t|":
        for row in csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator):
            for cell in row:
                assert not cell.lstrip(' "').startswith(("=", "+", "-", "@", "\uff1d"))


def test_an_apostrophe_that_is_part_of_a_name_stays():
    for name in ("'t Hooft", "O'Brien", "''"):
        assert _csv.shield(name) == _csv.unshield(name) == name
    assert _csv.shield("=cmd()") == "'=cmd()"
    assert _csv.shield("'=cmd()") == "''=cmd()"


def test_what_is_exported_can_be_imported(new_path, tmp_path):
    names = ["=cmd()", "'quoted'", '"double", and comma', "<script>", "🌙", "-1+1", "'; DROP TABLE events; --"]
    with Ledger.new(new_path(), began="2026-01-01") as one, Ledger.new(new_path(), began="2026-01-01") as other:
        one.record_all([Entry(name, i, "2026-01-02", "=1+1") for i, name in enumerate(names)], join=True)
        path = tmp_path / "events.csv"
        with path.open("w", newline="") as file:
            csv_files.write_events(file, one.events("received"))
        other.record_all(csv_files.read_entries(path), join=True)
        a, b = one.standing("2026-02-01"), other.standing("2026-02-01")
        assert dict(zip(a.names, a.received, strict=True)) == dict(zip(b.names, b.received, strict=True))
        assert set(a.names) == set(names)
        assert other.verify().ok
        text = io.StringIO()
        csv_files.write_events(text, one.events())
        assert all(not line.split(",")[4].startswith("=") for line in text.getvalue().splitlines())


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_histories_from_tables(tmp_path):
    def read(text, **columns):
        found = csv_files.read_entries(written(tmp_path, text), **columns)
        assert [entry.where for entry in found] == [f"{tmp_path / 'table.csv'}, row {i + 2}" for i in range(len(found))]
        return [entry._replace(where="") for entry in found]

    assert read("agent,time,amount,note\nana,2026-01-02,8,late\n") == [Entry("ana", 8, "2026-01-02", "late")]
    assert read("who,at,hours\nana,2026-01-02,8\n", agent="who", time="at", amount="hours") == [
        Entry("ana", 8, "2026-01-02", "")
    ]
    assert read("agent,time,utility\nana,2026-01-02,8\n") == [Entry("ana", 8, "2026-01-02", "")]
    european = [Entry("ana", 8.5, "02.01.2026", "late, again"), Entry("1,5,7", 0.25, "03.01.2026", "")]
    assert read("\ufeffagent;time;amount;note\nana;02.01.2026;8,5;late, again\n1,5,7;03.01.2026;,25;\n") == european
    assert read("agent;time;amount\nana;2026-01-02;8,500\n")[0].amount == 8.5
    assert read("agent;time;amount\nana;2026-01-02;1.500\n")[0].amount == 1.5
    assert read("agent;time;amount\nana;2026-01-02;8,5\nana;2026-01-02;0.125\n")[1].amount == 0.125
    assert read("agent\ttime\tamount\nana\t2026-01-02\t8.5\n") == [Entry("ana", 8.5, "2026-01-02", "")]
    for text, message in [
        ('agent,time,amount\nana,2026-01-02,"8,5"\n', "row 2: amount must be a finite number of at least 0, got '8,5'"),
        ("agent;time;amount\nana;2026-01-02;1.234,5\n", "row 2: amount must be a finite number of at least 0"),
        ("agent,when,amount\nana,2026-01-02,8\n", "no column 'time': found 'agent', 'when', 'amount'"),
        ("agent,time,amount\nana,2026-01-02,8\nben,yesterday,8\n", "row 3: time must be a date"),
        ("agent,time,amount\nana,2026-01-02,nan\n", "row 2: amount"),
        ("agent,time,utility\nana,2026-01-02,nan\n", "row 2: utility"),
        (
            "agent,time,hours\nana,2026-01-02,8\n",
            "'amount' or 'utility', found 'agent', 'time', 'hours': name the column with --amount",
        ),
        (
            "agent,time,amount,utility\nana,2026-01-02,8,9\n",
            "'amount' or 'utility', found both: name the column with --amount",
        ),
        ("agent,time,amount,kind\nana,2026-01-02,1,join\n", "row 2: kind must be received"),
        ("Agent,time,amount\nana,2026-01-02,1\n", "no column 'agent': .*; if you mean 'Agent', name it with --agent$"),
        ("agent,when,amount\nana,2026-01-02,1\n", "no column 'time': .*; name the column with --time$"),
        ("agent,time,amount\nana,2026-01-02\n", "row 2: expected 3 cells as in the header, got 2"),
        ("agent,time,amount\nana,2026-01-02,1,2\n", "row 2: expected 3 cells as in the header, got 4"),
        (
            "agent;time;amount\nana;2026-01-02;8,5\nben;2026-01-02;1.000\n",
            "row 3: .* got '1.000', .*: write 1000 or 1$",
        ),
        ("agent;time;amount\nana;2026-01-02;1.500\nben;2026-01-02;8,5\n", "row 2: .*: write 1500 or 1,5$"),
        ("agent;time;amount\nana;2026-01-02;1.000.000\nben;2026-01-02;8,5\n", "row 2: .*: write 1000000$"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(text)
