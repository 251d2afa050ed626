"""The scenarios of bygones by name: one for each file in `envs/scenarios/`.

A file `donut.py` holds the class `Donut`, which is the scenario `donut` on the command line and `bygones/Donut-v0` for
Gymnasium. So a new scenario is a new file, and nothing else lists it. Files are imported when they are asked for.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bygones._calls import as_call
from bygones._imports import imported
from bygones.envs.scenario import Scenario

_FOLDER = Path(__file__).parent / "scenarios"
_PACKAGE = "bygones.envs.scenarios"


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all scenarios."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.py") if file.stem != "__init__"))


def kind_of(name: str) -> type[Scenario]:
    """The class of a scenario.

    Args:
        name: one of `names()`; or where a scenario of your own is, as `module:Class`.
    """
    module, _, found = name.partition(":")
    if not found:
        module, found = module.replace("-", "_"), class_name(module)
        if module not in names():
            raise ValueError(f"scenario must be one of {', '.join(names())}, or your own as module:Class, got {name!r}")
        kind = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), found, None)
    else:
        kind = imported("scenario", name)
    if not (inspect.isclass(kind) and issubclass(kind, Scenario)):
        raise ValueError(f"scenario {name} must be a class that inherits from bygones.envs.scenario.Scenario")
    return kind


def name_of(scenario: Scenario) -> str | None:
    """The name of a scenario; None if it is not one of bygones."""
    module, _, name = type(scenario).__module__.rpartition(".")
    return name if module == _PACKAGE and class_name(name) == type(scenario).__name__ else None


def made(name: str, arguments: Mapping[str, Any]) -> Scenario:
    """The scenario of that name with these parameters."""
    kind = kind_of(name)
    takes = list(inspect.signature(kind).parameters)
    for word in arguments:
        if word not in takes:
            raise ValueError(f"scenario {name} takes {', '.join(takes)}, got {word!r}")
    try:
        return kind(**arguments)
    except TypeError as error:
        raise ValueError(f"scenario {name} cannot be made: {error}") from None


def named(text: str) -> Scenario:
    """The scenario of a text such as `donut` or `queues(n_machines=8, horizon=500)`."""
    module, colon, rest = text.partition(":")
    name, arguments = as_call("scenario", rest if colon else module)
    return made(f"{module}:{name}" if colon else name, arguments)


def summary(name: str) -> str:
    """The first line of a scenario's docstring."""
    return (inspect.getdoc(kind_of(name)) or "").partition("\n")[0]


def class_name(name: str) -> str:
    """The class in the file of that name: `job_scheduling` holds `JobScheduling`."""
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def gymnasium_id(name: str, vector: bool = False) -> str:
    """The id of a scenario for Gymnasium; `vector` for the one whose reward is a vector, as MO-Gymnasium has it."""
    return f"bygones/{'mo-' if vector else ''}{class_name(name)}-v0"
