"""The shipped evidence, whole or in part, and a few of its runs taken for the reader's own."""

import datetime
from pathlib import Path

import pyarrow as pa

from bygones.memory import Discounted
from bygones.paper.judging import PROTOCOL
from bygones.paper.results import Results, read
from bygones.report.paper.paper_page import read_evidence

ROOT = Path(__file__).parents[2]


def evidence():
    return read_evidence(ROOT / "evidence" / "grid")


def some_evidence():
    """Two observation scales, and other protocols at one of them: enough to see what a page of all of it says."""
    return read(*(ROOT / "evidence" / "grid" / name for name in ("none", "window", "denominator", "tenfold")))


def as_own(results):
    """One seed of a quick slice, as if the reader had run it."""
    runs = results.where(
        **PROTOCOL, observation_scale="none", aggregation="additive", horizon=(100, 1000, 10000), seed=3
    )
    table = runs.table
    for name, value in {"finished": datetime.datetime(2027, 1, 2, 3, 4), "commit": "0123abc+changes"}.items():
        place = table.schema.get_field_index(name)
        column = table.schema.field(place)
        table = table.set_column(place, column, pa.array([value] * len(table), column.type))
    return Results(table)


def memory_of(half_life):
    """The memory of a stop of the slider."""
    if half_life is None:
        return Discounted(gamma=1.0)
    return Discounted(half_life=half_life) if half_life else Discounted(gamma=0.0)
