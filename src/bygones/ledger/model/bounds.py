"""How large the numbers of a ledger may be.

The bounds are wider than anybody's amounts and narrow enough that no sum of them, however long the ledger, can become
infinite or not a number. The tables of a new ledger repeat them (`schema`), so that no program can get around them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bygones.ledger.model.times import UNITS, duration

LARGEST = 1e15
"""The largest amount of an event, above or below zero."""

LARGEST_CORRECTION = 2 * LARGEST
"""The largest correction, which takes an amount from one end to the other."""

LARGEST_SUM = 1e300
"""No snapshot holds more; only what is not finite could."""

ENTITLEMENTS = (1e-9, 1e9)
"""The smallest and the largest entitlement; of burdens 0 as well."""

HALF_LIVES = (1.0, 1000 * UNITS["y"])
"""The shortest and the longest half-life in seconds, if anything fades at all."""


def check_amount(name: str, amount: object, kind: str) -> float:
    """An amount within the bounds; only an offset may be below zero."""
    try:
        number = float(amount)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (abs(number) <= LARGEST and (number >= 0 or kind == "offset")):
        least = -LARGEST if kind == "offset" else 0
        raise ValueError(f"{name} must be a number from {least:g} to {LARGEST:g}, got {amount!r}")
    return number + 0.0  # SQLite drops the sign of a zero


def is_counted(amount: float) -> bool:
    """Whether an amount counts; not if it is beyond the bounds, which only an earlier version could record."""
    return abs(amount) <= LARGEST_CORRECTION


def counted(amount: float) -> float:
    """What an amount counts: nothing if it is beyond the bounds."""
    return amount if is_counted(amount) else 0.0


def check_start(agent: str, start: float) -> float:
    """What an agent starts with, which a newcomer rule may make larger than anybody could record."""
    if not abs(start) <= LARGEST:
        raise ValueError(
            f"{agent!r} would start with {start:g}, which must be at most {LARGEST:g}: give a number to start with"
        )
    return start


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuses rules beyond the bounds. Those that an earlier version recorded are read all the same."""
    half_lives = {
        f"half_life of {agent!r}": own for agent, own in settings.get("half_lives", {}).items() if own is not None
    }
    if "half_life" in settings:
        half_lives["half_life"] = settings["half_life"]
    for name, half_life in half_lives.items():
        seconds, (shortest, longest) = duration(half_life), HALF_LIVES
        if not (shortest <= seconds <= longest or math.isinf(seconds)):
            raise ValueError(
                f"{name} must be from 1s to {longest / UNITS['y']:g}y, or inf to remember everything, got {half_life!r}"
            )
    if (settings.get("cap") or 0.0) > LARGEST:
        raise ValueError(f"cap must be at most {LARGEST:g}, got {settings['cap']:g}")
    for agent, weight in settings.get("entitlements", {}).items():
        least, most = ENTITLEMENTS
        if not (least <= weight <= most or weight == 0):  # whether 0 is accepted depends on the kind, checked before
            raise ValueError(f"entitlement of {agent!r} must be from {least:g} to {most:g}, got {weight:g}")
    try:
        start = float(settings.get("newcomers", 0))
    except ValueError:  # the name of a newcomer rule
        return
    if start > LARGEST:
        raise ValueError(f"newcomers must start with at most {LARGEST:g}, got {start:g}")


def check_sums(names: Sequence[str], *sums: np.ndarray) -> None:
    """Refuses sums that are not finite, which only amounts from before there were bounds can lead to."""
    beyond = np.flatnonzero(~np.logical_and.reduce([np.abs(each) <= LARGEST_SUM for each in sums]))
    if len(beyond):
        raise ValueError(
            f"what is known of {names[beyond[0]]!r} is not a finite number, since an earlier version recorded amounts "
            f"beyond {LARGEST:g}: `bygones ledger verify` says which, and what to do"
        )
