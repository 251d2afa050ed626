"""Audits a history of events under several half-lives: who is owed, since when, and which conclusions hold.

For example:

    history = read_history("rides.parquet", agent="driver", time="at", utility="fare")
    print(audit(history, ["1d", "7d", "30d", "inf"]).conclusions.hold)

The names below are imported when they are first used: the command line lists log formats without importing an engine.
"""

from typing import TYPE_CHECKING

from bygones._parts import on_first_use

if TYPE_CHECKING:
    from bygones.audit.advice.advice import Advice, advise
    from bygones.audit.advice.advice_received import ReceivedAdvice, advise_received
    from bygones.audit.auditing import audit
    from bygones.audit.clock import Clock
    from bygones.audit.conclusion_words import Conclusion, Flip
    from bygones.audit.conclusions import Conclusions
    from bygones.audit.findings import Audit
    from bygones.audit.inputs.entitlements import Shares, read_shares
    from bygones.audit.inputs.history import History, read_history
    from bygones.audit.replays.courses import WhatIf, what_if
    from bygones.audit.replays.queue_replay import QueueReplay, replay_queue
    from bygones.audit.sums import Periods, Sums, expression
    from bygones.audit.trajectory import Trajectory

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
    "advise_received",
    "audit",
    "expression",
    "read_history",
    "read_shares",
    "replay_queue",
    "what_if",
]

_NAMES = {
    "advice.advice": ("Advice", "advise"),
    "advice.advice_received": ("ReceivedAdvice", "advise_received"),
    "auditing": ("audit",),
    "findings": ("Audit",),
    "clock": ("Clock",),
    "conclusion_words": ("Conclusion", "Flip"),
    "conclusions": ("Conclusions",),
    "replays.courses": ("WhatIf", "what_if"),
    "inputs.entitlements": ("Shares", "read_shares"),
    "inputs.history": ("History", "read_history"),
    "replays.queue_replay": ("QueueReplay", "replay_queue"),
    "sums": ("Periods", "Sums", "expression"),
    "trajectory": ("Trajectory",),
}
"""The module that defines each name."""


if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = on_first_use(__name__, _NAMES, "audit")
