"""The updates in machine code of this processor: `ppo.improve` compiled by Numba, over BLAS.

XLA multiplies matrices of 64 rows at less than half the rate that a BLAS reaches on a CPU core, and those products are
most of a run. Numba is optional: without it, on accelerators and in batches the updates are XLA's. The two agree to
float32 rounding, and each gives the same bits every time.

All parameters are one vector, and so are all layers' outputs for a minibatch; matrices are views of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numba
import numpy as np

from bygones._arrays import Array
from bygones.learn.iterations import BETAS, LOG_BETAS, Adam, Numbers
from bygones.learn.networks import Layer, Networks
from bygones.learn.ppo import Samples
from bygones.learn.programs import Tree

_Function = TypeVar("_Function", bound=Callable[..., object])

# Constants are of single precision too: a double one would make the whole expression double.
_f = np.float32
_0, _1, _2 = _f(0), _f(1), _f(2)
_KEPT = tuple(_f(beta) for beta in BETAS)
_NEW = tuple(_f(1 - beta) for beta in BETAS)
_LOG_BETAS = LOG_BETAS
_LOG_2, _PER_LOG_2 = _f(math.log(2)), _f(1 / math.log(2))
_SERIES = tuple(_f(1 / math.factorial(n)) for n in range(7))
_LEAST_EXPONENT = _f(-87)

# tanh x = x·P(x²)/Q(x²) with relative error 2e-8 up to 9, where float32 has it at 1: a minimax fit, by least squares
# with weights raised where the error is largest.
_SATURATED = _f(9)
_P = tuple(_f(c) for c in (1, 0.13381031, 3.4955950e-3, 2.0609188e-5, 1.3354793e-8))
_Q = tuple(_f(c) for c in (1, 0.46714348, 2.5877008e-2, 3.2856458e-4, 7.7766157e-7))

_NUMBERS = ("clip", "value_weight", "entropy_weight", "max_grad_norm", "learning_rate", "adam_eps")
"""The numbers of a run that updates take, in the order of `_epochs`."""


def _compiled(function: _Function) -> _Function:
    """Compiles when first called, and keeps that for the next process if there is a place to.

    Sums may be reordered and multiplications fused with them, but NaN and infinity keep their meaning: a run that has
    lost its way is noticed by them.
    """
    options: dict[str, Any] = {"fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy"}
    machine_code: _Function
    try:
        machine_code = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the folder of this file nor the user's cache can be written to
        machine_code = numba.njit(**options)(function)
    return machine_code


def improve(
    networks: Networks, adam: Adam, samples: Samples, order: Array, numbers: Numbers, batch_size: int
) -> tuple[Networks, Adam, np.ndarray]:
    """As `ppo.improve`, on arrays of the host."""
    weights, mean, square = (_joined(tree) for tree in (networks, adam.mean, adam.square))
    policy, value = (_sizes(layers) for layers in networks)
    arrays = [np.asarray(leaf) for leaf in samples[:5]]
    rates = [_f(getattr(numbers, name)) for name in _NUMBERS]
    arguments: Tree = (int(adam.count), policy, value, *arrays, np.asarray(order), batch_size, *rates)
    losses = _epochs(weights, mean, square, *arguments)
    updates = order.size // batch_size
    moved = Adam(_parted(mean, networks), _parted(square, networks), np.asarray(adam.count + updates, np.int32))
    return _parted(weights, networks), moved, (losses / updates).astype(np.float32)


@_compiled
def _epochs(
    weights: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    count: int,
    policy: np.ndarray,
    value: np.ndarray,
    observations: np.ndarray,
    actions: np.ndarray,
    log_probs: np.ndarray,
    advantages: np.ndarray,
    returns: np.ndarray,
    order: np.ndarray,
    size: int,
    clip: np.float32,
    value_weight: np.float32,
    entropy_weight: np.float32,
    max_grad_norm: np.float32,
    learning_rate: np.float32,
    adam_eps: np.float32,
) -> np.ndarray:
    """All updates, in place; also the sums of the policy's and of the value's loss."""
    seen = policy[0]
    widest = max(policy.max(), value.max())
    errors, spare = np.empty(size * widest, np.float32), np.empty(size * widest, np.float32)
    policy_outputs, value_outputs = np.empty(size * policy.sum(), np.float32), np.empty(size * value.sum(), np.float32)
    logits = policy_outputs[size * policy[:-1].sum() :].reshape((size, policy[-1]))
    values = value_outputs[size * value[:-1].sum() :]
    gradient = np.empty_like(weights)
    split = _parameters(policy)
    losses = np.zeros(2)
    for epoch in range(order.shape[0]):
        for start in range(0, order.shape[1], size):
            batch = order[epoch, start : start + size]
            for i in range(size):
                for j in range(seen):
                    x = observations[batch[i], j]
                    policy_outputs[i * seen + j] = x
                    value_outputs[i * seen + j] = x

            _forward(weights[:split], policy, size, policy_outputs)
            losses[0] += _policy_errors(
                logits, batch, actions, log_probs, advantages, clip, entropy_weight, errors[: logits.size]
            )
            _backward(weights[:split], policy, size, policy_outputs, errors, spare, gradient[:split])

            _forward(weights[split:], value, size, value_outputs)
            losses[1] += _value_errors(values, batch, returns, value_weight, errors)
            _backward(weights[split:], value, size, value_outputs, errors, spare, gradient[split:])

            count += 1
            _adam_step(weights, mean, square, gradient, count, max_grad_norm, learning_rate, adam_eps)
    return losses


@_compiled
def _parameters(sizes: np.ndarray) -> int:
    total = 0
    for layer in range(len(sizes) - 1):
        total += (sizes[layer] + 1) * sizes[layer + 1]
    return total


@_compiled
def _forward(weights: np.ndarray, sizes: np.ndarray, rows: int, outputs: np.ndarray) -> None:
    """Fills in the outputs of all layers; the first of them, the observations, are there."""
    at, seen = 0, 0
    for layer in range(len(sizes) - 1):
        inner, outer = sizes[layer], sizes[layer + 1]
        x = outputs[seen : seen + rows * inner].reshape((rows, inner))
        seen += rows * inner
        y = outputs[seen : seen + rows * outer].reshape((rows, outer))
        np.dot(x, weights[at : at + inner * outer].reshape((inner, outer)), y)
        at += inner * outer
        bias = weights[at : at + outer]
        at += outer
        is_head = layer == len(sizes) - 2
        for i in range(rows):
            if is_head:
                for j in range(outer):
                    y[i, j] += bias[j]
            else:
                for j in range(outer):
                    y[i, j] = _tanh(y[i, j] + bias[j])


@_compiled
def _backward(
    weights: np.ndarray,
    sizes: np.ndarray,
    rows: int,
    outputs: np.ndarray,
    errors: np.ndarray,
    spare: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """The gradient by the weights, from that by the last outputs: `errors`, which is used up."""
    ones = np.ones(rows, np.float32)
    turned = np.empty(sizes.max() ** 2, np.float32)
    at, seen = len(weights), rows * sizes[:-1].sum()
    for layer in range(len(sizes) - 2, -1, -1):
        inner, outer = sizes[layer], sizes[layer + 1]
        e = errors[: rows * outer].reshape((rows, outer))
        at -= outer
        np.dot(e.T, ones, gradient[at : at + outer])
        at -= inner * outer
        seen -= rows * inner
        x = outputs[seen : seen + rows * inner].reshape((rows, inner))
        np.dot(x.T, e, gradient[at : at + inner * outer].reshape((inner, outer)))
        if layer > 0:
            # BLAS takes half as long again with its second factor transposed: turning that in advance is quicker.
            weight = weights[at : at + inner * outer].reshape((inner, outer))
            back = turned[: weight.size].reshape((outer, inner))
            for i in range(inner):
                for j in range(outer):
                    back[j, i] = weight[i, j]
            below = spare[: rows * inner].reshape((rows, inner))
            np.dot(e, back, below)
            for i in range(rows):
                for j in range(inner):
                    below[i, j] *= _1 - x[i, j] * x[i, j]
            errors, spare = spare, errors


@_compiled
def _policy_errors(
    logits: np.ndarray,
    batch: np.ndarray,
    actions: np.ndarray,
    log_probs: np.ndarray,
    advantages: np.ndarray,
    clip: np.float32,
    entropy_weight: np.float32,
    errors: np.ndarray,
) -> float:
    """The policy's loss; fills in the gradient by the logits, that of the entropy bonus included."""
    size, n_actions = logits.shape
    centre, scale = _centre_and_scale(advantages, batch)
    share = _1 / _f(size)
    largest = np.empty(size, np.float32)
    e = errors.reshape((size, n_actions))
    for i in range(size):
        # Less the largest logit, no exponential overflows.
        most = logits[i, 0]
        for j in range(1, n_actions):
            most = max(most, logits[i, j])
        largest[i] = most
        for j in range(n_actions):
            e[i, j] = logits[i, j] - most
    _exponentials(errors)
    loss = 0.0
    for i in range(size):
        total = _0
        for j in range(n_actions):
            total += e[i, j]
        norm = largest[i] + math.log(total)
        chosen = actions[batch[i]]
        ratio = math.exp(logits[i, chosen] - norm - log_probs[batch[i]])
        advantage = (advantages[batch[i]] - centre) * scale
        gain, bounded = advantage * ratio, advantage * min(max(ratio, _1 - clip), _1 + clip)
        loss -= min(gain, bounded)
        # Where the bound is the smaller one, the loss is flat.
        pull = -gain * share if gain <= bounded else _0
        if entropy_weight > _0:
            certainty = _0
            for j in range(n_actions):
                certainty += e[i, j] / total * (logits[i, j] - norm)
            for j in range(n_actions):
                e[i, j] *= (entropy_weight * share * (logits[i, j] - norm - certainty) - pull) / total
        else:
            for j in range(n_actions):
                e[i, j] *= -pull / total
        e[i, chosen] += pull
    return float(loss / size)


