"""Registers the environments with Gymnasium by name. Their modules are imported when an environment is created."""

from __future__ import annotations

ID = "bygones/Allocation-v0"


def register() -> None:
    """Registers every environment of this package. Calling it again has no effect."""
    from gymnasium.envs import registration

    if ID not in registration.registry:
        registration.register(
            ID,
            entry_point="bygones.envs.gymnasium_env:AllocationEnv",
            vector_entry_point="bygones.envs.vector_env:AllocationVectorEnv",
            # The environment itself refuses a step before reset, and the tests run Gymnasium's checker, so neither
            # wrapper is needed.
            order_enforce=False,
            disable_env_checker=True,
        )
