"""Ctrl-C is put off, never lost, and takes effect where it is heeded."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from bygones.learn.interrupts import put_off


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_it_waits_for_the_end_of_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with put_off():
            press()
            press()
            done.append("the rest of the block")
        done.append("never")
    assert done == ["the rest of the block"]


def test_it_takes_effect_at_once_where_it_is_heeded() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as ctrl_c, ctrl_c.heeded():  # noqa: PT012
        press()
        done.append("never")
    assert done == []


def test_it_takes_effect_once() -> None:
    done = []
    with put_off() as ctrl_c:
        with pytest.raises(KeyboardInterrupt), ctrl_c.heeded():
            press()
        with ctrl_c.heeded():
            done.append("went on")
    assert done == ["went on"]


def test_one_that_waits_takes_effect_where_the_next_is_heeded() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as ctrl_c:  # noqa: PT012
        press()
        done.append("what must not be disturbed")
        with ctrl_c.heeded():
            done.append("never")
    assert done == ["what must not be disturbed"]


def test_a_second_one_does_not_disturb_the_clean_up_after_the_first() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as ctrl_c:  # noqa: PT012
        try:
            with ctrl_c.heeded():
                press()
        finally:
            press()
            done.append("all cleaned up")
    assert done == ["all cleaned up"]


def test_nor_does_it_disturb_a_clean_up_where_it_is_heeded() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as ctrl_c, ctrl_c.heeded():  # noqa: PT012
        try:
            press()
        finally:
            press()
            done.append("all cleaned up")
    assert done == ["all cleaned up"]


class Pressing:
    """Python drops whatever its destructor raises."""

    def __del__(self) -> None:
        press()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_python_drops_is_not_lost() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as ctrl_c:  # noqa: PT012
        with ctrl_c.heeded():
            Pressing()
            done.append("it was dropped")
        with ctrl_c.heeded():
            done.append("never")
    assert done == ["it was dropped"]


def test_blocks_in_blocks_pass_it_on_outwards() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), put_off() as outer:  # noqa: PT012
        with put_off() as inner, inner.heeded():
            press()
            done.append("the outer block does not heed it")
        done.append("nor does the inner one lose it")
        with put_off() as inner, inner.heeded(), outer.heeded():
            done.append("never")
    assert done == ["the outer block does not heed it", "nor does the inner one lose it"]


def test_a_handler_of_ones_own_is_called_where_it_is_heeded() -> None:
    called: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    try:
        with put_off() as ctrl_c:
            press()
            assert called == []
            with ctrl_c.heeded():
                assert called == [signal.SIGINT]
                press()
                press()
                assert called == 3 * [signal.SIGINT]
        assert called == 3 * [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_ignores_it_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with put_off() as ctrl_c, ctrl_c.heeded():
            press()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_in_another_thread_it_changes_nothing() -> None:
    handlers: list[object] = []

    def work() -> None:
        with put_off() as ctrl_c, ctrl_c.heeded():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
