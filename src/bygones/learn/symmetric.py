r"""Policies that treat agents alike: one small network scores every agent, and the k best draws are served.

An agent is scored from its own need and memory, from how they compare with the mean and the minimum of all agents, and
from a pooled embedding of all agents (as in Deep Sets):

$$ e = \tfrac1n\sum_j \tanh(x_j E), \qquad s_i = [\tanh([x_i, e]\,H),\ x_i]\,w, $$

where $x_i$ are the features of agent $i$ (`features`). Nothing depends on the order of the agents or on their number:
permuting the agents permutes the scores, and weights learned with 10 agents play with 10,000. The value is pooled too.

k agents are drawn without replacement. Adding Gumbel noise to the scores and taking the k largest, in order, is a draw
from the Plackett–Luce distribution

$$ \log p(a_1, \dots, a_k) = \sum_{j=1}^k \Bigl(s_{a_j} - \log \sum_{i \notin \{a_1,\dots,a_{j-1}\}} e^{s_i}\Bigr). $$

The action is the ranking $(a_1, \dots, a_k)$, not the set: the ranking was drawn, and its probability takes O(nk)
operations, where that of the set is a sum over k! rankings. Only the set matters to the environment, so the ratio of
PPO is that of a finer action: as unbiased, with a little more variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from bygones._arrays import Array, Operand, namespace
from bygones.learn.networks import Layer, Networks, layers

_NONE = -1e30
"""A score that is never drawn; finite, so gradients are finite too."""

_FEW = 4
"""Up to so many largest values are found one after the other, which compilers fuse; more take `top_k`."""


@dataclass(frozen=True)
class Rankings:
    """Scores per agent; an action is the k agents that are served, in the order in which they were drawn."""

    n_agents: int
    n_resources: int
    observes_denominator: bool
    units: int
    """Units of every layer."""
    logarithmic: bool = True
    """Whether the memory is seen on a logarithmic scale: x as ±ln(1 + |x|)."""
    n_seen: int = 1
    """How many numbers are observed of each agent besides the memory: in the paper's problem, its need."""
    n_shared: int = 0
    """How many numbers are observed that belong to no agent."""

    @property
    def n_scores(self) -> int:
        return self.n_agents

    @property
    def depth(self) -> int:
        return 3

    def initial(self, seed: int) -> Networks:
        """Weights as of the MLP: orthogonal, with gain √2, and 0.01 and 1 for the heads."""
        rng, seen, units, root = np.random.default_rng(seed), self._n_features, self.units, np.sqrt(2.0)
        sizes = ((seen, units), (seen + units, units))
        return Networks(
            policy=layers(rng, (*sizes, (units + seen, 1)), (root, root, 0.01)),
            value=layers(rng, (*sizes, (units, 1)), (root, root, 1.0)),
        )

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> Array:
        """One score per agent."""
        return self._of_each(networks.policy, observations, matvec)

    def _of_each(self, network: tuple[Layer, ...], observations: Array, matvec: bool = True) -> Array:
        """One number per agent; the head sees the features $x_i$ themselves if it has weights for them."""
        embed, combine, head = network
        x = self.features(observations)
        xp, seen, units = namespace(x), self._n_features, self.units
        pooled = xp.tanh(_product(embed.weight, x, matvec) + _column(embed.bias, x)).mean(axis=1)
        context = _product(combine.weight[seen:], pooled, matvec) + _column(combine.bias, pooled)
        hidden = xp.tanh(_product(combine.weight[:seen], x, matvec) + context[:, None])
        each = _product(head.weight[:units], hidden, matvec)
        if len(head.weight) > units:
            each = each + _product(head.weight[units:], x, matvec)
        return xp.moveaxis(each[0] + head.bias[0], 0, -1)

    def value(self, networks: Networks, observations: Array) -> Array:
        embed, combine, head = networks.value
        x = self.features(observations)
        xp = namespace(x)
        pooled = xp.tanh(_product(embed.weight, x) + _column(embed.bias, x)).mean(axis=1)
        whole = xp.concatenate([x.mean(axis=1), pooled])
        hidden = xp.tanh(_product(combine.weight, whole) + _column(combine.bias, whole))
        return _product(head.weight, hidden)[0] + head.bias[0]

    def features(self, observations: Array) -> Array:
        """The features of each agent, shape (5, n, ...); one more where the denominator is observed.

        Its need, and how far above the mean of all needs that is; its memory, and how far above the mean and above the
        minimum that is. Where more is observed of an agent than its need, so it is with each number; numbers that
        belong to no agent are the same for all. The batch comes last, because compiled programs are twice as fast where
        neighbours in memory go through the same operations.
        """
        n, xp, seen_as = self.n_agents, namespace(observations), _compressed if self.logarithmic else lambda x: x
        seen = xp.moveaxis(observations, -1, 0)
        first = self.n_seen * n + self.n_shared
        own, Z = seen[: self.n_seen * n].reshape((self.n_seen, n, *seen.shape[1:])), seen[first : first + n]
        parts = [
            *own,
            *(own - own.mean(axis=1, keepdims=True)),
            *(xp.broadcast_to(one, Z.shape) for one in seen[self.n_seen * n : first]),
            seen_as(Z),
            seen_as(Z - Z.mean(axis=0)),
            seen_as(Z - Z.min(axis=0)),
        ]
        if self.observes_denominator:
            parts.append(xp.broadcast_to(seen_as(seen[first + n :]), Z.shape))
        return xp.concatenate([part[None] for part in parts])

    def best(self, scores: Array) -> Array:
        """The agents with the k highest scores, the highest first."""
        xp, k = namespace(scores), self.n_resources
        if xp is np:
            k_best = np.argpartition(-np.asarray(scores), k - 1, axis=-1)[..., :k]
            order = np.argsort(-np.take_along_axis(np.asarray(scores), k_best, axis=-1), axis=-1, kind="stable")
            return np.take_along_axis(k_best, order, axis=-1)
        if k > _FEW:
            import jax

            return cast(Array, jax.lax.top_k(cast(Operand, scores), k)[1])
        ranked, agents = [], xp.arange(self.n_agents)
        for _ in range(k):
            ranked.append(xp.argmax(scores, axis=-1))
            scores = xp.where(agents == ranked[-1][..., None], -np.inf, scores)
        return xp.concatenate([agent[..., None] for agent in ranked], axis=-1)

    def log_prob(self, scores: Array, actions: Array) -> Array:
        """Of rankings, by Plackett and Luce."""
        chosen, left = self._stages(scores, actions)
        return (chosen - left).sum(axis=0)

    def entropy(self, scores: Array, actions: Array) -> Array:
        """The entropies of the k draws, each given the agents drawn before it.

        By the chain rule their mean over rankings is the entropy of the ranking.
        """
        xp = namespace(scores)
        _, left = self._stages(scores, actions)
        drawn = self._is_drawn(actions)
        is_left = xp.cumsum(drawn, axis=1) <= drawn
        log_policy = xp.where(is_left, xp.moveaxis(scores, -1, 0)[:, None] - left, 0.0)
        return -(xp.where(is_left, xp.exp(log_policy), 0.0) * log_policy).sum(axis=(0, 1))

    def _stages(self, scores: Array, actions: Array) -> tuple[Array, Array]:
        """The score of each agent drawn, and the log of the sum of the exponentials of those it was drawn from.

        Both of shape (k, ...). The sums are added up from the last draw to the first: nothing is subtracted, so no
        digits are lost.
        """
        xp, drawn, s = namespace(scores), self._is_drawn(actions), namespace(scores).moveaxis(scores, -1, 0)
        chosen = xp.where(drawn, s[:, None], 0.0).sum(axis=0)
        rest = xp.where(drawn.any(axis=1), _NONE, s)
        most = _fixed(rest.max(axis=0))
        never_drawn = most + xp.log(xp.exp(rest - most).sum(axis=0))
        return chosen, _sums_from_the_last(never_drawn, chosen)

    def _is_drawn(self, actions: Array) -> Array:
        """Whether agent i was drawn j-th, shape (n, k, ...)."""
        xp = namespace(actions)
        ranked = xp.moveaxis(actions, -1, 0)
        agents = xp.arange(self.n_agents).reshape((-1, *(1 for _ in ranked.shape)))
        return cast(Array, agents == ranked)

    @property
    def _n_features(self) -> int:
        return 2 * self.n_seen + self.n_shared + 3 + self.observes_denominator


