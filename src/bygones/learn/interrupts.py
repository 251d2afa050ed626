"""Ctrl-C, put off while it would do harm.

A library with its own threads and processes, such as Ray, can crash or leave processes behind when its calls are left
halfway. In a block `with put_off() as ctrl_c`, Ctrl-C takes effect inside `with ctrl_c.heeded()`. Anywhere else it
waits: until the next such place, or until the end of the block.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


class CtrlC:
    """The handling of Ctrl-C in a block of `put_off`.

    Args:
        usual: the handler otherwise; Python's own handler raises `KeyboardInterrupt`.
    """

    def __init__(self, usual: Handler) -> None:
        self._usual = usual
        self._heeding = False
        self._waiting = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Ctrl-C takes effect in this block, and so does one that was put off before."""
        self._heeding = True
        try:
            self.make_up()
            yield
        except BaseException:
            self._waiting = False  # it has taken effect
            raise
        finally:
            self._heeding = False

    def make_up(self) -> None:
        """Lets a Ctrl-C that was put off take effect now."""
        if self._waiting:
            self._waiting = False
            self._usual(signal.SIGINT, None)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Called by Python in the main thread, between any two of its instructions."""
        # Python drops exceptions raised in a destructor or in a callback of its garbage collector. So this Ctrl-C waits
        # for the next chance, unless it reaches the end of the block.
        self._waiting = True
        if self._heeding:
            self._heeding = False  # a clean-up follows, which the next Ctrl-C must not disturb
            self._usual(number, frame)
            self._heeding, self._waiting = True, False


@contextmanager
def put_off() -> Iterator[CtrlC]:
    """Puts off Ctrl-C to the places where it is heeded, or to the end of this block.

    Python handles signals in its main thread, so in any other thread this does nothing. It does nothing either if this
    process does not handle Ctrl-C itself, for example because it runs in the background of a shell.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield CtrlC(lambda number, frame: None)
        return
    ctrl_c = CtrlC(usual)
    signal.signal(signal.SIGINT, ctrl_c.handle)
    try:
        yield ctrl_c
    finally:
        signal.signal(signal.SIGINT, usual)
        ctrl_c.make_up()
