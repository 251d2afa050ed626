"""Figures that come with an answer: drawn where Matplotlib is installed, and never in the way of the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bygones._parts import MissingPartError
from bygones.cli.console import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_beside(draw: Callable[[], Figure], out: Path, name: str) -> list[Path]:
    """Draws a figure and saves it; where Matplotlib is missing, prints which extra brings it and returns no paths."""
    from bygones.report.style import save

    try:
        return save(draw(), out, name)
    except MissingPartError as error:
        say(f"no figure: {error}", error=True)
        return []
