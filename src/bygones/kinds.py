"""Goods and burdens: what is handed out, and the words for it.

A *good* is worth having: the agent with the lowest recent total is owed. A *burden* is work that someone has to do: the
person with the least recent work is due next. The sums are the same, so a memory of burdens is a memory; what differs
is which way is better, and the words.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from bygones._arrays import check_one_of
from bygones._text import amount, number_in_words

Kind = Literal["good", "burden"]
"""Whether what is handed out is worth having, or work that someone has to do."""


class Words(NamedTuple):
    """The words of one kind.

    Attributes:
        gets: what an agent who is given something does.
        receive: what an agent would do with it.
        received: what an agent has done with everything given so far.
        owed: what an agent below its share is.
        owes: what an agent below its share does, before the amount.
        recent: what the memory holds of an agent.
        share: what an entitlement is a claim to.
        one: what is handed out, unless it has a name.
        least: what the agent whose turn it is has.
        others: those among whom a decision is made.
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
        share="share of the load", one="job", least="least recent work", others="available",
    ),
}  # fmt: skip

_TIMES = {"h": "hour", "hour": "hour", "hours": "hour", "min": "minute", "minutes": "minute", "d": "day", "days": "day"}


class Thing(NamedTuple):
    """What is handed out, in the words of those who hand it out.

    Attributes:
        name: in the singular, such as `shift` or `dose`; empty if it has none.
        unit: that of its amounts, such as `h` or `GPU-hours`; empty if they have none.
    """

    name: str = ""
    unit: str = ""

    def with_unit(self, text: str) -> str:
        """A number with the unit."""
        return f"{text} {self.unit}" if self.unit else text

    def item(self, name: str) -> str:
        """An item that has a name of its own: `the night shift`, or just `night`."""
        return f"the {name} {self.name}" if self.name else name

    def part(self, part: float, whole: float) -> str:
        """A part of an amount: `30 doses`, or `30 of 100`."""
        many = self.unit or (self.name if part == 1 else f"{self.name}s" if self.name else "")
        return f"{amount(part, 4)} {many}" if many else f"{amount(part, 4)} of {amount(whole, 4)}"

    def place(self, worth: float, kind: Kind, is_only: bool) -> str:
        """One of several places, or the only one: `the 10-hour shift`, `12 GPU-hours`, `a place (need 3)`."""
        number, name, hours = amount(worth, 4), self.name or words(kind).one, _TIMES.get(self.unit)
        if kind == "good" and self.unit and not self.name:
            return f"{number} {self.unit}"
        the = "the" if is_only else "a"
        if kind == "burden" and hours:
            the = "an" if not is_only and number.startswith(("8", "11", "18")) else the
            return f"{the} {number}-{hours} {name}"
        if kind == "burden":
            return f"{the} {name} of {self.with_unit(number)}"
        return f"{the} {name} for {number} {self.unit}" if hours else f"{the} {name} (need {self.with_unit(number)})"


UNNAMED = Thing()
"""Something that has no name and no unit."""


def check_kind(kind: object) -> Kind:
    """The kind, refused unless it is `good` or `burden`."""
    check_one_of("kind", kind, get_args(Kind))
    return "burden" if kind == "burden" else "good"


def words(kind: Kind) -> Words:
    """The words for what is handed out."""
    return _WORDS[kind]


def of_the(count: int, kind: Kind) -> str:
    """Among how many agents a choice was made: `of the three available`, `of the two who asked`."""
    return f"of the {number_in_words(count)} {words(kind).others}"
