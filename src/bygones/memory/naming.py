"""Memories by the name and the parameters that people write, such as `discounted(half_life=50)`."""

from __future__ import annotations

import inspect

from bygones._calls import as_call
from bygones.memory import NAMES
from bygones.memory.contract import Memory


def named(text: Memory | str) -> Memory:
    """The memory of a text; a memory is taken as it is.

    Raises:
        ValueError: no memory has this name, or it does not take these parameters.
    """
    if isinstance(text, Memory):
        return text
    name, parameters = as_call("memory", text)
    if name not in NAMES:
        raise ValueError(f"memory must be one of {', '.join(NAMES)}, got {text!r}")
    takes = list(inspect.signature(NAMES[name]).parameters)
    for word in parameters:
        if word not in takes:
            raise ValueError(f"memory {name} takes {', '.join(takes) or 'no parameters'}, got {word!r}")
    needed = [each.name for each in inspect.signature(NAMES[name]).parameters.values() if each.default is each.empty]
    missing = [word for word in needed if word not in parameters]
    if missing:
        raise ValueError(f"memory {name} needs {' and '.join(missing)}, got {text!r}")
    try:
        found: Memory = NAMES[name](**parameters)
    except TypeError as error:
        raise ValueError(f"memory {text!r} cannot be made: {error}") from None
    return found
