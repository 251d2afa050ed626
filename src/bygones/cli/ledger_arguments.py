"""What the commands of a ledger share: their arguments, opening the ledger, and telling what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones.cli.arguments import DEFAULT_LEDGER, optional
from bygones.cli.console import answering, print_json, say

if TYPE_CHECKING:
    from bygones.ledger import Event, Ledger

TARGET_HELP = f"A file such as team.db, or postgresql://user@host/name, given here or in {DEFAULT_LEDGER}."
Target = Annotated[Positional[str], arg(metavar="LEDGER", help=TARGET_HELP)]
Agent = Annotated[Positional[str], arg(metavar="AGENT", help="The agent's name.")]
At = Annotated[
    str | None,
    optional(
        "The time, such as 2026-03-02 or 2026-03-02T22:00+01:00; read in the ledger's time zone if it has none "
        "(default: now).",
        "TIME",
    ),
]
Note = Annotated[str, optional("A remark to record.", "TEXT")]
Key = Annotated[
    str | None,
    optional(
        "A name you choose for this entry. If the command is repeated with the same key, nothing is recorded twice.",
        "TEXT",
    ),
]
Author = Annotated[
    str | None, optional("Who records this (default: BYGONES_AUTHOR, else the user of this computer).", "NAME")
]
Json = Annotated[bool, arg(help="Print JSON for other programs; infinite numbers appear as the text 'inf'.")]


@contextmanager
def open_ledger(target: str, author: str | None = None, key: str | None = None) -> Iterator[Ledger]:
    """The ledger at a path or URL, and who records in it.

    If the key was used before, says so, and whether that counts; whether it was for the same, the ledger checks.
    """
    from bygones.ledger import Ledger

    with Ledger.open(target, author=author) as ledger:
        used = [] if key is None else ledger.with_key(key)
        if used:
            since = ledger.void_since(used[0].seq)
            void = f", which has been void since event {since}: use another key to record it again" if since else ""
            say(f"The key {key!r} was used before, for event {used[0].seq}{void}.", error=True)
        yield ledger


def print_recorded(events: Iterable[Event], json: bool, *sentences: str) -> None:
    """Prints what was recorded: the events for programs, sentences for people."""
    with answering():
        if json:
            print_json([event.to_dict() for event in events])
        else:
            say(*sentences)


def has_come(event: Event) -> bool:
    """Whether an event counted at once when it was recorded."""
    return event.time <= event.recorded


def from_when(event: Event, zone: str) -> str:
    """From when on an event counts, if it lies ahead."""
    from bygones.ledger.model.times import named

    return "" if has_come(event) else f" from {named(event.time, zone)} on"
