"""Arguments that the commands of a ledger share, opening the ledger, and printing the new events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from bygones.cli.arguments import DEFAULT_LEDGER, Output, optional
from bygones.cli.console import answering, print_document, print_json, say

if TYPE_CHECKING:
    from bygones.document.document import Document
    from bygones.ledger import Event, Ledger

TARGET_HELP = f"A file such as team.db, or postgresql://user@host/name, given here or in {DEFAULT_LEDGER}."
Target = Annotated[Positional[str], arg(metavar="LEDGER", help=TARGET_HELP)]
Agent = Annotated[Positional[str], arg(metavar="AGENT", help="The agent's name.")]
At = Annotated[
    str | None,
    optional(
        "The time, such as 2026-03-02 or 2026-03-02T22:00+01:00, in the ledger's time zone if it has none "
        "(default: now).",
        "TIME",
    ),
]
Author = Annotated[
    str | None, optional("Who records this (default: BYGONES_AUTHOR, else the user of this computer).", "NAME")
]


Length = Annotated[
    tuple[str, ...],
    UseAppendAction,
    optional(
        "How long a turn lasts: 10h, 1w, or times such as 20:00-06:00; of one of several items night=20:00-06:00, once "
        "for each (default: not known).",
        "LENGTH",
    ),
]


@dataclass(frozen=True)
class Keyed(Output):
    """How a command records something once only, and how it prints the answer."""

    key: Annotated[
        str | None,
        optional(
            "A name you choose for this entry. A command that is repeated with the same key records nothing twice.",
            "TEXT",
        ),
    ] = None
    author: Author = None

    @property
    def details(self) -> dict[str, Any]:
        """The arguments with which a ledger records it."""
        return {"key": self.key}

    @contextmanager
    def open(self, target: str) -> Iterator[Ledger]:
        """The ledger at a path or URL; a note tells whether the key was used before and still counts.

        The ledger itself checks that the key was used for the same entry.
        """
        with open_ledger(target, self.author) as ledger:
            used = [] if self.key is None else ledger.with_key(self.key)
            if used:
                since = ledger.void_since(used[0].seq)
                void = f", which has been void since event {since}: use another key to record it again" if since else ""
                say(f"The key {self.key!r} was used before, for event {used[0].seq}{void}.", error=True)
            yield ledger

    def print_events(self, events: Iterable[Event], *sentences: str) -> None:
        """Prints recorded events for programs, or sentences for people."""
        print_recorded([event.to_dict() for event in events], self.json, *sentences)


@dataclass(frozen=True)
class Recording(Keyed):
    """How a command records something with a remark."""

    note: Annotated[str, optional("A remark to record.", "TEXT")] = ""

    @property
    def details(self) -> dict[str, Any]:
        """The arguments with which a ledger records it."""
        return super().details | {"note": self.note}


@dataclass(frozen=True)
class RecordingAt(Recording):
    """How a command records something at a time."""

    at: At = None

    @property
    def details(self) -> dict[str, Any]:
        """The arguments with which a ledger records it."""
        return super().details | ({} if self.at is None else {"at": self.at})


RecordedOnce = Annotated[Keyed, OmitArgPrefixes, arg(name="")]
Recorded = Annotated[Recording, OmitArgPrefixes, arg(name="")]
RecordedAt = Annotated[RecordingAt, OmitArgPrefixes, arg(name="")]


def open_ledger(target: str, author: str | None = None) -> Ledger:
    """The ledger at a path or URL, and who records in it; to be used in a `with` block."""
    from bygones.ledger import Ledger

    return Ledger.open(target, author=author)


def print_answer(document: Document, data: object, json: bool, *, recorded: bool = False) -> None:
    """Prints an answer: a document for people, data for programs.

    Args:
        document: the answer as people read it.
        data: the answer, of the types that JSON has.
        json: which of the two to print.
        recorded: whether something was recorded, on which the exit code depends if the answer cannot be written.
    """
    with answering(recorded):
        if json:
            print_json(data)
        else:
            print_document(document)


def print_recorded(data: object, json: bool, *sentences: str) -> None:
    """Prints the answer of a command that has recorded something: data for programs, sentences for people."""
    with answering():
        if json:
            print_json(data)
        else:
            say(*sentences)


def has_come(event: Event) -> bool:
    """Whether an event counted at once when it was recorded."""
    return event.time <= event.recorded


def when_ahead(event: Event, zone: str) -> str:
    """The time from which an event counts, if it lies ahead: ` on 1 March 2026`, and the time if not midnight."""
    from bygones.ledger.model.times import day_in_words, shown

    if has_come(event):
        return ""
    clock = shown(event.time, zone)[-5:]
    return f" on {day_in_words(event.time, zone)}{'' if clock == '00:00' else f' at {clock} {zone}'}"
