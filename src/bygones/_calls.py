"""Texts that name something with its parameters, such as `alpha_fair(alpha=2)`, as people write them in settings."""

from __future__ import annotations

import ast
import math


def as_call(what: str, text: str) -> tuple[str, dict[str, object]]:
    """The name in a text, and the parameters in its brackets. Nothing is executed: parameters are plain values.

    Args:
        what: what the text names, for the error.
        text: such as `nash`, `alpha_fair(alpha=inf)` or `discounted(half_life=50)`.
    """
    name, opened, inside = text.strip().partition("(")
    name = name.strip().replace("-", "_")
    if not opened:
        return name, {}
    try:
        call = ast.parse(f"dict({inside}", mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args and inside.endswith(")"):
            return name, {str(word.arg): _value(word.value) for word in call.keywords}
        raise ValueError
    except (SyntaxError, ValueError):
        raise ValueError(f"{what} must be a name or name(parameter=number), got {text!r}") from None


def _value(node: ast.expr) -> object:
    """A plain value; infinity has no literal of its own in Python."""
    return math.inf if isinstance(node, ast.Name) and node.id == "inf" else ast.literal_eval(node)
