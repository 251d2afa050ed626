"""Where results come from: the software and hardware that computed them, and the command to do so again."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("jax", "jaxlib", "numba", "numpy", "pyarrow", "scipy")


@dataclass(frozen=True)
class Provenance:
    """What is written beside every run."""

    software: Mapping[str, str]
    hardware: str
    command: str


def here(place: str, command: str | None = None) -> Provenance:
    """The provenance of what is computed at a place; the command is this process's own unless another is given."""
    said = command if command is not None else f"{_program()} {shlex.join(sys.argv[1:])}"
    return Provenance(software_versions(), hardware(place), said)


def _program() -> str:
    """How this process was started, without the places of this machine: `python -m …`, or a script's name."""
    spec = sys.modules["__main__"].__spec__
    return Path(sys.argv[0]).name if spec is None else f"python -m {spec.name}"


def software_versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide the numbers, as far as they are installed."""
    installed = {package: _version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **{name: said for name, said in installed.items() if said}}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def hardware(place: str) -> str:
    """What computes at a place: this machine's processor, its accelerator, or a Ray cluster."""
    processor = f"{_processor()}, {os.cpu_count()} cores"
    if place == "ray":
        return f"Ray cluster, driven from {processor}"
    if place == "cpu":
        return processor
    import jax

    devices = jax.devices()
    return f"{len(devices)} × {devices[0].device_kind}, beside {processor}"


def _processor() -> str:
    """The processor's name as the system tells it, or at least its architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
