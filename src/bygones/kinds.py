"""Goods and burdens: what is handed out, and the words for it.

A *good* is worth having: whoever has received least lately is owed. A *burden* is carried: whoever has carried least
lately is due next. The sums are the same, so that a memory of burdens is a memory; what differs is which way is better,
and the words.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from bygones._arrays import check_one_of

Kind = Literal["good", "burden"]
"""Whether what is handed out is worth having or has to be carried."""


class Words(NamedTuple):
    """The words of one kind.

    Attributes:
        gets: what an agent who is given something does.
        receive: what an agent would do.
        received: what an agent has done with everything given so far.
        owed: what an agent below its share is.
        share: what an entitlement is a claim to.
    """

    gets: str
    receive: str
    received: str
    owed: str
    share: str


_WORDS = {
    "good": Words("gets", "receive", "received", "owed", "entitled share"),
    "burden": Words("carries", "carry", "carried", "due", "share of the load"),
}


def check_kind(kind: object) -> Kind:
    """The kind, refused unless it is `good` or `burden`."""
    check_one_of("kind", kind, get_args(Kind))
    return "burden" if kind == "burden" else "good"


def words(kind: Kind) -> Words:
    """The words for what is handed out."""
    return _WORDS[kind]
