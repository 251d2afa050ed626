"""The learner on one CPU core, beside Stable-Baselines3 with the same settings, in one run.

    PYTHONPATH=src taskset -c 0 python -m benchmarks.learner

The two take turns, each on one thread; the best turn of each counts. Times are of the processor, so that others on the
machine do not count, with the wall clock beside them.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import time
from collections.abc import Callable
from typing import Any

from bygones.learn.many import single_threaded

os.environ.update(single_threaded())

import jax
import numpy as np
from benchmarks.measure import matmul_rate, operations_per_step

from bygones.learn import Settings, ppo, runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=4, help="turns of each learner")
    parser.add_argument("--rollouts", type=int, default=10, help="our rollouts in a turn; Stable-Baselines3 takes one")
    parser.add_argument("--sbx", action="store_true", help="sbx as well (the package sbx-rl)")
    args = parser.parse_args()
    settings = Settings()
    learners: dict[str, tuple[Callable[[], Any], int]] = {"bygones": ours(settings, args.rollouts)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    learners["Stable-Baselines3"] = stable_baselines3(settings)
    if args.sbx:
        learners["sbx"] = sbx(settings)
    times = {name: [float("inf"), float("inf")] for name in learners}
    for _ in range(args.turns):
        for name, learner in learners.items():
            times[name] = [min(pair) for pair in zip(times[name], turn(*learner), strict=True)]
    rate = matmul_rate()
    work = operations_per_step(settings)
    total = sum(work.values())
    print(f"matrix products {rate / 1e9:.0f} GFLOP/s; a step of the environment needs {total / 1e6:.2f} MFLOP of them")
    print(f"{'':20s}{'steps/s':>10s}{'(wall)':>10s}{'ratio':>8s}{'of matmul rate':>16s}")
    slowest = times["Stable-Baselines3"][0]
    for name, (cpu, wall) in times.items():
        share = total / cpu / rate
        print(f"{name:20s}{1 / cpu:10.0f}{1 / wall:10.0f}{slowest / cpu:7.1f}x{share:16.1%}")
    print("\nwhere the time of an iteration goes")
    for name, (seconds, flops) in parts(settings, work).items():
        share = f"{flops * settings.rollout_steps / seconds / rate:.0%} of the matmul rate" if flops else ""
        print(f"  {name:34s}{seconds * 1e3:8.2f} ms   {share}")
    print(f"\nresident memory of one run, compilation included: {peak:.2f} GiB")


def turn(act: Callable[[], Any], steps: int) -> tuple[float, float]:
    """Processor and wall seconds for one step."""
    cpu, wall = time.process_time(), time.perf_counter()
    act()
    return (time.process_time() - cpu) / steps, (time.perf_counter() - wall) / steps


def ours(settings: Settings, rollouts: int) -> tuple[Callable[[], Any], int]:
    shape = runs.shape_of(settings)
    program = runs._compiled(shape, rollouts, False)
    params, numbers = runs.params_of(settings), runs.numbers_of(settings)
    state = [runs.begin([settings], None, shape, False)]

    def act() -> None:
        state[0], _ = jax.block_until_ready(program(state[0], params, numbers, rollouts))

    start = time.perf_counter()
    act()
    print(f"compilation and the first turn: {time.perf_counter() - start:.1f} s")
    return act, rollouts * settings.rollout_steps


def stable_baselines3(settings: Settings) -> tuple[Callable[[], Any], int]:
    import torch

    from bygones.learn import sb3

    torch.set_num_threads(1)
    model = sb3.learner(settings)
    return lambda: model.learn(settings.rollout_steps, reset_num_timesteps=False), settings.rollout_steps


def sbx(settings: Settings) -> tuple[Callable[[], Any], int]:
    """sbx with the settings that it shares with us; with a recent JAX it needs the package tfp-nightly."""
    from sbx import PPO

    from bygones.envs.gymnasium_env import AllocationEnv

    model = PPO(
        "MlpPolicy",
        AllocationEnv(problem=settings.problem()),
        learning_rate=settings.learning_rate,
        n_steps=settings.rollout_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        seed=settings.seed,
    )
    return lambda: model.learn(settings.rollout_steps, reset_num_timesteps=False), settings.rollout_steps


def parts(settings: Settings, work: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Seconds of each part of an iteration, compiled apart, and the operations per step in it."""
    shape, params, numbers = runs.shape_of(settings), runs.params_of(settings), runs.numbers_of(settings)
    state = runs.begin([settings], None, shape, False)
    key = jax.random.key(0)

    def timed(function: Any, *args: Any) -> tuple[Any, float]:
        program = jax.jit(function)
        best, result = float("inf"), jax.block_until_ready(program(*args))
        for _ in range(10):
            start = time.process_time()
            result = jax.block_until_ready(program(*args))
            best = min(best, time.process_time() - start)
        return result, best

    env = shape.environment
    (rollout, after, _), collecting = timed(
        functools.partial(ppo.collect, shape=shape), key, state.networks, state.environment, params
    )
    (samples, _), evaluating = timed(ppo.evaluate, state.networks, rollout, numbers)
    order, ordering = timed(functools.partial(ppo.permutations, shape=shape), key)
    improve = functools.partial(ppo.improve, shape=shape)
    _, improving = timed(improve, state.networks, state.adam, samples, np.asarray(order), numbers)
    _, judging = timed(jax.vmap(env.metrics, in_axes=(0, None)), after, params)
    return {
        "acting, rewards, observations": (collecting, work["rollout"] / 2),
        "values, probabilities, advantages": (evaluating, work["rollout"] / 2),
        "orders of minibatches": (ordering, 0.0),
        "ten epochs of updates": (improving, work["updates"]),
        "episode metrics": (judging, 0.0),
    }


if __name__ == "__main__":
    main()
