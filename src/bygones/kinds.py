"""Goods and burdens: the two kinds of things that are allocated, and the words for them.

A *good* is something people want: the agent with the lowest recent total is owed. A *burden* is work that someone has
to do: the person with the lowest recent workload is due next. The sums are the same, so one memory serves both. Only
the direction and the words differ.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from bygones._arrays import check_one_of
from bygones._text import check_text, exact, number_in_words, plural

Kind = Literal["good", "burden"]
"""good: something people want. burden: work that someone has to do."""


LONGEST_WORD = 40
"""The most characters of the word for a thing, and of its unit."""


class Words(NamedTuple):
    """The words of one kind.

    Attributes:
        gets: the verb of an agent who is given something.
        receive: the same in the infinitive.
        received: the same in the past tense.
        owed: the state of an agent below its share.
        owes: the verb of an agent below its share, before the amount.
        recent: the name of the number that the memory holds.
        share: the name of an agent's fair part.
        one: the name of a place without a name.
        least: the same number of the agent whose turn it is.
        others: the agents a choice was made among.
    """

    gets: str
    receive: str
    received: str
    owed: str
    owes: str
    recent: str
    share: str
    one: str
    least: str
    others: str


_WORDS = {
    "good": Words(
        gets="gets", receive="receive", received="received", owed="owed", owes="is owed", recent="recent total",
        share="entitled share", one="place", least="lowest recent total", others="who asked",
    ),
    "burden": Words(
        gets="takes", receive="work", received="worked", owed="due", owes="owes", recent="recent work",
        share="share of the load", one="job", least="lowest recent workload", others="available",
    ),
}  # fmt: skip

_TIMES = {"h": "hour", "hour": "hour", "hours": "hour", "min": "minute", "minutes": "minute", "d": "day", "days": "day"}
# An 8-hour shift, an 11-hour shift, an 18-hour shift, but a 110-hour one; an evening, but a unit.
_VOWEL = re.compile(r"8|1[18](?!\d)|hour|(?!uni|use|eu|one)[aeiou]", re.IGNORECASE)


class Thing(NamedTuple):
    """A name and a unit for the things that are allocated.

    Attributes:
        name: in the singular, such as `shift` or `dose`; empty if it has none.
        unit: the unit of its amounts, such as `h` or `GPU-hours`; empty if they have none.
    """

    name: str = ""
    unit: str = ""

    def with_unit(self, number: str) -> str:
        """A number with its unit: `3.2 h`, `1 GPU-hour`, `12 GPU-hours`."""
        is_plural = len(self.unit) > 3 and self.unit[-1] == "s" and self.unit[-2].isalpha() and self.unit[-2] != "s"
        return f"{number} {self.unit[:-1] if number == '1' and is_plural else self.unit}".strip()

    def entry(self, kind: Kind) -> str:
        """The word for one record: `shift` or `dose`, but an `entry` of GPU-hours, not a GPU."""
        is_lent = self.name.casefold() in self.unit.casefold() or (kind == "good" and self.unit in _TIMES)
        return "entry" if is_lent or not self.name else self.name

    def item(self, name: str) -> str:
        """An item by its name: `the night shift`, or just `night`."""
        return f"the {name} {self.name}" if self.name else name

    def part(self, part: float, whole: float) -> str:
        """A part of an amount: `30 doses`, or `30 of 100`."""
        number = exact(part)
        if self.unit:
            return self.with_unit(number)
        return f"{number} {plural(self.name, part)}" if self.name else f"{number} of {exact(whole)}"

    def place(self, worth: float, kind: Kind, is_only: bool, brief: bool = False) -> str:
        """One of several places, or the only one: `the 10-hour shift`, `12 GPU-hours`, `a place (need 3)`.

        Args:
            worth: the agent's need, or the load of a burden.
            kind: good or burden.
            is_only: whether there is no other place.
            brief: leaves out the need or load in brackets, where a table shows it.
        """
        number, name, hours = exact(worth), self.name or words(kind).one, _TIMES.get(self.unit)
        if kind == "good" and self.unit and not self.name:
            return self.with_unit(number)
        if hours:
            name = f"{number}-{hours} {name}" if kind == "burden" else f"{name} for {self.with_unit(number)}"
        elif self.unit:
            name = f"{name} ({self.with_unit(number)})"
        elif not brief and worth != 1:
            name = f"{name} ({'load' if kind == 'burden' else 'need'} {number})"
        return f"the {name}" if is_only else f"{'an' if _VOWEL.match(name) else 'a'} {name}"


UNNAMED = Thing()
"""Something that has no name and no unit."""


def check_word(name: str, word: object) -> str:
    """The word for a thing or for its unit, refused if it is too long or cannot be printed."""
    text = check_text(name, word)
    if len(text) > LONGEST_WORD:
        raise ValueError(f"{name} must have at most {LONGEST_WORD} characters, got {text!r}")
    return text


def check_kind(kind: object) -> Kind:
    """The kind, refused unless it is `good` or `burden`."""
    check_one_of("kind", kind, get_args(Kind))
    return "burden" if kind == "burden" else "good"


def words(kind: Kind) -> Words:
    """The words for goods or for burdens."""
    return _WORDS[kind]


def of_the(count: int, kind: Kind) -> str:
    """Among how many agents a choice was made: `of the three available`, `of the two who asked`."""
    return f"of the {number_in_words(count)} {words(kind).others}"
