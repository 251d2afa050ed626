r"""Simulates allocation policies on the same needs, step after step.

At every step each agent has a need, the policy serves $k$ agents, and the utilities enter the memory. Two
simulations with the same seed see the same needs, so any difference between them comes from the policies. Of burdens
(`kind="burden"`) the needs are the loads of the agents, and $k$ agents take theirs.

The world is the paper's scenario, and its steps are in `bygones.envs.episode`, in double precision. Policies are
asked step by step (`visited`), as `bygones.learn.evaluate` asks policies that are not compiled, so a custom policy is
plain Python.

Simulations with many seeds are made side by side, as rows of the same arrays, each of which is the simulation with its
seed alone. Steps come in stretches, and only `simulate` and `simulate_seeds` keep them all.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bygones import inequality
from bygones._arrays import AnyArray, Array, Floats, Ints, check_count
from bygones._text import counted
from bygones.allocation import AllocationPolicy, ChooseK
from bygones.allocation.objective import check_form, judge_of
from bygones.allocation.policy_contract import Setting, policy_of, served_rows
from bygones.envs.episode import EpisodeState, begin, proceed, visited
from bygones.envs.needs import Needs
from bygones.envs.noise import Noise, NoiseBatch
from bygones.envs.problem import FairProblem
from bygones.envs.scenarios.allocation import Allocation
from bygones.kinds import Kind, check_kind
from bygones.memory import Memory, check_entitlements
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare, as_judge, check_axis, parse_welfare

CALIBRATION_STEPS = 2000
"""How many steps of needs the policy `calibrated` has seen before the simulation."""

STRETCH = 2**16
"""About how many numbers of each kind a stretch of a simulation has: one per agent and step, for every seed."""

PARTS = 150
"""The most parts of time in the course of a simulation; more could not be told apart in a figure."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """The outcome of a simulation, or of a stretch of one, with one row per step and one column per agent.

    Attributes:
        needs: the utility of a resource to each agent at each step.
        utilities: the utility or load of each agent at each step.
        remembered: Z after each step.
        welfare: the welfare function that judges Z; `"nash"` is log-Nash, as in the paper's experiments.
        kind: `good` or `burden`.
        entitlements: per agent, or None if all are equal. Agents are compared per unit of entitlement.
        received_before: the true utilities before the first of these steps.
        steps_before: how many steps there were before.
    """

    needs: Floats
    utilities: Floats
    remembered: Floats
    welfare: Callable[[Array], Array]
    kind: Kind = "good"
    entitlements: Floats | None = None
    received_before: Floats | float = 0.0
    steps_before: int = 0

    @property
    def n_agents(self) -> int:
        """The number of agents."""
        return int(self.utilities.shape[1])

    def __repr__(self) -> str:
        steps, agents = self.utilities.shape
        numbers = ", ".join(f"{name} {value:.3g}" for name, value in self.summary().items())
        return f"<Simulation of {counted(agents, 'agent')} over {counted(steps, 'step')}: {numbers}>"

    @cached_property
    def cumulative(self) -> Floats:
        """The true, undiscounted utilities after each step."""
        before = np.broadcast_to(self.received_before, self.utilities[:1].shape)
        return np.cumsum(np.concatenate([before, self.utilities]), axis=0)[1:]

    @cached_property
    def gini(self) -> Floats:
        """The Gini coefficient of the true utilities up to each step, per unit of entitlement."""
        return np.asarray(inequality.gini(self._per_unit(self.cumulative)))

    @cached_property
    def welfare_remembered(self) -> Floats:
        """The welfare of Z after each step."""
        return np.asarray(self.welfare(self._per_unit(self.remembered)))

    def summary(self) -> dict[str, float]:
        """Fairness and efficiency from the first step of the simulation on, computed on true utilities per step.

        Returns:
            `gini`, the Gini coefficient; `egalitarian`, the utility of the worst-off agent; `nash`, the geometric mean,
            which has the unit of a utility for any number of agents; and `utility_per_step`, the sum over agents. With
            burdens, `egalitarian` is the heaviest load and there is no `nash`. All but the sum are per unit of
            entitlement.
        """
        given = self.cumulative[-1] / (self.steps_before + len(self.utilities))
        gini, total, true = float(self.gini[-1]), float(given.sum()), self._per_unit(given)
        if self.kind == "burden":
            return {"gini": gini, "egalitarian": float(true.max()), "utility_per_step": total}
        with np.errstate(divide="ignore"):
            nash = float(np.exp(np.average(np.log(true), weights=self.entitlements)))
        return {"gini": gini, "egalitarian": float(true.min()), "nash": nash, "utility_per_step": total}

    def _per_unit(self, utilities: Floats) -> Floats:
        return utilities if self.entitlements is None else utilities / self.entitlements


class Course(NamedTuple):
    """The course of a simulation: its outcome, and how it came about, in parts of time on a logarithmic scale.

    The course of a long simulation takes little memory, however many steps and agents there are.
    """

    summary: dict[str, float]
    """The fairness and efficiency of the whole simulation, as `Simulation.summary` has them."""
    n_agents: int
    steps: int
    kind: Kind
    is_per_unit: bool
    """Whether agents have entitlements, per unit of which they are compared."""
    ends: Ints
    """The last step of each part of time."""
    over_time: dict[str, Floats]
    """The mean in each part, by name: the `least` and the `most` that agents had received so far, the `least in memory`
    and the `most in memory`, `gini`, and `welfare`, the welfare of the memory."""

    @classmethod
    def of(cls, stretches: Iterable[Simulation], steps: int) -> Course:
        """The course of a simulation of so many steps, which comes in stretches."""
        ends: Ints = np.unique(np.geomspace(1, steps, PARTS).round().astype(int))
        sums: dict[str, Floats] = defaultdict(lambda: np.zeros(len(ends)))
        for stretch in stretches:
            part = np.searchsorted(ends, stretch.steps_before + 1 + np.arange(len(stretch.utilities)))
            of_steps = {
                "least": stretch.cumulative.min(axis=1),
                "most": stretch.cumulative.max(axis=1),
                "least in memory": stretch.remembered.min(axis=1),
                "most in memory": stretch.remembered.max(axis=1),
                "gini": stretch.gini,
                "welfare": stretch.welfare_remembered,
            }
            for name, values in of_steps.items():
                sums[name] += np.bincount(part, values, minlength=len(ends))
        lengths = np.diff(ends, prepend=0)
        over_time = {name: total / lengths for name, total in sums.items()}
        is_per_unit = stretch.entitlements is not None
        return cls(stretch.summary(), stretch.n_agents, steps, stretch.kind, is_per_unit, ends, over_time)


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A trained policy that observes needs and memory as it did in training."""

    choose: Callable[[Array, AnyState, np.random.Generator], Ints]

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        return self.choose(needs, state, rng)


