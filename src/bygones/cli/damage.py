"""Whether it is the ledger that made a command fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dis import opname

from bygones._files import is_sqlite
from bygones.cli.arguments import DEFAULT_LEDGER

READERS = ("ledger", "audit", "what-if", "advise")
"""The commands that read ledgers."""


def is_sentence(error: Exception) -> bool:
    """Whether bygones itself raised an error, in words for people, and not a library, or Python on its own account."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    is_ours = str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "bygones"
    return is_ours and opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def damage_in(words: Sequence[str]) -> str | None:
    """What is wrong with a ledger that a command was given, in a sentence; None if nothing is.

    Code that reads a ledger relies on what was recorded. If something else is there, an error that nobody expected is
    the ledger's and not the code's.
    """
    from bygones.ledger import Ledger

    for word in (*words[1:], os.environ.get(DEFAULT_LEDGER, "")) if words[0] in READERS else ():
        if not is_sqlite(word) and not word.startswith("postgres"):
            continue
        try:
            ledger = Ledger.open(word)
        except ValueError:  # then the command did not get to it either
            continue
        with ledger:
            try:
                problems = ledger.verify().problems
            except ValueError as error:
                return str(error)
        if problems:
            return f"{ledger.name} is damaged: {problems[0]}; `bygones ledger verify` lists all problems"
    return None
