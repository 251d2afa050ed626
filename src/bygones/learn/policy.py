"""What was learned: policies that act, are saved and loaded without pickle, and move to Stable-Baselines3 and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bygones._arrays import AnyArray, Array, Ints, as_array, namespace
from bygones.envs.problem import AllocationProblem
from bygones.learn import safetensors
from bygones.learn.descriptions import Run, description, rebuilt
from bygones.learn.networks import Layer, Networks, apply
from bygones.learn.normalisation import Normaliser, normalised
from bygones.learn.settings import Settings

_TORCH = {"policy": ("mlp_extractor.policy_net", "action_net"), "value": ("mlp_extractor.value_net", "value_net")}
"""Where Stable-Baselines3's `MlpPolicy` keeps the hidden layers and the head of each network."""


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained policy: call it with an observation, or many, for the probability of each action.

    Attributes:
        settings: how it was trained.
        networks: what was learned.
        custom_problem: None, or the problem that was learned instead of the one that the settings describe.
        normaliser: None, or the statistics by which it normalises what it observes (observation scale "running"); give
            it observations as they are.
    """

    settings: Settings
    networks: Networks
    custom_problem: AllocationProblem | None = None
    normaliser: Normaliser | None = None

    @property
    def problem(self) -> AllocationProblem:
        """What it has learned to solve."""
        return Run(self.settings, self.custom_problem).problem

    def __call__(self, observations: AnyArray) -> Array:
        """The probability of each action, along the last axis."""
        logits = apply(self.networks.policy, self._checked(observations))
        xp = namespace(logits)
        unnormalised = xp.exp(logits - logits.max(axis=-1, keepdims=True))
        return unnormalised / unnormalised.sum(axis=-1, keepdims=True)

    def value(self, observations: AnyArray) -> Array:
        """The learner's estimate of the discounted rewards to come."""
        return apply(self.networks.value, self._checked(observations))[..., 0]

    def predict(
        self,
        observation: AnyArray,
        state: None = None,
        episode_start: None = None,
        deterministic: bool = False,
        *,
        rng: np.random.Generator | None = None,
    ) -> tuple[Ints, None]:
        """The action, or actions, with Stable-Baselines3's signature: `action, _ = policy.predict(observation)`.

        Deterministic takes the most probable action, otherwise one is drawn, from `rng` if it is given.
        """
        probabilities = np.asarray(self(np.asarray(observation)))
        if deterministic:
            return probabilities.argmax(axis=-1), None
        drawn = (rng or np.random.default_rng()).random((*probabilities.shape[:-1], 1))
        reached = probabilities.cumsum(axis=-1)
        return (drawn * reached[..., -1:] >= reached).sum(axis=-1), None

    def save(self, path: Path | str) -> None:
        """Writes one safetensors file; the settings, and the problem if it is a custom one, are JSON in its header."""
        metadata = {"settings": json.dumps(self.settings.to_dict())}
        if self.custom_problem is not None:
            metadata["problem"] = json.dumps(description(self.custom_problem))
        statistics = {} if self.normaliser is None else self.normaliser._asdict()
        named = {f"normaliser.{name}": np.asarray(value) for name, value in statistics.items()}
        safetensors.save(path, _named(self.networks) | named, metadata)

    @classmethod
    def load(cls, path: Path | str, problem: AllocationProblem | None = None) -> TrainedPolicy:
        """The policy that `save` wrote.

        Args:
            path: the file.
            problem: what the policy was trained on. It is only needed where the problem has a memory, welfare or needs
                that are not bygones' own, which a file cannot hold.

        Raises:
            ValueError: the file is damaged or not a saved policy, its problem must be given, or another one was given.
        """
        tensors, metadata = safetensors.load(path)
        if "settings" not in metadata:
            raise ValueError(f"{path} is not a saved policy: it has no settings in its header")
        try:
            settings = Settings.from_dict(json.loads(metadata["settings"]))
            described = json.loads(metadata["problem"]) if "problem" in metadata else None
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged, or of a later version of bygones: {error}") from None
        if problem is not None and description(problem) != (described or description(settings.problem())):
            raise ValueError(f"{path} was trained on another problem: {described or settings}")
        if problem is None and described is not None:
            try:
                problem = rebuilt(described)
            except ValueError as error:
                raise ValueError(
                    f"{error}: give the problem that {path} was trained on, as TrainedPolicy.load(path, problem=...)"
                ) from None
        count = len(settings.hidden) + 1
        try:
            networks = Networks(*(_layers(tensors, network, count) for network in Networks._fields))
            normaliser = _normaliser(tensors) if (problem or settings).observation_scale == "running" else None
        except KeyError as missing:
            raise ValueError(f"{path} is damaged: it lacks tensor {missing}") from None
        return cls(settings, networks, problem if described else None, normaliser)

    def state_dict(self) -> dict[str, Any]:
        """The parameters as torch tensors, under the names of Stable-Baselines3's `MlpPolicy`."""
        import torch

        named: dict[str, Any] = {}
        for network, (trunk, head) in _TORCH.items():
            *hidden, last = getattr(self.networks, network)
            places = [(f"{trunk}.{2 * i}", layer) for i, layer in enumerate(hidden)] + [(head, last)]
            for place, layer in places:
                # torch multiplies from the left, and tanh layers without parameters take every second number.
                named[f"{place}.weight"] = torch.tensor(np.asarray(layer.weight).T.copy())
                named[f"{place}.bias"] = torch.tensor(np.asarray(layer.bias))
        return named

    @classmethod
    def from_state_dict(cls, settings: Settings, named: dict[str, Any]) -> TrainedPolicy:
        """The policy of a Stable-Baselines3 `MlpPolicy` with these settings."""
        networks = []
        for trunk, head in _TORCH.values():
            places = [f"{trunk}.{2 * i}" for i in range(len(settings.hidden))] + [head]
            networks.append(
                tuple(Layer(_numpy(named[f"{p}.weight"]).T.copy(), _numpy(named[f"{p}.bias"])) for p in places)
            )
        return cls(settings, Networks(*networks))

    def _checked(self, observations: AnyArray) -> Array:
        size = self.networks.policy[0].weight.shape[0]
        array = as_array(observations) if namespace(observations) is not np else np.asarray(observations, np.float32)
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"observations must have {size} entries along the last axis, got shape {array.shape}")
        return normalised(array, self.normaliser)


def _named(networks: Networks) -> dict[str, np.ndarray]:
    return {
        f"{network}.{i}.{part}": np.asarray(tensor)
        for network, layers in networks._asdict().items()
        for i, layer in enumerate(layers)
        for part, tensor in layer._asdict().items()
    }


def _layers(tensors: dict[str, np.ndarray], network: str, count: int) -> tuple[Layer, ...]:
    return tuple(Layer(tensors[f"{network}.{i}.weight"], tensors[f"{network}.{i}.bias"]) for i in range(count))


def _normaliser(tensors: dict[str, np.ndarray]) -> Normaliser:
    return Normaliser(*(tensors[f"normaliser.{name}"] for name in Normaliser._fields))


def _numpy(tensor: Any) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy().copy()
    return array
