"""The parts of bygones that are installed on request: the extras, and the libraries that each of them brings.

`pip install bygones` brings what memories, decisions and ledgers need. Every other library comes with an extra, and a
part without its library names the extra: `pip install 'bygones[figures]'`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_RESULTS = {"pyarrow", "scipy"}
_FIGURES = {"cycler", "matplotlib"}
_REPORT = {*_RESULTS, *_FIGURES, "jinja2", "markupsafe", "plotly"}
_AUDIT = {*_REPORT, "duckdb", "ibis", "psycopg"}
_ENVS = {*_FIGURES, "gymnasium", "pygame", "scipy"}

LIBRARIES = {
    "solvers": {"scipy"},
    "figures": _FIGURES,
    "results": _RESULTS,
    "report": _REPORT,
    "postgresql": {"psycopg"},
    "sign": {"cryptography"},
    "calendar": {"icalendar", "holidays"},
    "audit": _AUDIT,
    "spark": {*_AUDIT, "pyspark"},
    "learn": {"jax", "scipy"},
    "envs": _ENVS,
    "multi-agent": {*_ENVS, "pettingzoo"},
    "jaxmarl": {*_ENVS, "jax", "jaxmarl"},
    "sb3": {*_ENVS, "stable_baselines3", "torch"},
    "morl": {*_ENVS, "morl_baselines", "torch"},
    "tensorboard": {"tensorboardX"},
    "wandb": {"wandb"},
    "ray": {"ray"},
}
"""The libraries that an extra brings and bygones imports, by their names in Python. The first extra is the smallest."""


class MissingPartError(ModuleNotFoundError):
    """A library that a part of bygones needs is not installed; the message names the extra."""


def missing(what: str, module: str | None, extras: str | None = None) -> MissingPartError:
    """The error of a part that needs a module which is not installed.

    Args:
        what: the part, such as `"bygones.train"` or `"this command"`.
        module: the name of the module that was not found.
        extras: the extras that bring everything the part needs, with a comma between them. Another one is named if it
            brings the module and they do not.
    """
    library = (module or "").partition(".")[0]
    known = [extra for extra, libraries in LIBRARIES.items() if library in libraries]
    if known and not set(known) & set((extras or "").split(",")):
        extras = known[0]
    how = f": pip install 'bygones[{extras}]'" if extras else ""
    return MissingPartError(f"{what} needs {library}, which is not installed{how}", name=module)


@contextmanager
def needed_by(what: str, extras: str | None = None) -> Iterator[None]:
    """Names the part, and the extra to install, where a `with` block imports a library that is not installed.

    Args:
        what: the part, such as `"bygones.train"`.
        extras: the extras that bring everything the part needs.
    """
    try:
        yield
    except MissingPartError:
        raise
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if not any(library in libraries for libraries in LIBRARIES.values()):
            raise
        raise missing(what, error.name, extras) from error


def on_first_use(package: str, homes: Mapping[str, tuple[str, ...]], extras: str | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562) whose public names are imported when they are first used.

    Args:
        package: the name of the package.
        homes: the module that defines each name.
        extras: the extras that bring everything the package needs.
    """

    def find(name: str) -> Any:
        for module, names in homes.items():
            if name in names:
                with needed_by(f"{package}.{name}", extras):
                    return getattr(importlib.import_module(f"{package}.{module}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)

    return find
