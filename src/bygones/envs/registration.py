"""Registers the environments with Gymnasium by name. Their modules are imported when an environment is created.

There are two kinds of scenario, and `docs/extending.md` shows how to add one. A function that returns an
`AllocationProblem` is the paper's problem with other settings: `SCENARIOS` lists those of this package, and `add`
registers one of your own. A class that inherits from `Scenario` is a world in which actions may change the future:
those of this package are the files in `envs/scenarios/`, and `add_world` registers one of your own.
"""

from __future__ import annotations

from typing import Any

from bygones.envs import catalogue

ID = "bygones/Allocation-v0"

SCENARIOS: dict[str, str | None] = {ID: None}
"""The function behind each id, as `module:function`; None for the paper's problem."""


def register() -> None:
    """Registers every environment of this package. Calling it again has no effect."""
    from gymnasium.envs import registration

    for id, scenario in SCENARIOS.items():
        if id not in registration.registry:
            add(id, scenario)
    for name in catalogue.names():
        for vector in (False, True):
            if catalogue.gymnasium_id(name, vector) not in registration.registry:
                add_world(catalogue.gymnasium_id(name, vector), name, vector)


def add(id: str, scenario: str | None) -> None:
    """Registers a scenario with Gymnasium, for `gym.make` and `gym.make_vec`.

    Args:
        id: its name, with a version, such as `ward/NightShifts-v0`.
        scenario: where to find the function that returns its `AllocationProblem`, as `module:function`. What people
            pass to `gym.make` becomes the function's arguments.
    """
    from gymnasium.envs import registration

    registration.register(
        id,
        entry_point="bygones.envs.gymnasium_env:AllocationEnv",
        vector_entry_point="bygones.envs.vector_env:AllocationVectorEnv",
        kwargs={} if scenario is None else {"scenario": scenario},
        # The environment itself refuses a step before reset, and the tests run Gymnasium's checker, so neither
        # wrapper is needed.
        order_enforce=False,
        disable_env_checker=True,
    )


def add_world(id: str, scenario: str, vector: bool = False) -> None:
    """Registers a scenario in which actions may change the future, for `gym.make` and `gym.make_vec`.

    Args:
        id: its name, with a version, such as `ward/Beds-v0`.
        scenario: where to find its class, as `module:Class`; or the name of a scenario of bygones.
        vector: whether its reward is the vector of utilities, as MO-Gymnasium has it.
    """
    from gymnasium.envs import registration

    settings: dict[str, Any] = {"scenario": scenario, **({"vector": True} if vector else {})}
    registration.register(
        id,
        entry_point="bygones.envs.scenario_env:ScenarioEnv",
        vector_entry_point="bygones.envs.scenario_vector_env:ScenarioVectorEnv",
        kwargs=settings,
        order_enforce=False,
        disable_env_checker=True,
    )