def _product(weight: Array, x: Array, matvec: bool = True) -> Array:
    """weightᵀ·x over the first axis of both; as of `networks.apply`, possibly without a matrix product."""
    columns = x.reshape((x.shape[0], -1))
    product = weight.T @ columns if matvec else (weight[:, :, None] * columns[:, None]).sum(axis=0)
    return product.reshape((-1, *x.shape[1:]))


def _column(bias: Array, x: Array) -> Array:
    """A bias, to be added to a product with x."""
    return bias.reshape((-1, *(1 for _ in x.shape[1:])))


def _sums_from_the_last(rest: Array, chosen: Array) -> Array:
    """ln(eʳᵉˢᵗ + Σ exp(chosen)) over chosen j to the last, for each j along the first axis."""
    xp = namespace(chosen)
    if xp is not np and len(chosen) > _FEW:
        import jax

        summands: Operand = xp.concatenate([chosen, rest[None]])
        return cast(Array, jax.lax.cumlogsumexp(summands, axis=0, reverse=True)[:-1])
    left = [rest]
    for one in chosen[::-1]:
        left.append(xp.logaddexp(left[-1], one))
    return xp.concatenate([one[None] for one in left[:0:-1]])


def _fixed(x: Array) -> Array:
    """The numbers without their gradient, where there is one."""
    if namespace(x) is np:
        return x
    import jax

    return jax.lax.stop_gradient(x)


def _compressed(x: Array) -> Array:
    xp = namespace(x)
    return xp.where(x < 0, -1.0, 1.0) * xp.log1p(xp.abs(x))
