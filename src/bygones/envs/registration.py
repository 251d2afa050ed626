"""Registers the environments with Gymnasium by name. Their modules are imported when an environment is created.

A scenario is a function that returns an `AllocationProblem`. `SCENARIOS` lists those of this package, and `add`
registers one of your own; see `docs/extending.md`.
"""

from __future__ import annotations

ID = "bygones/Allocation-v0"

SCENARIOS: dict[str, str | None] = {ID: None}
"""The function behind each id, as `module:function`; None for the paper's problem."""


def register() -> None:
    """Registers every environment of this package. Calling it again has no effect."""
    from gymnasium.envs import registration

    for id, scenario in SCENARIOS.items():
        if id not in registration.registry:
            add(id, scenario)


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
