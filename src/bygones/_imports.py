"""Custom parts that a text names as `module:name`, in the current folder or where Python looks for modules.

A name is imported if a person wrote it, never if it comes from a file.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

_files: set[str] = set()
"""The files of the modules that were imported here."""


def imported(what: str, text: str) -> object:
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
        sys.path.append(here)  # last: a file here must not hide an installed module
    importlib.invalidate_caches()
    try:
        parts = importlib.import_module(module)
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
        raise ValueError(f"{what} {text}: {_place(error)}: {_description(error)}") from None
    if parts.__file__:
        _files.add(parts.__file__)
    return getattr(parts, name, None)


def blamed(error: Exception) -> str | None:
    """The place and the message of an error in a module that was imported here; None if it arose elsewhere."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _files]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {_description(error)}" if frames else None


def _place(error: Exception) -> str:
    """The file and line that could not be run."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"{own[-1].filename}, line {own[-1].lineno}"


def _description(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
