"""Audits a history of events under several half-lives: who is owed, since when, and which conclusions hold.

For example:

    history = read_history("rides.parquet", agent="driver", time="at", utility="fare")
    print(audit(history, ["1d", "7d", "30d", "inf"]).conclusions.hold)

The names below are imported when they are first used: the command line lists log formats without importing an engine.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bygones.audit.auditing import Audit, audit
    from bygones.audit.clock import Clock
    from bygones.audit.conclusion_words import Conclusion, Flip
    from bygones.audit.conclusions import Conclusions
    from bygones.audit.courses import WhatIf, what_if
    from bygones.audit.entitlements import Shares, read_shares
    from bygones.audit.history import History, read_history
    from bygones.audit.queue_replay import QueueReplay, replay_queue
    from bygones.audit.sums import Periods, Sums, expression
    from bygones.audit.trajectory import Trajectory

__all__ = [
    "Audit",
    "Clock",
    "Conclusion",
    "Conclusions",
    "Flip",
    "History",
    "Periods",
    "QueueReplay",
    "Shares",
    "Sums",
    "Trajectory",
    "WhatIf",
    "audit",
    "expression",
    "read_history",
    "read_shares",
    "replay_queue",
    "what_if",
]

_NAMES = {
    "auditing": ("Audit", "audit"),
    "clock": ("Clock",),
    "conclusion_words": ("Conclusion", "Flip"),
    "conclusions": ("Conclusions",),
    "courses": ("WhatIf", "what_if"),
    "entitlements": ("Shares", "read_shares"),
    "history": ("History", "read_history"),
    "queue_replay": ("QueueReplay", "replay_queue"),
    "sums": ("Periods", "Sums", "expression"),
    "trajectory": ("Trajectory",),
}
"""The module that defines each name."""


def _import(name: str) -> object:
    """The public name, imported on first use (PEP 562)."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(importlib.import_module(f"bygones.audit.{module}"), name)
    raise AttributeError(f"module 'bygones.audit' has no attribute {name!r}", name=name)


if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = _import
