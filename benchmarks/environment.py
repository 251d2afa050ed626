"""How fast the environments step, side by side with CartPole-v1, in one run on one core.

    python -m benchmarks.environment

Time is the processor time of this process, which is held to one core. Runs of the environments alternate, and the
median of the runs is reported with the best. NumPy comes first, since it must not need JAX, and JAX last.
"""

import os
import statistics
import time

import gymnasium as gym
import mo_gymnasium
import numpy as np

import bygones.envs  # noqa: F401  (registers the environment)
from bygones import Discounted, Linear, Multiscale
from bygones.envs.wrappers import FairReward, RememberRewards

ID, RUNS = "bygones/Allocation-v0", 25
SETTINGS = {
    "log-Nash": {},
    "egalitarian": {"welfare": "egalitarian"},
    "averaged": {"memory": Discounted(gamma=0.99, average=True)},
    "relative scale": {"observation_scale": "relative"},
    "multiscale": {"memory": Multiscale((0.9, 0.99), (0.5, 0.5))},
    "linear": {"memory": Linear(0.9 * np.eye(10))},
}


def seconds_per_step(env, steps=1000):
    actions = [i % int(env.action_space.n) for i in range(steps)]
    env.reset(seed=0)
    start = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return (time.process_time() - start) / steps


def seconds_per_batch(env, steps=30):
    actions = np.random.default_rng(0).integers(0, env.single_action_space.n, (steps, env.num_envs))
    env.reset(seed=0)
    start = time.process_time()
    for row in actions:
        env.step(row)
    return (time.process_time() - start) / steps


def alternating(measure, envs):
    times = {name: [] for name in envs}
    for _ in range(RUNS):
        for name, env in envs.items():
            times[name].append(measure(env))
    return {name: (statistics.median(values), min(values)) for name, values in times.items()}


def single():
    envs = {"CartPole-v1": gym.make("CartPole-v1")}
    envs |= {f"Allocation, {name}": gym.make(ID, **settings) for name, settings in SETTINGS.items()}
    measured = alternating(seconds_per_step, envs)
    base, best_base = measured["CartPole-v1"]
    print(f"\n{'one environment':<32}{'µs/step':>10}{'× CartPole':>12}{'best µs':>10}{'× best':>8}")
    for name, (median, best) in measured.items():
        print(f"{name:<32}{median * 1e6:>10.1f}{median / base:>12.2f}{best * 1e6:>10.1f}{best / best_base:>8.2f}")


def vector(num_envs=1024):
    envs = {"CartPole-v1 (vector)": gym.make_vec("CartPole-v1", num_envs, vectorization_mode="vector_entry_point")}
    envs |= {f"Allocation, {name}": gym.make_vec(ID, num_envs, **settings) for name, settings in SETTINGS.items()}
    measured = alternating(seconds_per_batch, envs)
    print(f"\n{f'{num_envs} environments, NumPy':<32}{'µs/step of all':>16}{'million steps/s':>17}{'at best':>9}")
    for name, (median, best) in measured.items():
        print(f"{name:<32}{median * 1e6:>16.0f}{num_envs / median / 1e6:>17.2f}{num_envs / best / 1e6:>9.2f}")


def wrapped():
    """How much time the wrappers add to a step of another environment, which has two agents."""
    memory = Discounted(half_life=50)

    def bare():
        return mo_gymnasium.make("fishwood-v0", fishproba=0.3)

    envs = {"bare": bare(), "RememberRewards": RememberRewards(bare(), memory)}
    for welfare in ("nash", "egalitarian"):
        envs[f"FairReward, {welfare}"] = FairReward(bare(), memory, welfare, 0.9)
        envs[f"both, {welfare}"] = FairReward(RememberRewards(bare(), memory), memory, welfare, 0.9)
    measured = alternating(seconds_per_step, envs)
    base, best_base = measured["bare"]
    print(f"\n{'fishwood-v0 in the wrappers':<32}{'µs/step':>10}{'more than bare':>16}{'at best':>9}")
    for name, (median, best) in measured.items():
        print(f"{name:<32}{median * 1e6:>10.1f}{(median - base) * 1e6:>16.1f}{(best - best_base) * 1e6:>9.1f}")


def functional(num_envs=1024, steps=100):
    import jax

    from bygones.envs.functional import arrays_of, reset, step
    from bygones.envs.problem import problem_of

    def episodes(key, params):
        def one(states, key):
            draw, choose = jax.random.split(key)
            actions = jax.random.randint(choose, (num_envs,), 0, params.actions.shape[0])
            result = jax.vmap(step, in_axes=(0, 0, 0, None))(jax.random.split(draw, num_envs), states, actions, params)
            return result.state, result.reward.sum() + result.observation.sum()

        states, _ = jax.vmap(reset, in_axes=(0, None))(jax.random.split(key, num_envs), params)
        return jax.lax.scan(one, states, jax.random.split(key, steps))[1]

    run = jax.jit(episodes)
    print(
        f"\n{f'{num_envs} environments, JAX scan+vmap':<40}{'million steps/s':>17}{'at best':>9}  ({jax.devices()[0]})"
    )
    for name in ("log-Nash", "egalitarian", "averaged", "relative scale"):
        params = arrays_of(problem_of(**SETTINGS[name]))
        run(jax.random.key(0), params).block_until_ready()
        times = []
        for i in range(10):
            start = time.process_time()
            run(jax.random.key(i), params).block_until_ready()
            times.append((time.process_time() - start) / steps)
        million = [num_envs / seconds / 1e6 for seconds in (statistics.median(times), min(times))]
        print(f"{'Allocation, ' + name:<40}{million[0]:>17.2f}{million[1]:>9.2f}")


if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    single()
    vector()
    wrapped()
    functional()