@_compiled
def _value_errors(
    values: np.ndarray, batch: np.ndarray, returns: np.ndarray, value_weight: np.float32, errors: np.ndarray
) -> float:
    """The value's loss; fills in the gradient by the values."""
    loss = 0.0
    scale = _2 * value_weight / _f(len(batch))
    for i in range(len(batch)):
        off = values[i] - returns[batch[i]]
        loss += off * off
        errors[i] = scale * off
    return float(loss / len(batch))


@_compiled
def _centre_and_scale(advantages: np.ndarray, batch: np.ndarray) -> tuple[np.float32, np.float32]:
    """The shift of the advantages of a minibatch, and the factor after it."""
    total = 0.0
    for i in batch:
        total += advantages[i]
    centre = total / len(batch)
    squares = 0.0
    for i in batch:
        squares += (advantages[i] - centre) ** 2
    return _f(centre), _f(1 / (math.sqrt(squares / (len(batch) - 1)) + 1e-8))


@_compiled
def _adam_step(
    weights: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    gradient: np.ndarray,
    count: int,
    max_grad_norm: np.float32,
    learning_rate: np.float32,
    adam_eps: np.float32,
) -> None:
    """Scales the gradient down to the largest norm allowed, and takes one step of Adam."""
    squares = _0
    for i in range(len(gradient)):
        squares += gradient[i] * gradient[i]
    factor = min(max_grad_norm / (math.sqrt(squares) + _f(1e-6)), _1)
    rate = learning_rate / _f(-math.expm1(count * _LOG_BETAS[0]))
    root = _f(1 / math.sqrt(-math.expm1(count * _LOG_BETAS[1])))
    for i in range(len(weights)):
        g = gradient[i] * factor
        m, s = _KEPT[0] * mean[i] + _NEW[0] * g, _KEPT[1] * square[i] + _NEW[1] * g * g
        mean[i], square[i] = m, s
        weights[i] -= rate * m / (math.sqrt(s) * root + adam_eps)


