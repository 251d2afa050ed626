"""Audits a history of events under several half-lives: who is owed, since when, and which conclusions hold.

history = read_history("rides.parquet", agent="driver", time="at", utility="fare")
print(audit(history, ["1d", "7d", "30d", "inf"]).conclusions.hold)
"""

from bygones.audit.auditing import Audit, audit
from bygones.audit.clock import Clock
from bygones.audit.conclusions import Conclusion, Conclusions, Flip
from bygones.audit.history import History, read_history
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
    "Sums",
    "Trajectory",
    "audit",
    "expression",
    "read_history",
]
