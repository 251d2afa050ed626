"""The options that `audit`, `what-if` and `advise` share: how a history is read, who is entitled to how much, and where
the answer goes.

Annotations are evaluated when a command runs, so formats that were added count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from bygones._files import check_output
from bygones.audit.read import formats
from bygones.cli.arguments import Output, one_of, optional
from bygones.cli.console import print_document, print_json, print_paths
from bygones.document.document import Document

if TYPE_CHECKING:
    from bygones.audit.read.entitlements import Shares
    from bygones.audit.read.history import History

HistoryFiles = Annotated[
    Positional[tuple[str, ...]],
    arg(
        metavar="HISTORY [HISTORY ...]",
        help="CSV or Parquet files or globs, DuckDB or SQLite file, ledger, log files, or a URL such as "
        "postgresql://user@host/name.",
        help_behavior_hint="(required)",
    ),
]


@dataclass(frozen=True)
class HistoryOptions:
    """How a history is read. The names are as in `bygones.audit.read_history`, which explains them."""

    agent: Annotated[
        str | None, optional("Column with the names of the agents; agent if left out, or User for sacct.", "COLUMN")
    ] = None
    time: Annotated[
        str | None, optional("Column with timestamps, dates or step numbers; time if left out.", "COLUMN")
    ] = None
    where: Annotated[
        tuple[str, ...] | None,
        optional(
            "Conditions that rows must meet, each in quotes: 'state=COMPLETED,TIMEOUT' 'user!=root' 'fare>=10'.",
            "CONDITION [CONDITION ...]",
        ),
    ] = None
    skip_unnamed: Annotated[bool, arg(help="Skip rows without an agent, and report how many.")] = False
    time_format: Annotated[
        str,
        arg(
            metavar="FORMAT",
            help="How times are written: month-first, day-first, unix, unix-ms, steps, or a format such as "
            "'%d %b %Y %H:%M'; auto detects it and reports it.",
        ),
    ] = "auto"
    fields: Annotated[
        str | None, optional("Names of the columns, separated by commas, for files without a header line.", "LIST")
    ] = None
    table: Annotated[str | None, optional("Table to read, if HISTORY is a database.", "NAME")] = None
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, a ledger, or a log ({formats.described()}); auto detects it."),
    ] = "auto"
    resource: Annotated[
        str | None,
        optional(
            "Resource to count in a log: for sacct cpu, gpu, mem, …, or several with weights, such as cpu=1,gpu=40; if "
            "left out, gpu if most jobs have any, else cpu.",
            "NAME",
        ),
    ] = None
    time_zone: Annotated[
        str | None,
        optional(
            "Time zone in which times without a zone are read and all times are shown; UTC or a ledger's own if left "
            "out.",
            "ZONE",
        ),
    ] = None

    def read(self, history: Sequence[str], **columns: Any) -> History:
        """Reads the history; `columns` are further arguments of `read_history`."""
        from bygones.audit import read_history

        same = {field.name: getattr(self, field.name) for field in fields(self)}
        names = None if self.fields is None else [name.strip() for name in self.fields.split(",")]
        source = history[0] if len(history) == 1 else list(history)
        return read_history(source, **same | {"where": self.where or (), "fields": names} | columns)


@dataclass(frozen=True)
class EntitlementOptions:
    """Who is entitled to how much."""

    entitlements: Annotated[
        Path | None,
        optional(
            "CSV file with the columns agent and entitlement (see --entitlement-column), or the output of Slurm's "
            "sshare -P or sacctmgr -P show assoc; for burdens, the share of the load (0 is exempt).",
            "FILE",
        ),
    ] = None
    entitlement_column: Annotated[
        str | None,
        optional("Column with the entitlements, in that file or, without one, in the history itself.", "COLUMN"),
    ] = None
    others: Annotated[
        str | None,
        optional(
            "Entitlement of agents that the file does not list: a number, or the word proportional (in proportion to "
            "their totals); if left out, a file that lists only some is refused.",
            "NUMBER",
        ),
    ] = None

    def read(self, history: History, agent: str | None, kind: str | None) -> Shares | None:
        """The entitlements of `--entitlements` and `--entitlement-column`; None if neither was given."""
        from bygones.audit.read.entitlements import Shares, read_shares

        if self.entitlements is None:
            return None if self.entitlement_column is None else Shares(history.entitlements_in(self.entitlement_column))
        file = self.entitlements
        if str(file) in history.source.columns and not file.exists():
            raise ValueError(
                f"--entitlements must be a file, and {file} is a column of the history: use --entitlement-column {file}"
            )
        return read_shares(file, self.entitlement_column, agent=agent, exempt=kind == "burden")


@dataclass(frozen=True)
class AnswerOptions(Output):
    """Where an answer goes."""

    title: Annotated[str | None, optional("Title of the page.", "TEXT")] = None
    page: Annotated[
        Path | None, optional("Also write the answer as an HTML page, a single file that works offline.", "FILE")
    ] = None

    def check(self, history: Sequence[str], entitlements: Path | None) -> None:
        """Refuses a command without a history, and a page that would be written over what the command reads."""
        if not history:
            raise ValueError("HISTORY is missing: give a file, a ledger or the URL of a database")
        if self.page is not None:
            check_output(self.page, [*history, *([entitlements] if entitlements else [])])

    def show(self, document: Document, data: object, command: str, shared: Document | None = None) -> None:
        """Prints an answer, or its JSON, and writes its page.

        Args:
            document: the answer.
            data: the same as plain data.
            command: the command that was asked.
            shared: the document of the page, if it is another.
        """
        if self.page is not None:
            from bygones.report.page import document_page, write

            # Before anything is printed: a pipe may be closed before the last line, as by `head`.
            shared = shared or document
            titled = replace(shared, title=self.title or shared.title)
            write(document_page(titled, f"Made by bygones {command}."), self.page)
        if self.json:
            print_json(data)
        else:
            print_document(document)
            print_paths([] if self.page is None else [self.page])


def typed(*options: object, **more: object) -> list[str]:
    """The given options as people type them: of dataclasses, and `more` by name."""
    given = {field.name: getattr(each, field.name) for each in options for field in fields(each)}  # type: ignore[arg-type]
    words: list[str] = []
    for name, value in (given | more).items():
        if value is None or value is False or value == "auto":
            continue
        values = [] if value is True else value if isinstance(value, tuple) else [value]
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return words
