import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bygones.learn import TrainedPolicy
from bygones.learn.runs import played
from bygones.paper import run as running
from bygones.paper.grid import grid, identity
from bygones.paper.results import read
from bygones.paper.run import Estimate, Stopped, estimate, execute
from support import fake_trainer

RUNS = grid("quick", horizon=(100,), seeds=1).runs()
SCRIPT = Path(__file__).parents[1] / "support" / "run_fake_grid.py"


def same_results(a, b):
    columns = [name for name in a.table.column_names if name not in ("seconds", "finished", "command")]
    one, other = (json.dumps(table.select(columns).sort_by("run").to_pylist()) for table in (a.table, b.table))
    return one == other


def test_a_plan_is_executed_and_resumed(tmp_path):
    told = []
    first = execute(RUNS[:4], tmp_path, on="accelerator", trainer=fake_trainer.train, progress=told.append)
    assert len(first) == 4
    assert told[-1].runs_done == told[-1].runs_total == 4
    assert told[-1].steps_done == told[-1].steps_total == 4_000_000
    everything = execute(RUNS, tmp_path, on="accelerator", trainer=fake_trainer.train, progress=told.append)
    assert len(everything) == len(RUNS)
    assert (told[-1].runs_done, told[-1].steps_total) == (len(RUNS), (len(RUNS) - 4) * 1_000_000)
    told.clear()
    assert len(execute(RUNS[:2], tmp_path, on="ray", progress=told.append)) == 2
    assert told == []


def test_it_does_not_matter_in_which_batch_a_run_is(tmp_path):
    one = execute(RUNS, tmp_path / "a", on="accelerator", trainer=fake_trainer.train)
    other = execute(RUNS[::-1], tmp_path / "b", on="accelerator", trainer=fake_trainer.train, batch=3)
    assert same_results(one, other)
    assert len(list((tmp_path / "b").glob("*.parquet"))) == 4


@pytest.mark.soak
def test_real_training_in_processes(tmp_path):
    tiny = {"rollout_steps": 64, "batch_size": 16, "epochs": 1, "hidden": (4,), "n_agents": 3, "n_resources": 1}
    runs = grid("quick", horizon=(20,), gamma=(0.9, 1.0), welfare=("nash",), total_steps=640, **tiny).runs()
    results = execute(runs, tmp_path / "once", on="cpu", workers=1)
    assert len(results) == 2
    assert same_results(results, execute(runs[::-1], tmp_path / "again", on="cpu", workers=1))
    assert np.isfinite(results["final_gini"]).all()
    steps, ginis = results.curves("gini")
    assert steps[-1] == 640
    assert np.isfinite(ginis).all()


