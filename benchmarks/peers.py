"""Other people's software that benchmarks compare with. What is missing is named, with what to install."""

import importlib
import sys
from types import ModuleType


def peer(module: str) -> ModuleType | None:
    """Imports a library to compare with; says how to install it, and returns None, where it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(
            f"{module} is left out: {error.name} is not installed: pip install 'bygones[benchmarks]'", file=sys.stderr
        )
        return None
