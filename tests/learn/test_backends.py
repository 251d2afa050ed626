"""Many runs: in processes, in batches and on Ray, with the same results everywhere."""

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jax
import numpy as np
import pytest

from bygones.envs.needs import lognormal, uniform
from bygones.envs.problem import problem_of
from bygones.learn import Run, backends, ray_tasks
from bygones.learn.backends import Finished, cache_compilations, train_many
from bygones.learn.processes import WorkerDiedError
from bygones.learn.runs import RunProgress, TrainResult, train
from bygones.learn.settings import Settings
from bygones.memory import Multiscale
from bygones.paper.grid import grid, identity
from support import fake_trainer

SMALL = Settings(horizon=16, total_steps=64, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,), n_agents=3)
RUNS = grid("quick", horizon=(100,), seeds=1).runs()


def same(a: TrainResult, b: TrainResult) -> bool:
    pairs = zip(*(jax.tree.leaves(result.networks) for result in (a, b)), strict=True)
    return a.settings == b.settings and a.final == b.final and all(np.array_equal(x, y) for x, y in pairs)


def test_a_learner_that_was_added_in_the_main_program_alone_is_refused_by_name(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """if __name__ == "__main__":
            from bygones.learn import Settings, train_many
            from bygones.learn.learners import learners
            from bygones.learn.ppo import PPO

            class Mine(PPO):
                pass

            learners.add(Mine, name="mine")
            few = Settings(learner="mine", horizon=8, total_steps=64, rollout_steps=64)
            train_many([few, few.replace(seed=1)], workers=2)
        """
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    last = next(line for line in done.stderr.splitlines() if not line.startswith(("In a worker", " ", "Traceback")))
    assert last.startswith(
        "ValueError: learner must be one of ppo, ggf-ppo, recurrent-ppo, dqn, reinforce, or your own"
    )
    assert "got 'mine'" in done.stderr


@pytest.mark.soak
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
    assert len(list((tmp_path / "checkpoints").glob("*.npz"))) == 2
    assert any((tmp_path / "compiled").iterdir())


@pytest.mark.soak
def test_batched_runs_come_back_in_order() -> None:
    runs = [SMALL, SMALL.replace(seed=1)]
    seen: list[RunProgress] = []
    results = train_many(runs, batch=2, progress=seen.append, unroll=1)
    assert [result.settings for result in results] == runs
    assert {news.runs for news in seen} == {(0, 1)}


@pytest.mark.soak
def test_finished_runs_are_read_from_their_checkpoints(tmp_path: Path) -> None:
    seen: list[RunProgress] = []
    first, again = (
        train_many([SMALL], workers=1, checkpoints=tmp_path, progress=seen.append, unroll=1) for _ in range(2)
    )
    assert len(seen) == 1
    assert same(first[0], again[0])


def test_no_runs_no_results() -> None:
    assert train_many([], workers=1) == []


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="batch must be a whole number of at least 1, got 0"):
        train_many([SMALL], batch=0)
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got 0"):
        train_many([SMALL], workers=0)


class Ears:
    """Hears of every run, and that it only ever goes forward."""

    def __init__(self) -> None:
        self.steps: dict[int, int] = {}
        self.points: dict[int, int] = {}

    def __call__(self, news: RunProgress) -> None:
        for run, curves in zip(news.runs, news.curves, strict=True):
            assert news.steps > self.steps.get(run, 0)
            self.steps[run] = news.steps
            self.points[run] = self.points.get(run, 0) + len(curves["steps"])


ALL_STEPS = dict.fromkeys(range(len(RUNS)), 1_000_000)


def collect(found: Iterable[Finished]) -> dict[int, dict[str, float]]:
    """The final metrics of each run, by its position."""
    return {
        position: result.final for runs, results, _ in found for position, result in zip(runs, results, strict=True)
    }


def expected() -> dict[int, dict[str, float]]:
    return collect(backends.in_batches(RUNS, lambda _: None, trainer=fake_trainer.train))


def test_processes_and_batches_give_the_same_runs() -> None:
    processes_heard, batches_heard = Ears(), Ears()
    one = collect(backends.in_processes(RUNS, processes_heard, workers=2, trainer=fake_trainer.train))
    other = collect(backends.in_batches(RUNS, batches_heard, most=4, trainer=fake_trainer.train))
    assert one == other == expected()
    assert batches_heard.steps == processes_heard.steps == ALL_STEPS
    assert batches_heard.points == processes_heard.points == dict.fromkeys(ALL_STEPS, 32)


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(WorkerDiedError, match="a training process died"):
        list(backends.in_processes(RUNS[:2], lambda _: None, workers=1, trainer=fake_trainer.dies))


def test_closing_the_generator_stops_the_workers() -> None:
    generator = backends.in_processes(RUNS, lambda _: None, workers=1, trainer=fake_trainer.slow)
    next(generator)
    assert multiprocessing.active_children()
    generator.close()
    assert not multiprocessing.active_children()


