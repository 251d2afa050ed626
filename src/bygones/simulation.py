r"""Simulates allocation policies on the same needs, step after step.

At every step each agent has a need, the policy serves $k$ agents, and the utilities enter the memory. Two
simulations with the same seed see the same needs, so any difference between them comes from the policies. Of burdens
(`kind="burden"`) the needs are the loads of the agents, and $k$ agents take theirs.

Simulations with many seeds are made side by side, as rows of the same arrays, each of which is the simulation with its
seed alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bygones import inequality
from bygones._arrays import AnyArray, Array, Floats, Ints, check_count
from bygones._text import counted
from bygones.allocation import AllocationPolicy, ChooseK
from bygones.allocation.objective import check_form, judge_of
from bygones.allocation.policy_contract import Setting, policy_of, served_rows
from bygones.envs.batches import mapped
from bygones.envs.needs import Needs
from bygones.kinds import Kind, check_kind
from bygones.memory import Memory, check_entitlements
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare, as_judge, check_axis, parse_welfare

CALIBRATION_STEPS = 2000
"""How many steps of needs the policy `calibrated` has seen before the simulation."""

_NOISE_STEPS = 256
"""The number of steps for which noise is drawn at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """The outcome of a simulation, with one row per step and one column per agent.

    Attributes:
        needs: the utility of a resource to each agent at each step.
        utilities: the utility or load of each agent at each step.
        remembered: Z after each step.
        welfare: the welfare function that judges Z; `"nash"` is log-Nash, as in the paper's experiments.
        kind: `good` or `burden`.
        entitlements: per agent, or None if all are equal. Agents are compared per unit of entitlement.
    """

    needs: Floats
    utilities: Floats
    remembered: Floats
    welfare: Callable[[Array], Array]
    kind: Kind = "good"
    entitlements: Floats | None = None

    def __repr__(self) -> str:
        steps, agents = self.utilities.shape
        numbers = ", ".join(f"{name} {value:.3g}" for name, value in self.summary().items())
        return f"<Simulation of {counted(agents, 'agent')} over {counted(steps, 'step')}: {numbers}>"

    @cached_property
    def cumulative(self) -> Floats:
        """The true, undiscounted utilities after each step."""
        return np.cumsum(self.utilities, axis=0)

    @cached_property
    def gini(self) -> Floats:
        """The Gini coefficient of the true utilities up to each step, per unit of entitlement."""
        return np.asarray(inequality.gini(self._per_unit(self.cumulative)))

    @cached_property
    def welfare_remembered(self) -> Floats:
        """The welfare of Z after each step."""
        return np.asarray(self.welfare(self._per_unit(self.remembered)))

    def summary(self) -> dict[str, float]:
        """Fairness and efficiency of the whole simulation, computed on true utilities per step.

        Returns:
            `gini`, the Gini coefficient; `egalitarian`, the utility of the worst-off agent; `nash`, the geometric mean,
            which has the unit of a utility for any number of agents; and `utility_per_step`, the sum over agents. With
            burdens, `egalitarian` is the heaviest load and there is no `nash`. All but the sum are per unit of
            entitlement.
        """
        given = self.cumulative[-1] / len(self.utilities)
        gini, total, true = float(self.gini[-1]), float(given.sum()), self._per_unit(given)
        if self.kind == "burden":
            return {"gini": gini, "egalitarian": float(true.max()), "utility_per_step": total}
        with np.errstate(divide="ignore"):
            nash = float(np.exp(np.average(np.log(true), weights=self.entitlements)))
        return {"gini": gini, "egalitarian": float(true.min()), "nash": nash, "utility_per_step": total}

    def _per_unit(self, utilities: Floats) -> Floats:
        return utilities if self.entitlements is None else utilities / self.entitlements


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
    steps, k, n = check_count("steps", steps), check_count("n_resources", n_resources), needs.n_agents
    if k > n:
        raise ValueError(f"n_resources must be at most the number of agents ({n}), got {k}")
    weights = None if entitlements is None else np.asarray(check_entitlements(entitlements, n), dtype=float)
    judge = _judge(welfare, kind, weights, n)
    # A single seed has no axis: the numbers of a memory are then plain ones, with which Python is faster.
    rows = () if len(seeds) == 1 else (len(seeds),)
    noise = _Noise([check_count("seed", seed, 0) for seed in seeds], (*rows, n))
    met, utilities, remembered = (np.zeros((steps, *rows, n)) for _ in range(3))
    memory = getattr(policy, "memory", memory)
    state = mapped(lambda array: np.broadcast_to(array, (*rows, *np.shape(array))), memory.init(n))
    needs_state = needs.start(noise.next())
    serve, every = served_rows(policy), tuple(np.arange(size)[:, None] for size in rows)
    for t in range(steps):
        drawn, needs_state = needs.draw(noise.next(), needs_state, t + 1)
        now, received = met[t], utilities[t]
        now[...] = drawn
        if not now.min() >= 0:
            _check_met(met)
        served = serve(now, k, state, t, noise.draws)
        received[*every, served] = now[*every, served]
        state = memory.advance(state, received)
        remembered[t] = memory.read(state)
        done()
    _check_met(met)
    by_seed = [table.reshape(steps, len(seeds), n).swapaxes(0, 1) for table in (met, utilities, remembered)]
    return [Simulation(*by, judge, kind, weights) for by in zip(by_seed[0], by_seed[1], by_seed[2], strict=True)]


def _check_met(needs: np.ndarray) -> None:
    """Refuses needs that no problem could have."""
    bad = np.argwhere(~((needs >= 0) & (needs < np.inf)))
    if len(bad):
        step, *_, agent = where = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"needs must draw finite numbers of at least 0, got {needs[where]} for agent {agent} at step {step + 1}"
        )


class _Noise:
    """The uniform noise of needs, and a generator for lots, of every seed."""

    def __init__(self, seeds: Sequence[int], shape: tuple[int, ...]) -> None:
        pairs = [[np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)] for seed in seeds]
        self.draws = [draws for _, draws in pairs]
        self._sources, self._shape = [noise for noise, _ in pairs], shape
        self._drawn, self._at = np.empty((0, *shape)), 0

    def next(self) -> np.ndarray:
        """The noise of the next step, one row per seed, of the shape asked for."""
        if self._at == len(self._drawn):
            # The numbers that drawing step by step would give.
            blocks = [source.random((_NOISE_STEPS, self._shape[-1])) for source in self._sources]
            self._drawn, self._at = np.stack(blocks, axis=1).reshape(_NOISE_STEPS, *self._shape), 0
        self._at += 1
        return np.asarray(self._drawn[self._at - 1])


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
    from bygones.envs.scenarios.allocation import Allocation
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
