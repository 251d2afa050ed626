"""Audits a history of events under several half-lives: who is owed, since when, and which conclusions hold.

For example:

    history = read_history("rides.parquet", agent="driver", time="at", utility="fare")
    print(audit(history, ["1d", "7d", "30d", "inf"]).conclusions.hold)

The names below are imported when they are first used: the command line lists log formats without importing an engine.
"""

from typing import TYPE_CHECKING

from bygones._parts import on_first_use

if TYPE_CHECKING:
    from bygones.audit.advice.advice import Advice
    from bygones.audit.advice.with_needs import advise
    from bygones.audit.advice.without_needs import ReceivedAdvice
    from bygones.audit.measure.audit import audit
    from bygones.audit.measure.conclusions import Conclusion, Conclusions, Flip
    from bygones.audit.measure.findings import Audit
    from bygones.audit.measure.pasts import Trajectory
    from bygones.audit.measure.sums import Periods, Sums, expression
    from bygones.audit.read.clock import Clock
    from bygones.audit.read.entitlements import Shares, read_shares
    from bygones.audit.read.history import History, read_history
    from bygones.audit.replay.queue_replay import QueueReplay, replay_queue
    from bygones.audit.replay.what_if import WhatIf, what_if

__all__ = [
    "Advice",
    "Audit",
    "Clock",
    "Conclusion",
    "Conclusions",
    "Flip",
    "History",
    "Periods",
    "QueueReplay",
    "ReceivedAdvice",
    "Shares",
    "Sums",
    "Trajectory",
    "WhatIf",
    "advise",
    "audit",
    "expression",
    "read_history",
    "read_shares",
    "replay_queue",
    "what_if",
]

_NAMES = {
    "advice.advice": ("Advice",),
    "advice.with_needs": ("advise",),
    "advice.without_needs": ("ReceivedAdvice",),
    "measure.audit": ("audit",),
    "measure.conclusions": ("Conclusion", "Conclusions", "Flip"),
    "measure.findings": ("Audit",),
    "measure.sums": ("Periods", "Sums", "expression"),
    "measure.pasts": ("Trajectory",),
    "read.clock": ("Clock",),
    "read.entitlements": ("Shares", "read_shares"),
    "read.history": ("History", "read_history"),
    "replay.queue_replay": ("QueueReplay", "replay_queue"),
    "replay.what_if": ("WhatIf", "what_if"),
}
"""The module that defines each name."""


if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = on_first_use(__name__, _NAMES, "audit")
