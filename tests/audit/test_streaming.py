"""Readers hold a few rows at a time, however long the file is."""

import json
import sqlite3
import tracemalloc
from contextlib import closing

import pyarrow as pa
import pytest

from bygones.audit import audit, read_history
from bygones.audit.read import engines, ledger_events, sources
from bygones.ledger import Ledger, Rules

BATCH = 500
LONG = "0" * 600  # with it every file is longer than the million characters that are looked at to recognise a format


@pytest.fixture
def sizes(monkeypatch):
    """The numbers of rows that were handed to DuckDB at once."""
    found, table = [], pa.table

    def counted(columns, **more):
        made = table(columns, **more)
        found.append(len(made))
        return made

    monkeypatch.setattr(sources, "BATCH", BATCH)
    monkeypatch.setattr(sources.pa, "table", counted)
    return found


def prometheus(path, n):
    with path.open("w") as file:
        file.write('{"status": "success", "data": {"resultType": "matrix", "result": [')
        for queue in "ab":
            values = ", ".join(f'[{1767225600 + 60 * i}, "{i % 7}.{LONG}"]' for i in range(n // 2))
            file.write(f'{", " if queue == "b" else ""}{{"metric": {{"queue": "{queue}"}}, "values": [{values}]}}')
        file.write("]}}")
    return path


def kueue(path, n):
    with path.open("w") as file:
        file.write('{"apiVersion": "v1", "items": [')
        for i in range(n):
            moment = f"2026-01-{1 + i % 28:02}T00:00:00Z"
            pods = {"template": {"spec": {"containers": [{"args": [LONG]}]}}}
            status = {"status": "True", "lastTransitionTime": moment}
            workload = {
                "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                "metadata": {"name": f"w{i}", "namespace": "n", "creationTimestamp": moment},
                "spec": {"queueName": "ab"[i % 2], "podSets": [pods]},
                "status": {
                    "admission": {"clusterQueue": "c", "podSetAssignments": [{"resourceUsage": {"cpu": "2"}}]},
                    "conditions": [{"type": "Admitted", **status}, {"type": "Finished", **status}],
                },
            }  # fmt: skip
            file.write((", " if i else "") + json.dumps(workload))
        file.write('], "kind": "List"}')
    return path


def sqlite(path, n):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE rides (agent TEXT, time INTEGER, utility REAL, note)")
        connection.executemany("INSERT INTO rides VALUES (?, ?, ?, ?)", (("ab"[i % 2], i, 1.5, LONG) for i in range(n)))
    return path


def peak_of(make, path, n):
    """The most memory that Python holds while a file with n rows is read."""
    make(path, n)
    tracemalloc.start()
    with read_history(path) as history:
        assert history.n_events == n
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("make", "name"), [(prometheus, "p.json"), (kueue, "k.json"), (sqlite, "rides.db")])
def test_memory_does_not_grow_with_the_file(make, name, tmp_path, sizes):
    rows = (4 * BATCH, 24 * BATCH)
    peak_of(make, tmp_path / f"warm-{name}", 10)
    small, large = (peak_of(make, tmp_path / f"{n}-{name}", n) for n in rows)
    assert large < 1.1 * small
    assert max(sizes) == BATCH
    assert sum(sizes) >= sum(rows)


def test_a_ledger_is_read_in_batches(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr(ledger_events, "BATCH", 3)
    monkeypatch.setattr(sources, "BATCH", 3)
    read, columns = [], ledger_events._columns
    monkeypatch.setattr(ledger_events, "_columns", lambda batch, rows: read.append(len(batch)) or columns(batch, rows))
    with Ledger.new(tmp_path / "team.db", Rules(half_life="7d"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        for day in range(2, 12):
            ledger.record("ana" if day % 3 else "ben", day, at=f"2026-01-{day:02}")
    with read_history(tmp_path / "team.db") as history:
        assert max(sizes) == max(read) == 3
        assert sum(read) == 13
        assert audit(history, ["7d"]).received.tolist() == [47, 18]


def test_a_table_of_sqlite_has_the_types_of_its_values(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute('CREATE TABLE t (a, b, "c d", e, f)')
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [(1, 1, 1.5, "x", None), (2, None, 2, 3, None)])
        connection.execute("CREATE TABLE empty (a, b)")
    kinds = {name: str(kind) for name, kind in engines.open_source(tmp_path / "t.db", "t").table.schema().items()}
    assert kinds == {"a": "int64", "b": "float64", "c d": "float64", "e": "string", "f": "float64"}
    assert engines.open_source(tmp_path / "t.db", "empty").table.count().to_pyarrow().as_py() == 0
