"""Text for people, in tables, pages and sentences: numbers, lists, names, notes, and text safe for a terminal."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Sequence

LONGEST_TEXT = 500
"""The most characters of an agent's name or a note."""

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NOTHING = 1e-12
_WIDEST = 1e6
_ALIKE = 1e-3
"""Numbers that differ by less are shown alike: nobody acts on a thousandth."""
_MORE_DECIMALS = 2
_EXACT = 4
_ROUNDING = 1e-9

_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# A joiner and a variation selector belong to an emoji, such as 👩‍💻 and ❤️; anywhere else, nobody sees them.
_STRAY = f"(?<![{_EMOJI}])\ufe0f|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
_HIDDEN = re.compile(f"[{_INVISIBLE}]|{_STRAY}")
_UNPRINTABLE = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff{_INVISIBLE}]|{_STRAY}")
_UNPRINTABLE_IN_JSON = re.compile(f"[\x7f-\x9f\ud800-\udfff{_INVISIBLE}]|{_STRAY}")


def amount(value: float, digits: int = 3, sign: bool = False) -> str:
    """Formats an amount: `digits` significant digits if small, a whole number with thousands separators if large."""
    value = 0.0 if abs(value) < _NOTHING else value
    plus = "+" if sign and value else ""
    is_large = 10.0**digits <= abs(float(f"{value:.{digits}g}")) < 1e15
    return f"{value:{plus},.0f}" if is_large else f"{value:{plus},.{digits}g}"


def is_exact(value: float) -> bool:
    """Whether four decimals show all of a number, as of most amounts that people enter."""
    return not math.isfinite(value) or abs(round(value, _EXACT) - value) <= _ROUNDING * max(1.0, abs(value))


def exact(value: float) -> str:
    """An amount as it was entered, without zeros at its end; with four significant digits if it has many decimals."""
    if not is_exact(value) or not abs(value) < 1e15:
        return amount(value, _EXACT)
    number = f"{round(value, _EXACT) + 0.0:,.{_EXACT}f}"  # no minus before a zero
    return number.rstrip("0").rstrip(".")


def rounded(value: float, decimals: int | None, sign: bool = False) -> str:
    """A number with the decimals of its column; None if the numbers of the column differ too much in size."""
    if decimals is None or not math.isfinite(value):
        return amount(value, sign=sign)
    number = round(value, decimals) + 0.0  # no minus before a zero
    if sign and not number:
        return "0"
    return f"{number:{'+' if sign else ''},.{decimals}f}"


def decimals_of(values: Sequence[float]) -> int | None:
    """With how many decimals the numbers of a column are shown: enough for three digits of the largest, and for each to
    differ from the others where it does. None if they differ too much in size, and each needs its own.
    """
    known = sorted({abs(value) for value in values if math.isfinite(value) and abs(value) >= _NOTHING})
    if not known or all(value == round(value) for value in known):
        return 0
    largest, smallest = known[-1], known[0]
    if largest >= _WIDEST * smallest or largest >= _WIDEST or largest < 1 / _WIDEST:
        return None
    least = max(0, 2 - math.floor(math.log10(largest)))
    apart = [b for a, b in itertools.pairwise(known) if b - a > _ALIKE * b]
    for decimals in range(least, least + _MORE_DECIMALS):
        is_apart = len({round(value, decimals) for value in (known[0], *apart)}) == 1 + len(apart)
        if is_apart and round(smallest, decimals):  # a small number is not shown as none
            return decimals
    return least + _MORE_DECIMALS


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 event`, `2 events`."""
    return f"{number:,} {plural(noun, number)}"


def plural(noun: str, number: float = 2) -> str:
    """A noun in the singular or the plural, as a number asks for: `dose`, `doses`, `batches`, `deliveries`."""
    if number == 1:
        return noun
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def number_in_words(number: int) -> str:
    """A small number as a word, a larger one in digits."""
    return _NUMBERS[number] if 0 <= number < len(_NUMBERS) else f"{number:,}"


def capitalized(text: str) -> str:
    """A sentence with a capital at its beginning; nothing else changes."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(clause: str) -> str:
    """A clause with a full stop, unless it ends with one already, as a name such as `Acme Inc.` does."""
    return clause if clause.endswith((".", "!", "?")) else f"{clause}."


def listed(words: Sequence[str], most: int | None = None) -> str:
    """A list in a sentence: `a`, `a and b`, `a, b and c`; with more than `most` words, it ends in `and 20 others`.

    Semicolons separate words that have commas: `Krüger, Ben; Ana; and Cem`.
    """
    if most is not None and len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    comma, last = ("; ", "; and ") if any(", " in word for word in words) else (", ", " and ")
    return last.join([*([comma.join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def printable(text: str) -> str:
    r"""The text in a line of a terminal: all that would move the cursor, colour or reorder it, or hide, is spelled out.

    Control characters, line breaks included, become escapes such as `\x1b` and `\n`; so do bidirectional and zero-width
    characters and the lone surrogates of broken file names. Everything printed goes through this function.
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_json(text: str) -> str:
    """JSON that means the same and is safe in a terminal: what `printable` escapes, as JSON escapes it."""
    return _UNPRINTABLE_IN_JSON.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def check_name(what: str, text: object) -> str:
    """The name of a new agent: text that people can tell apart, so nothing in it is invisible or changes direction."""
    name = check_text(what, text, empty=False)
    if _HIDDEN.search(name):
        raise ValueError(
            f"{what} must not contain invisible or bidirectional characters, which make different names look the "
            f"same, got {printable(name)!r}"
        )
    return name


def check_text(name: str, text: object, *, empty: bool = True) -> str:
    """Text that can stand in a terminal, a table and a database: in one Unicode spelling, without control characters.

    Everything else is data: quotes, emoji, markup and formulas are kept.
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
