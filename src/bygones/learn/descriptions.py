"""The problem of a run: the one that its settings describe, or any other, and how it is written down.

A description is plain names and numbers. It tells problems apart, and where every part is bygones' own the problem can
be rebuilt from it. Nothing in it is executed: a memory, welfare function or needs from elsewhere is only named there.
JAX is imported only for these, so a saved policy can be read without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np

from bygones import memory, welfare
from bygones._arrays import Json, check_one_of
from bygones._text import listed
from bygones.envs import catalogue, needs
from bygones.envs.problem import PLAIN, FairProblem
from bygones.envs.scenario import Scenario
from bygones.envs.scenarios.allocation import Allocation
from bygones.learn.settings import Settings
from bygones.memory import Memory
from bygones.memory.contract import memory_parameters, memory_text

Description: TypeAlias = Json


@dataclass(frozen=True)
class Run:
    """One training: the learner's settings, and a problem if it is not the one that the settings describe.

    With its own problem, a run takes only the learner's part of the settings: its gamma, welfare, number of agents and
    all else that describes a problem are not used.

    Raises:
        ValueError: no episode would end within `total_steps`.
    """

    settings: Settings = field(default_factory=Settings)
    custom_problem: FairProblem | None = None

    def __post_init__(self) -> None:
        if self.custom_problem is not None:
            object.__setattr__(self, "settings", self.settings.of_learner(self.custom_problem.horizon))
        steps, horizon = self.settings.total_steps, self.settings.horizon
        if horizon > steps:
            raise ValueError(f"horizon must be at most total_steps ({steps}), or no episode ends, got {horizon}")

    @property
    def problem(self) -> FairProblem:
        """The problem to learn."""
        return self.settings.problem() if self.custom_problem is None else self.custom_problem

    def to_dict(self) -> Json:
        """Plain names and numbers, for JSON; equal for equal runs only."""
        return self._with_problem(self.settings.to_dict())

    def distinction(self) -> Json:
        """The differences of this run from others, as plain names and numbers; see `Settings.distinction`."""
        return self._with_problem(self.settings.distinction())

    def _with_problem(self, settings: Json) -> Json:
        if self.custom_problem is None:
            return settings
        return {"settings": settings, "problem": description(self.custom_problem)}


AnyRun: TypeAlias = Settings | FairProblem | Run
"""A run as people give it: settings, which describe the paper's problem; a problem; or both as a `Run`."""


def as_run(run: AnyRun, problem: FairProblem | None = None) -> Run:
    """The run that is meant."""
    if isinstance(run, Settings):
        return Run(run, problem)
    if problem is not None:
        raise ValueError(f"give a problem once: as problem= with Settings, got it with {type(run).__name__}")
    if isinstance(run, FairProblem):
        return Run(custom_problem=run)
    if not isinstance(run, Run):
        raise ValueError(f"a run must be Settings, a FairProblem or a Run, got {run!r}")
    return run


def check_registered(problem: FairProblem) -> None:
    """Refuses a problem with parts whose structure JAX does not know."""
    _flattened("memory", problem.memory)
    if hasattr(problem.scenario, "needs"):
        _flattened("needs", problem.scenario.needs)


def description(problem: FairProblem) -> Description:
    """The problem in plain names and numbers, as JSON has them."""
    scenario = problem.scenario
    parts: Description = {"memory": _memory(problem.memory), "welfare": _welfare(problem)}
    if isinstance(scenario, Allocation):
        parts["needs"] = _needs(scenario.needs)
    plain = {name: getattr(problem, name) for name in PLAIN}
    described = {**plain, **parts, "scenario": _scenario(scenario)}
    return cast(Description, json.loads(json.dumps(described, default=lambda value: np.asarray(value).tolist())))


def saved_description(problem: FairProblem) -> Description:
    """The description, in which parts that are not bygones' own have their registry text as well."""
    described, judge, scenario = description(problem), problem.judge, problem.scenario
    texts = {
        "memory": memory_text(problem.memory),
        "welfare": welfare.functions.text_of(judge.function or judge, judge.parameters),
        "scenario": catalogue.scenarios.text_of(type(scenario), described["scenario"]["numbers"]),
    }
    for name, text in texts.items():
        if "structure" in described[name]:
            described[name]["text"] = text
    return described


