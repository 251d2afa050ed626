"""The layout of results: name, type and meaning of every column, and the version of all that.

Each column carries its meaning in the Parquet files themselves, as Arrow metadata. Files of another layout are refused.
"""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from bygones.learn.settings import Settings

FORMAT = 1
"""Version of the layout; goes up when a column changes its meaning or its type."""

CURVE_POINTS = 50
"""How many points are kept of each curve."""

METRICS = {
    "gini": "Gini coefficient of the true, undiscounted utilities of an episode",
    "welfare": "fairness score: welfare of the true utilities (of their mean per step for averaged memories)",
    "welfare_memory": "welfare of the memory at the end of an episode",
    "utility_per_step": "total utility per step",
    "utility_least": "utility per step of the agent with least",
    "utility_most": "utility per step of the agent with most",
}
"""What is measured of an episode, and averaged over the last ones of a run as `final_…`."""

CURVES = {
    "steps": "steps of training at the end of each stretch",
    "gini": "Gini coefficient, mean of the episodes that ended in the stretch",
    "welfare": "fairness score, mean of the episodes that ended in the stretch",
    "utility_per_step": "total utility per step, mean of the episodes that ended in the stretch",
}
"""What is kept of a run's course, as `curve_…`."""

SETTINGS = tuple(field.name for field in dataclasses.fields(Settings))

_SETTING_TYPES = {
    "float": pa.float64(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "bool | None": pa.bool_(),
    "tuple[int, ...]": pa.list_(pa.int64()),
}


def columns() -> list[tuple[str, str, str]]:
    """Name, type and meaning of every column."""
    return [(field.name, str(field.type), field.metadata[b"meaning"].decode()) for field in SCHEMA]


def _column(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning})


SCHEMA = pa.schema(
    [
        _column("run", pa.string(), "name of the run: a hash of its settings"),
        *(
            _column(f.name, _SETTING_TYPES.get(str(f.type), pa.string()), f"setting: bygones.learn.Settings.{f.name}")
            for f in dataclasses.fields(Settings)
        ),
        *(
            _column(f"final_{name}", pa.float64(), f"{meaning}; mean over the last episodes")
            for name, meaning in METRICS.items()
        ),
        *(
            _column(f"curve_{name}", pa.list_(pa.int32() if name == "steps" else pa.float32()), meaning)
            for name, meaning in CURVES.items()
        ),
        _column("stopped_at", pa.int64(), "step at which the loss was no longer finite, if it was ever"),
        _column("seconds", pa.float64(), "time the run took; in a batch, its share of the batch's time"),
        _column("bygones", pa.string(), "version of bygones"),
        _column("software", pa.string(), "versions of Python and of the packages that computed it, as JSON"),
        _column("hardware", pa.string(), "what it was computed on"),
        _column("command", pa.string(), "how to run it again"),
        _column("finished", pa.timestamp("s", "UTC"), "when it was written"),
    ],
    metadata={"bygones.format": str(FORMAT)},
)
"""The layout, as Arrow says it."""
