r"""Policies played out on the same needs, step after step.

At every step each agent has a need, a policy serves $k$ of them, and what they receive enters the memory. Policies that
are played with the same seed meet the same needs, so that what differs between them is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bygones import inequality
from bygones._arrays import Array, check_count
from bygones.allocation.policies import AllocationPolicy, OneStep, Random, RoundRobin, Utilitarian
from bygones.envs.needs import Needs
from bygones.memory import Discounted, Memory, MemoryState
from bygones.welfare import Welfare, as_judge

POLICIES: dict[str, Callable[[Memory, str | Welfare], AllocationPolicy]] = {
    "one-step": OneStep,
    "utilitarian": lambda memory, welfare: Utilitarian(),
    "round-robin": lambda memory, welfare: RoundRobin(),
    "random": lambda memory, welfare: Random(),
}
"""Policies by the names that the command line knows."""


@dataclass(frozen=True, eq=False)
class Played:
    """What happened under a policy, one row per step and one column per agent.

    Attributes:
        utilities: what each agent received at each step.
        remembered: Z after each step.
        welfare: how memories are judged; `"nash"` is log-Nash, as in the paper's experiments.
    """

    utilities: Array
    remembered: Array
    welfare: Welfare

    @cached_property
    def cumulative(self) -> Array:
        """The true, undiscounted utilities after each step."""
        return np.cumsum(self.utilities, axis=0)

    @cached_property
    def gini(self) -> Array:
        """The Gini coefficient of the true utilities up to each step."""
        return inequality.gini(self.cumulative)

    @cached_property
    def welfare_remembered(self) -> Array:
        """The welfare of what is remembered after each step."""
        return self.welfare(self.remembered)

    def summary(self) -> dict[str, float]:
        """What it comes to in the end, on true utilities a step.

        Egalitarian welfare is the worst-off agent's; Nash welfare is given as the geometric mean, which has the unit of
        a utility however many agents there are.
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
class Learned:
    """A trained policy, which sees needs and memory as it did when it learned."""

    choose: Callable[[Array, MemoryState | None, np.random.Generator], int]
    subsets: np.ndarray

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        return np.asarray(self.subsets[self.choose(needs, state, rng)])


def play(
    policy: AllocationPolicy,
    needs: Needs,
    memory: Memory,
    welfare: str | Welfare,
    steps: int,
    n_resources: int = 2,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
) -> Played:
    """Plays a policy out.

    Args:
        policy: whom to serve.
        needs: where needs come from.
        memory: how the past is remembered.
        welfare: how memories are judged.
        steps: how many times resources are handed out.
        n_resources: k, how many agents are served at a step.
        seed: of the needs, which are equal for equal seeds whatever the policy, and of the policy's draws.
        done: called after each step, for progress.
    """
    steps, k, n = check_count("steps", steps), check_count("n_resources", n_resources), needs.n_agents
    if k > n:
        raise ValueError(f"n_resources must be at most the number of agents ({n}), got {k}")
    judge = as_judge(welfare)
    noise, draws = (np.random.default_rng(s) for s in np.random.SeedSequence(check_count("seed", seed, 0)).spawn(2))
    utilities, remembered = np.zeros((steps, n)), np.zeros((steps, n))
    state, needs_state = memory.init(n), needs.start(noise.random(n))
    for t in range(steps):
        now, needs_state = needs.draw(noise.random(n), needs_state, t + 1)
        served = policy(now, k, state, t, draws)
        utilities[t, served] = now[served]
        state = memory.update(state, utilities[t])
        remembered[t] = memory.values(state)
        done()
    return Played(utilities, remembered, judge)


def policy_named(
    name: str, memory: Memory, welfare: str | Welfare, n_agents: int, n_resources: int
) -> AllocationPolicy:
    """The policy of that name in `POLICIES`, or the learned one in a file of that name that ends in `.safetensors`."""
    if name in POLICIES:
        return POLICIES[name](memory, welfare)
    if not name.endswith(".safetensors"):
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, or a file.safetensors, got {name!r}")
    return learned(Path(name), memory, n_agents, n_resources)


def learned(path: Path, memory: Memory, n_agents: int, n_resources: int) -> Learned:
    """The policy in a file that `bygones.learn.Policy.save` wrote; refused where it learned another problem."""
    from bygones.envs.problem import observe
    from bygones.learn.policy import TrainedPolicy

    network = TrainedPolicy.load(path)
    problem = network.settings.problem()
    if (problem.n_agents, problem.n_resources) != (n_agents, n_resources):
        raise ValueError(
            f"{path} learned to serve {problem.n_resources} of {problem.n_agents} agents, "
            f"which it has to be played with, got {n_resources} of {n_agents}"
        )
    known = problem.memory
    assert isinstance(known, Discounted)
    if not (
        isinstance(memory, Discounted)
        and math.isclose(memory.gamma, known.gamma, rel_tol=1e-9)
        and memory.average == known.average
    ):
        raise ValueError(f"{path} learned with the memory {known}, which it has to be played with, got {memory}")
    params = problem.params()

    def choose(needs: Array, state: MemoryState | None, rng: np.random.Generator) -> int:
        if state is None:
            raise ValueError("state must be the memory's state, which a learned policy sees, got None")
        return int(network.predict(observe(needs, state, params), rng=rng)[0])

    return Learned(choose, problem.subsets())
