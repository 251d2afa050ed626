"""Results outlive the code that wrote them: `data/format-1.parquet` is as old as the format, and is never replaced.

It holds five of the shipped runs, written before settings were added and before the commit was recorded.
"""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.learn.settings import FORMAT_1_SETTINGS, Settings
from bygones.paper.columns import ADDED_LATER, SCHEMA
from bygones.paper.grid import identity
from bygones.paper.results import merge, read

OLD = Path(__file__).parent / "data" / "format-1.parquet"

RUNS = {
    "21dbb14fe1b584e9": ({"welfare": "egalitarian", "gamma": 0.99, "horizon": 1000}, 0.13897539138793946),
    "73cb47c7488f53e4": (
        {"aggregation": "averaged", "gamma": 1.0, "horizon": 10000, "seed": 7, "observation_scale": "window"},
        0.4319019317626953,
    ),
    "a22561de2c4b887a": (
        {"aggregation": "averaged", "gamma": 0.9, "horizon": 500, "seed": 3, "observe_denominator": True},
        0.246842041015625,
    ),
    "75ecff47fb1f11a1": (
        {
            "welfare": "egalitarian", "aggregation": "averaged", "weight": 0.999, "gamma": 0.0, "horizon": 100,
            "seed": 9, "ends": "termination",
        },
        0.18418782145588786,
    ),
    "394fa037137a5235": (
        {"welfare": "egalitarian", "gamma": 1.0, "horizon": 5000, "seed": 2, "total_steps": 10_000_000},
        0.04305478096008301,
    ),
}  # fmt: skip
"""Settings that differ from the defaults, and the final Gini, by the name of the run."""

LATER = """
from __future__ import annotations

import dataclasses, json, sys
from bygones.learn import settings

@dataclasses.dataclass(frozen=True)
class LaterSettings(settings.Settings):
    patience: int = 3
    decay_rate: float | None = None
    schedule: str = "constant"

settings.Settings = LaterSettings

from bygones.paper.grid import identity
from bygones.paper.results import merge, read
from bygones.report.paper.packing import AS_THE_PAPER, variant

old = read(sys.argv[1])
first = old.settings()[0]
changed = first.replace(patience=4)
merge([sys.argv[1]], sys.argv[2])
print(json.dumps({
    "names": [identity(run) for run in old.settings()],
    "patience": old["patience"].tolist(),
    "decay_rate": old.table.column("decay_rate").to_pylist(),
    "schedule": old.distinct("schedule"),
    "changed": identity(changed),
    "as_before": variant(first) == AS_THE_PAPER,
    "matching": len(old.where(patience=3)),
}))
"""


def test_the_settings_of_format_1_are_still_settings():
    assert set(FORMAT_1_SETTINGS) <= {field.name for field in dataclasses.fields(Settings)}


def test_a_setting_added_later_has_a_plain_default():
    later = [field for field in dataclasses.fields(Settings) if field.name not in FORMAT_1_SETTINGS]
    assert later
    assert all(field.default is not dataclasses.MISSING for field in later)


def test_the_old_file_is_what_it_was():
    columns = pq.read_schema(OLD).names
    others = [name for name in SCHEMA.names if name not in ADDED_LATER]
    assert set(columns) == {name for name in others if name in FORMAT_1_SETTINGS or name not in _settings()}
    assert OLD.stat().st_size < 100_000


def test_old_results_read_as_they_were_written():
    old = read(OLD)
    assert dict(zip(old["run"].tolist(), old["final_gini"].tolist(), strict=True)) == {
        name: gini for name, (_, gini) in RUNS.items()
    }
    assert old.settings() == [Settings(**changes) for changes, _ in RUNS.values()]
    assert old["final_welfare"][0] == 135.261904296875
    assert old["curve_gini"][0][:2].tolist() == pytest.approx([0.14551765, 0.22336419])
    assert old["curve_steps"][0][-1] == 1_001_472
    assert old.table.column("commit").to_pylist() == [None] * 5
    assert {version.as_py() for version in old.table.column("bygones")} == {"0.1.0"}


def test_names_of_old_runs_do_not_change():
    assert [identity(Settings(**changes)) for changes, _ in RUNS.values()] == list(RUNS)


def test_a_later_version_with_more_settings_reads_old_results(tmp_path):
    """In a process of its own, because the layout is made of the settings when it is imported."""
    command = [sys.executable, "-c", LATER, str(OLD), str(tmp_path / "later")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["names"] == list(RUNS)
    assert found["patience"] == [3] * 5
    assert found["decay_rate"] == [None] * 5
    assert found["schedule"] == ["constant"]
    assert found["changed"] != found["names"][0]
    assert found["as_before"] is True
    assert found["matching"] == 5
    # What that version wrote holds settings that this one does not know.
    with pytest.raises(ValueError, match=r"this version of bygones does not know \(patience, decay_rate, schedule\)"):
        read(tmp_path / "later")


def test_unknown_columns_that_are_no_settings_are_left_out(tmp_path):
    table = pq.read_table(OLD)
    pq.write_table(table.append_column("mood", pa.array(["good"] * 5)), tmp_path / "x.parquet")
    assert read(tmp_path).table.equals(read(OLD).table)


def test_a_file_that_lacks_what_every_file_has_is_refused(tmp_path):
    pq.write_table(pq.read_table(OLD).drop_columns(["final_gini", "gamma"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x.parquet lacks columns that bygones results have \(gamma, final_gini\)"):
        read(tmp_path)


def test_old_and_new_results_are_merged(tmp_path):
    merged = merge([OLD], tmp_path / "merged")
    assert read(tmp_path / "merged").table.equals(merged.table)
    assert merged.table.column("commit").null_count == 5


def _settings():
    return [field.name for field in dataclasses.fields(Settings)]
