"""Trained policies: they act, are saved and loaded without pickle, and move to Stable-Baselines3 and back."""

from __future__ import annotations

import dataclasses
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from bygones._arrays import AnyArray, Array, Ints, as_array, check_count, namespace
from bygones._parts import needed_by
from bygones._registry import no_imports
from bygones._text import listed
from bygones.envs.problem import FairProblem
from bygones.envs.scenario import Scenario
from bygones.learn import safetensors
from bygones.learn.actors import Actor, actor_of
from bygones.learn.descriptions import (
    MALFORMED,
    ForeignPartsError,
    Run,
    description,
    differing,
    read_description,
    rebuilt,
    saved_description,
)
from bygones.learn.networks import Layer, Networks
from bygones.learn.normalisation import Normaliser, normalised
from bygones.learn.recurrent import Recurrent
from bygones.learn.settings import Settings
from bygones.learn.symmetric import Rankings

_TORCH = {"policy": ("mlp_extractor.policy_net", "action_net"), "value": ("mlp_extractor.value_net", "value_net")}
"""Where Stable-Baselines3's `MlpPolicy` keeps the hidden layers and the head of each network."""

_NOT_IN_SB3 = (
    'Stable-Baselines3 has no policy that scores agents: only policies of kind "mlp" move there and back. A symmetric '
    "policy plays with predict, and its file can be read with safetensors"
)
_OF_PPO = "only the policies of learner ppo and reinforce have the networks of Stable-Baselines3's PPO, got {}"


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained policy: call it with an observation, or many, for the probability of each action.

    A symmetric policy is called with the observations of any number of agents. It gives the probability that each agent
    is served first, and its actions are rankings: the k agents that are served. A recurrent policy is called as at the
    start of an episode; `predict` gives its state from step to step.

    Attributes:
        settings: how it was trained.
        networks: the trained networks.
        custom_problem: None, or the problem that was learned instead of the one that the settings describe.
        normaliser: None, or the statistics by which it normalises observations (observation scale "running"); give it
            raw observations.
    """

    settings: Settings
    networks: Networks
    custom_problem: FairProblem | None = None
    normaliser: Normaliser | None = None

    @property
    def problem(self) -> FairProblem:
        """The problem that it was trained on."""
        return Run(self.settings, self.custom_problem).problem

    @property
    def is_symmetric(self) -> bool:
        """Whether it scores agents, of any number, instead of subsets of them."""
        return self.settings.policy == "symmetric"

    def __call__(self, observations: AnyArray) -> Array:
        """The probability of each action, along the last axis; of a symmetric policy, of each agent to be first."""
        return self._probabilities(self._seen(observations))

    def _probabilities(self, seen: Array) -> Array:
        logits: Array = self._actor(seen).scores(self.networks, seen)
        xp = namespace(logits)
        unnormalised = xp.exp(logits - logits.max(axis=-1, keepdims=True))
        return unnormalised / unnormalised.sum(axis=-1, keepdims=True)

    def value(self, observations: AnyArray) -> Array:
        """The learner's estimate of the discounted rewards to come; of `ggf-ppo`, of the utility of each agent.

        `reinforce` learns none and gives the untrained value network's.
        """
        seen = self._seen(observations)
        value: Array = self._actor(seen).value(self.networks, seen)
        return value

    def predict(
        self,
        observation: AnyArray,
        state: np.ndarray | None = None,
        episode_start: AnyArray | None = None,
        deterministic: bool = False,
        *,
        rng: np.random.Generator | None = None,
        n_resources: int | None = None,
    ) -> tuple[Ints, np.ndarray | None]:
        """The action, or actions, with Stable-Baselines3's signature: `action, state = policy.predict(observation)`.

        Deterministic is greedy; otherwise an action is sampled, from `rng` if it is given.
        The action is the number of a subset of agents; a symmetric policy gives the agents themselves, `n_resources` of
        them, by default as many as in training, the one drawn first in front.

        A recurrent policy is given the state that it gave at the step before, and for each row whether an episode
        starts there, by default only where there is no state. The state of all other policies is None.
        """
        if self.is_symmetric:
            seen = np.asarray(self._checked(np.asarray(observation)))
            actor = self._actor(seen, n_resources)
            scores = np.asarray(actor.scores(self.networks, seen))
            noise = 0.0 if deterministic else (rng or np.random.default_rng()).gumbel(size=scores.shape)
            return np.asarray(actor.best(scores + noise)), None
        served = self.problem.scenario.n_served
        if n_resources not in (None, served):
            raise ValueError(
                f"n_resources must be {served}, as in training, got {n_resources}: only policies "
                'trained with policy="symmetric" serve another number of agents'
            )
        shown, kind = self._seen(np.asarray(observation), state, episode_start), self._actor_in_training
        after = np.asarray(kind.next_state(self.networks, shown)) if isinstance(kind, Recurrent) else None
        probabilities = np.asarray(self._probabilities(shown))
        if deterministic:
            return probabilities.argmax(axis=-1), after
        drawn = (rng or np.random.default_rng()).random((*probabilities.shape[:-1], 1))
        reached = probabilities.cumsum(axis=-1)
        return (drawn * reached[..., -1:] >= reached).sum(axis=-1), after

    def save(self, path: Path | str) -> None:
        """Writes one safetensors file; the settings, and the problem if it is a custom one, are JSON in its header."""
        metadata = {"settings": json.dumps(self.settings.distinction())}
        if self.custom_problem is not None:
            metadata["problem"] = json.dumps(saved_description(self.custom_problem))
        statistics = {} if self.normaliser is None else self.normaliser._asdict()
        named = {f"normaliser.{name}": np.asarray(value) for name, value in statistics.items()}
        safetensors.save(path, _named(self.networks) | named, metadata)

    @classmethod
    def load(
        cls, path: Path | str, problem: FairProblem | None = None, scenario: Scenario | None = None
    ) -> TrainedPolicy:
        """The policy that `save` wrote.

        Args:
            path: the file.
            problem: the one that the policy was trained on. It is only needed where the problem has needs that are not
                bygones' own, or another such part that cannot be made from its name: it is defined inside a function,
                or its module is neither imported already nor named in `BYGONES_PARTS`.
            scenario: the scenario of that problem, where nothing else in it is not bygones' own.

        Raises:
            ValueError: the file is damaged or not a saved policy, its problem must be given, or another one was given.
        """
        tensors, metadata = safetensors.load(path)
        if "settings" not in metadata:
            raise ValueError(f"{path} is not a saved policy: it has no settings in its header")
        try:
            with no_imports():
                settings = Settings.from_dict(json.loads(metadata["settings"]))
            described = read_description(metadata["problem"]) if "problem" in metadata else None
        except (ValueError, *MALFORMED) as error:
            raise _damaged(path, error) from None
        is_given = problem is not None or scenario is not None
        if scenario is not None and described is None:
            raise ValueError(f"{path} was not trained on a scenario: leave the scenario out")
        if problem is None and described is not None:
            try:
                with no_imports():
                    problem = rebuilt(described, scenario)
            except ValueError as error:
                raise ForeignPartsError(
                    f"{error}: give the problem that {path} was trained on, as TrainedPolicy.load(path, problem=...)",
                    error.parts if isinstance(error, ForeignPartsError) else {},
                ) from None
            except MALFORMED as error:
                raise _damaged(path, error) from None
        if problem is not None and is_given:
            trained, given = described or description(settings.problem()), description(problem)
            others = differing(trained, given)
            if others:
                raise ValueError(f"{path} was trained on another problem, which differs in {listed(others)}")
        try:
            return cls._of(tensors, settings, problem, custom=described is not None)
        except KeyError as missing:
            raise ValueError(f"{path} is damaged: it lacks tensor {missing}") from None
        except (ValueError, *MALFORMED) as error:
            raise _damaged(path, error) from None

    @classmethod
    def _of(
        cls, tensors: dict[str, np.ndarray], settings: Settings, problem: FairProblem | None, custom: bool
    ) -> TrainedPolicy:
        """The policy with these tensors, which has been asked once: they fit each other and the problem."""
        count = actor_of(settings, problem or settings.problem()).depth
        networks = Networks(
            *(
                tuple(Layer(tensors[f"{name}.{i}.weight"], tensors[f"{name}.{i}.bias"]) for i in range(count))
                for name in Networks._fields
            )
        )
        is_normalised = (problem or settings).observation_scale == "running"
        statistics = (tensors[f"normaliser.{name}"] for name in Normaliser._fields)
        normaliser = Normaliser(*statistics) if is_normalised else None
        policy = cls(settings, networks, problem if custom else None, normaliser)
        nothing, scores = np.zeros(policy.problem.observation_size), policy._actor_in_training.n_scores
        policy.problem.params(enumerates=False)
        policy.value(nothing)
        if policy(nothing).shape != (scores,):
            raise ValueError(f"its networks do not score {scores} actions")
        return policy

    def state_dict(self) -> dict[str, Any]:
        """The parameters as torch tensors, under the names of Stable-Baselines3's `MlpPolicy`."""
        with needed_by("state_dict"):
            import torch

        _check_movable(self.settings)
        return {
            f"{place}.{part}": torch.tensor(np.asarray(tensor).T.copy())
            for network, places in _torch_places(self.settings).items()
            for place, layer in zip(places, getattr(self.networks, network), strict=True)
            for part, tensor in layer._asdict().items()
        }

    @classmethod
    def from_state_dict(cls, settings: Settings, named: dict[str, Any]) -> TrainedPolicy:
        """The policy of a Stable-Baselines3 `MlpPolicy` with these settings."""
        _check_movable(settings)
        networks = {
            network: tuple(Layer(*(_numpy(named[f"{place}.{part}"]) for part in Layer._fields)) for place in places)
            for network, places in _torch_places(settings).items()
        }
        return cls(settings, Networks(**networks))

    @functools.cached_property
    def _actor_in_training(self) -> Actor:
        return actor_of(self.settings, self.problem)

    def _seen(
        self, observations: AnyArray, state: np.ndarray | None = None, episode_start: AnyArray | None = None
    ) -> Array:
        """The input of the networks: the observations, and behind them the state of a recurrent policy."""
        seen, actor = self._checked(observations), self._actor_in_training
        return actor.remembering(seen, state, episode_start) if isinstance(actor, Recurrent) else seen

    def _actor(self, observations: Array, n_resources: int | None = None) -> Actor:
        """The kind of policy, for as many agents as these observations are of."""
        actor = self._actor_in_training
        if not isinstance(actor, Rankings):
            return actor
        n = (observations.shape[-1] - actor.n_shared - actor.observes_denominator) // (actor.n_seen + 1)
        k = actor.n_resources if n_resources is None else check_count("n_resources", n_resources)
        if n_resources is not None and k > n:
            raise ValueError(f"n_resources must be at most the number of agents ({n}), got {k}")
        return dataclasses.replace(actor, n_agents=n, n_resources=min(k, n))

    def _checked(self, observations: AnyArray) -> Array:
        array = as_array(observations) if namespace(observations) is not np else np.asarray(observations, np.float32)
        if self.is_symmetric:
            actor = self._actor_in_training
            assert isinstance(actor, Rankings)
            each, extra = actor.n_seen + 1, actor.n_shared + actor.observes_denominator
            if array.ndim == 0 or array.shape[-1] < each + extra or (array.shape[-1] - extra) % each:
                own = "a need" if actor.n_seen == 1 else f"{actor.n_seen} numbers"
                more = f", {actor.n_shared} more" if actor.n_shared else ""
                entries = f"{own} and a memory for each agent{more}" + (
                    ", and the denominator" if actor.observes_denominator else ""
                )
                raise ValueError(f"observations must hold {entries} along the last axis, got shape {array.shape}")
            return array
        size = self.networks.policy[0].weight.shape[0]
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"observations must have {size} entries along the last axis, got shape {array.shape}")
        return normalised(array, self.normaliser)


