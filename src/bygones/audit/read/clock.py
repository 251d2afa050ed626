"""The meaning of times in a history: instants in a time zone, or step numbers.

An instant is a whole number of microseconds since 1970 in UTC, as in the ledger. Lengths of time, such as half-lives,
are durations such as `7d` if times are instants, and plain numbers if times are step numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bygones import _times
from bygones.ledger.model.times import SECOND, UNITS, as_datetime, duration, iso

PERIODS = 60
"""A history is split into at most this many periods, unless their length is given."""

MOST_PERIODS = 2000
"""The largest number of periods that may be asked for."""

_NICE = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400)
_NICE_DAYS = (2, 7, 14, 28, 91, 182, 365)
_LANDMARKS = ((1, "min"), (10, "min"), (1, "h"), (6, "h"), (1, "d"), (7, "d"), (30, "d"), (90, "d"), (1, "y"), (5, "y"),
              (20, "y"), (100, "y"), (1000, "y"))  # fmt: skip
_CLOSE = 2.2


@dataclass(frozen=True)
class Clock:
    """How times are read and written.

    Attributes:
        steps: whether times are step numbers.
        zone: the time zone in which instants are shown.
        assumed: whether times came without a time zone, so they were read as times in `zone`.
    """

    steps: bool = False
    zone: str = "UTC"
    assumed: bool = False

    def length(self, value: str | float, name: str = "half_life") -> float:
        """A length of time in microseconds or steps: above 0, perhaps infinite."""
        if not self.steps:
            return duration(str(value), name) * SECOND
        accepted = "a number of steps above 0, or inf, because the times in this history are step numbers"
        try:
            steps = float(value)
        except ValueError:
            raise ValueError(f"{name} must be {accepted}, got {value!r}") from None
        if not steps > 0:
            raise ValueError(f"{name} must be {accepted}, got {value!r}")
        return steps

    def moment(self, text: str, name: str = "at") -> float | int:
        """Parses a date or time, in the clock's zone unless the text names another, or a step number."""
        if self.steps:
            try:
                step = float(text)
            except ValueError:
                step = math.nan
            if not math.isfinite(step):
                raise ValueError(f"{name} must be a step number, as in the history, got {text!r}")
            return step
        return _times.instant(text, name, self.zone)

    def shown(self, at: float) -> str:
        """A moment for people, to the minute."""
        return f"{at:,.12g}" if self.steps else self._local(at).strftime("%Y-%m-%d %H:%M")

    def day(self, at: float) -> str:
        """A moment for people, to the day."""
        return f"{at:,.12g}" if self.steps else self._local(at).strftime("%Y-%m-%d")

    def json_time(self, at: float) -> str | float:
        """A moment for JSON: ISO 8601 in UTC, or the step number."""
        return at if self.steps else iso(round(at))

    def drawn(self, at: float) -> str | float:
        """A moment for a chart: local time without its zone, or the step number."""
        return at if self.steps else self._local(at).replace(tzinfo=None).isoformat()

    def length_text(self, length: float) -> str:
        """A length of time for people: `11.3d`, `90min`, or a number of steps."""
        if math.isinf(length):
            return "inf"
        return "".join(self._number_and_unit(length))

    def time_text(self, length: float) -> str:
        """How long something lasts, in a sentence: `2.98 min`, or a number of steps."""
        return " ".join(self._number_and_unit(length))

    def _number_and_unit(self, length: float) -> tuple[str, ...]:
        if self.steps:
            return (f"{length:.3g}" if length < 1e3 else f"{length:,.0f}",)
        seconds = length / SECOND
        unit = next((unit for unit in ("y", "d", "h", "min") if seconds >= {"y": 2}.get(unit, 1) * UNITS[unit]), "s")
        return f"{seconds / UNITS[unit]:.3g}", unit

    def period(self, span: float) -> float:
        """A round length that splits the span into at most `PERIODS` periods."""
        if span <= 0:
            return 1.0 if self.steps else UNITS["d"] * SECOND
        least = span / PERIODS
        if self.steps:
            scale = 10.0 ** math.floor(math.log10(least))
            return next(scale * n for n in (1, 2, 5, 10, 20) if scale * n >= least)
        for nice in (*_NICE, *(days * 86400 for days in _NICE_DAYS)):
            if nice * SECOND >= least:
                return float(nice * SECOND)
        return math.ceil(least / (365 * 86400 * SECOND)) * 365.0 * 86400 * SECOND

    def landmarks(self, taken: Sequence[float]) -> list[float]:
        """Round half-lives within the range of these, none so close to one of them that axis labels would overlap."""
        low, high = min(taken), max(filter(math.isfinite, taken))
        if self.steps:
            round_ones = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
        else:
            round_ones = [n * UNITS[unit] * SECOND for n, unit in _LANDMARKS]
        finite = [each for each in taken if math.isfinite(each)]
        return [h for h in round_ones if low < h < high and all(max(h / t, t / h) > _CLOSE for t in finite)]

    def sentence(self) -> str:
        """How times were read and are shown, in one sentence."""
        if self.steps:
            return "Times are step numbers."
        if self.assumed:
            return f"Times without a time zone were read as {self.zone}; all times are shown in {self.zone}."
        return f"All times are shown in {self.zone}."

    def _local(self, at: float) -> datetime:
        return as_datetime(round(at)).astimezone(ZoneInfo(self.zone))


def offsets(zone: str, first: int, last: int) -> list[tuple[int, int]]:
    """The zone's offsets from UTC between two local times, each with the local time from which on it holds.

    All values are in microseconds; the first offset holds from the beginning. A local time that occurs twice is read as
    the earlier instant, and one that a clock change skips is read with the offset before the change.
    """
    changes = [(first, _offset(zone, first))]
    step = 7 * 86400 * SECOND
    at = first
    while at < last:
        ahead = min(at + step, last)
        if _offset(zone, ahead) != changes[-1][1]:
            low, high = at, ahead
            while high - low > SECOND:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(zone, middle) == changes[-1][1] else (low, middle)
            # Zones change on whole minutes.
            edge = -(-low // (60 * SECOND)) * 60 * SECOND
            changes.append((edge, _offset(zone, edge)))
        at = ahead
    return changes


def _offset(zone: str, local: int) -> int:
    offset = as_datetime(local).replace(tzinfo=ZoneInfo(zone), fold=0).utcoffset()
    return (offset or timedelta()) // timedelta(microseconds=1)
