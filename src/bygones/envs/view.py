"""An episode as a table in plain text, or as a picture."""

from __future__ import annotations

import numpy as np

from bygones import inequality
from bygones._arrays import Array
from bygones.document.document import Document, Table
from bygones.document.terminal import PLAIN_WIDTH, text
from bygones.envs.episode import EpisodeState
from bygones.envs.problem import FairProblem
from bygones.envs.render import Scene
from bygones.envs.scenario import WorldState


def as_scene(problem: FairProblem, state: EpisodeState, Z: Array | None, world_before: WorldState = None) -> Scene:
    """An episode after a step, or before the first, to be drawn.

    Args:
        problem: the problem that is played.
        state: where the episode stands.
        Z: the memory; None where there is none.
        world_before: the scenario's state before the step; None before the first.
    """
    scenario = problem.scenario
    scene = Scene(
        t=int(state.t),
        horizon=problem.horizon,
        needs=state.utilities,
        utilities=state.utilities,
        cumulative=state.cumulative,
        memory=Z,
        memory_name=_memory_name(problem),
        step_title="Received at this step",
        mark="received",
    )
    if scenario.n_served is None or scenario.features[0] != "need":
        return scene
    # The needs that the step chose from, with a mark at the agents served.
    needs = scenario.observe(state.world if world_before is None else world_before)[: scenario.n_agents]
    return scene._replace(needs=needs, step_title="Need at this step", mark="served")


def as_text(problem: FairProblem, state: EpisodeState, Z: Array | None) -> str:
    """An episode after a step: one row per agent, with its observation for the next decision."""
    scenario = problem.scenario
    seen = np.asarray(scenario.observe(state.world), float)
    n, own = scenario.n_agents, len(scenario.features)
    columns: dict[str, Array | range] = {
        "agent": range(n),
        **{name: seen[i * n : (i + 1) * n] for i, name in enumerate(scenario.features)},
        "received at this step": state.utilities,
        **({} if Z is None else {"memory": Z}),
        "received so far": state.cumulative,
    }
    rows = [[int(i), *map(float, numbers)] for i, *numbers in zip(*columns.values(), strict=True)]
    shared = [f"{name} {value:.4g}" for name, value in zip(scenario.shared, seen[own * n :], strict=True)]
    gini = float(inequality.gini(np.maximum(state.cumulative, 0.0)))
    headline = f"Step {int(state.t)} of {problem.horizon}, Gini so far {gini:.3f}"
    answer = Document(headline, (*([", ".join(shared)] if shared else []), Table("", tuple(columns), rows)))
    return text(answer, max(PLAIN_WIDTH, 2 + sum(len(name) + 2 for name in columns))) + "\n"


def _memory_name(problem: FairProblem) -> str:
    """The memory in a few words."""
    memory = problem.memory
    gamma = getattr(memory, "gamma", None)
    if gamma is None:
        return type(memory).__name__.lower()
    return f"γ = {gamma:.6g}" + (", averaged" if memory.average else "")
