"""The actor and the critic: two separate networks of tanh layers, initialised as Stable-Baselines3 does (row 18)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

import numpy as np

from bygones._arrays import Array, namespace

ArrayT = TypeVar("ArrayT", bound=Array)
"""The kind of array that was given, NumPy's or JAX's."""


class Layer(NamedTuple):
    """An affine map x ↦ x·weight + bias."""

    weight: Array
    bias: Array


class Networks(NamedTuple):
    """The policy network, which gives one logit per action, and the value network, which gives one number."""

    policy: tuple[Layer, ...]
    value: tuple[Layer, ...]


def apply(layers: tuple[Layer, ...], x: ArrayT, matvec: bool = True) -> ArrayT:
    """The output of a network: tanh after every layer but the last.

    One vector at a time may be multiplied and summed instead of calling a matrix product: on a GPU, where many runs
    are batched, that is a single fused kernel per layer.
    """
    xp = namespace(x)

    def affine(layer: Layer, x: Array) -> Array:
        return (x @ layer.weight if matvec else (x[:, None] * layer.weight).sum(axis=0)) + layer.bias

    *hidden, head = layers
    y: Array = x
    for layer in hidden:
        y = xp.tanh(affine(layer, y))
    return cast(ArrayT, affine(head, y))


def initial(seed: int, observation_size: int, n_actions: int, hidden: tuple[int, ...], n_values: int = 1) -> Networks:
    """Orthogonal weights with gain √2, 0.01 for the policy's head and 1 for the value's; biases of zero.

    Drawn on the host in double precision, so a run starts from the same numbers on every kind of machine.
    """
    rng = np.random.default_rng(seed)

    def network(outputs: int, gain: float) -> tuple[Layer, ...]:
        sizes = itertools.pairwise((observation_size, *hidden, outputs))
        return layers(rng, tuple(sizes), (*(np.sqrt(2.0) for _ in hidden), gain))

    return Networks(policy=network(n_actions, 0.01), value=network(n_values, 1.0))


def layers(rng: np.random.Generator, sizes: Sequence[tuple[int, int]], gains: Sequence[float]) -> tuple[Layer, ...]:
    """Layers of these inputs and outputs: orthogonal weights with these gains, biases of zero."""
    return tuple(
        Layer((gain * _orthogonal(rng, inputs, outputs)).astype(np.float32), np.zeros(outputs, np.float32))
        for (inputs, outputs), gain in zip(sizes, gains, strict=True)
    )


def _orthogonal(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A matrix, uniform among those whose rows or columns (the fewer of the two) are orthonormal."""
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))
    return q if rows >= columns else q.T