class ForeignPartsError(ValueError):
    """Parts of a problem are not bygones' own, and a description does not hold all of them.

    Attributes:
        parts: their descriptions, by kind, such as `scenario`.
    """

    def __init__(self, message: str, parts: Mapping[str, Description]) -> None:
        super().__init__(message)
        self.parts = parts


def read_description(text: str) -> Description:
    """The description that a file holds.

    In older files perfect recall and instantaneous fairness have other names, and the paper's problem is no scenario.
    """
    described: Description = json.loads(text, parse_int=_whole)
    if "memory" in described:
        described["memory"] = _as_discounted(described["memory"])
    if "scenario" not in described:
        numbers = {name: described.pop(name) for name in ("horizon", "n_resources")}
        described["scenario"] = {"kind": "allocation", "numbers": numbers}
    return described


def _whole(digits: str) -> int:
    """A whole number, refused if the arrays of a problem cannot hold it."""
    if abs(int(digits)) > np.iinfo(np.int32).max:
        raise ValueError(f"whole numbers must have at most 32 bits, got {digits}")
    return int(digits)


def _as_discounted(described: Description) -> Description:
    if "structure" in described:
        return described
    numbers = {name: _as_discounted(it) if isinstance(it, dict) else it for name, it in described["numbers"].items()}
    gamma = {"Instantaneous": 0.0, "PerfectRecall": 1.0}.get(described["kind"])
    if gamma is None:
        return {**described, "numbers": numbers}
    return {"kind": "Discounted", "numbers": {"gamma": gamma, "average": False, **numbers}}


MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError)
"""The errors, besides ValueError, that Python raises about names and numbers that were not written by `description`."""


def rebuilt(described: Description, scenario: Scenario | None = None) -> FairProblem:
    """The problem of a description; refused unless every part of it is bygones' own, or given.

    Raises:
        ForeignPartsError: a part is not bygones' own.
        ValueError: a part has a value that bygones does not accept.
        MALFORMED: this is no description.
    """
    names = [name for name in ("memory", "welfare", "needs", "scenario") if name in described]
    foreign: dict[str, Description] = {name: described[name] for name in names if "structure" in described[name]}
    given: dict[str, Any] = {} if scenario is None else {"scenario": scenario}
    by_text: dict[str, Any] = {}
    reasons = []
    for name, part in foreign.items():
        if name not in given and "text" in part:
            try:
                by_text[name] = _READERS[name](part["text"])
            except ValueError as error:
                reasons.append(str(error))
    made = given | by_text
    foreign = {name: part for name, part in foreign.items() if name not in made}
    if foreign:
        kinds = ", ".join(f"the {name} {part['kind']}" for name, part in foreign.items())
        why = f" ({'; '.join(reasons)})" if reasons else ""
        raise ForeignPartsError(f"{kinds} cannot be rebuilt from a description{why}", foreign)
    scenario = made.get("scenario")
    if scenario is None:
        it = described["scenario"]
        own = {"needs": _rebuilt(needs, described["needs"])} if "needs" in described else {}
        # A file may name anything, and only names that people type are imported.
        check_one_of("scenario", it["kind"], catalogue.names())
        scenario = catalogue.made(it["kind"], {**it["numbers"], **own})
    judge = described["welfare"]
    problem = FairProblem(
        scenario,
        memory=made["memory"] if "memory" in made else _rebuilt(memory, described["memory"]),
        welfare=made["welfare"] if "welfare" in made else welfare.parse_welfare(judge["kind"], **judge["numbers"]),
        **{name: described[name] for name in PLAIN if name in described},
    )
    changed = [name for name in differing(described, description(problem)) if name in by_text] if by_text else []
    if changed:
        raise ValueError(f"the {listed(changed)} of that name differs from the one described")
    return problem


