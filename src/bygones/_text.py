"""Numbers formatted for people, in tables, pages and sentences."""

from __future__ import annotations


def amount(value: float, digits: int = 3, sign: bool = False) -> str:
    """Formats an amount: `digits` significant digits if small, a whole number with thousands separators if large."""
    value = 0.0 if abs(value) < 1e-12 else value
    plus = "+" if sign and value else ""
    return f"{value:{plus},.0f}" if 10.0**digits <= abs(value) < 1e15 else f"{value:{plus},.{digits}g}"


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
