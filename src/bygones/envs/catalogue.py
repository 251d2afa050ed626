"""The scenarios of bygones by name: one for each file in `envs/scenarios/`.

A file `donut.py` holds the class `Donut`, which is the scenario `donut` on the command line and `bygones/Donut-v0` for
Gymnasium. So a new scenario is a new file, and nothing else lists it. Files are imported when they are asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from bygones._registry import Registry
from bygones.envs.scenario import Scenario

_FOLDER = Path(__file__).parent / "scenarios"

scenarios: Registry[Scenario] = Registry(
    "scenario",
    "a class that inherits from bygones.envs.scenario.Scenario",
    lambda kind: inspect.isclass(kind) and issubclass(kind, Scenario),
    base=Scenario,
)
"""The scenarios by name, such as `queues(n_machines=8, horizon=500)`."""


names = scenarios.names
"""The names of all scenarios."""


def kind_of(name: str) -> type[Scenario]:
    """The class of a scenario.

    Args:
        name: one of `names()`; or your own, as `module:Class`.
    """
    return cast(type[Scenario], scenarios.part(name))


def name_of(scenario: Scenario) -> str | None:
    """The name of a scenario; None if it is not one of bygones."""
    return scenarios.name_of(type(scenario))


def made(name: str, arguments: Mapping[str, object]) -> Scenario:
    """The scenario of that name with these parameters."""
    return scenarios.read(name, **arguments).build()


def parse_scenario(text: str) -> Scenario:
    """The scenario of a text such as `donut` or `queues(n_machines=8, horizon=500)`."""
    return scenarios.read(text).build()


def summary(name: str) -> str:
    """The first line of a scenario's docstring."""
    return (inspect.getdoc(kind_of(name)) or "").partition("\n")[0]


def class_name(name: str) -> str:
    """The class in the file of that name: `job_scheduling` holds `JobScheduling`."""
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def gymnasium_id(name: str, vector: bool = False) -> str:
    """The id of a scenario for Gymnasium; `vector` for the one whose reward is a vector, as MO-Gymnasium has it."""
    return f"bygones/{'mo-' if vector else ''}{class_name(name)}-v0"


for _file in sorted(_FOLDER.glob("[!_]*.py")):
    scenarios.add(f"bygones.envs.scenarios.{_file.stem}:{class_name(_file.stem)}", name=_file.stem)
