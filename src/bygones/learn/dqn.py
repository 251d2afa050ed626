r"""DQN with the memory as part of the state (Mnih et al. 2015), as Stable-Baselines3 computes it, and FairQCM.

A network learns the value of each action from transitions that were kept, by the loss

$$ L = \mathbb{E}\,\mathrm{huber}\bigl(Q(s_t, a_t) - r_t - \gamma \max_a \bar Q(s_{t+1}, a)\bigr), $$

where $\bar Q$ is a copy of $Q$ from some time ago, and nothing follows a state in which the episode has terminated. In
training the action is the best one, or any at random with a probability that falls linearly from 1.

A state is a state of the world and a memory, and the world does not depend on the memory. So a transition shows the
outcome with any other memory $Z$ as well: the same utilities, and with them another reward and another memory
afterwards. With `counterfactuals`, every transition is also learned from with so many memories of other steps. That is
FairQCM (Alamdari, Klassen, Toro Icarte and McIlraith 2024, "Remembering to Be Fair").
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bygones.envs.functional import Environment, EnvParams, Noise, State
from bygones.learn import iterations
from bygones.learn.greedy import Greedy
from bygones.learn.iterations import Adam, Numbers, RunState, Shape, Steps, adam_step, clip_by_norm
from bygones.learn.networks import Networks, apply
from bygones.learn.normalisation import Normaliser, having_seen, normalised
from bygones.learn.programs import Tree
from bygones.learn.rollouts import restarted
from bygones.learn.settings import Settings
from bygones.memory.contract import AnyState


class Moves(NamedTuple):
    """Steps between two states of the environment, along the first axis."""

    before: State
    actions: jax.Array
    after: State


class Batch(NamedTuple):
    """The transitions of an update."""

    observations: jax.Array
    actions: jax.Array
    rewards: jax.Array
    terminated: jax.Array
    reached: jax.Array
    """The observations after the steps."""


class Learning(NamedTuple):
    """The state that changes from update to update."""

    networks: Networks
    adam: Adam
    state: State
    normaliser: Normaliser | None
    kept: Moves
    steps: jax.Array
    """How many steps the run has taken."""


@dataclass(frozen=True)
class DQN(iterations.Learner):
    """DQN; the arguments are settings of the same names."""

    replay_size: int
    update_every: int
    target_every: int
    exploration_share: float
    exploration_end: float
    counterfactuals: int

    @classmethod
    def of(cls, settings: Settings) -> DQN:
        """The learner of these settings."""
        every, steps, size = settings.update_every, settings.rollout_steps, settings.replay_size
        if steps % every:
            raise ValueError(f"update_every must divide rollout_steps ({steps}), got {every}")
        if size % every or size < settings.batch_size:
            raise ValueError(
                f"replay_size must be a multiple of update_every ({every}) and at least batch_size "
                f"({settings.batch_size}), got {size}"
            )
        return cls(**{each.name: getattr(settings, each.name) for each in dataclasses.fields(cls)})

    def begin(self, key: jax.Array, networks: Networks, params: EnvParams, shape: Shape) -> RunState:
        begun = iterations.begin(key, networks, params, shape)
        state, action = begun.environment, jnp.zeros((), jnp.int32)
        nothing = jax.tree.map(
            lambda leaf: jnp.zeros((self.replay_size, *jnp.shape(leaf)), jnp.asarray(leaf).dtype),
            Moves(state, action, state),
        )
        return begun._replace(kept=nothing)

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> iterations.Iteration:
        """Steps and updates in turns: some steps, then one update."""
        env, every = shape.environment, self.update_every
        turns = shape.rollout_steps // every
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rollouts)
        noise_key, action_key, update_key = jax.random.split(key, 3)
        drawn = (
            env.noise(noise_key, shape.rollout_steps),
            jax.random.gumbel(action_key, (shape.rollout_steps, shape.actor.n_scores)),
        )
        in_turns = jax.tree.map(lambda leaf: leaf.reshape(turns, every, *leaf.shape[1:]), drawn)
        start = Learning(
            state.networks,
            state.adam,
            state.environment,
            state.normaliser,
            state.kept,
            state.rollouts * shape.rollout_steps,
        )

        def turn(now: Learning, drawn: Tree) -> tuple[Learning, tuple[Moves, jax.Array]]:
            (noise, gumbel), key = drawn
            now, moves = self.explored(now, noise, gumbel, params, numbers, shape)
            now, loss = self.updated(now, key, params, numbers, shape)
            return now, (moves, loss)

        end, (moves, losses) = jax.lax.scan(turn, start, (in_turns, jax.random.split(update_key, turns)))
        moves = jax.tree.map(lambda leaf: leaf.reshape(turns * every, *leaf.shape[2:]), moves)
        terminated, truncated = jax.vmap(env.ends, in_axes=(0, None))(moves.after, params)
        rewards = rewards_of(moves, params, env)
        steps = Steps(terminated | truncated, rewards, moves.after, end.state, end.normaliser)
        onward, curve = iterations.taken(state, steps, params, numbers, shape)
        curve = curve._replace(explained_variance=jnp.full((), jnp.nan))
        both = jnp.stack([jnp.zeros(()), losses.mean()])
        return iterations.settle(state, onward._replace(kept=end.kept), curve, (end.networks, end.adam, both), numbers)

    def explored(
        self, now: Learning, noise: Noise, gumbel: jax.Array, params: EnvParams, numbers: Numbers, shape: Shape
    ) -> tuple[Learning, Moves]:
        """Some steps, which are kept in place of the oldest."""
        env, actor = shape.environment, shape.actor
        assert isinstance(actor, Greedy)
        epsilon = self.exploration(now.steps / (numbers.rollouts * shape.rollout_steps))

        def step(loop: tuple[State, Normaliser | None], drawn: tuple[Noise, jax.Array]) -> tuple[Tree, Moves]:
            (state, normaliser), (noise, gumbel) = loop, drawn
            values = apply(now.networks.policy, normalised(env.observe(state, params), normaliser), shape.matvec)
            action = jnp.asarray(actor.best(actor.log_chances(values, epsilon) + gumbel))
            after = env.advance(noise, state, action, params)
            following = restarted(noise, after, params, env)
            onward = having_seen(env.observe(following, params), normaliser)
            return (following, onward), Moves(state, action, after)

        (last, latest), moves = jax.lax.scan(step, (now.state, now.normaliser), (noise, gumbel))
        place = now.steps % self.replay_size
        kept = jax.tree.map(lambda all_, new: jax.lax.dynamic_update_slice_in_dim(all_, new, place, 0), now.kept, moves)
        return now._replace(state=last, normaliser=latest, kept=kept, steps=now.steps + self.update_every), moves

    def exploration(self, done: jax.Array) -> jax.Array:
        """The chance of an action at random, when so much of the run is done."""
        return jnp.maximum(1 - (1 - self.exploration_end) * done / self.exploration_share, self.exploration_end)

    def updated(
        self, now: Learning, key: jax.Array, params: EnvParams, numbers: Numbers, shape: Shape
    ) -> tuple[Learning, jax.Array]:
        """One step of Adam, once a batch is there, and a new copy for the targets if it is time; also the loss."""
        drawn = self.batch(now, key, params, shape)
        loss, gradient = jax.value_and_grad(loss_of)(now.networks, drawn, numbers)
        moved = adam_step(now.networks, now.adam, clip_by_norm(gradient, numbers.max_grad_norm), numbers)
        is_enough = now.steps >= shape.batch_size
        networks, adam = jax.tree.map(lambda new, old: jnp.where(is_enough, new, old), moved, (now.networks, now.adam))
        is_time = now.steps // self.target_every > (now.steps - self.update_every) // self.target_every
        target = jax.tree.map(lambda new, old: jnp.where(is_time, new, old), networks.policy, networks.value)
        return now._replace(networks=networks._replace(value=target), adam=adam), loss

    def batch(self, now: Learning, key: jax.Array, params: EnvParams, shape: Shape) -> Batch:
        """Transitions at random, each followed by the same with other memories."""
        env, size, others = shape.environment, shape.batch_size, self.counterfactuals
        held = jnp.minimum(now.steps, self.replay_size)
        chosen = jax.random.randint(key, (size, 1 + others), 0, held)
        moves = jax.tree.map(lambda leaf: jnp.repeat(leaf[chosen[:, 0]], 1 + others, axis=0), now.kept)
        if others:
            memories = jax.tree.map(lambda leaf: leaf[chosen.reshape(-1)], now.kept.before.memory)
            moves = jax.vmap(with_memory, in_axes=(0, 0, None, None))(moves, memories, params, env)

        def show(state: State) -> jax.Array:
            return normalised(jax.vmap(env.observe, in_axes=(0, None))(state, params), now.normaliser)

        return Batch(
            observations=show(moves.before),
            actions=moves.actions,
            rewards=rewards_of(moves, params, env),
            terminated=jax.vmap(env.ends, in_axes=(0, None))(moves.after, params)[0],
            reached=show(moves.after),
        )


def rewards_of(moves: Moves, params: EnvParams, env: Environment) -> jax.Array:
    """The reward of each step."""
    return jax.vmap(env.reward, in_axes=(0, 0, 0, None))(moves.before, moves.actions, moves.after, params)


def with_memory(move: Moves, memory: AnyState, params: EnvParams, env: Environment) -> Moves:
    """A step as it would have been with another memory before it."""
    utilities = env.utilities(move.before, move.actions, move.after, params)
    after = params.memory.advance(memory, utilities)
    return Moves(move.before._replace(memory=memory), move.actions, move.after._replace(memory=after))


def loss_of(networks: Networks, batch: Batch, numbers: Numbers) -> jax.Array:
    """The loss L of a batch."""
    targets = jax.lax.stop_gradient(targets_of(networks, batch, numbers))
    values = jnp.take_along_axis(apply(networks.policy, batch.observations), batch.actions[:, None], axis=-1)[:, 0]
    off = jnp.abs(values - targets)
    return jnp.where(off < 1, 0.5 * off**2, off - 0.5).mean()


def targets_of(networks: Networks, batch: Batch, numbers: Numbers) -> jax.Array:
    """The targets of the values of actions: the reward, and the best value that can follow."""
    following = apply(networks.value, batch.reached).max(axis=-1)
    return batch.rewards + jnp.where(batch.terminated, 0.0, numbers.discount * following)