_READERS: dict[str, Callable[[str], Any]] = {
    "memory": memory.parse_memory,
    "welfare": welfare.parse_welfare,
    "scenario": catalogue.parse_scenario,
}
"""The functions that read the text of a part."""


def differing(one: Description, other: Description) -> list[str]:
    """The parts in which two descriptions differ."""
    return [name for name in one | other if _without_text(one.get(name)) != _without_text(other.get(name))]


def _without_text(part: object) -> object:
    """A part without its text, which older files lack."""
    return {name: it for name, it in part.items() if name != "text"} if isinstance(part, dict) else part


def _memory(it: Any) -> Description:
    if not _is_own_memory(it):
        return _foreign("memory", it)
    parts = memory_parameters(it).items()
    numbers = {name: _memory(part) if isinstance(part, memory.Memory) else part for name, part in parts}
    return {"kind": type(it).__name__, "numbers": numbers}


def _is_own_memory(it: Memory) -> bool:
    """Whether the memory, and the memory inside it where there is one, are bygones' own."""
    if getattr(memory, type(it).__name__, None) is not type(it):
        return False
    return not hasattr(it, "memory") or _is_own_memory(it.memory)


def _needs(it: Any) -> Description:
    if getattr(needs, type(it).__name__, None) is not type(it):
        return _foreign("needs", it)
    numbers = {name: _needs(part) if hasattr(part, "_fields") else part for name, part in it._asdict().items()}
    return {"kind": type(it).__name__, "numbers": numbers}


def _scenario(it: Scenario) -> Description:
    name = catalogue.name_of(it)
    # Needs have their own description.
    is_paper = isinstance(it, Allocation)
    numbers = {"horizon": it.horizon, "n_resources": it.n_served} if is_paper else it.arguments()
    if name is None:
        kind = f"{type(it).__module__}.{type(it).__qualname__}"
        return {"kind": kind, "numbers": numbers, "structure": "a scenario"}
    return {"kind": name, "numbers": numbers}


def _welfare(problem: FairProblem) -> Description:
    judge = problem.judge
    numbers = dict(judge.parameters)
    if getattr(judge, "function", None) is None:
        return {"kind": judge.name, "numbers": numbers}
    # Functions may share a name, as lambdas do; their values for two vectors tell them apart.
    ramp = np.linspace(0.1, 1.0, problem.n_agents)
    values = [float(f"{float(judge(Z)):.6g}") for Z in (ramp, 7 * ramp[::-1] ** 2)]
    return {**_foreign("welfare", judge), "kind": judge.name, "numbers": numbers, "values": values}


def _foreign(name: str, it: object) -> Description:
    """A part that is not bygones' own, as JAX sees it."""
    leaves, structure = _flattened(name, it)
    kind = f"{type(it).__module__}.{type(it).__qualname__}"
    return {"kind": kind, "numbers": leaves, "structure": re.sub(" at 0x[0-9a-f]+", "", structure)}


def _flattened(name: str, it: object) -> tuple[list[object], str]:
    """The numbers of a part, and the text of its structure; a part that JAX does not know is refused."""
    import jax

    import bygones.pytrees  # noqa: F401  (registers memories and welfare functions)

    if jax.tree_util.all_leaves([it]):
        raise ValueError(
            f"{name} must be registered with JAX to be learned with: decorate the class {type(it).__name__} "
            "with bygones.pytrees.register"
        )
    leaves, structure = jax.tree.flatten(it)
    return leaves, str(structure)


def _rebuilt(module: ModuleType, described: Description) -> Any:
    # A file may name anything, and only parts with public names there are made.
    public = [name for name, it in vars(module).items() if isinstance(it, type) and not name.startswith("_")]
    check_one_of("kind", described["kind"], public)
    kind = getattr(module, described["kind"])
    return kind(**{name: _rebuilt_number(module, value) for name, value in described["numbers"].items()})


def _rebuilt_number(module: ModuleType, value: object) -> object:
    if isinstance(value, dict):
        return _rebuilt(module, value)
    return np.array(value, float) if isinstance(value, list) else value
