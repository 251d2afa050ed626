import importlib.util
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bygones.learn import logging
from bygones.learn.logging import to_wandb
from bygones.learn.runs import RunProgress
from bygones.learn.settings import Settings

NEWS = RunProgress(
    runs=(1,),
    steps=4096,
    total_steps=8192,
    curves=({"steps": np.array([2048, 4096]), "gini": np.array([np.nan, 0.5]), "reward": np.array([0.1, 0.2])},),
)
RUNS = [Settings(), Settings(seed=1)]


TO_TENSORBOARD = """
import sys
from learn.test_logging import NEWS, RUNS
from bygones.learn.logging import to_tensorboard

to_tensorboard(sys.argv[1], RUNS)(NEWS)
"""


def test_tensorboard_files_are_written(tmp_path: Path) -> None:
    """In a process of its own: all points are in the files when it has ended."""
    pytest.importorskip("tensorboardX")
    program = [sys.executable, "-c", TO_TENSORBOARD, str(tmp_path)]
    subprocess.run(program, cwd=Path(__file__).parents[1], check=True)
    folders = sorted(tmp_path.iterdir())
    assert [folder.name[:4] for folder in folders] == ["0000", "0001"]
    points = [[(event.step, scalars(event)) for event in events(folder) if scalars(event)] for folder in folders]
    assert points == [[], [(2048, {"reward": 0.1}), (4096, {"gini": 0.5}), (4096, {"reward": 0.2})]]


def events(folder: Path) -> Iterator[Any]:
    """The events in TensorBoard's files: each is its length, a checksum, the event, and another checksum."""
    from tensorboardX.proto.event_pb2 import Event

    for file in sorted(folder.glob("events*")):
        data = file.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


def scalars(event: Any) -> dict[str, float]:
    """The numbers of an event, to the six digits that its float32 has."""
    return {value.tag: round(value.simple_value, 6) for value in event.summary.value}


def test_wandb_is_told_of_finite_points(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []

    class Run:
        def __init__(self, **options: Any) -> None:
            self.options = options

        def log(self, point: dict[str, float], step: int) -> None:
            logged.append((self.options["config"]["seed"], step, point))

    fake = types.ModuleType("wandb")
    fake.init = Run
    monkeypatch.setitem(sys.modules, "wandb", fake)
    to_wandb("project", RUNS)(NEWS)
    assert logged == [(1, 2048, {"reward": 0.1}), (1, 4096, {"gini": 0.5, "reward": 0.2})]


TRAIN = """
import json, sys
import numpy as np
from bygones.learn import Settings, train_batch
from bygones.learn.logging import to_wandb

small = Settings(horizon=48, total_steps=256, rollout_steps=32, batch_size=32, epochs=1, hidden=(4,), n_agents=4)
runs = [small, small.replace(seed=1)]
done = train_batch(runs, progress=to_wandb("shifts", runs, dir=sys.argv[1]), segment=3, unroll=1)
print(json.dumps([{name: np.asarray(curve).tolist() for name, curve in run.curves.items()} for run in done]))
"""


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed (pip install '.[wandb]')")
def test_real_wandb_writes_the_curves_to_disk(tmp_path: Path) -> None:
    offline = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    offline["WANDB__SERVICE_WAIT"] = "600"  # seconds; a busy machine may take more than its 30 to start the service
    done = subprocess.run([sys.executable, "-c", TRAIN, tmp_path], env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    curves = json.loads(done.stdout.splitlines()[-1])
    files = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    written = {run["seed"]: run for run in map(wandb_file, files)}
    assert sorted(written) == [0, 1]
    for seed, curve in enumerate(curves):
        points = [dict(zip(curve, values, strict=True)) for values in zip(*curve.values(), strict=True)]
        expected = [{name: value for name, value in point.items() if np.isfinite(value)} for point in points]
        assert len(expected) == 8
        assert [{"steps": point.pop("_step"), **point} for point in written[seed]["points"]] == expected
        assert (written[seed]["project"], written[seed]["horizon"]) == ("shifts", 48)


def wandb_file(path: Path) -> dict[str, Any]:
    """The settings of an offline run, its project, and the points that were logged."""
    from wandb.proto import wandb_internal_pb2

    found: dict[str, Any] = {"points": []}
    for data in log_records(path.read_bytes()):
        record = wandb_internal_pb2.Record.FromString(data)
        if record.HasField("run"):
            found |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
            found["project"] = record.run.project
        elif record.HasField("history"):
            point = {item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            found["points"].append({name: point[name] for name in point if name not in ("_timestamp", "_runtime")})
    return found


def log_records(data: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format: blocks of 32 KiB, in which records may be continued."""
    position, record, block = 7, b"", 2**15
    while position + 7 <= len(data):
        length, kind = int.from_bytes(data[position + 4 : position + 6], "little"), data[position + 6]
        if block - position % block < 7 or kind == 0:
            position += block - position % block
            continue
        record += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


def test_progress_in_lines(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 1.0, 9.0, 9.0, 9.1, 9.1])
    monkeypatch.setattr(logging, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    runs = [Settings(total_steps=4096, seed=seed) for seed in (0, 1)]
    watch = logging.to_screen(runs)
    curves = {"gini": np.array([np.nan, 0.5])}
    for run, steps in ((0, 2048), (1, 2048), (0, 4096), (1, 4096)):
        watch(RunProgress((run,), steps, 4096, (curves,)))
    assert capsys.readouterr().err.splitlines() == [
        "2,048 of 8,192 steps, Gini 0.50",
        "6,144 of 8,192 steps, Gini 0.50",
        "8,192 of 8,192 steps, Gini 0.50",
    ]


def test_progress_of_one_run_before_an_episode_has_ended(capsys):
    settings = Settings(total_steps=2048)
    logging.to_screen(settings)(RunProgress((0,), 2048, 2048, ({"gini": np.array([np.nan])},)))
    assert capsys.readouterr().err == "2,048 of 2,048 steps\n"
