"""Our running normalisation is that of Stable-Baselines3's `VecNormalize`, observation by observation."""

from __future__ import annotations

import numpy as np
from stable_baselines3.common.vec_env import VecNormalize

from bygones.learn import sb3
from bygones.learn.normalisation import PRIOR, Normaliser
from bygones.learn.settings import Settings

SETTINGS = Settings(gamma=1.0, horizon=150, n_agents=5, observation_scale="running", observe_denominator=True)


def test_the_same_observations_look_the_same_across_resets() -> None:
    theirs = sb3.environment(SETTINGS)
    assert isinstance(theirs, VecNormalize)
    assert not theirs.norm_reward
    theirs.seed(3)
    rng = np.random.default_rng(0)
    ours, shown, ends = Normaliser.empty(11), theirs.reset(), 0
    for _ in range(1000):
        ours = ours.updated(theirs.get_original_obs()[0])
        close(ours(theirs.get_original_obs()[0]), shown[0])
        shown, _, (over,), _ = theirs.step(rng.integers(0, 10, 1))
        ends += over
    assert ends == 1000 // 150
    ours = ours.updated(theirs.get_original_obs()[0])
    close(ours.mean, theirs.obs_rms.mean)
    close(ours.variance, theirs.obs_rms.var)
    close(ours.seen + PRIOR, theirs.obs_rms.count)


def close(ours: object, theirs: object) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
