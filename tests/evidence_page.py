"""The report of the shipped evidence, with a few of its runs taken for the reader's own: made once for all tests."""

import datetime
from pathlib import Path

import pyarrow as pa

from bygones.experiments.results import Results
from bygones.memory import Discounted
from bygones.report.paper_page import read_evidence

ROOT = Path(__file__).parents[1]


def evidence():
    return read_evidence(ROOT / "evidence" / "grid")


def as_own(results):
    """One seed of a quick slice, as if the reader had run it."""
    runs = results.where(
        observation_scale="none", aggregation="additive", horizon=(100, 1000, 10000), seed=3, total_steps=1_000_000
    )
    table, when = runs.table, datetime.datetime(2027, 1, 2, 3, 4)
    place = table.schema.get_field_index("finished")
    column = table.schema.field(place)
    return Results(table.set_column(place, column, pa.array([when] * len(table), column.type)))


def memory_of(half_life):
    """The memory of a stop of the slider."""
    if half_life is None:
        return Discounted(gamma=1.0)
    return Discounted(half_life=half_life) if half_life else Discounted(gamma=0.0)
