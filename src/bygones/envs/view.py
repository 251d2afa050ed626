"""What is shown of an episode: a table in plain text, or a picture."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from bygones import inequality
from bygones._arrays import Array
from bygones.envs.episode import EpisodeState
from bygones.envs.problem import FairProblem
from bygones.envs.render import Scene

WIDTH = 100
"""Of the lines above the table, in characters."""


def as_scene(problem: FairProblem, state: EpisodeState, Z: Array | None, world_before: Any = None) -> Scene:
    """An episode after a step, or before the first, to be drawn.

    Args:
        problem: what is played.
        state: where the episode stands.
        Z: what is remembered; None where nothing is.
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
    # The needs that the step chose from, of which those that were served are marked.
    needs = scenario.observe(state.world if world_before is None else world_before)[: scenario.n_agents]
    return scene._replace(needs=needs, step_title="Need at this step", mark="served")


def as_text(problem: FairProblem, state: EpisodeState, Z: Array | None) -> str:
    """An episode after a step: one row per agent, with what is observed of it for the next decision."""
    scenario = problem.scenario
    seen = np.asarray(scenario.observe(state.world))
    n, own = scenario.n_agents, len(scenario.features)
    columns = {
        "agent": [str(i) for i in range(n)],
        **{name: _shown(seen[i * n : (i + 1) * n]) for i, name in enumerate(scenario.features)},
        "received at this step": _shown(state.utilities),
        **({} if Z is None else {"remembered": _shown(Z)}),
        "received so far": _shown(state.cumulative),
    }
    widths = {name: max(len(name), *map(len, cells)) for name, cells in columns.items()}
    shared = zip(scenario.shared, _shown(seen[own * n :]), strict=True)
    gini = float(inequality.gini(np.maximum(state.cumulative, 0.0)))
    lines = [
        f"Step {int(state.t)} of {problem.horizon}, Gini so far {gini:.3f}",
        *textwrap.wrap(", ".join(f"{name} {value}" for name, value in shared), WIDTH, break_on_hyphens=False),
        "  ".join(name.rjust(width) for name, width in widths.items()),
        *("  ".join(columns[name][i].rjust(width) for name, width in widths.items()) for i in range(n)),
    ]
    return "\n".join(lines) + "\n"


def _shown(values: Array) -> list[str]:
    return [f"{float(value):.4g}" for value in values]


def _memory_name(problem: FairProblem) -> str:
    """The memory in a few words."""
    memory = problem.memory
    gamma = getattr(memory, "gamma", None)
    if gamma is None:
        return type(memory).__name__.lower()
    return f"γ = {gamma:.6g}" + (", averaged" if memory.average else "")
