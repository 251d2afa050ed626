"""What is shown of an episode of a scenario: a table in plain text, or a picture."""

from __future__ import annotations

import textwrap

import numpy as np

from bygones import inequality
from bygones._arrays import Array
from bygones.envs.gymnasium_env import name_of
from bygones.envs.render import Scene
from bygones.envs.scenario_problem import ScenarioProblem, ScenarioState

WIDTH = 100
"""Of the lines above the table, in characters."""


def as_scene(problem: ScenarioProblem, state: ScenarioState, Z: Array | None) -> Scene:
    """An episode after a step, to be drawn; `Z` is what is remembered, None where nothing is."""
    return Scene(
        t=int(state.t),
        horizon=problem.horizon,
        needs=state.utilities,
        utilities=state.utilities,
        cumulative=state.cumulative,
        memory=Z,
        memory_name=name_of(problem),
        step_title="Received at this step",
        mark="received",
    )


def as_text(problem: ScenarioProblem, state: ScenarioState, Z: Array | None) -> str:
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
