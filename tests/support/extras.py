"""What an installation of bygones with given extras consists of, found in the metadata of what is installed here.

`without` writes a program for a fresh interpreter that can import the libraries of these extras and no others, as if
nothing else were installed. So tests need no environments of their own.
"""

import importlib.metadata as metadata
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {canonicalize_name(name): requirements for name, requirements in PROJECT["optional-dependencies"].items()}
TOOLS = {"docs", "dev", "soak", "parity", "benchmarks"}
"""Extras for those who work on bygones, not for those who use it."""


@cache
def libraries(*extras):
    """The names of the distributions that `pip install 'bygones[extras]'` brings, bygones itself excluded."""
    found, waiting = set(), [("bygones", frozenset(extras))]
    seen = set()
    while waiting:
        name, asked = waiting.pop()
        if (name, asked) in seen:
            continue
        seen.add((name, asked))
        for text in _requirements(name, asked):
            requirement = Requirement(text)
            # A marker such as `extra == "duckdb"` holds if that extra was asked for.
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in asked or {""}):
                other = canonicalize_name(requirement.name)
                waiting.append((other, frozenset(requirement.extras)))
                found.add(other)
    return found - {"bygones"}


def _requirements(name, asked):
    if name == "bygones":
        return [*PROJECT["dependencies"], *(text for extra in asked for text in EXTRAS[extra])]
    return metadata.requires(name) or []


@cache
def modules():
    """The top-level modules of every distribution that is installed here."""
    found = {}
    for module, names in metadata.packages_distributions().items():
        for name in names:
            found.setdefault(canonicalize_name(name), set()).add(module)
    return found


def megabytes(*extras):
    """The size of the files of what these extras bring, in MB."""
    return sum(map(_size, libraries(*extras))) / 1e6


@cache
def _size(name):
    there = metadata.distribution(name)
    paths = [there.locate_file(file) for file in there.files or []]
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def only(*extras):
    """Lines of Python after which a program can import the libraries of these extras and no others."""
    kept = set().union(*(modules().get(name, set()) for name in libraries(*extras)))
    others = set().union(*modules().values()) - kept - {"bygones", "__pycache__"}
    return f"""
import sys
from importlib.machinery import PathFinder

class Only(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {sorted(others)!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Only
for name in set({sorted(others)!r}) & set(sys.modules):
    del sys.modules[name]
"""


def run_with(extras, code, folder=None):
    """Runs a program where only these extras are installed."""
    command = [sys.executable, "-c", only(*extras) + code]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def command_with(extras, *arguments, folder=None):
    """Runs a command of bygones where only these extras are installed."""
    code = f"\nfrom bygones.cli.program import main\nmain({[str(argument) for argument in arguments]!r})\n"
    return run_with(extras, code, folder)