def test_batches_share_shape_and_length() -> None:
    runs = [
        Settings(),
        Settings(observe_denominator=True),
        Settings(gamma=1.0, welfare="egalitarian"),
        Settings(total_steps=10_000_000),
        Settings(seed=1),
        Settings(hidden=(32,)),
    ]
    assert backends.batches(runs) == [(0, 2, 4), (1,), (3,), (5,)]
    assert backends.batches(runs, most=2) == [(0, 2), (4,), (1,), (3,), (5,)]
    with pytest.raises(ValueError, match="most must be a whole number"):
        backends.batches(runs, most=0)


def test_batches_share_kinds_of_memory_welfare_and_needs() -> None:
    problems = [
        problem_of(),
        problem_of(memory=Multiscale((0.9, 0.99), (0.5, 0.5))),
        problem_of(welfare="egalitarian", needs=uniform(10)),
        problem_of(memory=Multiscale((0.5, 0.99), (0.1, 0.9))),
        problem_of(memory=Multiscale((0.9,), (1.0,))),
        problem_of(welfare="generalized_gini"),
        problem_of(needs=lognormal(np.zeros(10), 0.5)),
    ]
    assert backends.batches([Settings(), *problems]) == [(0, 1, 3), (2, 4), (5,), (6,), (7,)]


@pytest.mark.soak
def test_problems_of_ones_own_are_trained_in_processes_too() -> None:
    problem = problem_of(n_resources=1, horizon=16, memory=Multiscale((0.9, 0.5), (0.5, 0.5)), needs=uniform(3))
    runs = [Run(SMALL, problem), SMALL]
    results = train_many(runs, workers=2, unroll=1)
    assert same(results[0], train(SMALL, problem=problem, unroll=1))
    assert not same(results[0], results[1])
    assert isinstance(results[0].policy.problem.memory, Multiscale)


def test_workers_must_be_a_count() -> None:
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got -1"):
        list(backends.in_processes(RUNS, lambda _: None, workers=-1))


def test_no_accelerator_here_unless_jax_says_so() -> None:
    assert backends.has_accelerator() == (jax.default_backend() != "cpu")


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"training on Ray needs ray, which is not installed: pip install 'bygones\[ray\]'"
    ):
        list(backends.on_ray(RUNS, lambda _: None))


@pytest.fixture
def cluster(monkeypatch):
    """Ray with one node, whose workers find the trainer."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(fake_trainer.__file__).parents[1]), prepend=os.pathsep)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")  # Ray leaves files and processes of its own behind
def test_a_ray_cluster_finishes_though_a_node_dies(cluster) -> None:
    doomed = cluster.add_node(num_cpus=1)
    heard = Ears()
    generator = backends.on_ray(RUNS, heard, address=cluster.address, trainer=fake_trainer.slow)
    results = collect([next(generator)])
    cluster.remove_node(doomed, allow_graceful=False)
    results |= collect(generator)
    assert results == expected()
    assert heard.steps == ALL_STEPS


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_a_ray_cluster_is_joined_only_where_somebody_says_so(cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of this test is the last that was started on this machine, and Ray itself would join it."""

    def joined(address: str | None = None) -> str:
        with ray_tasks.cluster(address) as ray:
            return ray.get_runtime_context().gcs_address

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # or Ray would choose one, for all tests that come later
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert joined() != cluster.address
    assert joined(cluster.address) == cluster.address
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    assert joined() == cluster.address


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_no_run_on_ray_is_lost_with_its_news(cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_tasks, "Board", fake_trainer.DyingBoard)
    heard = Ears()
    results = collect(backends.on_ray(RUNS, heard, address=cluster.address, trainer=fake_trainer.slow))
    assert results == expected()
    assert heard.steps == ALL_STEPS


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_runs_on_ray_are_heard_of_while_they_go_on_and_end_when_nobody_waits_for_them(
    cluster, tmp_path, monkeypatch
) -> None:
    """Also where Ray loses the first word of a cancellation, as it does while a task is on its way to its worker."""
    import ray

    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        pytest.skip("started in the background of a shell, which ignores the signal by which Ray cancels a task")
    heard: list[tuple[int, int]] = []

    def hear(news: RunProgress) -> None:
        (position,) = news.runs
        heard.append((position, news.steps))
        if position == heard[0][0]:
            (tmp_path / f"{identity(RUNS[position])}-{news.steps}").touch()

    ray.init(address=cluster.address, log_to_driver=False)
    trainer = functools.partial(fake_trainer.until_heard, folder=tmp_path)
    generator = backends.on_ray(RUNS, hear, trainer=trainer)
    ((position,), _, _) = next(generator)
    assert heard[:4] == [(position, steps) for steps in (250_000, 500_000, 750_000, 1_000_000)]
    cancel, lost = ray.cancel, []
    monkeypatch.setattr(ray, "cancel", lambda task: cancel(task) if task in lost else lost.append(task))
    generator.close()
    assert lost
    free = ray.remote(num_cpus=1)(lambda: "the only CPU is free again, and Ray still there")
    assert ray.get(free.remote(), timeout=120)
