"""Rows that come one after the other become a table in DuckDB, some at a time: it may be larger than the memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

BATCH = 50_000
"""The number of rows that are held at once."""


def fill(engine: Any, name: str, schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> Any:
    """Makes a temporary table of the rows in DuckDB, which moves it to disk where the memory it may use is full.

    Args:
        engine: a DuckDB through Ibis, see `bygones.audit.inputs.sources.duckdb`.
        name: of the table.
        schema: the names and types of its columns.
        rows: their cells, in this order.

    Returns:
        The table in Ibis.
    """
    con, coming = engine.con, iter(rows)
    con.register("coming", schema.empty_table())
    con.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM coming')
    while some := list(itertools.islice(coming, BATCH)):
        columns = [pa.array(c, type=kind) for c, kind in zip(zip(*some, strict=True), schema.types, strict=True)]
        con.register("coming", pa.table(columns, schema=schema))
        con.execute(f'INSERT INTO "{name}" SELECT * FROM coming')
    con.unregister("coming")
    return engine.table(name)
