"""The arguments that `audit`, `what-if` and `advise` share: how a history is read, and who is entitled to how much.

The formats are not among them: a command asks for them when it runs, so that those that were added count.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from bygones.cli.arguments import optional

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
Fields = Annotated[str | None, optional("Names of the columns, with commas, for files without a header line.", "LIST")]
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
    str | None, optional("Entitlement of agents that the file does not list; refused if left out.", "NUMBER")
]
TimeZone = Annotated[
    str | None,
    optional(
        "Time zone of times without one, and in which times are shown; UTC or a ledger's own if left out.", "ZONE"
    ),
]