def simulate(
    policy: AllocationPolicy,
    needs: Needs,
    memory: Memory,
    welfare: AnyWelfare,
    steps: int,
    n_resources: int = 2,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
    kind: Kind = "good",
    entitlements: AnyArray | None = None,
) -> Simulation:
    """Simulates a policy for a number of steps.

    Args:
        policy: decides whom to serve at each step. A policy with a separate memory, such as `Prices`, is given the
            state of that memory, which must remember what `memory` does.
        needs: generates the needs of all agents.
        memory: how the past is remembered; any `Memory`.
        welfare: the welfare function that judges the memory, or its name.
        steps: the number of steps.
        n_resources: k, the number of agents served at each step.
        seed: seeds the needs and the policy's random choices. The needs depend on nothing else, so policies
            simulated with the same seed see the same needs.
        done: called after each step, for example to advance a progress bar.
        kind: `good` or `burden`; the policy has to be made for it.
        entitlements: per agent, above 0, by which the outcome is judged; the policy has to be made for them.

    Returns:
        The utilities of every step and the memory after it.
    """
    return simulate_seeds(policy, needs, memory, welfare, steps, n_resources, [seed], done, kind, entitlements)[0]


def simulate_seeds(
    policy: AllocationPolicy,
    needs: Needs,
    memory: Memory,
    welfare: AnyWelfare,
    steps: int,
    n_resources: int = 2,
    seeds: Sequence[int] = (0,),
    done: Callable[[], object] = lambda: None,
    kind: Kind = "good",
    entitlements: AnyArray | None = None,
) -> list[Simulation]:
    """`simulate` for several seeds side by side, which takes little longer than for one."""
    parts = list(stretches(policy, needs, memory, welfare, steps, n_resources, seeds, done, kind, entitlements))
    tables = ("needs", "utilities", "remembered")
    return [
        dataclasses.replace(own[0], **{name: np.concatenate([getattr(part, name) for part in own]) for name in tables})
        for own in zip(*parts, strict=True)
    ]


