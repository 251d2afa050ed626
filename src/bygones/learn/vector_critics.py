"""Policies with a value for each agent: what the agent will receive. The policy networks are those of PPO."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from bygones._arrays import Array
from bygones.envs.fair_problem import FairProblem
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
    """The symmetric policy; the value of an agent is computed as its score is, by a network of the same form."""

    def initial(self, seed: int) -> Networks:
        networks = super().initial(seed)
        sizes = [(layer.weight.shape[0], layer.weight.shape[1]) for layer in networks.policy]
        gains = (np.sqrt(2.0), np.sqrt(2.0), 1.0)
        return networks._replace(value=layers(np.random.default_rng((seed, 1)), sizes, gains))

    def value(self, networks: Networks, observations: Array) -> Array:
        return self.scores(networks._replace(policy=networks.value), observations)


def actor_with_values(settings: Settings, problem: FairProblem) -> Actor:
    """The kind of policy that these settings name, with a value for each agent."""
    actor = plain_actor(settings, problem)
    if isinstance(actor, Rankings):
        return RankingsWithValues(**_fields(actor))
    assert isinstance(actor, Subsets)
    return SubsetsWithValues(**_fields(actor), n_agents=problem.n_agents)


def _fields(actor: Rankings | Subsets) -> dict[str, Any]:
    return {field.name: getattr(actor, field.name) for field in dataclasses.fields(actor)}
