"""Which part of the symmetric network keeps perfect recall fair: each part alone, and all parts but one.

    python -m benchmarks.symmetric_parts evidence/collapse/symmetric-parts

The symmetric network differs from the paper's MLP in four ways: its weights are shared by all agents, it observes
differences from the mean and the minimum of all agents, it draws one agent after the other instead of a subset, and it
sees memories on a logarithmic scale. A learner is named by the parts that it has, as in `shared_differences`; `plain`
has none and is the paper's network, and `shared_differences_sequential_logarithmic` is the symmetric network. Needs an
accelerator: each of the seven networks is a separate program, with 160 runs of a million steps. `--only` takes some of
them, or other combinations, so they can be trained side by side.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bygones._arrays import Array, namespace
from bygones.envs.problem import FairProblem
from bygones.learn.actors import Subsets
from bygones.learn.networks import Networks, apply, initial
from bygones.learn.ppo import PPO
from bygones.learn.settings import Settings
from bygones.learn.symmetric import Rankings
from bygones.paper.criteria import RECALL
from bygones.paper.grid import WEIGHT, grid
from bygones.paper.progress import now_and_then
from bygones.paper.run import execute

PARTS = ("shared", "differences", "sequential", "logarithmic")


@dataclass(frozen=True)
class Network(Rankings):
    """A network with some of the parts of the symmetric one."""

    parts: frozenset[str] = frozenset(PARTS)
    hidden: tuple[int, ...] = (64, 64)
    members: tuple[tuple[int, ...], ...] = ()
    """Of each subset, 1 for the agents in it and 0 for the others."""

    @property
    def n_scores(self) -> int:
        return self.n_agents if "sequential" in self.parts else len(self.members)

    @property
    def depth(self) -> int:
        return super().depth if "shared" in self.parts else len(self.hidden) + 1

    def initial(self, seed: int) -> Networks:
        if "shared" in self.parts:
            return super().initial(seed)
        return initial(seed, self._n_features * self.n_agents, self.n_scores, self.hidden)

    def scores(self, networks: Networks, observations: Array, matvec: bool = True) -> Array:
        if "shared" not in self.parts:
            return apply(networks.policy, self._in_a_row(observations), matvec)
        each = super().scores(networks, observations, matvec)
        # Without the sequential draw, a subset scores what its agents score together.
        return each if "sequential" in self.parts else each @ np.asarray(self.members, np.float32).T

    def value(self, networks: Networks, observations: Array) -> Array:
        if "shared" in self.parts:
            return super().value(networks, observations)
        return apply(networks.value, self._in_a_row(observations))[..., 0]

    def features(self, observations: Array) -> Array:
        if "differences" in self.parts:
            return super().features(observations)
        xp, seen = namespace(observations), namespace(observations).moveaxis(observations, -1, 0)
        needs, Z = seen[: self.n_agents], seen[self.n_agents : 2 * self.n_agents]
        return xp.concatenate([needs[None], (xp.sign(Z) * xp.log1p(xp.abs(Z)) if self.logarithmic else Z)[None]])

    def best(self, scores: Array) -> Array:
        return super().best(scores) if "sequential" in self.parts else self._subsets.best(scores)

    def log_prob(self, scores: Array, actions: Array) -> Array:
        return (super() if "sequential" in self.parts else self._subsets).log_prob(scores, actions)

    def entropy(self, scores: Array, actions: Array) -> Array:
        return (super() if "sequential" in self.parts else self._subsets).entropy(scores, actions)

    @property
    def _n_features(self) -> int:
        return super()._n_features if "differences" in self.parts else 2

    @property
    def _subsets(self) -> Subsets:
        return Subsets(2 * self.n_agents, len(self.members), self.hidden)

    def _in_a_row(self, observations: Array) -> Array:
        """All features of all agents, along the last axis."""
        x, xp = self.features(observations), namespace(observations)
        return xp.moveaxis(x.reshape((-1, *x.shape[2:])), 0, -1)


def network(parts: frozenset[str], settings: Settings, problem: FairProblem) -> Network:
    """The network with these parts, for a problem without a denominator to observe."""
    members = tuple(tuple(row) for row in np.asarray(problem.scenario.actions(), int).tolist())
    return Network(
        problem.n_agents, settings.n_resources, False, settings.agent_units, "logarithmic" in parts,
        parts=parts, hidden=settings.hidden, members=members,
    )  # fmt: skip


def name_of(parts: tuple[str, ...]) -> str:
    """The name of the learner whose network has these parts."""
    return "_".join(parts) or "plain"


NETWORKS = {name_of(parts): parts for n in range(5) for parts in itertools.combinations(PARTS, n)}

TRIED = [name_of((part,)) for part in PARTS] + [
    name_of(tuple(other for other in PARTS if other != part)) for part in PARTS if part != "logarithmic"
]
"""Each part alone, and all parts but one. The grid has the network without logarithms."""

for _name, _parts in NETWORKS.items():
    globals()[_name] = type(_name, (PPO,), {"acts": staticmethod(functools.partial(network, frozenset(_parts)))})


def runs(name: str) -> Iterator[Settings]:
    """The runs of a network: both welfare functions, T = 10000, γ = 0.99 and 1, every λ and ten seeds."""
    changes = {
        "learner": f"benchmarks.symmetric_parts:{name}",
        "policy": "symmetric" if "sequential" in NETWORKS[name] else "mlp",
    }
    cells = {"aggregation": ("additive",), "horizon": (10000,), "gamma": (0.99, RECALL)}
    for weight in (WEIGHT, 0.99, 0.999, 1.0):
        yield from grid("paper", **cells, weight=weight, **changes).runs()


def main() -> None:
    """Trains the networks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.symmetric_parts", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the results are kept")
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=TRIED, help="only these networks")
    options = parser.parse_args()
    for name in options.only:
        print(name, flush=True)
        progress = now_and_then(lambda line: print(line, flush=True))
        execute(list(runs(name)), options.folder, on="accelerator", progress=progress)


if __name__ == "__main__":
    main()
