"""Policies with a value for each agent: the utility it will receive. The policy networks are the same as in PPO."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bygones._arrays import Array
from bygones.envs.problem import FairProblem
from bygones.learn.actors import Actor, Subsets, plain_actor
from bygones.learn.networks import Networks, apply, initial, layers
from bygones.learn.settings import Settings
from bygones.learn.symmetric import Rankings


@dataclass(frozen=True)
class SubsetsWithValues(Subsets):
    """The MLP; its value network has one output per agent."""

    n_agents: int

    def initial(self, seed: int) -> Networks:
        return initial(seed, self.observation_size, self.n_actions, self.hidden, self.n_agents)

    def value(self, networks: Networks, observations: Array) -> Array:
        return apply(networks.value, observations)


@dataclass(frozen=True)
class RankingsWithValues(Rankings):
    r"""The symmetric policy; the value of an agent is computed much as its score is, $v_i = \tanh([x_i, e]\,H)\,w$.

    Unlike the score, it does not depend on $x_i$ directly. An episode that is cut off is valued at its last state, in
    which the memory is larger than in any from which a step was taken. A value that grows without limit with the memory
    is then fed back to itself, and diverges.
    """

    def initial(self, seed: int) -> Networks:
        networks = super().initial(seed)
        seen, units, root = self._n_features, self.units, np.sqrt(2.0)
        sizes = ((seen, units), (seen + units, units), (units, 1))
        return networks._replace(value=layers(np.random.default_rng((seed, 1)), sizes, (root, root, 1.0)))

    def value(self, networks: Networks, observations: Array) -> Array:
        return self._of_each(networks.value, observations)


def actor_with_values(settings: Settings, problem: FairProblem) -> Actor:
    """The kind of policy that these settings name, with a value for each agent."""
    actor = plain_actor(settings, problem)
    if isinstance(actor, Rankings):
        return RankingsWithValues(**vars(actor))
    assert isinstance(actor, Subsets)
    return SubsetsWithValues(**vars(actor), n_agents=problem.n_agents)
