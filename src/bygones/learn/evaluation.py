"""How policies do: episodes played to their end.

The worlds of an evaluation depend on its seed only: policies trained by bygones, policies learned elsewhere and rules
all meet the same needs. A trained policy is compiled together with the environment, and many can be played at once. Any
other is asked for an action at every step, in the same compiled environment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array, Floats, check_count
from bygones.envs.episode import visited
from bygones.envs.functional import Environment, EnvParams, Noise, State, StepNoise, arrays_of
from bygones.envs.problem import FairProblem
from bygones.learn.actors import Actor, actor_of
from bygones.learn.descriptions import check_registered
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser, normalised
from bygones.learn.policy import TrainedPolicy
from bygones.learn.programs import Tree, row, single_precision, stacked
from bygones.learn.recurrent_ppo import world_of

EPISODES = 10
"""How many episodes a policy plays, by default: as many as the paper's metrics are averaged over at T = 10,000."""

BLOCK = 256
"""How many steps a compiled program plays between two looks at it; their noise is drawn at once."""


class Predicts(Protocol):
    """A policy with Stable-Baselines3's `predict`, such as a `TrainedPolicy` or a model of Stable-Baselines3."""

    def predict(
        self, observation: Array, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]:
        """The actions, and the state of a recurrent policy."""


Predict: TypeAlias = Callable[..., tuple[np.ndarray, Any]]
"""A function with the signature of `Predicts.predict`."""


class Evaluation(NamedTuple):
    """The results of a policy.

    The metrics are the same as in training: `gini`, `welfare` (of the true utilities), `utility_per_step`,
    `utility_least` and `utility_most` (per step, of the agents who received least and most) and `welfare_memory` (of
    the memory at the end).
    """

    mean: dict[str, float]
    """Each metric, averaged over the episodes."""
    episodes: dict[str, Floats]
    """Each metric of every episode."""


class Played(NamedTuple):
    """The results of a trained policy in the same worlds, played in two ways: each metric, averaged over episodes."""

    episodes: int
    sampled: dict[str, float]
    """With actions sampled from the policy, as in training."""
    deterministic: dict[str, float]
    """With greedy actions."""


def evaluate(
    policy: Predicts | Predict,
    problem: FairProblem | None = None,
    *,
    episodes: int = EPISODES,
    seed: int = 0,
    deterministic: bool = False,
) -> Evaluation:
    """Plays a policy for some episodes, side by side.

    Args:
        policy: a `TrainedPolicy`, anything else with Stable-Baselines3's `predict`, or a function like it. It is called
            with the observations of all episodes, one row each, and returns one action per row or one for all: the
            number of a subset of agents, or the k agents themselves.
        problem: the problem to play; by default the one that the policy was trained on.
        episodes: how many episodes to play.
        seed: the seed of the worlds, which are the same for every policy, and of a `TrainedPolicy`'s draws.
        deterministic: whether the policy is greedy, instead of sampling actions.
    """
    if problem is None:
        if not isinstance(policy, TrainedPolicy):
            raise ValueError("problem must be given: only a TrainedPolicy knows the problem it was trained on")
        problem = policy.problem
    check_registered(problem)
    worlds = Worlds(check_count("seed", seed, 0), check_count("episodes", episodes), Environment.of(problem))
    if isinstance(policy, TrainedPolicy):
        # A policy that does not fit the problem is refused here, by name, and not by the compiler.
        policy.predict(np.zeros(problem.observation_size), n_resources=problem.scenario.n_served)
        player = Player(worlds.environment, actor_of(policy.settings, problem), episodes, samples=(not deterministic,))
        numbers = arrays_of(problem, policy.settings.policy == "mlp")
        metrics = _compiled(player, batched=False).play(
            (policy.networks, policy.normaliser, numbers), [worlds], seed, problem.horizon
        )
        each = {name: np.asarray(values[0], float) for name, values in metrics.items()}
    else:
        each = _asked(policy.predict if hasattr(policy, "predict") else policy, problem, worlds, deterministic)
    return Evaluation({name: float(values.mean()) for name, values in each.items()}, each)