def stretches(
    policy: AllocationPolicy,
    needs: Needs,
    memory: Memory,
    welfare: AnyWelfare,
    steps: int,
    n_resources: int = 2,
    seeds: Sequence[int] = (0,),
    done: Callable[[], object] = lambda: None,
    kind: Kind = "good",
    entitlements: AnyArray | None = None,
) -> Iterator[list[Simulation]]:
    """`simulate_seeds` in stretches of some steps, which follow each other: for more steps than memory holds."""
    steps, k, n = check_count("steps", steps), check_count("n_resources", n_resources), needs.n_agents
    if k > n:
        raise ValueError(f"n_resources must be at most the number of agents ({n}), got {k}")
    weights = None if entitlements is None else np.asarray(check_entitlements(entitlements, n), dtype=float)
    judge, memory = _judge(welfare, kind, weights, n), getattr(policy, "memory", memory)
    # The policy may look into the state of the memory, which therefore is not in its canonical form.
    problem = FairProblem(Allocation(steps, k, needs), memory, "egalitarian")
    params = problem.params(enumerates=False)._replace(memory=memory)
    spawned = [np.random.SeedSequence(check_count("seed", seed, 0)).spawn(2) for seed in seeds]
    sources, lots = ([np.random.default_rng(pair[which]) for pair in spawned] for which in (0, 1))
    length = max(1, STRETCH // (n * len(seeds)))
    # A single seed has no axis: the numbers of a memory are then plain ones, with which Python is faster.
    noise = Noise(sources[0], n, length) if len(seeds) == 1 else NoiseBatch(sources, n, length)
    serve = served_rows(policy)

    def choose(state: EpisodeState, t: int) -> np.ndarray:
        needs = state.world.needs
        if not needs.min() >= 0:
            _check_met(needs.reshape(-1, 1, n), t)
        return serve(needs, k, state.memory, t, lots)

    def advance(state: EpisodeState, served: np.ndarray) -> EpisodeState:
        after = proceed(noise.row(), state, served, params)
        done()
        return after

    last = begin(noise.rows(params.scenario.start_rows), params)
    states = visited(last, choose, advance, steps)
    for before in range(0, steps, length):
        past, first = [last, *itertools.islice(states, length)], last
        last = past[-1]
        met = _by_seed([state.world.needs for state in past[:-1]])
        _check_met(met, before)
        utilities = _by_seed([state.utilities for state in past[1:]])
        remembered = _by_seed([memory.read(state.memory) for state in past[1:]])
        received = np.asarray(first.cumulative).reshape(len(seeds), n)
        yield [
            Simulation(needs, given, recalled, judge, kind, weights, so_far, before)
            for needs, given, recalled, so_far in zip(met, utilities, remembered, received, strict=True)
        ]


def _by_seed(rows: list[Array]) -> np.ndarray:
    """The rows of each step, by seed: of shape (seeds, steps, agents)."""
    table = np.stack(rows)
    return table.reshape(len(table), -1, table.shape[-1]).swapaxes(0, 1)


def _check_met(needs: Array, before: int) -> None:
    """Refuses needs, of shape (seeds, steps, agents), that no problem could have; so many steps came before."""
    needs = np.asarray(needs)
    bad = np.argwhere(~((needs >= 0) & (needs < np.inf)))
    if len(bad):
        seed, step, agent = bad[0]
        raise ValueError(
            f"needs must draw finite numbers of at least 0, got {needs[seed, step, agent]} for agent {agent} at step "
            f"{before + step + 1}"
        )


def _judge(welfare: AnyWelfare, kind: Kind, entitlements: Floats | None, n_agents: int) -> Callable[[Array], Array]:
    """The welfare of the memory per unit of entitlement."""
    function = as_judge(welfare) if check_kind(kind) == "good" else parse_welfare(welfare)
    check_form(function, kind, n_agents)
    check_axis(function, n_agents)
    judge = judge_of(function, entitlements, kind)
    turned = judge if kind == "good" else lambda Z: judge(np.negative(Z))
    turned(np.ones(n_agents))  # What cannot be judged is refused before the first step, not after the last.
    return turned


def policy_named(
    name: str,
    memory: Memory,
    welfare: AnyWelfare,
    needs: Needs,
    n_resources: int,
    kind: Kind = "good",
    entitlements: AnyArray | None = None,
) -> AllocationPolicy:
    """The policy of a name such as `max-min`, or the trained policy in the file `name` if it ends in `.safetensors`.

    `largest-need`, `round-robin`, `random` and trained policies do not look at entitlements.
    """
    if name.endswith(".safetensors"):
        return learned_policy(Path(name), memory, needs, n_resources)

    def sample() -> list[ChooseK]:
        """Problems that are in no simulation."""
        rng, n = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(7,))), needs.n_agents
        needs_state, problems = needs.start(rng.random(n)), []
        for t in range(CALIBRATION_STEPS):
            now, needs_state = needs.draw(rng.random(n), needs_state, t + 1)
            problems.append(ChooseK(now, n_resources, kind=kind))
        return problems

    n = needs.n_agents
    weights = None if entitlements is None else np.asarray(check_entitlements(entitlements, n), dtype=float)
    return policy_of(name, Setting(memory, welfare, check_kind(kind), weights, sample))


