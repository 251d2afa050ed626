r"""Running normalisation of observations, as Stable-Baselines3's `VecNormalize` does it, for NumPy and JAX alike.

Every entry $x$ of an observation is shown with the mean and the variance of all observations so far, its own included:

$$ \hat x = \operatorname{clip}\Bigl(\frac{x - \mu}{\sqrt{v + \epsilon}},\ -10,\ 10\Bigr). $$

It is part of the learner, not of the environment: the observation of a state depends on everything that was seen
before, across episodes. Statistics change while a policy learns, are saved with it, and stay fixed when it plays.

With $w = 1/(N + 1)$, where $N$ is the number of observations so far plus `PRIOR`, a new observation $x$ gives

$$ \mu' = \mu + w\,(x - \mu), \qquad v' = v + w\,\Bigl(\frac{N}{N + 1}\,(x - \mu)^2 - v\Bigr). $$

In this form float32 is enough: no sum grows with the number of steps, and steps are counted in whole numbers.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from bygones._arrays import Array, namespace
from bygones.learn.networks import ArrayT

PRIOR = 1e-4
"""The weight of the mean 0 and the variance 1 from which statistics start."""
EPSILON = 1e-8
CLIP = 10.0


class Normaliser(NamedTuple):
    """Mean and variance of each entry of the observations so far; call it with an observation to normalise it."""

    mean: Array
    variance: Array
    seen: Array
    """How many observations have been seen, a whole number."""

    @classmethod
    def empty(cls, observation_size: int) -> Normaliser:
        """Before the first observation."""
        nothing = np.zeros(observation_size, np.float32)
        return cls(nothing, np.ones_like(nothing), np.zeros((), np.int32))

    def __call__(self, observation: Array) -> Array:
        """The observation, or many along the leading axes, as the policy sees it."""
        xp = namespace(observation, self.mean)
        return xp.clip((observation - self.mean) / xp.sqrt(self.variance + EPSILON), -CLIP, CLIP)

    def updated(self, observation: Array) -> Normaliser:
        """The statistics with one more observation."""
        before = self.seen + np.float32(PRIOR)
        weight = 1 / (before + 1)
        off = observation - self.mean
        variance = self.variance + weight * (before * weight * off * off - self.variance)
        return Normaliser(self.mean + weight * off, variance, self.seen + 1)


def normalised(observation: ArrayT, normaliser: Normaliser | None) -> ArrayT:
    """The observation as the policy sees it, unchanged where nothing is normalised."""
    return observation if normaliser is None else cast(ArrayT, normaliser(observation))


def having_seen(observation: Array, normaliser: Normaliser | None) -> Normaliser | None:
    """The statistics with one more observation, where there are any."""
    return None if normaliser is None else normaliser.updated(observation)