def _check_movable(settings: Settings) -> None:
    """Refuses policies that Stable-Baselines3's `MlpPolicy` cannot be."""
    if settings.policy == "symmetric":
        raise ValueError(_NOT_IN_SB3)
    if settings.learner not in ("ppo", "reinforce"):
        raise ValueError(_OF_PPO.format(settings.learner))


def _damaged(path: Path | str, error: Exception) -> ValueError:
    return ValueError(f"{path} is damaged, or of a later version of bygones: {error}")


def _named(networks: Networks) -> dict[str, np.ndarray]:
    return {
        f"{network}.{i}.{part}": np.asarray(tensor)
        for network, layers in networks._asdict().items()
        for i, layer in enumerate(layers)
        for part, tensor in layer._asdict().items()
    }


def _torch_places(settings: Settings) -> dict[str, list[str]]:
    """The names of each network's layers in torch, where tanh layers without parameters take every second number."""
    return {
        network: [*(f"{trunk}.{2 * i}" for i in range(len(settings.hidden))), head]
        for network, (trunk, head) in _TORCH.items()
    }


def _numpy(tensor: Any) -> np.ndarray:
    """A tensor as an array, transposed, since torch multiplies from the left."""
    return cast(np.ndarray, tensor.detach().cpu().numpy().T.copy())