def played(
    policies: Sequence[TrainedPolicy],
    episodes: int = EPISODES,
    *,
    batched: bool | None = None,
    precision: str = "highest",
) -> list[Played]:
    """The results of trained policies on the problems and with the seeds that they were trained with.

    Args:
        policies: of one shape, as the runs of a `train_batch`.
        episodes: how many episodes each policy plays, both with sampled and with greedy actions.
        batched: whether they are one batched program; by default yes if there are several.
        precision: of matrix products, as in training.
    """
    problems = [policy.problem for policy in policies]
    batched = len(policies) > 1 if batched is None else batched
    players = {
        Player(Environment.of(problem), actor_of(policy.settings, problem), episodes, (True, False), precision)
        for policy, problem in zip(policies, problems, strict=True)
    }
    if len(players) != 1:
        raise ValueError("policies must be of one shape to be played together: play other sizes separately")
    (player,) = players
    check_count("episodes", episodes)
    seeds = [policy.settings.seed for policy in policies]
    worlds = [Worlds(seed, episodes, player.environment) for seed in dict.fromkeys(seeds)]
    parts = [
        (policy.networks, policy.normaliser, arrays_of(problem, policy.settings.policy == "mlp"))
        for policy, problem in zip(policies, problems, strict=True)
    ]
    horizon = max(problem.horizon for problem in problems)
    metrics = _compiled(player, batched).play(stacked(parts, batched), worlds, seeds if batched else seeds[0], horizon)
    rows = [row(metrics, i) if batched else metrics for i in range(len(policies))]
    return [
        Played(episodes, *({name: float(values[way].mean()) for name, values in each.items()} for way in (0, 1)))
        for each in rows
    ]


class Worlds:
    """The noise in the episodes of a seed, of their starts and of their steps; it does not depend on the policy."""

    def __init__(self, seed: int, episodes: int, environment: Environment) -> None:
        self.seed, self.episodes, self.environment = seed, episodes, environment
        self._generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])

    def start(self) -> StepNoise:
        """The noise of the starts, one row per episode."""
        env = self.environment
        rows = self._generator.random((env.start_rows, self.episodes, env.n_noise)).astype(np.float32)
        return StepNoise(step=None, start=np.concatenate(list(rows), axis=-1))

    def steps(self, count: int) -> StepNoise:
        """The noise of the next steps, steps along the first axis and then one row per episode."""
        shape = (count, self.episodes, self.environment.n_noise)
        return StepNoise(step=self._generator.random(shape).astype(np.float32), start=None)

    def each_step(self) -> Iterator[StepNoise]:
        """The noise of step after step."""
        while True:
            block = self.steps(BLOCK)
            yield from (row(block, i) for i in range(BLOCK))


class Player(NamedTuple):
    """The constants of a compiled program that plays a policy."""

    environment: Environment
    actor: Actor
    episodes: int
    samples: tuple[bool, ...]
    """Whether actions are sampled, for each of the ways in which the episodes are played."""
    precision: str = "highest"


class _Program(NamedTuple):
    """A player, compiled."""

    begin: Callable[..., State]
    proceed: Callable[..., State]
    metrics: Callable[..., dict[str, jax.Array]]

    @single_precision()
    def play(self, parts: Parts, worlds: list[Worlds], seeds: int | list[int], horizon: int) -> dict[str, np.ndarray]:
        """Each metric of every way and episode; with runs along the first axis of all that is batched.

        Args:
            parts: networks, normaliser and the problem's numbers.
            worlds: one for each seed.
            seeds: the seed of each run.
            horizon: the longest of all.
        """
        positions = {each.seed: i for i, each in enumerate(worlds)}
        which = np.vectorize(positions.get, otypes=[np.int32])(seeds)
        states = self.begin(parts, stacked([each.start() for each in worlds], True), which)
        for done in range(0, horizon, BLOCK):
            noise = stacked([each.steps(BLOCK) for each in worlds], True)
            states = self.proceed(parts, states, noise, which, np.array(seeds, np.uint32), done)
        return {name: np.asarray(values) for name, values in self.metrics(parts, states).items()}


Parts: TypeAlias = tuple[Networks, Normaliser | None, EnvParams]


