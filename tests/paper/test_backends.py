import functools
import math
import multiprocessing
import sys
from pathlib import Path

import pytest

from bygones.learn.settings import Settings
from bygones.paper import backends
from bygones.paper.grid import grid, identity
from support import fake_trainer

RUNS = grid("quick", horizon=(100,), seeds=1).runs()


def collect(generator):
    return {identity(result.settings): result for batch in generator for result in batch}


class Ears:
    def __init__(self):
        self.steps = {}

    def __call__(self, position, steps, gini):
        assert math.isnan(gini) or 0 <= gini <= 1
        assert steps > self.steps.get(position, 0)
        self.steps[position] = steps


def same(a, b):
    return a.keys() == b.keys() and all(a[name].metrics == b[name].metrics for name in a)


def test_processes_and_batches_give_the_same_runs():
    processes_heard, batches_heard = Ears(), Ears()
    one = collect(backends.in_processes(RUNS, processes_heard, workers=2, trainer=fake_trainer.train))
    other = collect(backends.in_batches(RUNS, batches_heard, most=4, trainer=fake_trainer.train))
    assert same(one, other)
    assert one.keys() == {identity(run) for run in RUNS}
    assert batches_heard.steps == processes_heard.steps == dict.fromkeys(range(len(RUNS)), 1000000)


def test_a_worker_that_dies_is_reported():
    with pytest.raises(OSError, match="a training process died"):
        list(backends.in_processes(RUNS[:2], lambda *news: None, workers=1, trainer=fake_trainer.dies))


def test_closing_the_generator_stops_the_workers():
    generator = backends.in_processes(RUNS, lambda *news: None, workers=1, trainer=fake_trainer.slow)
    next(generator)
    assert multiprocessing.active_children()
    generator.close()
    assert not multiprocessing.active_children()


def test_batches_share_shape_and_length():
    runs = [
        Settings(),
        Settings(observe_denominator=True),
        Settings(gamma=1.0, welfare="egalitarian"),
        Settings(total_steps=10_000_000),
        Settings(seed=1),
        Settings(hidden=(32,)),
    ]
    assert backends.batches(runs) == [[0, 2, 4], [1], [3], [5]]
    assert backends.batches(runs, most=2) == [[0, 2], [4], [1], [3], [5]]
    with pytest.raises(ValueError, match="most must be a whole number"):
        backends.batches(runs, most=0)


def test_workers_must_be_a_count():
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got -1"):
        list(backends.in_processes(RUNS, lambda *news: None, workers=-1))


def test_no_accelerator_here_unless_jax_says_so():
    import jax

    assert backends.has_accelerator() == (jax.default_backend() != "cpu")


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"needs Ray, which is not installed: pip install 'bygones\[ray\]'"):
        list(backends.on_ray(RUNS, lambda *news: None))


@pytest.fixture
def cluster(monkeypatch):
    """Ray with one node, whose workers find the trainer."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(fake_trainer.__file__).parents[1]))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")  # Ray leaves files and processes of its own behind
def test_a_ray_cluster_finishes_though_a_node_dies(cluster):
    doomed = cluster.add_node(num_cpus=1)
    heard = Ears()
    generator = backends.on_ray(RUNS, heard, address=cluster.address, trainer=fake_trainer.slow)
    results = collect([next(generator)])
    cluster.remove_node(doomed, allow_graceful=False)
    results |= collect(generator)
    assert same(results, collect(backends.in_batches(RUNS, lambda *news: None, trainer=fake_trainer.train)))
    assert heard.steps == dict.fromkeys(range(len(RUNS)), 1000000)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_no_run_on_ray_is_lost_with_its_news(cluster, monkeypatch):
    monkeypatch.setattr(backends, "_Board", fake_trainer.DyingBoard)
    heard = Ears()
    results = collect(backends.on_ray(RUNS, heard, address=cluster.address, trainer=fake_trainer.slow))
    assert same(results, collect(backends.in_batches(RUNS, lambda *news: None, trainer=fake_trainer.train)))
    assert heard.steps == dict.fromkeys(range(len(RUNS)), 1000000)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_runs_on_ray_are_heard_of_while_they_go_on_and_end_when_nobody_waits_for_them(cluster, tmp_path):
    import ray

    heard = []

    def hear(position, steps, gini):
        heard.append((position, steps))
        if position == heard[0][0]:
            (tmp_path / f"{identity(RUNS[position])}-{steps}").touch()

    ray.init(address=cluster.address, log_to_driver=False)
    trainer = functools.partial(fake_trainer.until_heard, folder=tmp_path)
    generator = backends.on_ray(RUNS, hear, trainer=trainer)
    (finished,) = next(generator)
    position = RUNS.index(finished.settings)
    assert heard[:4] == [(position, steps) for steps in (250_000, 500_000, 750_000, 1_000_000)]
    generator.close()
    assert ray.get(ray.remote(num_cpus=1)(lambda: "the only CPU is free again, and Ray still there").remote())
