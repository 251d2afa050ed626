"""The arguments that `audit`, `what-if` and `advise` share: how a history is read, and who is entitled to how much.

The formats are not among them: a command asks for them when it runs, so that those that were added count.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from bygones._files import check_output
from bygones.cli.arguments import optional

if TYPE_CHECKING:
    from bygones.audit.read.entitlements import Shares
    from bygones.audit.read.history import History

AgentColumn = Annotated[
    str | None, optional("Column with the names of the agents; agent if left out, or User for sacct.", "COLUMN")
]
TimeColumn = Annotated[str | None, optional("Column with the times; time if left out.", "COLUMN")]
Where = Annotated[
    tuple[str, ...] | None,
    optional("Conditions that rows must meet, such as 'state=COMPLETED'.", "CONDITION [CONDITION ...]"),
]
SkipUnnamed = Annotated[bool, arg(help="Skip rows without an agent, and say how many.")]
TimeFormat = Annotated[
    str, arg(metavar="FORMAT", help="How times are written, as for bygones audit; auto detects it and says so.")
]
Fields = Annotated[
    str | None, optional("Names of the columns, separated by commas, for files without a header line.", "LIST")
]
Table = Annotated[str | None, optional("Table to read, if HISTORY is a database.", "NAME")]
Resource = Annotated[str | None, optional("Resource to count in a log, or several with weights.", "NAME")]
Entitlements = Annotated[
    Path | None, optional("Entitlements, as for bygones audit; the same for everyone if left out.", "FILE")
]
EntitlementColumn = Annotated[
    str | None,
    optional("Column with the entitlements, in that file or, without one, in the history itself.", "COLUMN"),
]
Others = Annotated[
    str | None,
    optional(
        "Entitlement of agents that the file does not list; if left out, a file that lists only some is refused.",
        "NUMBER",
    ),
]
TimeZone = Annotated[
    str | None,
    optional(
        "Time zone in which times without a zone are read and all times are shown; UTC or a ledger's own if left out.",
        "ZONE",
    ),
]


def check_files(history: Sequence[str], page: Path | None, entitlements: Path | None) -> None:
    """Refuses a command without a history, and a page that would be written over what the command reads."""
    if not history:
        raise ValueError("HISTORY is missing: give a file, a ledger or the URL of a database")
    if page is not None:
        check_output(page, [*history, *([entitlements] if entitlements else [])])


def names_in(fields: str | None) -> list[str] | None:
    """The names in `--fields`."""
    return None if fields is None else [name.strip() for name in fields.split(",")]


def read_entitlements(
    history: History, file: Path | None, column: str | None, agent: str | None, kind: str | None
) -> Shares | None:
    """The entitlements of `--entitlements` and `--entitlement`; None if neither was given."""
    from bygones.audit.read.entitlements import Shares, read_shares

    if file is None:
        return None if column is None else Shares(history.entitlements_in(column))
    if str(file) in history.source.columns and not file.exists():
        raise ValueError(
            f"--entitlements must be a file, and {file} is a column of the history: use --entitlement {file}"
        )
    return read_shares(file, column, agent=agent, exempt=kind == "burden")
