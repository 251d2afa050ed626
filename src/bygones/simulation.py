r"""Simulates allocation policies on the same needs, step after step.

At every step each agent has a need, the policy serves $k$ agents, and what they receive enters the memory. Two
simulations with the same seed see the same needs, so any difference between them comes from the policies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bygones import inequality
from bygones._arrays import Array, Floats, Ints, check_count
from bygones.allocation import ChooseK, calibrate
from bygones.allocation.policies import (
    AllocationPolicy,
    DynamicMaxMin,
    OneStep,
    Prices,
    ProportionalFair,
    Random,
    RoundRobin,
    Utilitarian,
)
from bygones.envs.needs import Needs
from bygones.memory import Memory
from bygones.welfare import AnyWelfare, Welfare, as_judge

CALIBRATION_STEPS = 2000
"""How many steps of needs the policy `calibrated` has seen before the simulation."""


class Setting(NamedTuple):
    """What a policy is made for."""

    memory: Memory
    welfare: AnyWelfare
    needs: Needs
    n_resources: int


def _calibrated(setting: Setting) -> Prices:
    """Prices that have seen a sample of needs, none of which is in a simulation."""
    rng, n = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(7,))), setting.needs.n_agents
    needs_state, problems = setting.needs.start(rng.random(n)), []
    for t in range(CALIBRATION_STEPS):
        now, needs_state = setting.needs.draw(rng.random(n), needs_state, t + 1)
        problems.append(ChooseK(now, setting.n_resources))
    start = calibrate(problems, setting.memory, setting.welfare)
    return Prices(setting.memory, setting.welfare, start=start)


POLICIES: dict[str, Callable[[Setting], AllocationPolicy]] = {
    "prices": lambda setting: Prices(setting.memory, setting.welfare),
    "calibrated": _calibrated,
    "one-step": lambda setting: OneStep(setting.memory, setting.welfare),
    "proportional-fair": lambda setting: ProportionalFair(setting.memory),
    "dynamic-max-min": lambda setting: DynamicMaxMin(setting.memory),
    "utilitarian": lambda setting: Utilitarian(),
    "round-robin": lambda setting: RoundRobin(),
    "random": lambda setting: Random(),
}
"""The policies that can be chosen by name, as on the command line."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """The outcome of a simulation, with one row per step and one column per agent.

    Attributes:
        utilities: what each agent received at each step.
        remembered: Z after each step.
        welfare: the welfare function that judges Z; `"nash"` is log-Nash, as in the paper's experiments.
    """

    utilities: Floats
    remembered: Floats
    welfare: Welfare

    @cached_property
    def cumulative(self) -> Floats:
        """The true, undiscounted utilities after each step."""
        return np.cumsum(self.utilities, axis=0)

    @cached_property
    def gini(self) -> Floats:
        """The Gini coefficient of the true utilities up to each step."""
        return np.asarray(inequality.gini(self.cumulative))

    @cached_property
    def welfare_remembered(self) -> Floats:
        """The welfare of Z after each step."""
        return np.asarray(self.welfare(self.remembered))

    def summary(self) -> dict[str, float]:
        """Fairness and efficiency of the whole simulation, computed on true utilities per step.

        Returns:
            `gini`, the Gini coefficient; `egalitarian`, the utility of the worst-off agent; `nash`, the geometric mean,
            which has the unit of a utility for any number of agents; and `utility_per_step`, the sum over agents.
        """
        true = self.cumulative[-1] / len(self.utilities)
        with np.errstate(divide="ignore"):
            nash = float(np.exp(np.log(true).mean()))
        return {
            "gini": float(self.gini[-1]),
            "egalitarian": float(true.min()),
            "nash": nash,
            "utility_per_step": float(true.sum()),
        }


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A trained policy that observes needs and memory as it did in training."""

    choose: Callable[[Array, Any, np.random.Generator], int]
    subsets: Ints

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.subsets[self.choose(needs, state, rng)])


def simulate(
    policy: AllocationPolicy,
    needs: Needs,
    memory: Memory,
    welfare: AnyWelfare,
    steps: int,
    n_resources: int = 2,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
) -> Simulation:
    """Simulates a policy for a number of steps.

    Args:
        policy: decides whom to serve at each step. A policy with a memory of its own, such as `Prices`, is given the
            state of that memory, which must remember what `memory` does.
        needs: generates the needs of all agents.
        memory: how the past is remembered; any `Memory`.
        welfare: the welfare function that judges the memory, or its name.
        steps: the number of steps.
        n_resources: k, the number of agents served at each step.
        seed: seeds the needs and the policy's random choices. The needs depend on nothing else, so that policies
            simulated with the same seed see the same needs.
        done: called after each step, for example to advance a progress bar.

    Returns:
        What each agent received and what was remembered after every step.
    """
    steps, k, n = check_count("steps", steps), check_count("n_resources", n_resources), needs.n_agents
    if k > n:
        raise ValueError(f"n_resources must be at most the number of agents ({n}), got {k}")
    judge = as_judge(welfare)
    noise, draws = (np.random.default_rng(s) for s in np.random.SeedSequence(check_count("seed", seed, 0)).spawn(2))
    utilities, remembered = np.zeros((steps, n)), np.zeros((steps, n))
    memory = getattr(policy, "memory", memory)
    state, needs_state = memory.init(n), needs.start(noise.random(n))
    for t in range(steps):
        now, needs_state = needs.draw(noise.random(n), needs_state, t + 1)
        served = policy(now, k, state, t, draws)
        utilities[t, served] = now[served]
        state = memory.update(state, utilities[t])
        remembered[t] = memory.values(state)
        done()
    return Simulation(utilities, remembered, judge)


def policy_named(name: str, memory: Memory, welfare: AnyWelfare, needs: Needs, n_resources: int) -> AllocationPolicy:
    """The policy called `name` in `POLICIES`, or the trained policy in the file `name` if it ends in `.safetensors`."""
    if name in POLICIES:
        return POLICIES[name](Setting(memory, welfare, needs, n_resources))
    if not name.endswith(".safetensors"):
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, or a .safetensors file, got {name!r}")
    return learned_policy(Path(name), memory, needs.n_agents, n_resources)


def learned_policy(path: Path, memory: Memory, n_agents: int, n_resources: int) -> LearnedPolicy:
    """Loads a policy saved by `bygones.learn.TrainedPolicy.save`.

    Raises:
        ValueError: if the policy was trained on another number of agents or resources, or with another memory.
    """
    from bygones.envs.problem import observe
    from bygones.learn.policy import TrainedPolicy

    network = TrainedPolicy.load(path)
    problem = network.problem
    if (problem.n_agents, problem.n_resources) != (n_agents, n_resources):
        raise ValueError(
            f"{path} was trained to serve {problem.n_resources} of {problem.n_agents} agents, "
            f"so it cannot serve {n_resources} of {n_agents}"
        )
    if not problem.memory.matches(memory):
        raise ValueError(f"{path} was trained with the memory {problem.memory}, so it cannot be used with {memory}")
    params = problem.params()

    def choose(needs: Array, state: Any, rng: np.random.Generator) -> int:
        if state is None:
            raise ValueError("state must be the state of the memory, which a learned policy observes, got None")
        return int(network.predict(observe(needs, state, params), rng=rng)[0])

    return LearnedPolicy(choose, problem.subsets())
