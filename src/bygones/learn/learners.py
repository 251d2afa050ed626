"""The learners by name: what `Settings(learner=...)`, `train(..., learner=...)` and `bygones train --learner` take.

A learner is a class in its own module, which is imported when it is used, so names and settings can be read without
JAX. Your own learner is named by its place, `a2c:ActorCritic`, or by the name it was added under. It keeps the contract
of `bygones.learn.iterations.Learner`. See `docs/extending.md` for an example.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from bygones._registry import Registry

if TYPE_CHECKING:
    from bygones.envs.problem import FairProblem
    from bygones.learn.actors import Actor
    from bygones.learn.iterations import Learner
    from bygones.learn.settings import Settings

LEARNERS = {
    "ppo": "bygones.learn.ppo:PPO",
    "ggf-ppo": "bygones.learn.ggf_ppo:GiniPPO",
    "recurrent-ppo": "bygones.learn.recurrent_ppo:RecurrentPPO",
    "dqn": "bygones.learn.dqn:DQN",
    "reinforce": "bygones.learn.reinforce:Reinforce",
}
"""The learners of bygones, and where their classes are."""

ACTORS = {
    "ppo": "bygones.learn.actors:plain_actor",
    "ggf-ppo": "bygones.learn.vector_critics:actor_with_values",
    "recurrent-ppo": "bygones.learn.recurrent:recurrent_actor",
    "dqn": "bygones.learn.greedy:greedy_actor",
    "reinforce": "bygones.learn.actors:plain_actor",
}
"""Where the functions are that make the policies of these learners. Policies play without JAX, so these modules do too;
a learner from elsewhere has such a function as its attribute `acts`, or the policies of PPO."""

WITHOUT_REWARD = frozenset({"ggf-ppo", "reinforce"})
"""The learners that do not learn from the reward of the problem, which λ is a part of."""

learners: Registry[Learner] = Registry(
    "learner",
    "a class with the methods of, begin and iterate, such as bygones.learn.ppo.PPO",
    lambda kind: all(hasattr(kind, method) for method in ("of", "begin", "iterate")),
)
"""The learners by name; `learners.add` adds one."""

for _name, _place in LEARNERS.items():
    learners.add(_place, name=_name)


names = learners.names
"""The names of all learners."""


def checked(name: str) -> str:
    """The name under which a learner was added, or `module:name`; anything else is refused."""
    return name if name in learners.names() else learners.name_of(kind_of(name)) or name


def kind_of(name: str) -> type[Learner]:
    """The class of a learner."""
    return cast("type[Learner]", learners.part(name))


def made(settings: Settings) -> Learner:
    """The learner that these settings name."""
    return kind_of(settings.learner).of(settings)


def acts(name: str) -> Callable[[Settings, FairProblem], Actor]:
    """The function that makes the policy of a learner, for settings and a problem."""
    function = None if name in ACTORS else getattr(kind_of(name), "acts", None)
    if function is None:
        module, _, its_name = ACTORS.get(name, ACTORS["ppo"]).partition(":")
        function = getattr(importlib.import_module(module), its_name)
    return cast("Callable[[Settings, FairProblem], Actor]", function)
