"""A trainer that learns nothing in no time, for tests of what surrounds training.

Its numbers come from the settings alone, as a real run's do. `slow` takes a moment between two pieces of news.
"""

import os
import time

import numpy as np

from bygones.learn.ray_tasks import Board
from bygones.learn.runs import RunProgress, TrainResult
from bygones.paper.grid import identity

N_NEWS = 4


def train(runs, progress, pause=0.0):
    curves = [_curves(run) for run in runs]
    for piece in range(N_NEWS):
        time.sleep(pause)
        part = slice(piece * 8, (piece + 1) * 8)
        steps = (piece + 1) * runs[0].total_steps // N_NEWS
        news = tuple({name: values[part] for name, values in curve.items()} for curve in curves)
        progress(RunProgress(tuple(range(len(runs))), steps, runs[0].total_steps, news))
    return [TrainResult(run, None, curve, _final(run), None) for run, curve in zip(runs, curves, strict=True)]


def slow(runs, progress):
    return train(runs, progress, pause=0.05)


def until_heard(runs, progress, folder):
    """Goes on only when what it told last was heard: when the folder holds a file named after run and steps."""

    def tell(news):
        progress(news)
        while not (folder / f"{identity(runs[0])}-{news.steps}").exists():
            time.sleep(0.01)

    return train(runs, tell)


def dies(runs, progress):
    os._exit(9)


class DyingBoard(Board):
    """A board that dies with every third piece of news."""

    n_put = 0

    async def put(self, report):
        self.n_put += 1
        if self.n_put == 3:
            os._exit(9)
        await super().put(report)


def _final(run):
    rng = np.random.default_rng(int(identity(run), 16))
    names = ("gini", "welfare", "welfare_memory", "utility_per_step", "utility_least", "utility_most")
    return dict(zip(names, rng.uniform(0.1, 0.9, len(names)).tolist(), strict=True))


def _curves(run):
    n = N_NEWS * 8
    rng = np.random.default_rng(int(identity(run), 16) + 1)
    episodes = np.arange(n) % 3
    curves = {
        name: np.where(episodes > 0, rng.uniform(size=n), np.nan) for name in ("gini", "welfare", "utility_per_step")
    }
    return {"steps": run.total_steps // n * np.arange(1, n + 1), "episodes": episodes, **curves}
