"""Many runs: in processes on a CPU, batched where asked."""

from pathlib import Path

import jax
import numpy as np
import pytest

from bygones.learn import many
from bygones.learn.many import cache_compilations, train_many
from bygones.learn.runs import RunProgress, TrainResult, train
from bygones.learn.settings import Settings

SMALL = Settings(horizon=16, total_steps=64, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,), n_agents=3)


def same(a: TrainResult, b: TrainResult) -> bool:
    pairs = zip(*(jax.tree.leaves(result.networks) for result in (a, b)), strict=True)
    return a.settings == b.settings and a.final == b.final and all(np.array_equal(x, y) for x, y in pairs)


def test_processes_give_what_this_process_gives(tmp_path: Path) -> None:
    runs = [SMALL, SMALL.replace(seed=1, n_agents=4)]
    seen: list[RunProgress] = []
    cache_compilations(tmp_path / "compiled")
    try:
        results = train_many(
            runs, workers=2, progress=seen.append, segment=1, checkpoints=tmp_path / "checkpoints", unroll=1
        )
    finally:
        jax.config.update("jax_compilation_cache_dir", None)
    assert [result.settings for result in results] == runs
    assert same(results[0], train(runs[0], segment=1, unroll=1))
    assert sorted((news.runs, news.steps) for news in seen) == [((0,), 32), ((0,), 64), ((1,), 32), ((1,), 64)]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2
    assert any((tmp_path / "compiled").iterdir())


def test_batches_group_runs_of_one_shape() -> None:
    runs = [SMALL, SMALL.replace(n_agents=4), SMALL.replace(seed=1), SMALL.replace(seed=2)]
    assert list(many._groups(runs, 2)) == [[0, 2], [3], [1]]


def test_batched_runs_come_back_in_order() -> None:
    runs = [SMALL, SMALL.replace(seed=1)]
    seen: list[RunProgress] = []
    results = train_many(runs, batch=2, progress=seen.append, unroll=1)
    assert [result.settings for result in results] == runs
    assert {news.runs for news in seen} == {(0, 1)}


def test_no_runs_no_results() -> None:
    assert train_many([], workers=1) == []


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="batch must be a whole number of at least 1, got 0"):
        train_many([SMALL], batch=0)
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got 0"):
        train_many([SMALL], workers=0)
