"""`bygones scenarios`, and the problem that `bygones train --scenario` learns."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional

from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json, say
from bygones.document.document import Column, Command, Document, Table

if TYPE_CHECKING:
    from bygones.envs.problem import FairProblem
    from bygones.learn.settings import Settings

_OF_THE_PAPER = ("gamma", "aggregation", "horizon", "n_agents", "n_resources", "n_advantaged")
"""The settings that describe the paper's problem only."""
_SHARED = (
    "welfare",
    "weight",
    "observation_scale",
    "fixed_scale",
    "observe_memory",
    "observe_denominator",
    "ends",
    "shaping_discount",
)
"""The settings that every problem has."""
DEFAULT_MEMORY = "discounted(gamma=0.99)"


def scenarios(
    name: Annotated[Positional[str], optional("The scenario to explain; all are listed if left out.", "[NAME]")] = "",
    output: Printed = Output(),
) -> None:
    """List the scenarios that policies can be trained on, or explain one.

    Example: bygones scenarios donut
    """
    from bygones.envs import catalogue

    if name:
        say(*(inspect.getdoc(catalogue.kind_of(name)) or "").splitlines())
        return
    worlds = {each: catalogue.made(each, {}) for each in catalogue.names()}
    if output.json:
        print_json({each: {"summary": catalogue.summary(each), **it.arguments()} for each, it in worlds.items()})
        return
    rows = [
        [each, it.n_agents, it.horizon, "mlp, symmetric" if it.n_served else "mlp", catalogue.summary(each)]
        for each, it in worlds.items()
    ]
    columns: list[Column | str] = ["name", "agents", "steps", Column("policies", 1), Column("what happens", folds=True)]
    commands = [Command("More about one", "bygones scenarios NAME"), Command("Train", "bygones train --scenario NAME")]
    title = f"{len(rows)} scenarios that policies can be trained on"
    print_document(Document(title, [Table("", columns, rows), *commands], "Scenarios"))


def problem_of(settings: Settings, scenario: str | None, memory: str | None) -> FairProblem | None:
    """The problem of `--scenario` and `--memory`; None if neither is given, and the settings alone describe it.

    Raises:
        ValueError: a setting is given that only the paper's problem has, or the memory is given twice.
    """
    from bygones.envs import catalogue
    from bygones.envs.problem import FairProblem
    from bygones.learn.settings import Settings
    from bygones.memory import parse_memory

    default = {field.name: field.default for field in dataclasses.fields(Settings)}
    if scenario is None:
        if memory is not None and any(getattr(settings, name) != default[name] for name in ("gamma", "aggregation")):
            raise ValueError("give --memory, or --gamma and --aggregation, not both")
        return None if memory is None else dataclasses.replace(settings.problem(), memory=parse_memory(memory))
    for name in _OF_THE_PAPER:
        if getattr(settings, name) != default[name]:
            flag = name.replace("_", "-")
            raise ValueError(
                f"--{flag} describes the paper's problem: give --memory, and the scenario's own parameters in "
                f'brackets, such as --scenario "{scenario.partition("(")[0]}(horizon=200)"'
            )
    shared = {name: getattr(settings, name) for name in _SHARED}
    return FairProblem(catalogue.parse_scenario(scenario), parse_memory(memory or DEFAULT_MEMORY), **shared)
