"""Registers the scenarios with Gymnasium by name. Their modules are imported when an environment is created.

The scenarios of bygones are the files in `envs/scenarios/`; `add` registers your own.
"""

from __future__ import annotations

from bygones.envs import catalogue


def register() -> None:
    """Registers every environment of this package. Calling it again has no effect."""
    from gymnasium.envs import registration

    for name in catalogue.names():
        for vector in (False, True):
            if catalogue.gymnasium_id(name, vector) not in registration.registry:
                add(catalogue.gymnasium_id(name, vector), name, vector)


def add(id: str, scenario: str, vector: bool = False, **settings: object) -> None:
    """Registers a scenario, for `gym.make` and `gym.make_vec`.

    Args:
        id: its name, with a version, such as `ward/Beds-v0`.
        scenario: where to find its class, as `module:Class`; or the name of a scenario of bygones.
        vector: whether its reward is the vector of utilities, as MO-Gymnasium has it.
        settings: the settings of the scenario and of `FairProblem`, which arguments of `gym.make` replace.
    """
    from gymnasium.envs import registration

    registration.register(
        id,
        entry_point="bygones.envs.env:FairEnv",
        vector_entry_point="bygones.envs.vector_env:FairVectorEnv",
        kwargs={"scenario": scenario, **({"vector": True} if vector else {}), **settings},
        # The environment itself refuses a step before reset, and the tests run Gymnasium's checker, so neither
        # wrapper is needed.
        order_enforce=False,
        disable_env_checker=True,
    )
