import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.paper import provenance, results
from bygones.paper.columns import CURVES, FORMAT, METRICS, SCHEMA, columns
from bygones.paper.grid import grid, identity
from bygones.paper.results import RunResult, merge, read, thinned, writing
from support import fake_trainer

RUNS = grid("quick", horizon=(100, 1000), seeds=2).runs()
ORIGIN = provenance.Provenance({"python": "3"}, "a machine", "a command", "a commit")


def trained(runs):
    results = fake_trainer.train(runs, lambda news: None)
    return [RunResult(result.settings, result.final, thinned(result.curves), 1.5) for result in results]


def fill(folder, *batches):
    with writing(folder) as writer:
        for batch in batches:
            writer.add(trained(batch), ORIGIN)


def only_file(folder):
    (path,) = Path(folder).glob("*.parquet")
    return path


def test_what_is_written_is_read_back(tmp_path):
    fill(tmp_path, RUNS[:3], RUNS[3:])
    found = read(tmp_path)
    assert len(found) == len(RUNS)
    by_name = {identity(run): run for run in RUNS}
    assert dict(zip(found["run"], found.settings(), strict=True)) == by_name
    expected = {identity(r.settings): r for r in trained(RUNS)}
    for i, name in enumerate(found["run"]):
        for metric in METRICS:
            assert found[f"final_{metric}"][i] == expected[name].metrics[metric]
        for curve in CURVES:
            np.testing.assert_array_equal(found[f"curve_{curve}"][i], expected[name].curves[curve])
    assert set(found["hardware"]) == {"a machine"}
    assert set(found["commit"]) == {"a commit"}
    assert json.loads(found["software"][0]) == {"python": "3"}


def test_resuming_knows_what_is_done_and_never_writes_a_run_twice(tmp_path):
    fill(tmp_path, RUNS[:3])
    with writing(tmp_path) as writer:
        assert writer.done == {identity(run) for run in RUNS[:3]}
        again = f"a run can be written only once, got again: {identity(RUNS[2])}$"
        with pytest.raises(ValueError, match=again):
            writer.add(trained(RUNS[2:4]), ORIGIN)
        with pytest.raises(ValueError, match=f"got again: {identity(RUNS[5])}$"):
            writer.add(trained([RUNS[5], RUNS[5]]), ORIGIN)
    assert len(read(tmp_path)) == 3


def test_filter_and_columns(tmp_path):
    fill(tmp_path, RUNS)
    found = read(tmp_path)
    assert len(found.where(gamma=1.0)) == len(RUNS) / 5
    part = found.where(welfare="nash", horizon=[100], gamma=(0.9, 0.99), seed=range(1))
    assert len(part) == 2
    assert part.distinct("gamma") == [0.9, 0.99]
    assert len(found.where(gamma=0.5)) == 0
    assert len(found.where(hidden=(64, 64), observe_memory=None)) == len(RUNS)
    assert len(found.where(hidden=[64])) == 0
    with pytest.raises(ValueError, match="gamma is a column of type double, so it cannot be 'high'"):
        found.where(gamma="high")
    with pytest.raises(ValueError, match=r"column must be one of .*got 'gimi'"):
        found["gimi"]
    steps, ginis = part.curves("gini")
    assert ginis.shape == (2, len(steps))
    with pytest.raises(ValueError, match="curve must be one of gini, welfare, utility_per_step"):
        found.curves("steps")


def test_finished_runs_are_those_that_did_not_stop_early(tmp_path):
    first, *others = trained(RUNS[:3])
    with writing(tmp_path) as writer:
        writer.add([replace(first, stopped_at=5000), *others], ORIGIN)
    assert set(read(tmp_path).finished()["run"]) == {identity(run) for run in RUNS[1:3]}


def test_a_cell_has_the_runs_that_differ_only_in_their_seeds(tmp_path):
    wider = [run.replace(hidden=(128,)) for run in RUNS[:2]]
    fill(tmp_path, [*RUNS, *wider])
    cells = list(read(tmp_path).cells())
    assert len(cells) == len(RUNS) / 2 + 1
    for settings, runs in cells:
        assert {run.replace(seed=settings.seed) for run in runs.settings()} == {settings}
        assert sorted(runs["seed"]) == [0, 1]


