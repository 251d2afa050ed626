"""The reference of the package: pages on which every public module lists its public names, from their docstrings."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from dataclasses import dataclass
from pathlib import Path

import bygones
from bygones.envs import catalogue


@dataclass(frozen=True)
class ModulePage:
    """A page of the reference: modules that are about the same thing."""

    title: str
    about: str
    modules: tuple[str, ...]


PAGES = {
    "memory": ModulePage("Memory", "memories, half-lives and bounds", ("memory", "decay", "stability")),
    "welfare": ModulePage(
        "Welfare and inequality",
        "welfare of recent totals, and inequality of totals received",
        ("welfare", "inequality", "kinds"),
    ),
    "allocation": ModulePage(
        "Allocation",
        "decisions with explanations, and policies played over many steps",
        (
            "allocation",
            "allocation.decide",
            "allocation.policy_contract",
            "allocation.tables",
            "allocation.solvers.enumerate",
            "simulation",
        ),
    ),
    "envs": ModulePage(
        "Environments",
        "the problem step by step, for Gymnasium and JAX",
        (
            *("envs", "envs.problem", "envs.episode", "envs.needs", "envs.functional", "envs.env", "envs.vector_env"),
            *("envs.wrappers", "envs.separate", "envs.registration"),
        ),
    ),
    "scenarios": ModulePage(
        "Scenarios",
        "worlds in which actions change the future",
        (
            *("envs.catalogue", "envs.scenario"),
            *(f"envs.scenarios.{name}" for name in catalogue.names()),
        ),
    ),
    "learn": ModulePage(
        "Learning",
        "learners, policies and runs",
        ("learn", "learn.learners", "learn.iterations", "learn.ppo", "learn.sb3", "learn.logging", "pytrees"),
    ),
    "ledger": ModulePage("Ledger", "a memory on disk between decisions", ("ledger", "ledger.proof.copies")),
    "audit": ModulePage("Audit", "a history under any half-life", ("audit", "audit.read.formats", "audit.read.sacct")),
    "paper": ModulePage(
        "The paper",
        "its examples, grid, results and claims, and the best possible policy",
        (
            *("paper.examples", "paper.grid", "paper.results", "paper.columns", "paper.evidence", "paper.claims"),
            *(
                "paper.judging",
                "paper.optimum",
                "paper.run",
                "paper.shipped_policies",
                "paper.progress",
            ),
        ),
    ),
    "report": ModulePage(
        "Pages and figures",
        "pages and figures for people",
        (
            *("document.document", "document.terminal", "document.notebook", "report.page", "report.style"),
            "report.paper.paper_page",
            *("report.paper.example_figures", "report.figures.policy_figures"),
            *("report.figures.plan_figures", "report.figures.newcomer_figures", "report.paper.paper_figures"),
        ),
    ),
    "cli": ModulePage(
        "The command line, extended",
        "the parts of custom commands",
        ("cli.program", "cli.console", "cli.arguments"),
    ),
}
"""The pages by their file names. Every module that a guide imports is on one of them; a test compares."""


def not_installed() -> list[str]:
    """The libraries that a module on these pages imports, and that the extra `docs` does not install."""
    return [name for name in ("stable_baselines3",) if importlib.util.find_spec(name) is None]


def write(folder: Path) -> None:
    """Writes the pages of the reference into a folder, with an overview of all modules."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.rst").write_text(_page(page), encoding="utf-8")
    (folder / "index.rst").write_text(_overview(), encoding="utf-8")


def _page(page: ModulePage) -> str:
    parts = [_heading(page.title, "="), f"{page.about[0].upper()}{page.about[1:]}.\n"]
    for module in page.modules:
        parts += [f".. _source-bygones.{module}:\n", _heading(f"bygones.{module}", "-"), _contents(f"bygones.{module}")]
    return "\n".join(parts)


def _contents(module: str) -> str:
    """A module and its names. Names from another public module are links to their explanation there."""
    listed = public_names(module)
    if not listed:
        return f".. automodule:: {module}\n   :members:\n"
    borrowed = {name: home for name in listed if (home := _home(module, name)) != module}
    # Names that are imported when they are first used have to be asked for one by one.
    parts = [f".. automodule:: {module}\n"]
    parts += [_directive(module, name) for name in listed if name not in borrowed]
    if borrowed:
        links = ", ".join(f"`~{home}.{name}`" for name, home in borrowed.items())
        parts.append(f"It also has these names of `{next(iter(borrowed.values()))}`: {links}.\n")
    return "\n".join(parts)


def _directive(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, type):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        return f".. {kind}:: {module}.{name}\n   :members:\n"
    return f".. {'autofunction' if inspect.isroutine(value) else 'autodata'}:: {module}.{name}\n"


def public_names(module: str) -> list[str]:
    """The names that a module lists as public; none if it has no such list, and all that it defines are."""
    return list(getattr(importlib.import_module(module), "__all__", ()))


def _home(module: str, name: str) -> str:
    """The public module that explains a name: the package that defines it, if that lists the name, or this one."""
    defined = getattr(getattr(importlib.import_module(module), name), "__module__", None) or module
    package = ".".join(defined.split(".")[:2])
    return package if not module.startswith(package) and name in public_names(package) else module


def _overview() -> str:
    lines = [
        _heading("Python reference", "="),
        "Every public name of bygones, from the docstrings. The names that are used most can be imported from",
        "``bygones`` itself:\n",
    ]
    for module, names in bygones._NAMES.items():
        lines.append(f"- `bygones.{module}`: {', '.join(f'`~bygones.{module}.{name}`' for name in names)}")
    lines += [
        "",
        "The types ``Array`` and ``Number`` stand for arrays and numbers of NumPy and of JAX, and "
        "``AnyArray`` takes lists too. ``Floats``, ``Ints`` and ``Bools`` are arrays of NumPy.",
    ]
    lines += ["", ".. list-table::", "   :header-rows: 1", "   :widths: 30 70", "", "   * - Page", "     - Modules"]
    for name, page in PAGES.items():
        modules = ", ".join(f":py:mod:`bygones.{module}`" for module in page.modules)
        lines += [f"   * - :doc:`{page.title} <{name}>`", f"     - {modules}"]
    return "\n".join(lines) + "\n"


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"
