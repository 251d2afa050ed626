"""The same numbers from PostgreSQL, a real server, and from Spark in local mode, as from DuckDB."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

from bygones.allocation import ChooseK
from bygones.audit import audit, read_history
from bygones.ledger import Ledger, Rules

pytestmark = pytest.mark.soak

COLUMNS = {"agent": "driver", "time": "at", "utility": "fare"}
STRANGE = ("ana", "O'Brien", '"; DROP TABLE rides; --', "<script>alert(1)</script>", "🚕 =cmd()")
HALF_LIVES = ["1h", "3d", "inf"]


@pytest.fixture(scope="module")
def rides():
    rng = np.random.default_rng(7)
    n = 500
    start = 1_774_000_000_000_000  # a week before summer time begins in Europe
    times = np.sort(start + rng.integers(0, 30 * 86_400_000_000, n))
    fares = np.round(rng.gamma(2, 5, n), 2)
    names = [STRANGE[i] for i in rng.integers(0, len(STRANGE), n)]
    return pa.table({"driver": names, "at": pa.array(times, pa.timestamp("us")), "fare": fares})


def same(one, other):
    assert one.names == other.names
    assert one.received.tolist() == pytest.approx(other.received.tolist(), rel=1e-13)
    for a, b in zip(one.standings, other.standings, strict=True):
        np.testing.assert_allclose(a.remembered, b.remembered, rtol=1e-12)
        np.testing.assert_allclose(a.gini, b.gini, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(a.since, b.since)
    sentences = [[each.sentence(audit.clock.length_text) for each in audit.conclusions.found] for audit in (one, other)]
    assert sentences[0] == sentences[1]


@pytest.fixture(scope="module")
def in_postgres(rides, new_database):
    import psycopg

    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        # Another zone than UTC, to show that the server's does not matter.
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET timezone TO 'America/New_York'")
        columns = "driver text, at timestamp, moment timestamptz, day date, fare numeric(9, 2)"
        connection.execute(f"CREATE TABLE rides ({columns})")
        connection.execute("CREATE TABLE bad (driver text, at timestamp, fare double precision)")
        with connection.cursor() as cursor, cursor.copy("COPY rides FROM STDIN") as copy:
            for row in rides.to_pylist():
                moment = row["at"].isoformat()
                copy.write_row((row["driver"], moment, moment + "Z", moment[:10], row["fare"]))
        connection.execute("INSERT INTO bad VALUES ('ana', '2026-01-01', 1), ('ana', '2026-01-02', 'NaN')")
    return url


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_postgresql_gives_the_same_numbers(rides, in_postgres, zone):
    here = audit(read_history(rides, **COLUMNS, time_zone=zone), HALF_LIVES)
    with read_history(in_postgres, **COLUMNS, table="rides", time_zone=zone) as history:
        same(here, audit(history, HALF_LIVES))


def test_postgresql_with_zones_dates_and_schemas(rides, in_postgres):
    here = audit(read_history(rides, **COLUMNS), HALF_LIVES)
    with read_history(in_postgres, **COLUMNS | {"time": "moment"}, table="public.rides") as history:
        same(here, audit(history, HALF_LIVES))
    with pytest.raises(ValueError, match=r"the schema 'public' of .* has no table 'typo': found 'bad', 'rides'"):
        read_history(in_postgres, **COLUMNS, table="public.typo")
    days = rides.set_column(1, "at", rides["at"].cast(pa.date32(), safe=False))
    here = audit(read_history(days, **COLUMNS, time_zone="Europe/Berlin"), HALF_LIVES)
    with read_history(in_postgres, **COLUMNS | {"time": "day"}, table="rides", time_zone="Europe/Berlin") as history:
        same(here, audit(history, HALF_LIVES))


def test_postgresql_lets_what_is_long_past_vanish(rides, in_postgres):
    short = ["1s", "1min", "inf"]
    here = audit(read_history(rides, **COLUMNS), short)
    with read_history(in_postgres, **COLUMNS, table="rides") as history:
        same(here, audit(history, short))


def test_postgresql_finds_the_same_flips_after_a_first_look(rides, in_postgres, monkeypatch):
    here = audit(read_history(rides, **COLUMNS), HALF_LIVES)
    monkeypatch.setattr("bygones.audit.measure.pasts.ASKED_AT_ONCE", 0)
    with read_history(in_postgres, **COLUMNS, table="rides") as history:
        same(here, audit(history, HALF_LIVES))


def keep_a_ledger(target):
    with Ledger.new(target, Rules(half_life="30d", entitlements={STRANGE[1]: 2}), began="2026-01-01") as ledger:
        ledger.join_all(STRANGE, at="2026-01-01T00:00:00.000001")
        for n in range(40):
            ledger.record(STRANGE[n * n % 5], n % 7, at=f"2026-01-{2 + n % 28:02}T08:30:00.{n:06}")
        ledger.correct(9, 2.5)
        ledger.offset(STRANGE[0], 3, at="2026-02-01")
        ledger.decide(ChooseK(dict.fromkeys(STRANGE, 4.0), k=2), at="2026-02-02")
        decision, *_ = ledger.accept(ledger.propose(ChooseK(dict.fromkeys(STRANGE, 7.0)), at="2026-02-03"))
        ledger.void(decision.seq)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_ledger_in_postgresql_is_audited_where_it_is(new_database, tmp_path, zone):
    url, path = new_database(), tmp_path / "team.db"
    keep_a_ledger(url)
    keep_a_ledger(path)
    with read_history(path, time_zone=zone) as history:
        here = audit(history, HALF_LIVES)
    for table in (None, "events"):
        with read_history(url, table=table, time_zone=zone) as history:
            there = audit(history, HALF_LIVES)
        same(here, there)
        assert (there.first, there.n_events, there.clock) == (here.first, here.n_events, here.clock)
        assert there.notes == here.notes
        assert there.entitled.tolist() == here.entitled.tolist() != [0.2] * 5


def test_postgresql_refuses_in_one_sentence(in_postgres):
    with pytest.raises(ValueError, match=r"has no table 'ride': found 'bad', 'rides'"):
        read_history(in_postgres, **COLUMNS, table="ride")
    with pytest.raises(ValueError, match=r"has several tables, choose one: found 'bad', 'rides'"):
        read_history(in_postgres, **COLUMNS)
    number = "bad, row 2: fare must be a finite number of at least 0, got nan"
    with read_history(in_postgres, **COLUMNS, table="bad") as history, pytest.raises(ValueError, match=number):
        audit(history, ["inf"])
    with pytest.raises(ValueError, match="driver must be times, dates or numbers, got text"):
        read_history(in_postgres, **COLUMNS | {"time": "driver"}, table="bad")
    with pytest.raises(ValueError, match="localhost:1/x cannot be read: ") as refusal:
        read_history("postgresql://somebody:secret@localhost:1/x", table="rides")
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.fixture(scope="module")
def spark():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java (apt-get install default-jre-headless)")
    pyspark = pytest.importorskip("pyspark.sql", reason="Spark is not installed (pip install 'bygones[spark]')")
    import ibis

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        pyspark.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")
        .getOrCreate()
    )
    yield ibis.pyspark.connect(session)
    session.stop()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_spark_gives_the_same_numbers(rides, spark, tmp_path, zone, monkeypatch):
    import pyarrow.parquet as pq

    pq.write_table(rides, tmp_path / "rides.parquet")
    pq.write_table(rides.set_column(1, "at", rides["at"].cast(pa.timestamp("us", "UTC"))), tmp_path / "zoned.parquet")
    for name in ("rides", "zoned"):
        table = spark.read_parquet(str(tmp_path / f"{name}.parquet"))
        here = audit(read_history(tmp_path / f"{name}.parquet", **COLUMNS, time_zone=zone), HALF_LIVES)
        there = audit(read_history(table, **COLUMNS, time_zone=zone), HALF_LIVES)
        same(here, there)
    monkeypatch.setattr("bygones.audit.measure.pasts.ASKED_AT_ONCE", 0)
    same(here, audit(read_history(table, **COLUMNS, time_zone=zone), HALF_LIVES))
