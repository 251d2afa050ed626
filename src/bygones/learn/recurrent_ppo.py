"""PPO with a recurrent policy, which can learn its own memory.

It observes the same as every policy. With `observe_memory=False` it does not see Z, and knows of the past only the
numbers that it has learned to pass from step to step: the question is whether they can replace the memory.

To the rest of the learner these numbers are part of the environment's state: `Carrying` is an environment around the
environment, and rollouts, advantages and evaluation are the same as in PPO. Only the updates differ. A rollout is cut
into sequences of `sequence` steps; each starts from the numbers it had when it was played, and its gradient goes back
to its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp

from bygones.envs.functional import Environment, EnvParams, Noise, State
from bygones.learn import iterations, ppo
from bygones.learn.actors import Actor
from bygones.learn.iterations import Iteration, Learner, Numbers, RunState, Shape
from bygones.learn.networks import Networks
from bygones.learn.ppo import Samples
from bygones.learn.recurrent import Recurrent
from bygones.learn.rollouts import Rollout
from bygones.learn.settings import Settings


class JointState(NamedTuple):
    """A state of the world, and the policy's own numbers."""

    world: State
    numbers: jax.Array


class JointParams(NamedTuple):
    """The numbers of the world, and the networks, which set the policy's own numbers."""

    world: EnvParams
    networks: Networks


@dataclass(frozen=True)
class JointEnvironment(Environment):
    """An environment in whose state the policy keeps its own numbers; they are observed behind everything else."""

    actor: Recurrent

    def start(self, noise: Noise, params: EnvParams) -> State:
        return JointState(super().start(noise, params.world), jnp.zeros(self.actor.state_size))

    def observe(self, state: State, params: EnvParams) -> jax.Array:
        return jnp.concatenate([super().observe(state.world, params.world), state.numbers])

    def advance(self, noise: Noise, state: State, action: jax.Array, params: EnvParams) -> State:
        after = super().advance(noise, state.world, action, params.world)
        return JointState(after, jnp.asarray(self.actor.next_state(params.networks, self.observe(state, params))))

    def ends(self, state: State, params: EnvParams) -> tuple[jax.Array, jax.Array]:
        return super().ends(state.world, params.world)

    def reward(self, before: State, action: jax.Array, after: State, params: EnvParams) -> jax.Array:
        return super().reward(before.world, action, after.world, params.world)

    def utilities(self, before: State, action: jax.Array, after: State, params: EnvParams) -> jax.Array:
        return super().utilities(before.world, action, after.world, params.world)

    def metrics(self, after: State, params: EnvParams) -> dict[str, jax.Array]:
        return super().metrics(after.world, params.world)


def world_of(
    environment: Environment, actor: Actor, params: EnvParams, networks: Networks
) -> tuple[Environment, EnvParams]:
    """The environment in which a policy acts, and its numbers: around the problem's, if the policy is recurrent."""
    if not isinstance(actor, Recurrent):
        return environment, params
    size = environment.observation_size + actor.state_size
    return JointEnvironment(**{**vars(environment), "observation_size": size}, actor=actor), JointParams(
        params, networks
    )


@dataclass(frozen=True)
class RecurrentPPO(Learner):
    """PPO on sequences of steps."""

    sequence: int
    """Steps through which gradients go back."""

    @classmethod
    def of(cls, settings: Settings) -> RecurrentPPO:
        """The learner of these settings."""
        if settings.batch_size % settings.sequence:
            raise ValueError(f"sequence must divide batch_size ({settings.batch_size}), got {settings.sequence}")
        return cls(settings.sequence)

    def begin(self, key: jax.Array, networks: Networks, params: EnvParams, shape: Shape) -> RunState:
        env, around = world_of(shape.environment, shape.actor, params, networks)
        return iterations.begin(key, networks, around, shape._replace(environment=env))

    def iterate(self, state: RunState, params: EnvParams, numbers: Numbers, shape: Shape) -> Iteration:
        env, around = world_of(shape.environment, shape.actor, params, state.networks)
        playing = shape._replace(environment=env)
        samples, _, onward, curve = ppo.experience(state, around, numbers, playing, into_samples=samples_of)
        cut = self.in_sequences(samples)
        of_sequences = shape._replace(
            rollout_steps=shape.rollout_steps // self.sequence, batch_size=shape.batch_size // self.sequence
        )
        order_key = jax.random.fold_in(jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rollouts), 2)
        order = ppo.permutations(order_key, of_sequences)
        learned = ppo.improve(state.networks, state.adam, cut, order, numbers, of_sequences, loss_of)
        return iterations.settle(state, onward, curve, learned, numbers)

    def in_sequences(self, samples: Samples) -> Samples:
        """The samples with sequences along the first axis, and steps along the second."""
        return cast(Samples, jax.tree.map(lambda leaf: leaf.reshape(-1, self.sequence, *leaf.shape[1:]), samples))


def samples_of(networks: Networks, rollout: Rollout, numbers: Numbers, shape: Shape) -> tuple[Samples, jax.Array]:
    """As `ppo.samples_of`, with the starts of episodes."""
    samples, values = ppo.samples_of(networks, rollout, numbers, shape)
    over = rollout.terminated | rollout.truncated
    # At the first step, the policy's own numbers are zero already if an episode starts there.
    return samples._replace(starts=jnp.concatenate([jnp.zeros_like(over[:1]), over[:-1]])), values


def loss_of(networks: Networks, batch: Samples, numbers: Numbers, shape: Shape) -> tuple[jax.Array, jax.Array]:
    """The loss of PPO on sequences, through which the policy's own numbers are computed again."""
    return ppo.loss(networks, batch._replace(observations=carried_anew(networks, batch, shape)), numbers, shape)


def carried_anew(networks: Networks, batch: Samples, shape: Shape) -> jax.Array:
    """The observations of sequences, shape (sequences, steps, …), with the numbers that these networks would have
    passed on.

    Each sequence begins with the numbers it had when it was played. They are zero at the start of an episode.
    """
    actor = shape.actor
    assert isinstance(actor, Recurrent)
    assert batch.starts is not None
    world, size = batch.observations[..., : actor.observation_size], actor.observation_size

    def step(state: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        seen, starts = now
        whole = jnp.concatenate([seen, jnp.where(starts[:, None], 0.0, state)], axis=-1)
        return jnp.asarray(actor.next_state(networks, whole)), whole

    by_step = (jnp.moveaxis(world, 1, 0), batch.starts.T)
    _, whole = jax.lax.scan(step, batch.observations[:, 0, size:], by_step)
    return jnp.moveaxis(whole, 0, 1)
