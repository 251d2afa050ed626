"""A kind of policy: how its networks score an observation, and how scores become an action.

PPO is one algorithm for all kinds. It asks an actor for scores, draws an action from scores and noise, and asks how
likely that action was. `Subsets` is the paper's: a network with one logit per subset of k agents, of which there must
be few. `Rankings` (`symmetric.py`) scores agents, however many there are.

An actor is hashable and part of the compiled program; its weights are in `Networks`. Leading axes are a batch. Scores,
values and best actions are computed by NumPy and JAX alike, so a saved policy plays without JAX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from bygones._arrays import Array, namespace
from bygones.envs.problem import FairProblem
from bygones.learn import learners
from bygones.learn.networks import Networks, apply, initial
from bygones.learn.settings import Settings, check_solvable
from bygones.learn.symmetric import Rankings

SameArray: TypeAlias = Any
"""An array of the kind that was given, NumPy's or JAX's."""


class Actor(Protocol):
    """The interface of a kind of policy."""

    @property
    def n_scores(self) -> int:
        """How many scores there are, and how many Gumbel numbers a draw takes."""

    @property
    def depth(self) -> int:
        """How many layers each of the two networks has."""

    def initial(self, seed: int) -> Networks:
        """The networks before training."""

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> SameArray:
        """The scores an action is drawn from; `matvec` as of `networks.apply`."""

    def value(self, networks: Networks, observations: Array) -> SameArray:
        """The estimate of the discounted rewards to come."""

    def best(self, scores: Array) -> SameArray:
        """The greedy action. With Gumbel noise added to the scores it is a draw."""

    def log_prob(self, scores: Array, actions: Array) -> SameArray:
        """The logarithm of the probability with which these actions are drawn."""

    def entropy(self, scores: Array, actions: Array) -> SameArray:
        """The entropy of the draw, or a number whose mean over sampled actions is the entropy."""


@dataclass(frozen=True)
class Subsets:
    """One logit per action: the network of the paper, an MLP."""

    observation_size: int
    n_actions: int
    hidden: tuple[int, ...]

    @property
    def n_scores(self) -> int:
        return self.n_actions

    @property
    def depth(self) -> int:
        return len(self.hidden) + 1

    def initial(self, seed: int) -> Networks:
        return initial(seed, self.observation_size, self.n_actions, self.hidden)

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> Array:
        return apply(networks.policy, observations, matvec)

    def value(self, networks: Networks, observations: Array) -> Array:
        return apply(networks.value, observations)[..., 0]

    def best(self, scores: Array) -> Array:
        return namespace(scores).argmax(scores, axis=-1)

    def log_prob(self, scores: Array, actions: Array) -> Array:
        return namespace(scores).take_along_axis(_log_softmax(scores), actions[..., None], axis=-1)[..., 0]

    def entropy(self, scores: Array, actions: Array) -> Array:
        log_policy = _log_softmax(scores)
        return -(namespace(scores).exp(log_policy) * log_policy).sum(axis=-1)


def actor_of(settings: Settings, problem: FairProblem) -> Actor:
    """The kind of policy that the learner of these settings trains, for a problem.

    Raises:
        ValueError: the learner has no policy that can play it.
    """
    return learners.acts(settings.learner)(settings, problem)


def plain_actor(settings: Settings, problem: FairProblem) -> Actor:
    """The kind of policy that these settings name, for a problem.

    Raises:
        ValueError: the policy is an MLP, and there are too many subsets of agents for it; or it is symmetric, and every
            agent is observed on another scale, or actions do not serve agents.
    """
    check_solvable(settings.policy, problem)
    scenario = problem.scenario
    if settings.policy == "symmetric":
        is_logarithmic = settings.agent_features == "logarithmic"
        alike = (problem.observe_denominator, settings.agent_units, is_logarithmic)
        assert scenario.n_served is not None
        seen = (len(scenario.features), len(scenario.shared))
        return Rankings(problem.n_agents, scenario.n_served, *alike, *seen)
    return mlp(settings, problem)


def mlp(settings: Settings, problem: FairProblem) -> Subsets:
    """The MLP for a problem; refused if there are too many actions for one output each."""
    check_solvable("mlp", problem)
    return Subsets(problem.observation_size, problem.scenario.n_actions, settings.hidden)


def _log_softmax(scores: SameArray) -> Array:
    import jax

    return cast(Array, jax.nn.log_softmax(scores))
