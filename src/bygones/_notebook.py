"""Progress in a notebook: one line that changes in place, where a terminal would have a bar.

Rich's own bars need another package in a notebook (ipywidgets) and complain if it is missing. A line of HTML does not.
"""

from __future__ import annotations

import sys
import time
from typing import Any

TELL_EVERY = 0.2
"""Least seconds between two changes of a line."""


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class ProgressLine:
    """A bar and a sentence in the output of a cell."""

    def __init__(self) -> None:
        from IPython.display import DisplayHandle

        make: Any = DisplayHandle  # which has no types
        self._handle = make()
        self._told: float | None = None

    def show(self, share: float, text: str) -> None:
        """Shows which share of the work is done, and a sentence; too soon after the last time, nothing changes."""
        now = time.monotonic()
        if self._told is not None and now - self._told < TELL_EVERY and share < 1:
            return
        content = {"text/html": progress_html(share, text), "text/plain": f"{share:.0%} {text}"}
        (self._handle.display if self._told is None else self._handle.update)(content, raw=True)
        self._told = now


def progress_html(share: float, text: str) -> str:
    """A bar as long as the share of the work that is done, the share and a sentence."""
    from bygones.document.notebook import bar, escaped

    words = f"{min(max(share, 0.0), 1.0):.0%} {text}"
    return f'<div style="font-size:.92em">{bar(share)} {escaped(words)}</div>'