@_compiled
def _tanh(x: np.float32) -> np.float32:
    """Within 5 units in the last place. Unlike the system's tanh it is computed for many numbers at once."""
    x = _SATURATED if x > _SATURATED else x
    x = -_SATURATED if x < -_SATURATED else x
    y = x * x
    p = _P[0] + y * (_P[1] + y * (_P[2] + y * (_P[3] + y * _P[4])))
    q = _Q[0] + y * (_Q[1] + y * (_Q[2] + y * (_Q[3] + y * _Q[4])))
    return x * p / q


@_compiled
def _exponentials(x: np.ndarray) -> None:
    """In place, of numbers that are not positive: a power of 2, written as its bits, times a short series."""
    s = _SERIES
    for i in range(len(x)):
        v = _LEAST_EXPONENT if x[i] < _LEAST_EXPONENT else x[i]
        n = np.floor(v * _PER_LOG_2 + _f(0.5))
        r = v - n * _LOG_2
        e = s[0] + r * (s[1] + r * (s[2] + r * (s[3] + r * (s[4] + r * (s[5] + r * s[6])))))
        x[i] = e * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


def _joined(tree: Tree) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tree)])


def _parted(vector: np.ndarray, like: Networks) -> Networks:
    leaves, structure = jax.tree.flatten(like)
    parts = np.split(vector, np.cumsum([leaf.size for leaf in leaves])[:-1])
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return cast(Networks, jax.tree.unflatten(structure, shaped))


def _sizes(layers: tuple[Layer, ...]) -> np.ndarray:
    return np.array([layers[0].weight.shape[0], *(layer.weight.shape[1] for layer in layers)])