def test_curves_of_unequal_length_are_refused(tmp_path):
    fill(tmp_path, RUNS[:1], [RUNS[1].replace(total_steps=64_000)])
    with pytest.raises(ValueError, match="curves must all have the same length, got 2 lengths among 2 runs"):
        read(tmp_path).curves("gini")


def test_thinning_counts_every_episode_once():
    curves = {"steps": np.arange(1, 11) * 10, "episodes": np.array([0, 2, 1, 0, 0, 0, 0, 3, 1, 0])}
    values = np.where(curves["episodes"] > 0, np.arange(10.0), np.nan)
    curves |= dict.fromkeys(("gini", "welfare", "utility_per_step"), values)
    thin = thinned(curves, points=3)
    assert thin["steps"].tolist() == [40, 70, 100]
    np.testing.assert_allclose(thin["gini"], [(2 * 1 + 2) / 3, np.nan, (3 * 7 + 8) / 4])
    assert thinned(curves, points=50)["steps"].tolist() == curves["steps"].tolist()


def test_every_column_says_what_it_means():
    described = columns()
    assert [name for name, _, _ in described] == SCHEMA.names
    assert all(meaning for _, _, meaning in described)


def test_csv_holds_everything_but_the_curves(tmp_path):
    fill(tmp_path / "results", RUNS[:2])
    read(tmp_path / "results").to_csv(tmp_path / "all.csv")
    header, *rows = (tmp_path / "all.csv").read_text().splitlines()
    assert len(rows) == 2
    assert '"final_gini"' in header.split(",")
    assert "curve" not in header


def test_merging_keeps_each_run_once_and_never_overwrites(tmp_path):
    fill(tmp_path / "a", RUNS[:3])
    fill(tmp_path / "b", RUNS[2:])
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    assert len(merged) == len(RUNS) == len(read(tmp_path / "c"))
    assert len(list((tmp_path / "c").glob("*.parquet"))) == 1
    with pytest.raises(FileExistsError, match="already holds results"):
        merge([tmp_path / "a"], tmp_path / "c")
    assert len(merge([tmp_path / "c"], tmp_path / "d", gamma=1.0)) == len(RUNS) / 5


def test_the_first_named_place_counts(tmp_path):
    fill(tmp_path / "a", RUNS[:1])
    altered = read(tmp_path / "a").table
    index = altered.schema.get_field_index("final_gini")
    (tmp_path / "b").mkdir()
    pq.write_table(
        altered.set_column(index, altered.schema.field(index), pa.array([0.5])), tmp_path / "b" / "x.parquet"
    )
    assert read(tmp_path / "b", tmp_path / "a")["final_gini"].tolist() == [0.5]
    assert read(tmp_path / "a", tmp_path / "b")["final_gini"].tolist() != [0.5]


def test_empty_and_missing_places(tmp_path):
    assert len(read(tmp_path)) == 0
    with pytest.raises(FileNotFoundError, match="no such file or folder of results"):
        read(tmp_path / "nowhere")


def test_a_folder_above_results_will_do(tmp_path):
    fill(tmp_path / "results", RUNS[:2])
    fill(tmp_path / "more", RUNS[2:3])
    assert len(read(tmp_path)) == 3
    fill(tmp_path / "results" / "below", RUNS[3:])
    assert len(read(tmp_path / "results")) == 2


def test_a_corrupt_file_is_named_and_left_alone(tmp_path):
    fill(tmp_path, RUNS[:2])
    path = only_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=f"{path.name} cannot be read as Parquet .*move it away"):
        read(tmp_path)
    with pytest.raises(ValueError, match="cannot be read as Parquet"), writing(tmp_path):
        pass
    assert path.read_bytes() == whole[: len(whole) // 2]


def test_other_peoples_parquet_is_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="does not contain bygones results"):
        read(tmp_path)


