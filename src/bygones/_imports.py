"""Parts of one's own that a text names, as `module:name`, found where Python finds modules or in the current folder.

Only what people write themselves is imported, never a name that a file holds.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

_files: set[str] = set()
"""The files of the modules that were imported here."""


def imported(what: str, text: str) -> Any:
    """The part that `text` names, as `module:name`; None if the module has none of that name.

    Args:
        what: what the text names, for errors, such as `"scenario"`.
        text: such as `beds:Beds`.

    Raises:
        ValueError: there is no such module, or it cannot be imported.
    """
    module, _, name = text.partition(":")
    here = os.getcwd()
    if not {here, ""} & set(sys.path):
        sys.path.append(here)  # last, so that a file here never takes the place of a module that is installed
    importlib.invalidate_caches()
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = str(error.name)
        if f"{module}.".startswith(f"{missing}."):
            raise ValueError(
                f"{what} {text} is in no module that can be found: there is no {missing}.py in the current folder "
                f"({here}), and no module {missing} is installed"
            ) from None
        raise ValueError(
            f"{what} {text}: {_place(error)}: {missing}, which is imported there, is not installed"
        ) from None
    except SyntaxError as error:
        raise ValueError(f"{what} {text}: {error.filename}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise ValueError(f"{what} {text}: {_place(error)}: {_said(error)}") from None
    if found.__file__:
        _files.add(found.__file__)
    return getattr(found, name, None)


def blamed(error: Exception) -> str | None:
    """Where an error arose in a module that was imported here, and what it says; None if it did not arise there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _files]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {_said(error)}" if frames else None


def _place(error: Exception) -> str:
    """The file and line that could not be run."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"{own[-1].filename}, line {own[-1].lineno}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
