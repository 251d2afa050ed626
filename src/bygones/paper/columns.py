"""The layout of results: the name, type and meaning of every column, and the version of the layout.

The Parquet files themselves state the meaning of each column, as Arrow metadata. Results outlive the code that wrote
them, by these rules:

- A file of another `FORMAT` is refused. `FORMAT` goes up only when a column changes its meaning or its type.
- A setting added to `bygones.learn.Settings` needs a default, a plain value, that stands for the behaviour before the
  setting existed; that default never changes. A file without the column reads as if it held the default.
- A column of provenance added later reads as null where a file lacks it (`ADDED_LATER`).
- A setting that this version does not know, written by a later version, is refused: without it, two runs that differ
  could not be told apart. Any other unknown column is left out.
"""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from bygones.learn.settings import Settings, later_defaults

FORMAT = 1
"""The version of the layout."""


CURVE_POINTS = 50
"""How many points are kept of each curve."""

METRICS = {
    "gini": "Gini coefficient of the true, undiscounted utilities of an episode",
    "welfare": "fairness score: welfare of the true utilities (of their mean per step for averaged memories)",
    "welfare_memory": "welfare of the memory at the end of an episode",
    "utility_per_step": "total utility per step",
    "utility_least": "utility per step of the worst-off agent",
    "utility_most": "utility per step of the best-off agent",
}
"""The metrics of an episode; their means over the last episodes of a run are the columns `final_…`."""

WAYS = {
    "sampled": "with actions sampled from the final policy",
    "deterministic": "with greedy actions of the final policy",
}
"""How a policy plays when it has been trained; its metrics, means over episodes, are `sampled_…`, `deterministic_…`."""

PLAYED = {
    f"{way}_{name}": f"{meaning}; mean over evaluation_episodes episodes {how}; null where none were played"
    for way, how in WAYS.items()
    for name, meaning in METRICS.items()
}
"""The columns of evaluation."""

ADDED_LATER = ("commit", "evaluation_episodes", *PLAYED)
"""Columns other than settings that the first files of this format lack."""

CURVES = {
    "steps": "steps of training at the end of each stretch",
    "gini": "Gini coefficient, mean of the episodes that ended in the stretch",
    "welfare": "fairness score, mean of the episodes that ended in the stretch",
    "utility_per_step": "total utility per step, mean of the episodes that ended in the stretch",
}
"""The training curves of a run, kept as the columns `curve_…`."""

SETTINGS = tuple(field.name for field in dataclasses.fields(Settings))

_SETTING_TYPES = {
    "float": pa.float64(),
    "int": pa.int64(),
    "float | None": pa.float64(),
    "int | None": pa.int64(),
    "bool": pa.bool_(),
    "bool | None": pa.bool_(),
    "tuple[int, ...]": pa.list_(pa.int64()),
}


def columns() -> list[tuple[str, str, str]]:
    """Name, type and meaning of every column."""
    return [(field.name, str(field.type), _meaning(field)) for field in SCHEMA]


def in_this_layout(table: pa.Table) -> pa.Table:
    """A table of this format with the columns of this version, in order: added where it lacks them, or left out.

    Raises:
        ValueError: a column is missing that every file of this format has, or there is a setting of a later version.
    """
    unknown = [f.name for f in table.schema if f.name not in SCHEMA.names and _meaning(f).startswith(_SETTING)]
    if unknown:
        raise ValueError(
            f"has settings that this version of bygones does not know ({', '.join(unknown)}); read it with the version "
            "that wrote it, or a later one"
        )
    absent = {**dict.fromkeys(ADDED_LATER), **later_defaults(Settings)}
    missing = [name for name in SCHEMA.names if name not in table.column_names and name not in absent]
    if missing:
        raise ValueError(f"lacks columns that bygones results have ({', '.join(missing)})")
    for field in SCHEMA:
        if field.name not in table.column_names:
            filled = pa.array([absent[field.name]] * table.num_rows, field.type)
            table = table.append_column(field, filled)
    return table.select(SCHEMA.names).cast(SCHEMA)


def _meaning(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"meaning", b"").decode())


def _column(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning})


_SETTING = "setting: "
"""How the meaning of every setting begins; readers tell settings from other columns by it."""

SCHEMA = pa.schema(
    [
        _column("run", pa.string(), "name of the run: a hash of its settings"),
        *(
            _column(f.name, _SETTING_TYPES.get(str(f.type), pa.string()), f"{_SETTING}bygones.learn.Settings.{f.name}")
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
        _column("stopped_at", pa.int64(), "step at which the loss was no longer finite; null if it always was"),
        _column("seconds", pa.float64(), "time the run took; in a batch, its share of the batch's time"),
        _column("bygones", pa.string(), "version of bygones"),
        _column("software", pa.string(), "versions of Python and of the packages that were used, as JSON"),
        _column("hardware", pa.string(), "the hardware that trained it"),
        _column("command", pa.string(), "how to run it again"),
        _column("finished", pa.timestamp("s", "UTC"), "when it was written"),
        _column("commit", pa.string(), "git commit of the checkout it was trained from; null where that is not known"),
        _column("evaluation_episodes", pa.int64(), "episodes that the final policy played in each way; null for none"),
        *(_column(name, pa.float64(), meaning) for name, meaning in PLAYED.items()),
    ],
    metadata={"bygones.format": str(FORMAT)},
)
"""The layout as an Arrow schema."""
