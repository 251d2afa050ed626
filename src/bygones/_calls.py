"""Texts that name something with its parameters, such as `alpha_fair(alpha=2)`, as people write them in settings."""

from __future__ import annotations

import ast


def as_call(what: str, text: str) -> tuple[str, dict[str, object]]:
    """The name in a text, and the parameters in its brackets. Nothing is executed: parameters are plain values.

    Args:
        what: what the text names, for the error.
        text: such as `nash`, `alpha_fair(alpha=2)` or `discounted(half_life=50)`.
    """
    name, opened, inside = text.strip().partition("(")
    name = name.strip().replace("-", "_")
    if not opened:
        return name, {}
    try:
        call = ast.parse(f"dict({inside}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            return name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        raise ValueError
    except (SyntaxError, ValueError):
        raise ValueError(f"{what} must be a name or name(parameter=number), got {text!r}") from None
