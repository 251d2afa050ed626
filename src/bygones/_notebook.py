"""Progress in a notebook: one line that changes in place, where a terminal would have a bar.

Rich's own bars need another package in a notebook (ipywidgets) and complain if it is missing. A line of HTML does not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, cast

PAUSE = 0.2
"""Least seconds between two changes of a line."""


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Handle(Protocol):
    """An output that can change, as IPython makes it without types."""

    def display(self, content: dict[str, str], *, raw: bool) -> None: ...
    def update(self, content: dict[str, str], *, raw: bool) -> None: ...


class ProgressLine:
    """A bar and a sentence in the output of a cell."""

    def __init__(self) -> None:
        from IPython.display import DisplayHandle

        self._handle = cast(Callable[[], _Handle], DisplayHandle)()
        self._changed: float | None = None

    def show(self, share: float, text: str) -> None:
        """Shows which share of the work is done, and a sentence; too soon after the last time, nothing changes."""
        now = time.monotonic()
        if self._changed is not None and now - self._changed < PAUSE and share < 1:
            return
        content = {"text/html": progress_html(share, text), "text/plain": f"{share:.0%} {text}"}
        (self._handle.display if self._changed is None else self._handle.update)(content, raw=True)
        self._changed = now


def progress_html(share: float, text: str) -> str:
    """A bar as long as the share of the work that is done, the share and a sentence."""
    from bygones.document.notebook import bar, escaped

    words = f"{min(max(share, 0.0), 1.0):.0%} {text}"
    return f'<div style="font-size:.92em">{bar(share)} {escaped(words)}</div>'
