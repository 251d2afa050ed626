r"""A recurrent policy: gated recurrent units (Cho et al. 2014) pass numbers $h$ from step to step.

$$ r, z = \sigma(W x + U h), \qquad n = \tanh(W' x + r\,(U' h)), \qquad h' = (1 - z)\,n + z\,h, $$

biases left out. The policy and the value network have separate units, and each head sees $h'$ and $x$. $h$ stands
behind the observation: a policy that is given $[x, h]$ gives scores, a value, and the next $h$. At the start of an
episode $h$ is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bygones._arrays import AnyArray, Array, namespace
from bygones.envs.problem import FairProblem
from bygones.learn.actors import Actor, Subsets, mlp
from bygones.learn.networks import Layer, Networks, layers
from bygones.learn.settings import Settings


@dataclass(frozen=True)
class Recurrent(Subsets):
    """One logit per action, from the observation and $h$; `observation_size` is without the latter."""

    units: int

    @property
    def state_size(self) -> int:
        """The size of $h$, for both networks together."""
        return 2 * self.units

    @property
    def depth(self) -> int:
        return 3

    def initial(self, seed: int) -> Networks:
        """Orthogonal weights: with gain 1 in the units, 0.01 and 1 in the heads."""
        rng, seen, units = np.random.default_rng(seed), self.observation_size, self.units

        def network(outputs: int, gain: float) -> tuple[Layer, ...]:
            sizes = ((seen, 3 * units), (units, 3 * units), (units + seen, outputs))
            return layers(rng, sizes, (1.0, 1.0, gain))

        return Networks(policy=network(self.n_actions, 0.01), value=network(1, 1.0))

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> Array:
        seen, of_policy, _ = self._parted(observations)
        return _output(networks.policy, seen, of_policy)

    def value(self, networks: Networks, observations: Array) -> Array:
        seen, _, of_value = self._parted(observations)
        return _output(networks.value, seen, of_value)[..., 0]

    def next_state(self, networks: Networks, observations: Array) -> Array:
        """The next $h$."""
        seen, of_policy, of_value = self._parted(observations)
        after = [unit(networks.policy, seen, of_policy), unit(networks.value, seen, of_value)]
        return namespace(seen).concatenate(after, axis=-1)

    def remembering(self, observations: Array, state: Array | None = None, starts: AnyArray | None = None) -> Array:
        """The observations with $h$ behind them; it is zero where an episode starts, or none is given."""
        xp = namespace(observations)
        if state is None:
            state = xp.zeros((*observations.shape[:-1], self.state_size), dtype=observations.dtype)
        elif starts is not None:
            state = xp.where(xp.asarray(starts)[..., None], 0.0, state).astype(observations.dtype)
        return xp.concatenate([observations, state], axis=-1)

    def _parted(self, observations: Array) -> tuple[Array, Array, Array]:
        """The observation, and $h$ of the policy and of the value."""
        size = self.observation_size
        return observations[..., :size], observations[..., size : size + self.units], observations[..., -self.units :]


def unit(network: tuple[Layer, ...], x: Array, h: Array) -> Array:
    """The next $h$ of a network; rows of their weights are in the order r, z, n."""
    xp, (inward, across, _), n = namespace(x), network, h.shape[-1]
    seen, passed = x @ inward.weight + inward.bias, h @ across.weight + across.bias
    gates = 0.5 * (1 + xp.tanh(0.5 * (seen[..., : 2 * n] + passed[..., : 2 * n])))
    reset, keep = gates[..., :n], gates[..., n:]
    fresh = xp.tanh(seen[..., 2 * n :] + reset * passed[..., 2 * n :])
    return (1 - keep) * fresh + keep * h


def recurrent_actor(settings: Settings, problem: FairProblem) -> Actor:
    """The recurrent policy for a problem."""
    if settings.policy != "mlp":
        raise ValueError(f'learner "recurrent-ppo" has its own network: leave policy at "mlp", got {settings.policy!r}')
    if problem.observation_scale == "running":
        raise ValueError(
            "observation_scale 'running' would normalise the state of a recurrent policy as well: choose another scale"
        )
    return Recurrent(**vars(mlp(settings, problem)), units=settings.recurrent_units)


def _output(network: tuple[Layer, ...], x: Array, h: Array) -> Array:
    xp, head = namespace(x), network[-1]
    return xp.concatenate([unit(network, x, h), x], axis=-1) @ head.weight + head.bias
