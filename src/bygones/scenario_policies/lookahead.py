"""A rule that knows the scenario's own functions, and tries actions in sampled futures before it takes one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array, Floats, Ints, select
from bygones.allocation.ties import best_of_rows
from bygones.envs.problem import FairProblem
from bygones.envs.scenario import Scenario, WorldState
from bygones.welfare import as_judge

SAMPLES = 16
"""In how many futures every action is tried."""

MOST_TRIED = 100
"""The most actions that are tried."""

TOO_MANY_TO_TRY = f"it tries all actions, and there are more than {MOST_TRIED}"
NOT_REVEALED = "observations do not show the state"


class Watched(NamedTuple):
    """What the rule knows of its episodes, one row each."""

    step: int
    worlds: WorldState
    totals: Array
    actions: Ints


@dataclass(frozen=True, eq=False)
class Lookahead:
    """A rollout of a base rule that takes turns: one action is held for a block of steps, the next blocks are its own.

    At the start of each block every action is tried in the same sampled futures. The action is held for the block, and
    the base rule takes the other turns of a round. The action with the largest mean welfare of the totals is held.
    Ties: leximin, then by lot. An episode costs the horizon times the turns, the actions and `SAMPLES` of sampled
    steps, whatever the length.
    """

    problem: FairProblem
    rng: np.random.Generator
    turns: Floats
    """The actions of the base rule in their order, as rows of `Scenario.actions`."""
    length: int

    def __call__(
        self, observation: np.ndarray, state: Watched | None = None, **_: object
    ) -> tuple[np.ndarray, Watched]:
        scenario, rows = self.problem.scenario, len(observation)
        seen = jnp.asarray(observation[:, : len(scenario.seen_bounds[0])], jnp.float32)
        if state is None:
            step, totals = 0, jnp.zeros((rows, scenario.n_agents))
            worlds = _begun(scenario, seen)
        else:
            step = state.step + 1
            worlds, totals = _followed(scenario, state.worlds, state.totals, self._rows[state.actions], seen)
        if state is None or step % self.length == 0:
            ahead = min(self.length * len(self.turns), self.problem.horizon - step)
            key = jax.random.key(self.rng.integers(2**32))
            turns = np.roll(self.turns, -(step // self.length), axis=0).astype(np.float32)
            after = np.asarray(_tried(scenario, worlds, totals, self._rows, turns, self.length, ahead, key), float)
            actions = best_of_rows(self._welfare(after), after.mean(axis=1), self.rng)
        else:
            actions = state.actions
        return actions, Watched(step, worlds, totals, actions)

    @cached_property
    def _rows(self) -> jax.Array:
        return jnp.asarray(self.problem.scenario.actions(), jnp.float32)

    def _welfare(self, after: Floats) -> Floats:
        """The mean welfare over the futures, one per row and action."""
        welfare: Floats = np.asarray(as_judge(self.problem.welfare)(after))
        return np.asarray(welfare.mean(axis=1))


def why_not(scenario: Scenario) -> str | None:
    """Why actions cannot be tried in a scenario; None if they can."""
    if not scenario.is_enumerable or scenario.n_actions > MOST_TRIED:
        return TOO_MANY_TO_TRY
    nothing = np.zeros(scenario.start_rows * scenario.n_noise, np.float32)
    start = scenario.start(nothing)
    return NOT_REVEALED if scenario.revealed(scenario.observe(start), start) is None else None


@jax.jit
def _begun(scenario: Scenario, seen: Array) -> WorldState:
    start = scenario.start(jnp.zeros(scenario.start_rows * scenario.n_noise))
    return jax.vmap(lambda row: scenario.revealed(row, start))(seen)


@jax.jit
def _followed(
    scenario: Scenario, worlds: WorldState, totals: Array, actions: Array, seen: Array
) -> tuple[WorldState, Array]:
    """The state and the totals after actions, from the observations that followed."""

    def follow(world: WorldState, action: Array, row: Array) -> tuple[WorldState, Array]:
        guess, _ = scenario.advance(jnp.zeros(scenario.n_noise), world, action)
        after = scenario.revealed(row, guess)
        return after, scenario.brought(world, action, after)

    after, utilities = jax.vmap(follow)(worlds, actions, seen)
    return after, totals + utilities


@jax.jit
def _tried(
    scenario: Scenario,
    worlds: WorldState,
    totals: Array,
    actions: Array,
    turns: Array,
    length: int,
    ahead: int,
    key: jax.Array,
) -> Array:
    """The totals after each action in place of the first turn, of shape (rows, samples, actions, agents)."""
    samples = SAMPLES if scenario.n_noise else 1

    def future(world: WorldState, total: Array, action: Array, key: jax.Array) -> Array:
        def step(i: jax.Array, state: tuple[WorldState, Array]) -> tuple[WorldState, Array]:
            noise = jax.random.uniform(jax.random.fold_in(key, i), (scenario.n_noise,))
            now = select(i < length, action, turns[i // length])
            world, utilities = scenario.advance(noise, state[0], now)
            return world, state[1] + utilities

        _, totals = jax.lax.fori_loop(0, ahead, step, (world, total))
        return cast(Array, totals)

    each_action = jax.vmap(future, in_axes=(None, None, 0, None))
    each_sample = jax.vmap(each_action, in_axes=(None, None, None, 0))
    each_row = jax.vmap(each_sample, in_axes=(0, 0, None, 0))
    return each_row(worlds, totals, actions, jax.random.split(key, (len(totals), samples)))