def learned_policy(path: Path, memory: Memory, needs: Needs, n_resources: int) -> LearnedPolicy:
    """Loads a policy saved by `bygones.learn.TrainedPolicy.save`.

    Raises:
        ValueError: if the policy was trained with another memory, or, unless it is symmetric, on another number of
            agents or resources.
    """
    from bygones.envs.episode import observation
    from bygones.learn.policy import TrainedPolicy

    network = TrainedPolicy.load(path)
    problem = network.problem
    world = problem.scenario
    if not isinstance(world, Allocation):
        raise ValueError(f"{path} was trained on another scenario, and plays only there: use bygones evaluate")
    has_other_size = (world.n_agents, world.n_resources) != (needs.n_agents, n_resources)
    if has_other_size and not network.is_symmetric:
        raise ValueError(
            f"{path} was trained to serve {world.n_resources} of {world.n_agents} agents, "
            f"so it cannot serve {n_resources} of {needs.n_agents}"
        )
    if not problem.memory.matches(memory):
        raise ValueError(f"{path} was trained with the memory {problem.memory}, so it cannot be used with {memory}")
    if has_other_size:
        world = Allocation(world.horizon, n_resources, needs)
        problem = dataclasses.replace(problem, scenario=world)
    params = problem.params(enumerates=False)
    subsets = None if network.is_symmetric else world.subsets()

    def choose(needs: Array, state: AnyState, rng: np.random.Generator) -> Ints:
        if state is None:
            raise ValueError("state must be the state of the memory, which a learned policy observes, got None")
        action, _ = network.predict(observation(needs, state, params), rng=rng, n_resources=n_resources)
        return action if subsets is None else subsets[action]

    return LearnedPolicy(choose)
