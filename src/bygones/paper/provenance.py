"""The provenance of results: the software, commit and hardware that computed them, and the command to do so again."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bygones._secrets import redacted

PACKAGES = ("jax", "jaxlib", "numpy", "pyarrow", "scipy")
CHECKOUT = Path(__file__).parents[3]
"""The checkout that this code is part of, unless it was installed from a wheel."""


@dataclass(frozen=True)
class Provenance:
    """The origin of a run, which is stored with it.

    Attributes:
        software: versions of Python and of the packages that decide the numbers.
        hardware: the machine or cluster.
        command: how to run it again.
        commit: that of the checkout that bygones ran from, see `commit`.
    """

    software: Mapping[str, str]
    hardware: str
    command: str
    commit: str | None = None


def here(place: str, command: str | None = None) -> Provenance:
    """The provenance of results from a place; the command is this process's own unless another is given."""
    own = f"{_program()} {shlex.join(sys.argv[1:])}"
    return Provenance(software_versions(), hardware(place), redacted(own if command is None else command), commit())


def commit(checkout: Path = CHECKOUT) -> str | None:
    """The git commit of a checkout, with `+changes` if its sources differ from that commit.

    Only changes under `src` count, new files included, because no others can change a result. None where this is not a
    checkout, as when bygones was installed from a wheel, or where git cannot read it.
    """
    if not (checkout / ".git").exists():
        return None
    try:
        head = _git(checkout, "rev-parse", "HEAD")
        return f"{head}+changes" if _git(checkout, "status", "--porcelain", "--", "src") else head
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _program() -> str:
    """How this process was started, without the paths of this machine: `python -m …`, or a script's name."""
    spec = sys.modules["__main__"].__spec__
    return Path(sys.argv[0]).name if spec is None else f"python -m {spec.name}"


def software_versions() -> dict[str, str]:
    """Versions of Python and of the installed packages that decide the numbers."""
    installed = {package: _version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **{name: version for name, version in installed.items() if version}}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def hardware(place: str) -> str:
    """The hardware at a place: this machine's processor, its accelerator, or a Ray cluster."""
    processor = f"{_processor()}, {os.cpu_count()} cores"
    if place == "ray":
        return f"Ray cluster, driven from {processor}"
    if place == "cpu":
        return processor
    import jax

    devices = jax.devices()
    return f"{len(devices)} × {devices[0].device_kind}, beside {processor}"


def _processor() -> str:
    """The processor's name as the system reports it, or at least its architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
