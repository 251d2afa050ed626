"""Trains a small run with checkpoints and saves all that it came to; for tests that kill it on the way.

python train_to_the_end.py CHECKPOINT RESULT CACHE
"""

import sys

import jax
import numpy as np

from bygones.learn import cache_compilations, runs
from bygones.learn.settings import Settings

SETTINGS = Settings(
    horizon=24, total_steps=64 * 800, rollout_steps=64, batch_size=32, epochs=2, hidden=(8,), n_agents=4, seed=3
)


def main(checkpoint: str, result: str, cache: str) -> None:
    cache_compilations(cache)
    done = runs.train(SETTINGS, checkpoint=checkpoint, segment=2, unroll=1, progress=lambda news: tell(news.steps))
    learned = {f"network_{i}": leaf for i, leaf in enumerate(jax.tree.leaves(done.networks))}
    curves = {f"curve_{name}": values for name, values in done.curves.items()}
    np.savez(result, **learned, **curves, **{f"final_{name}": np.array(value) for name, value in done.final.items()})


def tell(steps: int) -> None:
    print(steps, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