def test_an_address_means_ray(tmp_path):
    with pytest.raises(ValueError, match="address is that of a Ray cluster, and goes with on='ray', got on='cpu'"):
        execute(RUNS, tmp_path / "none", on="cpu", address="127.0.0.1:6379")
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got 0"):
        execute(RUNS, tmp_path / "none", workers=0)
    assert not (tmp_path / "none").exists()


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_without_a_cluster_is_refused_at_once(scheme, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{nobody.getsockname()[1]}"
        refusal = f"no Ray cluster answers at {address}: Connection refused"
        for act in (estimate, execute):
            with pytest.raises(ConnectionError, match=refusal):
                act(RUNS, tmp_path / "some", address=address)
        monkeypatch.setenv("RAY_ADDRESS", address)
        for act in (estimate, execute):
            with pytest.raises(ConnectionError, match=refusal):
                act(RUNS, tmp_path / "some", on="ray")


def test_equal_runs_are_refused(tmp_path):
    with pytest.raises(ValueError, match="runs must all be different"):
        execute([RUNS[0], RUNS[0]], tmp_path)
    with pytest.raises(ValueError, match="on must be one of auto, cpu, accelerator, ray, got 'moon'"):
        execute(RUNS, tmp_path, on="moon")


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    def interrupted(runs, progress):
        if runs[0] == RUNS[4]:
            raise KeyboardInterrupt
        return fake_trainer.train(runs, progress)

    with pytest.raises(Stopped, match=r"stopped; 4 of 10 runs are in .*the same command goes on"):
        execute(RUNS, tmp_path, on="accelerator", batch=2, trainer=interrupted)
    assert len(execute(RUNS, tmp_path, on="accelerator", trainer=fake_trainer.train)) == len(RUNS)


def test_a_process_that_dies_is_reported_and_what_is_finished_is_kept(tmp_path):
    execute(RUNS[:2], tmp_path, on="accelerator", trainer=fake_trainer.train)
    with pytest.raises(OSError, match=r"a training process died .*; the finished runs are kept"):
        execute(RUNS, tmp_path, on="cpu", workers=1, trainer=fake_trainer.dies)
    assert len(read(tmp_path)) == 2


def test_an_estimate_is_measured_and_knows_what_is_done(tmp_path):
    plan = estimate(RUNS, tmp_path / "new", on="accelerator", trainer=fake_trainer.slow)
    assert (plan.runs, plan.runs_done, plan.place) == (10, 0, "accelerator")
    assert plan.seconds == pytest.approx(plan.start_seconds + 10_000_000 / plan.steps_per_second)
    assert not (tmp_path / "new").exists()
    execute(RUNS, tmp_path, on="accelerator", trainer=fake_trainer.train)
    assert estimate(RUNS, tmp_path, on="accelerator").seconds == 0


def test_an_estimate_says_where_it_was_measured():
    measured = {"runs": 10, "runs_done": 4, "steps_per_second": 1e4, "start_seconds": 2.0, "seconds": 600.0}
    text = "10 runs, 4 of them done; the rest takes about 10 min"
    assert str(Estimate(**measured, place="cpu")) == f"{text} here"
    assert str(Estimate(**measured, place="ray", cpus=16)) == f"{text} on the 16 CPUs of the Ray cluster"


def test_the_bare_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(running.backends.learner, "__code__", fake_learner.__code__)
    words = [
        "--size",
        "quick",
        "--out",
        str(tmp_path),
        "--on",
        "accelerator",
        "--horizon",
        "100",
        "--gamma",
        "1",
        "0.9",
    ]
    running.main([*words, "--observation-scale", "window", "--set", "ends=termination", "total_steps=64000"])
    assert f"4 runs in {tmp_path}" in capsys.readouterr().out
    assert set(read(tmp_path)["ends"]) == {"termination"}
    assert set(read(tmp_path)["observation_scale"]) == {"window"}
    found = read(tmp_path)
    assert set(found["evaluation_episodes"]) == {10}
    np.testing.assert_array_equal(found["sampled_welfare"], found["final_welfare"])
    np.testing.assert_array_equal(found["deterministic_welfare"], found["final_welfare"] / 2)
    running.main([*words[:3], str(tmp_path / "unplayed"), *words[4:], "--evaluation-episodes", "0"])
    unplayed = read(tmp_path / "unplayed").table
    assert unplayed.column("evaluation_episodes").null_count == unplayed.column("sampled_gini").null_count == 4
    running.main([*words, "--plan"])
    assert "4 runs, 0 of them done; the rest takes about" in capsys.readouterr().out
    for bad, message in (
        (["--set", "x"], "name=value"),
        (["--observation-scale", "x"], "observation_scale must be one of"),
    ):
        with pytest.raises(SystemExit, match=message):
            running.main([*words, *bad])


@pytest.mark.soak
def test_training_and_writing_need_little_but_jax_and_pyarrow(tmp_path):
    program = """
import runpy, sys
for name in ("gymnasium", "matplotlib", "optax", "ray", "rich", "stable_baselines3", "torch", "tyro"):
    sys.modules[name] = None
sys.argv = ["run", "--out", sys.argv[1], "--on", "accelerator", "--keep-policies", "--horizon", "20",
            "--gamma", "0.9", "--set", "total_steps=128", "rollout_steps=64", "batch_size=16", "epochs=1",
            "hidden=[4]", "n_agents=3"]
runpy.run_module("bygones.paper.run", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path)
    assert len(found) == 2
    columns = (found[name] for name in ("run", "sampled_gini", "deterministic_gini"))
    for name, sampled, deterministic in zip(*columns, strict=True):
        policy = TrainedPolicy.load(tmp_path / "policies" / f"{name}.safetensors")
        assert identity(policy.settings) == name
        # Again from what was kept, in the same episodes.
        again = played([policy])[0]
        assert (again.sampled["gini"], again.deterministic["gini"]) == pytest.approx((sampled, deterministic))


def fake_learner(runs, progress, evaluation_episodes):
    import dataclasses

    from bygones.learn.evaluation import Played
    from support import fake_trainer

    trained = fake_trainer.slow(runs, progress)
    if not evaluation_episodes:
        return trained
    halves = [{name: value / 2 for name, value in result.final.items()} for result in trained]
    played = [Played(evaluation_episodes, r.final, half) for r, half in zip(trained, halves, strict=True)]
    return [dataclasses.replace(result, played=one) for result, one in zip(trained, played, strict=True)]


@contextlib.contextmanager
def started(folder, *words):
    """A program that executes a grid; after the `with` block it has ended, with all that it started, and is closed."""
    command = [sys.executable, str(SCRIPT), str(folder), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            kill(process)


def kill(process):
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)


def said(process):
    """What a program has written as an error, after which it has ended."""
    how = "still going" if process.poll() is None else f"ended with {process.returncode}"
    kill(process)  # what it started may hold the pipe open
    return f"{how}: {process.communicate()[1]}"


def wait_for(condition, process, pause=0.02):
    """Waits until something is true, which the program must live to see."""
    while not condition():
        assert process.poll() is None, said(process)
        time.sleep(pause)


@pytest.mark.soak
def test_killed_at_twenty_random_moments_and_resumed_nothing_is_lost_or_doubled(tmp_path):
    rng = random.Random(0)
    runs = grid("quick", seeds=4).runs()

    def n_files():
        return len(list(tmp_path.glob("killed/*.parquet")))

    for attempt in range(20):
        if n_files() > 2 * len(runs) // 3:
            break  # on a machine that lets them go on while this process waits; something must be left for the last
        # Every other one is killed while it starts, the others after a number of results.
        enough = n_files() + rng.randint(1, 3) if attempt % 2 else 0
        with started(tmp_path / "killed") as process:
            wait_for(lambda enough=enough: n_files() >= enough, process, 0.01)
            time.sleep(rng.uniform(0.0, 0.2 if attempt % 2 else 1.5))
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
    assert 10 <= len(read(tmp_path / "killed")) < len(runs)
    with started(tmp_path / "killed") as last:
        _, error = last.communicate()
    assert last.returncode == 0, error
    whole = execute(runs, tmp_path / "whole", on="cpu", workers=2, trainer=fake_trainer.train)
    killed = read(tmp_path / "killed")
    assert sorted(killed["run"]) == sorted(identity(run) for run in runs)
    assert same_results(killed, whole)


@pytest.mark.soak
def test_two_processes_never_write_to_the_same_folder(tmp_path):
    with started(tmp_path) as one, started(tmp_path) as other:
        errors = [process.communicate()[1] for process in (one, other)]
    assert sorted(process.returncode for process in (one, other)) == [0, 1], errors
    # Whoever is refused at the very moment at which the other begins does not know its name yet.
    assert re.search("process.* is writing to this folder", "".join(errors))
    assert len(read(tmp_path)) == len(grid("quick", seeds=4).runs())


@pytest.mark.soak
@pytest.mark.parametrize("on", ["cpu", "ray"])
def test_ctrl_c_stops_all_processes(tmp_path, monkeypatch, on):
    if on == "ray":
        pytest.importorskip("ray")
    mark = f"BYGONES_STARTED_IN={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    with started(tmp_path / "results", on) as process:
        wait_for(lambda: list(tmp_path.glob("results/*.parquet")), process)
        assert len(marked(mark)) > 2, said(process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that are in the foreground
        _, error = process.communicate()
        assert "stopped;" in error
        assert error.strip().endswith("the same command goes on from there")
        while marked(mark):
            time.sleep(0.1)


@pytest.mark.soak
def test_ctrl_c_stops_ray_at_any_moment_however_often_it_is_pressed(tmp_path, monkeypatch):
    """While Ray starts, while tasks end, and while Ray ends: Ray can crash if its calls are left halfway."""
    pytest.importorskip("ray")
    rng = random.Random(0)
    for attempt in range(8):
        folder = tmp_path / str(attempt)
        mark = f"BYGONES_STARTED_IN={folder}"
        monkeypatch.setenv(*mark.split("="))
        some_done, ray_starts = (lambda at=folder: list(at.glob("*.parquet"))), (lambda of=mark: len(marked(of)) > 1)
        with started(folder, "ray") as process:
            wait_for(some_done if attempt % 2 else ray_starts, process)
            time.sleep(rng.uniform(0.0, 0.5 if attempt % 2 else 4.0))
            for _ in range(rng.randint(1, 3)):
                os.killpg(process.pid, signal.SIGINT)
                time.sleep(rng.uniform(0.0, 0.2))
            _, error = process.communicate()
            assert process.returncode == 1, error
            assert error.strip().endswith("the same command goes on from there")
            while marked(mark):
                time.sleep(0.1)


@pytest.mark.soak
def test_when_ray_dies_a_sentence_says_so_and_what_is_finished_is_kept(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    mark = f"BYGONES_STARTED_IN={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    with started(tmp_path / "results", "ray") as process:
        wait_for(lambda: list(tmp_path.glob("results/*.parquet")), process)
        raylets = [each for each in marked(mark) if each.joinpath("comm").read_text() == "raylet\n"]
        assert len(raylets) == 1, said(process)
        os.kill(int(raylets[0].name), signal.SIGKILL)
        _, error = process.communicate()
        assert process.returncode == 1, error
        assert error.strip().endswith("Ray died (killed, or out of memory?); the finished runs are kept")
        assert len(read(tmp_path / "results")) > 0
        while marked(mark):
            time.sleep(0.1)


def marked(mark):
    """The processes with this variable in the environment in which they were started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if mark in (process / "environ").read_text().split("\0"):
                found.append(process)
    return found
