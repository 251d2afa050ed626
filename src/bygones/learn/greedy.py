r"""The policy of DQN: a value for each action, of which the best is taken, except now and then.

Its scores are the logarithms of these probabilities, $1 - \epsilon + \epsilon/m$ for the best of $m$ actions and
$\epsilon/m$ for the others. So it is drawn from, evaluated and saved like a policy that was learned as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bygones._arrays import Array, Number, namespace
from bygones.envs.problem import FairProblem
from bygones.learn.actors import Actor, Subsets, mlp
from bygones.learn.networks import Networks, apply, initial
from bygones.learn.settings import Settings


@dataclass(frozen=True)
class Greedy(Subsets):
    """Values of actions. `networks.policy` gives them, and `networks.value`, which follows it, gives its targets."""

    epsilon: float
    """The chance of an action at random."""

    def initial(self, seed: int) -> Networks:
        first = initial(seed, self.observation_size, 1, self.hidden, self.n_actions).value
        return Networks(policy=first, value=first)

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> Array:
        return self.log_chances(apply(networks.policy, observations, matvec), self.epsilon)

    def value(self, networks: Networks, observations: Array) -> Array:
        return apply(networks.policy, observations).max(axis=-1)

    def log_chances(self, values: Array, epsilon: Number) -> Array:
        """The logarithm of the probability of each action, given the values of all."""
        xp = namespace(values, epsilon)
        others = epsilon / self.n_actions
        is_best = xp.arange(self.n_actions) == xp.argmax(values, axis=-1)[..., None]
        return xp.where(is_best, xp.log(1 - epsilon + others), xp.log(others)).astype(np.float32)


def greedy_actor(settings: Settings, problem: FairProblem) -> Actor:
    """The policy of DQN for a problem."""
    if settings.policy != "mlp":
        raise ValueError(f'learner "dqn" has a value for each action: use policy "mlp", got {settings.policy!r}')
    return Greedy(**vars(mlp(settings, problem)), epsilon=settings.exploration_end)
