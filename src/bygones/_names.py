"""Names that differ so little that they may be the same agent."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from bygones._text import listed

LONG = 7
"""From this many letters on, names that differ in one letter are pointed out."""

SHOWN = 5
"""The most pairs of names that are pointed out."""


_WITHOUT_STROKES = str.maketrans("łøđħŧı", "lodhti")
"""Letters that Unicode does not take apart, as it does é."""


def groups_alike(names: Sequence[str]) -> list[list[str]]:
    """Names that are the same but for capitals, accents, spaces and signs, or for one letter."""
    return spelled_alike(names) + _one_letter_apart({_key(name): name for name in names if _is_long(_key(name))})


def spelled_alike(names: Sequence[str]) -> list[list[str]]:
    """Names that are the same but for capitals, accents, spaces and signs."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_key(name), []).append(name)
    return [group for key, group in groups.items() if key and len(group) > 1]


def alike(names: Sequence[str]) -> list[str]:
    """A note about names that are nearly the same."""
    found = groups_alike(names)
    if not found:
        return []
    shown = "; ".join(listed([repr(name) for name in group], SHOWN) for group in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [f"Some names are nearly the same and count as different agents: {shown}{more}."]


def _one_letter_apart(names: dict[str, str]) -> list[list[str]]:
    """Pairs of long names with one letter more, less or different: without one letter, both are the same."""
    seen: dict[str, str] = {}
    found: dict[tuple[str, str], None] = {}
    for key in sorted(names):
        for shorter in {key, *(key[:i] + key[i + 1 :] for i in range(len(key)))}:
            other = seen.setdefault(shorter, key)
            if other != key and _differ_once(other, key):
                found[other, key] = None
    return [[names[one], names[two]] for one, two in found]


def _differ_once(one: str, two: str) -> bool:
    if abs(len(one) - len(two)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return one[start + (len(one) >= len(two)) :] == two[start + (len(two) >= len(one)) :]


def _key(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).casefold().translate(_WITHOUT_STROKES)
    return "".join(letter for letter in plain if letter.isalnum())


def _is_long(key: str) -> bool:
    return len(key) >= LONG and not any(letter.isdigit() for letter in key)
