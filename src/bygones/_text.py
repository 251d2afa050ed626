"""Text for people, in tables, pages and sentences: numbers, lists, names and notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

LONGEST_TEXT = 500
"""The most characters of an agent's name or a note."""


def amount(value: float, digits: int = 3, sign: bool = False) -> str:
    """Formats an amount: `digits` significant digits if small, a whole number with thousands separators if large."""
    value = 0.0 if abs(value) < 1e-12 else value
    plus = "+" if sign and value else ""
    is_large = 10.0**digits <= abs(float(f"{value:.{digits}g}")) < 1e15
    return f"{value:{plus},.0f}" if is_large else f"{value:{plus},.{digits}g}"


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(clause: str) -> str:
    """A clause with a full stop, unless it ends with one already, as a name such as `Acme Inc.` does."""
    return clause if clause.endswith((".", "!", "?")) else f"{clause}."


def listed(words: Sequence[str], most: int | None = None) -> str:
    """A list in a sentence: `a`, `a and b`, `a, b and c`; with more than `most` words, it ends in `and 20 others`."""
    if most is not None and len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def check_text(name: str, text: object, *, empty: bool = True) -> str:
    """Text that can stand in a terminal, a table and a database: in one Unicode spelling, without control characters.

    Everything else is data: quotes, emoji, markup and formulas are kept as they are.
    """
    clean = unicodedata.normalize("NFC", str(text)).strip()
    # Everything printable is fine; of the rest, such as joined emoji, only these categories are not.
    if not clean.isprintable() and any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in clean):
        raise ValueError(f"{name} must not contain control characters, got {str(text)!r}")
    if not clean and not empty:
        raise ValueError(f"{name} must not be empty")
    if len(clean) > LONGEST_TEXT:
        raise ValueError(f"{name} must have at most {LONGEST_TEXT} characters, got {len(clean)}")
    return clean