@functools.cache
def _compiled(player: Player, batched: bool) -> _Program:
    """The program of a player, for one policy or, batched, for many."""
    ways = len(player.samples)

    def around(parts: Parts) -> tuple[Environment, EnvParams]:
        networks, _, numbers = parts
        return world_of(player.environment, player.actor, numbers, networks)

    def begin(parts: Parts, noise: Noise, which: jax.Array) -> State:
        env, numbers = around(parts)
        start = jax.vmap(env.start, in_axes=(0, None))(row(noise, which), numbers)
        return jax.tree.map(lambda leaf: jnp.stack([leaf] * ways), start)

    def proceed(parts: Parts, states: State, noise: Noise, which: jax.Array, seed: jax.Array, done: jax.Array) -> State:
        env, numbers = around(parts)
        networks, normaliser, of_problem = parts
        key = jax.random.fold_in(jax.random.key(np.uint32(2**32 - 1)), seed)
        samples = jnp.array(player.samples, jnp.float32)[:, None, None]

        def advance(state: State, noise: Noise, gumbel: jax.Array) -> State:
            scores = player.actor.scores(networks, normalised(env.observe(state, numbers), normaliser))
            return env.advance(noise, state, player.actor.best(scores + gumbel), numbers)

        def step(i: jax.Array, states: State) -> State:
            now = jax.tree.map(lambda leaf: leaf[which, i], noise)
            gumbel = jax.random.gumbel(jax.random.fold_in(key, done + i), (player.episodes, player.actor.n_scores))
            return jax.vmap(jax.vmap(advance), in_axes=(0, None, 0))(states, now, samples * gumbel)

        with jax.default_matmul_precision(player.precision):
            return jax.lax.fori_loop(0, jnp.clip(of_problem.horizon - done, 0, BLOCK), step, states)

    def metrics(parts: Parts, states: State) -> dict[str, jax.Array]:
        env, numbers = around(parts)
        return jax.vmap(jax.vmap(env.metrics, (0, None)), (0, None))(states, numbers)

    if batched:
        return _Program(
            jax.jit(jax.vmap(begin, in_axes=(0, None, 0))),
            jax.jit(jax.vmap(proceed, in_axes=(0, 0, None, 0, 0, None)), donate_argnums=1),
            jax.jit(jax.vmap(metrics)),
        )
    return _Program(jax.jit(begin), jax.jit(proceed, donate_argnums=1), jax.jit(metrics))


def _asked(predict: Predict, problem: FairProblem, worlds: Worlds, deterministic: bool) -> dict[str, Floats]:
    """Each metric of every episode in which a policy is asked for an action at every step."""
    env, params, rows, noise = worlds.environment, problem.params(), worlds.episodes, worlds.each_step()
    remembered = None

    def choose(now: State, t: int) -> np.ndarray:
        nonlocal remembered
        seen, starts = np.asarray(_many(env, "observe")(now, params)), np.full(rows, t == 0)
        actions, remembered = predict(seen, state=remembered, episode_start=starts, deterministic=deterministic)
        return _one_per_row(actions, problem, rows)

    def advance(now: State, actions: np.ndarray) -> State:
        return _many(env, "advance")(next(noise), now, actions, params)

    for now in visited(_many(env, "start")(worlds.start(), params), choose, advance, problem.horizon):  # noqa: B007
        pass
    return {name: np.asarray(values, float) for name, values in _many(env, "metrics")(now, params).items()}


@functools.cache
def _many(environment: Environment, name: str) -> Callable[..., Tree]:
    """A function of the environment for many states at once, compiled."""
    mapped = {"start": (0, None), "observe": (0, None), "advance": (0, 0, 0, None), "metrics": (0, None)}[name]
    return single_precision()(jax.jit(jax.vmap(getattr(environment, name), in_axes=mapped)))


def _one_per_row(actions: object, problem: FairProblem, rows: int) -> np.ndarray:
    """The number of an action per row, or the agents to serve per row; one for all stands for every row."""
    chosen, served = np.asarray(actions), problem.scenario.n_served
    if served is not None and (chosen.ndim == 2 or not problem.scenario.is_enumerable):
        return np.broadcast_to(chosen, (rows, served))
    return np.broadcast_to(chosen, (rows,))
