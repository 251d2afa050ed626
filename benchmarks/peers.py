"""Other software for comparisons. If some is missing, it is named with the command that installs it."""

import importlib
import sys
from types import ModuleType


def peer(module: str) -> ModuleType | None:
    """Imports a library to compare with; if it is missing, prints how to install it and returns None."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(
            f"{module} is left out: {error.name} is not installed: pip install 'bygones[benchmarks]'", file=sys.stderr
        )
        return None
