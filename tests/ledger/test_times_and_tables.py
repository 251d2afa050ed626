"""Instants, durations and tables as people write them."""

import io
import math
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import _csv
from bygones.ledger import Amount, Entry, Items, Ledger, Places, csv_files
from bygones.ledger.times import as_datetime, day, duration, instant, iso, now, shown


def test_instants():
    expected = instant(datetime(2026, 3, 2, 21, tzinfo=UTC))
    for said in (
        "2026-03-02T22:00+01:00",
        " 2026-03-02T21:00 ",
        "2026-03-02 21:00:00Z",
        "02.03.2026 21:00",
        "2.3.2026 22:00+01:00",
        datetime(2026, 3, 2, 21),
        datetime(2026, 3, 2, 22, tzinfo=timezone(timedelta(hours=1))),
    ):
        assert instant(said) == expected
    assert instant("2026-03-02") == instant(date(2026, 3, 2)) == expected - 21 * 3600 * 10**6
    assert (iso(expected), shown(expected), day(expected)) == ("2026-03-02T21:00:00Z", "2026-03-02 21:00", "2026-03-02")
    assert abs(as_datetime(now()) - datetime.now(UTC)) < timedelta(minutes=1)
    for bad in ("soon", "2026-13-01", "13.13.2026", "02/03/2026", "2.3.26", "", 5, None):
        with pytest.raises(ValueError, match="when must be a date"):
            instant(bad, "when")


@given(st.integers(-(2**50), 2**52))
def test_an_instant_is_kept_to_the_microsecond(at):
    assert instant(as_datetime(at)) == instant(iso(at)) == at


def test_durations():
    said = {"30d": 2592000, "12h": 43200, "1.5 d": 129600, "90min": 5400, "2w": 1209600, "1e3s": 1000, "INF": math.inf,
            "30 days": 2592000, "1 Week": 604800, "2 hours": 7200, "1year": 31557600}  # fmt: skip
    assert {text: duration(text) for text in said} == said
    for bad in ("30", "d", "-1d", "nan", "5 months", "3m", ""):
        with pytest.raises(ValueError, match="above 0 with its unit"):
            duration(bad)
    with pytest.raises(ValueError, match="half-life of zero nothing is remembered"):
        duration("0d")
    with pytest.raises(ValueError, match=r"every must be a time above 0 .* 12h, got '0d'$"):
        duration("0d", "every")
    with pytest.raises(ValueError, match="for ever is inf"):
        duration("1e999d")


@given(st.text())
def test_text_that_looks_like_a_formula_comes_back_as_it_was(text):
    assert _csv.unshield(_csv.shield(text)) == text
    assert not _csv.shield(text).startswith(("=", "+", "-", "@", "\t", "\r"))


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
            csv_files.write_events(file, csv_files.of_kind(one.events(), "received"))
        other.record_all(csv_files.read_history(path), join=True)
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


def test_requests_from_tables(tmp_path):
    def read(text, **said):
        return csv_files.read_request(written(tmp_path, text), **said)

    assert read("agent,need\nana,2\nben,1.5\n", k=2) == Places({"ana": 2, "ben": 1.5}, 2)
    assert read("\ufeffagent\nana\nben\n") == Places({"ana": 1, "ben": 1}, 1)
    assert read("agent, item ,utility\nana,early,2\nana,late,0\n") == Items({"ana": {"early": 2, "late": 0}}, 1)
    assert read("agent,rate,cap\nana,2,5\nben,1,\n", amount=9) == Amount(
        9, {"ana": 2, "ben": 1}, {"ana": 5, "ben": math.inf}
    )
    assert read("agent\nana\n", amount=9) == Amount(9, {"ana": 1}, None)
    for text, message in [
        ("name,need\nana,1\n", "no column 'agent': found 'name', 'need'"),
        ("agent,needs\nana,1\n", "no column 'need': found 'agent', 'needs'"),
        ("agent,item\nana,x\n", "no column 'utility'"),
        ("", "no column 'agent': found none"),
        ("agent,need\n", "no rows"),
        ("agent,need\nana,1\nben,many\n", "row 3: need must be a finite number of at least 0, got 'many'"),
        ("agent,need\nana,-1\n", "row 2: need"),
        ("agent,need\nana,nan\n", "row 2: need"),
        ("agent,need\nana,inf\n", "row 2: need"),
        ("agent,need\nana,1\nana,2\n", "row 3: 'ana' is there already"),
        ("agent,item,utility\nana,x,1\nana,x,1\n", "row 3: 'ana' and 'x' are there already"),
        ("agent,need\n,1\n", "row 2: agent must not be empty"),
        ("agent,need\nana\n", "row 2: expected 2 cells"),
        ("agent,need\nana,1,2\n", "row 2: expected 2 cells"),
        (b"agent,need\n\xff,1\n", "not a CSV file in UTF-8: save it again as CSV in UTF-8"),
        (b"PK\x03\x04\xff\xfe", "is a spreadsheet workbook: save it as CSV"),
    ]:
        with pytest.raises(ValueError, match="table.csv.*" + message):
            read(text)


def test_histories_from_tables(tmp_path):
    def read(text, **said):
        return csv_files.read_history(written(tmp_path, text), **said)

    assert read("agent,time,amount,note\nana,2026-01-02,8,late\n") == [Entry("ana", 8, "2026-01-02", "late")]
    assert read("who,at,hours\nana,2026-01-02,8\n", agent="who", time="at", amount="hours") == [
        Entry("ana", 8, "2026-01-02", "")
    ]
    european = [Entry("ana", 8.5, "02.01.2026", "late, again"), Entry("1,5,7", 0.25, "03.01.2026", "")]
    assert read("\ufeffagent;time;amount;note\nana;02.01.2026;8,5;late, again\n1,5,7;03.01.2026;,25;\n") == european
    assert read("agent\ttime\tamount\nana\t2026-01-02\t8.5\n") == [Entry("ana", 8.5, "2026-01-02", "")]
    for text, message in [
        ('agent,time,amount\nana,2026-01-02,"8,5"\n', "row 2: amount must be a finite number of at least 0, got '8,5'"),
        ("agent;time;amount\nana;2026-01-02;1.234,5\n", "row 2: amount must be a finite number of at least 0"),
        ("agent,when,amount\nana,2026-01-02,8\n", "no column 'time': found 'agent', 'when', 'amount'"),
        ("agent,time,amount\nana,2026-01-02,8\nben,yesterday,8\n", "row 3: time must be a date"),
        ("agent,time,amount\nana,2026-01-02,nan\n", "row 2: amount"),
        ("agent,time,amount,kind\nana,2026-01-02,1,join\n", "row 2: kind must be received"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(text)
