"""The learner on one CPU core, compared with Stable-Baselines3 with the same settings, in one run.

    PYTHONPATH=src taskset -c 0 python -m benchmarks.learner
    PYTHONPATH=src taskset -c 0 python -m benchmarks.learner --sbx --rejax

All take turns, each on one thread; the best turn of each counts. Times are of the processor, so other
programs do not count, and of the wall clock.

Equal for all: the environment, one of it, 2048 steps, batches of 64, ten epochs, two networks of 64 tanh units twice,
float32. sbx steps the same environment through Gymnasium, as Stable-Baselines3 does; rejax through its functional form.
Some differences of rejax cannot be changed: gradients are clipped entry by entry, value losses are clipped, each
network has its own Adam, and an episode that was cut off is not bootstrapped. This is about the same amount of work.
rejax needs Gymnasium before 1.4, so give it a separate environment. PureJaxRL, the model for rejax, is a script and not
a package, so it cannot be installed and measured.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import time
from collections.abc import Callable
from typing import Any

from bygones.envs.problem import FairProblem
from bygones.learn.processes import single_threaded

os.environ.update(single_threaded())

import jax
import jax.numpy as jnp

from benchmarks.measure import matmul_rate, operations_per_step
from benchmarks.peers import peer
from bygones.envs import functional
from bygones.learn import Settings, ppo, rollouts, runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=4, help="turns of each learner")
    parser.add_argument("--rollouts", type=int, default=10, help="our rollouts in a turn; Stable-Baselines3 takes one")
    parser.add_argument("--sbx", action="store_true", help="sbx as well (the package sbx-rl)")
    parser.add_argument("--rejax", action="store_true", help="rejax as well")
    args = parser.parse_args()
    settings = Settings()
    learners: dict[str, tuple[Callable[[], Any], int]] = {"bygones": ours(settings, args.rollouts)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if peer("stable_baselines3"):
        learners["Stable-Baselines3"] = stable_baselines3(settings)
    if args.sbx and peer("sbx"):
        learners["sbx"] = sbx(settings)
    if args.rejax and peer("rejax"):
        learners["rejax"] = rejax(settings, args.rollouts)
    times = {name: [float("inf"), float("inf")] for name in learners}
    for _ in range(args.turns):
        for name, learner in learners.items():
            times[name] = [min(pair) for pair in zip(times[name], turn(*learner), strict=True)]
    rate = matmul_rate()
    work = operations_per_step(settings)
    total = sum(work.values())
    print(f"matrix products {rate / 1e9:.0f} GFLOP/s; a step of the environment needs {total / 1e6:.2f} MFLOP of them")
    print(f"{'':20s}{'steps/s':>10s}{'(wall)':>10s}{'ratio':>8s}{'of matmul rate':>16s}")
    slowest = times.get("Stable-Baselines3", times["bygones, XLA alone"])[0]
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

    from bygones.envs.env import FairEnv

    model = PPO(
        "MlpPolicy",
        FairEnv(problem=settings.problem()),
        learning_rate=settings.learning_rate,
        n_steps=settings.rollout_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        seed=settings.seed,
    )
    return lambda: model.learn(settings.rollout_steps, reset_num_timesteps=False), settings.rollout_steps


def rejax(settings: Settings, rollouts: int) -> tuple[Callable[[], Any], int]:
    """rejax's PPO on the functional environment."""
    from rejax import PPO

    learner = PPO.create(
        env=GymnaxAllocation(settings.problem()),
        agent_kwargs={"hidden_layer_sizes": settings.hidden, "activation": "tanh"},
        num_envs=1,
        num_steps=settings.rollout_steps,
        num_minibatches=settings.rollout_steps // settings.batch_size,
        num_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        gamma=settings.discount,
        gae_lambda=settings.gae_lambda,
        clip_eps=settings.clip,
        vf_coef=settings.value_weight,
        ent_coef=settings.entropy_weight,
        max_grad_norm=settings.max_grad_norm,
    )
    program = jax.jit(lambda ts: jax.lax.fori_loop(0, rollouts, lambda _, ts: learner.train_iteration(ts), ts))
    state = [learner.init_state(jax.random.key(settings.seed))]

    def act() -> None:
        state[0] = jax.block_until_ready(program(state[0]))

    act()
    return act, rollouts * settings.rollout_steps


class GymnaxAllocation:
    """The functional environment with the interface of gymnax: it restarts automatically."""

    default_params = ()

    def __init__(self, problem: FairProblem) -> None:
        self._params = problem.params()
        self._sizes = 2 * problem.n_agents + problem.observe_denominator, problem.scenario.n_actions

    def __deepcopy__(self, _: Any) -> GymnaxAllocation:
        return self

    def reset(self, key: Any, _: Any) -> tuple[Any, Any]:
        state, observation = functional.reset(key, self._params)
        return observation, state

    def step(self, key: Any, state: Any, action: Any, _: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        key, again = jax.random.split(key)
        result = functional.step(key, state, action, self._params)
        over = result.terminated | result.truncated
        fresh = functional.reset(again, self._params)
        state, seen = jax.tree.map(lambda a, b: jnp.where(over, a, b), fresh, (result.state, result.observation))
        return seen, state, result.reward, over, {}

    def observation_space(self, _: Any) -> Any:
        from gymnax.environments.spaces import Box

        return Box(-jnp.inf, jnp.inf, (self._sizes[0],))

    def action_space(self, _: Any) -> Any:
        from gymnax.environments.spaces import Discrete

        return Discrete(self._sizes[1])


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
        functools.partial(rollouts.collect, shape=shape), key, state.networks, state.environment, params
    )
    (samples, _), evaluating = timed(functools.partial(ppo.samples_of, shape=shape), state.networks, rollout, numbers)
    order, ordering = timed(functools.partial(ppo.permutations, shape=shape), key)
    improve = functools.partial(ppo.improve, shape=shape)
    _, updating = timed(improve, state.networks, state.adam, samples, order, numbers)
    _, judging = timed(jax.vmap(env.metrics, in_axes=(0, None)), after, params)
    return {
        "acting, rewards, observations": (collecting, work["rollout"] / 2),
        "values, probabilities, advantages": (evaluating, work["rollout"] / 2),
        "orders of minibatches": (ordering, 0.0),
        "ten epochs of updates": (updating, work["updates"]),
        "episode metrics": (judging, 0.0),
    }


if __name__ == "__main__":
    main()
