"""Jobs for processes of their own, and a program to kill in the middle of some."""

import os
import signal
import threading
from pathlib import Path

LONG = "told " * 2000
"""More than six of these do not fit into a pipe of 64 KiB."""


def tell_much(tell, name, n):
    for i in range(n):
        tell((name, i, LONG))
    return name


def tell_for_ever(tell):
    while True:
        tell(LONG)


def say_nothing_for_ever(tell):
    tell(os.getpid())
    threading.Event().wait()


def either(tell, fails):
    if fails:
        raise ValueError("this one fails")
    tell_for_ever(tell)


def tell_who_and_much(tell):
    tell(os.getpid())
    tell(LONG * 1000)


def see_surroundings(tell):
    os.kill(os.getpid(), signal.SIGINT)
    pairs = Path("/proc/self/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


if __name__ == "__main__":
    from bygones.learn.processes import in_processes
    from support import jobs

    for _ in in_processes(
        jobs.say_nothing_for_ever, [(), ()], lambda _, pid: print(pid, flush=True), workers=2, environment={}
    ):
        pass
