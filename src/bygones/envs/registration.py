"""Tells Gymnasium about the environments of this package, by name only: nothing is imported until one is made."""

from __future__ import annotations

ID = "bygones/Allocation-v0"


def register() -> None:
    """Registers every environment of this package; once is enough, and again does no harm."""
    from gymnasium.envs import registration

    if ID not in registration.registry:
        registration.register(
            ID,
            entry_point="bygones.envs.gymnasium_env:AllocationEnv",
            vector_entry_point="bygones.envs.vector_env:AllocationVectorEnv",
            # The environment refuses a step before reset itself, and the tests run Gymnasium's checker on it: neither
            # wrapper is needed around every step.
            order_enforce=False,
            disable_env_checker=True,
        )
