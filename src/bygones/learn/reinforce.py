r"""REINFORCE on the welfare of whole episodes (Williams 1992), which under perfect recall is EUPG.

The objective is the fairness score: the welfare of the true utilities of an episode, $\mathbb{E}\,W(\sum_t u^t)$, and
not the sum of rewards. Its gradient needs no rewards of single steps:

$$ \nabla\,\mathbb{E}\,W = \mathbb{E}\Bigl[\bigl(W(\textstyle\sum_t u^t) - b\bigr)
   \sum_t \nabla \log \pi(a_t \mid s_t)\Bigr], $$

with a baseline $b$ that does not depend on the episode: the mean welfare of the episodes before it.

The policy sees the memory. With `PerfectRecall` that is the accrued return, and this is EUPG (Roijers, Steckelmacher
and Nowé 2018, "Multi-objective Reinforcement Learning for the Expected Utility of the Return"), with a baseline added.
With any other memory it sees only that memory.

Episodes are longer or shorter than rollouts. The part of $\sum_t \nabla \log \pi$ from an unfinished episode is kept,
and multiplied by its welfare when it ends. Each rollout in which an episode ends is one step of Adam, so a smaller
`rollout_steps` gives more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bygones.envs.functional import EnvParams
from bygones.learn import iterations
from bygones.learn.iterations import Iteration, Learner, Numbers, RunState, Shape, Steps, adam_step, clip_by_norm
from bygones.learn.networks import Networks
from bygones.learn.rollouts import Rollout, collect

REMEMBERED = 50
"""About how many of the last episodes the baseline is the mean of."""


class Unfinished(NamedTuple):
    """The state kept between two rollouts."""

    trace: Networks
    """The gradient of Σ log π over the steps so far of the episode that goes on."""
    baseline: jax.Array
    """The mean welfare of the episodes that have ended."""
    ended: jax.Array
    """How many have."""


@dataclass(frozen=True)
class Reinforce(Learner):
    """REINFORCE; of the settings of learning it takes `learning_rate`, `adam_eps`, `max_grad_norm`, `rollout_steps`."""

    def begin(self, key: jax.Array, networks: Networks, params: EnvParams, shape: Shape) -> RunState:
        zeros: Networks = jax.tree.map(jnp.zeros_like, networks)
        kept = Unfinished(zeros, jnp.zeros(()), jnp.zeros((), jnp.int32))
        return iterations.begin(key, networks, params, shape)._replace(kept=kept)

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> Iteration:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rollouts)
        rollout, after, last = collect(
            key, state.networks, state.environment, params, shape, normaliser=state.normaliser
        )
        over = rollout.terminated | rollout.truncated
        welfare = jax.vmap(shape.environment.metrics, in_axes=(0, None))(after, params)["welfare"]
        gradient, losses, kept = learned(state.networks, state.kept, rollout, over, welfare, shape)
        moved = adam_step(state.networks, state.adam, clip_by_norm(gradient, numbers.max_grad_norm), numbers)
        judged = over.any() & (state.kept.ended > 0)
        networks, adam = jax.tree.map(lambda new, old: jnp.where(judged, new, old), moved, (state.networks, state.adam))
        steps = Steps(over, rollout.rewards, after, last, rollout.normaliser)
        onward, curve = iterations.taken(state, steps, params, numbers, shape)
        curve = curve._replace(explained_variance=jnp.full((), jnp.nan))
        return iterations.settle(state, onward._replace(kept=kept), curve, (networks, adam, losses), numbers)


def learned(
    networks: Networks, kept: Unfinished, rollout: Rollout, over: jax.Array, welfare: jax.Array, shape: Shape
) -> tuple[Networks, jax.Array, Unfinished]:
    """The gradient of the loss, the policy's and the baseline's loss, and the state kept for the next rollout.

    Args:
        networks: which drew the actions.
        kept: from the rollouts before.
        rollout: steps, some of which may belong to an episode that began before.
        over: whether an episode ended at each step.
        welfare: the welfare of the true utilities after each step.
        shape: the compiled constants.
    """
    steps = len(over)
    # For each step, the step at which its episode ends; `steps` if it does not end in this rollout.
    end = jax.lax.cummin(jnp.where(over, jnp.arange(steps), steps), reverse=True)
    is_finished = end < steps
    gain = jnp.where(is_finished, welfare[jnp.minimum(end, steps - 1)] - kept.baseline, 0.0)
    actor, seen = shape.actor, rollout.observations
    log_probs, pulled_back = jax.vjp(lambda it: actor.log_prob(actor.scores(it, seen), rollout.actions), networks)
    (of_finished,) = pulled_back(gain)
    (of_unfinished,) = pulled_back(jnp.where(is_finished, 0.0, 1.0))
    # Where no episode has ended, all steps belong to the one that goes on, and gain[0] is 0.
    gradient = jax.tree.map(lambda now, before: -(now + gain[0] * before) / steps, of_finished, kept.trace)
    trace = jax.tree.map(lambda now, before: now + jnp.where(over.any(), 0.0, before), of_unfinished, kept.trace)
    ended = over.sum()
    off = jnp.where(over, welfare - kept.baseline, 0.0)
    share = 1 / jnp.maximum(ended + jnp.minimum(kept.ended, REMEMBERED), 1)
    losses = jnp.stack([-(gain * log_probs).mean(), (off**2).sum() / jnp.maximum(ended, 1)])
    return gradient, losses, Unfinished(trace, kept.baseline + share * off.sum(), kept.ended + ended)
