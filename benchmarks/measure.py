"""What the learner's benchmarks share: the paper's grid, counting operations, and the rate of matrix products."""

from __future__ import annotations

import itertools
import time

import jax
import jax.numpy as jnp

from bygones.learn import Settings

HORIZONS = (100, 500, 1000, 5000, 10_000)
GAMMAS = (0.0, 0.9, 0.99, 0.999, 1.0)


def paper_grid(runs: int, steps: int) -> list[Settings]:
    """The first `runs` runs of the paper's grid, seed by seed; 100 cells, so ten seeds are a thousand runs."""
    cells = list(itertools.product(HORIZONS, GAMMAS, ("nash", "egalitarian"), ("additive", "averaged")))
    return [
        Settings(
            gamma=gamma,
            horizon=min(horizon, steps),
            welfare=welfare,
            aggregation=aggregation,
            weight=0.999 if (welfare, aggregation) == ("egalitarian", "averaged") else 0.9,
            seed=seed,
            total_steps=steps,
        )
        for seed in range(-(-runs // len(cells)))
        for horizon, gamma, welfare, aggregation in cells
    ][:runs]


def operations_per_step(settings: Settings) -> dict[str, float]:
    """Floating-point operations of matrix products for one step of the environment."""
    problem = settings.problem()
    inputs = 2 * problem.n_agents + problem.observe_denominator

    def products(outputs: int) -> int:
        sizes = (inputs, *settings.hidden, outputs)
        return sum(a * b for a, b in itertools.pairwise(sizes))

    policy, value = products(problem.scenario.n_actions), products(1)
    # Forward, by the weights and by the inputs; nothing is needed by the inputs of the first layer.
    update = 3 * 2 * (policy + value) - 2 * 2 * inputs * settings.hidden[0]
    return {"rollout": 2 * (2 * policy + 2 * value), "updates": settings.epochs * update}


def matmul_rate(size: int = 1024, batch: int | None = None, precision: str = "highest", seconds: float = 0.3) -> float:
    """Floating-point operations a second of square matrix products on the default device."""
    shape = (size, size) if batch is None else (batch, size, size)
    a = jax.random.normal(jax.random.key(0), shape)
    product = jax.jit(lambda a, b: jnp.matmul(a, b, precision=precision))
    a = jax.block_until_ready(product(a, a)) / size
    # On a shared CPU the wall clock would count other people's work.
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    best, until = float("inf"), clock() + seconds
    while clock() < until:
        start = clock()
        jax.block_until_ready(product(a, a))
        best = min(best, clock() - start)
    return 2.0 * size**3 * (batch or 1) / best
