"""The learners, by name: what `Settings(learner=...)`, `train(..., learner=...)` and `bygones train --learner` take.

A learner is a class in a module of its own, which is imported when it is used, so that names and settings can be read
without JAX. It keeps the contract of `bygones.learn.iterations.Learner`. See `docs/extending.md` for an example.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bygones.learn.iterations import Learner
    from bygones.learn.settings import Settings


class NamedLearner(NamedTuple):
    """A learner that has a name.

    Attributes:
        about: what it is, in one sentence, for help and documentation.
        learns: its class, as `module:class`.
        acts: the function that gives its kind of policy for settings and a problem, as `module:function`. Its module
            is imported where policies are played, so it should not need JAX.
        uses_reward: whether it learns from the reward of the problem, which λ is a part of.
    """

    about: str
    learns: str
    acts: str = "bygones.learn.actors:plain_actor"
    uses_reward: bool = True


LEARNERS = {
    "ppo": NamedLearner("PPO on the reward, as in the paper.", "bygones.learn.ppo:PPO"),
    "ggf-ppo": NamedLearner(
        "PPO with the generalised Gini objective: advantages of agents, weighted by their ranks.",
        "bygones.learn.ggf_ppo:GiniPPO",
        "bygones.learn.vector_critics:actor_with_values",
        uses_reward=False,
    ),
    "recurrent-ppo": NamedLearner(
        "PPO with a recurrent policy, which can learn a memory of its own.",
        "bygones.learn.recurrent_ppo:RecurrentPPO",
        "bygones.learn.recurrent:recurrent_actor",
    ),
    "dqn": NamedLearner(
        "DQN with the memory as state; with counterfactuals it is FairQCM.",
        "bygones.learn.dqn:DQN",
        "bygones.learn.greedy:greedy_actor",
    ),
    "reinforce": NamedLearner(
        "REINFORCE on the welfare of whole episodes; under perfect recall it is EUPG.",
        "bygones.learn.reinforce:Reinforce",
        uses_reward=False,
    ),
}
"""Every learner by its name."""


def names() -> tuple[str, ...]:
    """The names of all learners."""
    return tuple(LEARNERS)


def add(name: str, about: str, learns: str, acts: str = "bygones.learn.actors:plain_actor") -> None:
    """Adds a learner of your own; the arguments are those of `NamedLearner`."""
    if name in LEARNERS:
        raise ValueError(f"learner {name!r} exists already: choose another name")
    LEARNERS[name] = NamedLearner(about, learns, acts)


def made(settings: Settings) -> Learner:
    """The learner that these settings name."""
    learner: Learner = found(LEARNERS[settings.learner].learns).of(settings)
    return learner


def found(place: str) -> Any:
    """What `module:name` says."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
