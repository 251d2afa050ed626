import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bygones.learn.logging import to_tensorboard, to_wandb
from bygones.learn.runs import Progress
from bygones.learn.settings import Settings

NEWS = Progress(
    runs=(1,),
    steps=4096,
    total_steps=8192,
    curves=({"steps": np.array([2048, 4096]), "gini": np.array([np.nan, 0.5]), "reward": np.array([0.1, 0.2])},),
)
RUNS = [Settings(), Settings(seed=1)]


def test_tensorboard_files_are_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    to_tensorboard(tmp_path, RUNS)(NEWS)
    folders = sorted(tmp_path.iterdir())
    assert [folder.name[:4] for folder in folders] == ["0000", "0001"]
    assert all(any(folder.glob("events*")) for folder in folders)


def test_wandb_is_told_of_finite_points(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []

    class Run:
        def __init__(self, **said: Any) -> None:
            self.said = said

        def log(self, point: dict[str, float], step: int) -> None:
            logged.append((self.said["config"]["seed"], step, point))

    fake = types.ModuleType("wandb")
    fake.init = Run
    monkeypatch.setitem(sys.modules, "wandb", fake)
    to_wandb("project", RUNS)(NEWS)
    assert logged == [(1, 2048, {"reward": 0.1}), (1, 4096, {"gini": 0.5, "reward": 0.2})]
