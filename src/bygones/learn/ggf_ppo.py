r"""PPO with the generalised Gini objective (Siddique, Weng and Zimmer 2020).

The reward is a vector, the utilities of the agents, and so are values and advantages. The objective is the generalised
Gini welfare of the expected returns $J_i$ of the agents,

$$ \mathrm{GGF}_w(J) = \sum_i w_i\,J_{(i)}, \qquad J_{(1)} \le \dots \le J_{(n)}, \quad w_1 \ge \dots \ge w_n, $$

whose gradient weighs each agent by its rank: $\nabla\,\mathrm{GGF}_w(J) = \sum_i w_{\mathrm{rank}(i)} \nabla J_i$. So
the updates are the same as in PPO, with $\hat A = \sum_i w_{\mathrm{rank}(i)} \hat A_i$ in place of the advantage.
Agents are ranked by the mean returns of the rollout.

The weights come from the problem's welfare if it is a generalised Gini welfare itself. Otherwise they fall by the
factor `gini_ratio` from rank to rank; 1/2 is the authors' choice. The rewards of the problem are not used: neither its
λ nor its welfare, unless it gives the weights. The memory is observed as always.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from bygones.envs.functional import EnvParams
from bygones.forms import Ranked
from bygones.learn import iterations, ppo
from bygones.learn.iterations import Iteration, Learner, Numbers, RunState, Shape
from bygones.learn.networks import Networks
from bygones.learn.ppo import Samples
from bygones.learn.rollouts import Rollout
from bygones.learn.settings import Settings
from bygones.welfare import Welfare


@dataclass(frozen=True)
class GiniPPO(Learner):
    """PPO whose advantages are weighted by the ranks of the agents."""

    ratio: float
    """The weight of a rank, divided by that of the rank below it."""

    @classmethod
    def of(cls, settings: Settings) -> GiniPPO:
        """The learner of these settings."""
        return cls(settings.gini_ratio)

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> Iteration:
        weigh = functools.partial(samples_of, welfare=params.welfare, ratio=self.ratio)
        samples, order, onward, curve = ppo.experience(
            state, params, numbers, shape, reward=shape.environment.utilities, into_samples=weigh
        )
        learned = ppo.improve(state.networks, state.adam, samples, order, numbers, shape)
        return iterations.settle(state, onward, curve, learned, numbers)


def samples_of(
    networks: Networks, rollout: Rollout, numbers: Numbers, shape: Shape, welfare: Welfare, ratio: float
) -> tuple[Samples, jax.Array]:
    """As `ppo.samples_of`, for rewards with agents along the second axis; returns and values have it too."""
    actor = shape.actor
    values = actor.value(networks, rollout.observations)
    reached, last = (actor.value(networks, seen) for seen in (rollout.reached, rollout.last))
    of_each = jax.vmap(ppo.advantages_of, in_axes=(1, 1, 1, 0, None, None), out_axes=1)
    advantages = of_each(rollout.rewards, values, reached, last, rollout, numbers)
    returns = advantages + values
    weighted = advantages @ by_rank(returns.mean(axis=0), rank_weights(welfare, returns.shape[-1], ratio))
    log_probs = actor.log_prob(actor.scores(networks, rollout.observations), rollout.actions)
    return Samples(rollout.observations, rollout.actions, log_probs, weighted, returns), values


def rank_weights(welfare: Welfare, n_agents: int, ratio: float) -> jax.Array:
    """The weights of the ranks, the worst-off first."""
    form = welfare.form
    if isinstance(form, Ranked):
        return jnp.asarray(form.by_rank(n_agents), jnp.float32)
    falling = ratio ** jnp.arange(n_agents)
    return falling / falling.sum()


def by_rank(returns: jax.Array, weights: jax.Array) -> jax.Array:
    """The weight of each agent: the first for the one with the least return, and so on."""
    return jnp.zeros_like(returns).at[jnp.argsort(returns)].set(weights)