def test_another_layout_is_refused(tmp_path):
    table = SCHEMA.empty_table().replace_schema_metadata({"bygones.format": "99"})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=f"has layout 99, but this version of bygones reads layout {FORMAT}"):
        read(tmp_path)


def test_results_of_another_version_are_read_but_not_mixed(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "__version__", "99.1.0")
    fill(tmp_path, RUNS[:1])
    fill(tmp_path, RUNS[1:2])
    monkeypatch.undo()
    assert len(read(tmp_path)) == 2
    with (
        pytest.raises(ValueError, match=r"holds results of bygones 99.1.0, but this is .*another folder"),
        writing(tmp_path),
    ):
        pass
    with pytest.raises(ValueError, match=r"the results to merge holds results of bygones 99.1.0"):
        merge([tmp_path], tmp_path / "merged")


def test_a_patch_version_is_the_same_version(tmp_path, monkeypatch):
    major, minor, _ = results.__version__.split(".")
    monkeypatch.setattr(results, "__version__", f"{major}.{minor}.99")
    fill(tmp_path, RUNS[:1])
    monkeypatch.undo()
    fill(tmp_path, RUNS[1:2])
    assert len(read(tmp_path)) == 2


def test_a_second_writer_is_told_who_is_writing(tmp_path):
    with writing(tmp_path):
        with pytest.raises(BlockingIOError, match=f"process {os.getpid()} on .* is writing to this folder") as caught:
            fill(tmp_path, RUNS[:1])
        assert caught.value.filename == str(tmp_path)
    fill(tmp_path, RUNS[:1])


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"exists|directory"):
        fill(tmp_path / "file", RUNS[:1])


def test_when_the_disk_takes_no_more_earlier_batches_are_safe(tmp_path):
    """A limit on the size of files stands for a full disk: the system itself refuses to write."""
    fill(tmp_path, RUNS[:1])
    before = only_file(tmp_path).read_bytes()
    code = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_results as t
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    t.fill({str(tmp_path)!r}, t.RUNS[1:3])
except OSError as error:
    print(error.errno, error.strerror)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.startswith(
        f"{errno.EFBIG} this batch could not be written (File too large); earlier batches are safe"
    )
    assert only_file(tmp_path).read_bytes() == before
    assert not list(tmp_path.glob(".*.unfinished"))
    fill(tmp_path, RUNS[1:3])
    assert len(read(tmp_path)) == 3


def test_what_a_killed_writer_left_is_cleared(tmp_path):
    (tmp_path / ".batch-1.parquet.unfinished").write_bytes(b"half")
    fill(tmp_path, RUNS[:1])
    assert not list(tmp_path.glob(".*.unfinished"))
    assert len(read(tmp_path)) == 1


def test_a_pandas_data_frame_holds_everything(tmp_path):
    pytest.importorskip("pandas")
    fill(tmp_path, RUNS[:2])
    found = read(tmp_path)
    frame = found.to_pandas()
    assert list(frame.columns) == SCHEMA.names
    assert frame["final_gini"].tolist() == found["final_gini"].tolist()
    assert frame["curve_gini"][0].tolist() == pytest.approx(found["curve_gini"][0].tolist(), nan_ok=True)


def test_a_polars_data_frame_holds_everything(tmp_path):
    fill(tmp_path, RUNS[:2])
    found = read(tmp_path)
    frame = found.to_polars()
    assert frame.columns == SCHEMA.names
    assert frame["final_gini"].to_list() == found["final_gini"].tolist()
    assert frame["curve_steps"][0].to_list() == found["curve_steps"][0].tolist()


@pytest.mark.parametrize(("package", "name"), [("pandas", "pandas"), ("polars", "Polars")])
def test_data_frames_need_their_package(tmp_path, monkeypatch, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    expected = f"^to_{package} needs {name}, which is not installed: pip install {package}$"
    with pytest.raises(ImportError, match=expected):
        getattr(read(tmp_path), f"to_{package}")()
