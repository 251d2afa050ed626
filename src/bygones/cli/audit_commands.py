"""`bygones audit`: thin. Reads a history, audits it, and prints a summary or JSON, or writes a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones.audit import formats
from bygones.cli.arguments import Json, one_of, optional
from bygones.cli.console import print_json, print_paths


def audit(
    history: Annotated[
        Positional[str],
        arg(
            metavar="HISTORY",
            help="CSV or Parquet file or glob, DuckDB or SQLite file, ledger, or URL such as postgresql://user@host/name.",
        ),
    ],
    agent: Annotated[
        str | None, optional("Column with the names of the agents; agent if left out, or User for sacct.", "COLUMN")
    ] = None,
    time: Annotated[
        str | None, optional("Column with timestamps, dates or step numbers; time if left out.", "COLUMN")
    ] = None,
    utility: Annotated[str | None, optional("Column with what was received; utility if left out.", "COLUMN")] = None,
    half_life: Annotated[
        str | None,
        optional(
            "Half-lives to compare: durations such as 1d,7d,30d,inf, or numbers of steps if times are step numbers.",
            "LIST",
        ),
    ] = None,
    table: Annotated[str | None, optional("Table to read, if HISTORY is a database.", "NAME")] = None,
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, a ledger, or a log ({formats.described()}); auto detects it."),
    ] = "auto",
    resource: Annotated[
        str | None,
        optional(
            "Resource to count in a log; for sacct cpu, gpu, mem, …, and if left out, gpu if jobs have any, or cpu.",
            "NAME",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"] | None,
        optional(
            "Whether the history is about goods, or about burdens such as shifts; as in a ledger's rules, or good.",
            "{good,burden}",
        ),
    ] = None,
    entitlements: Annotated[
        Path | None,
        optional(
            "CSV file with the columns agent and entitlement; of burdens, the share of the load (0 is exempt).", "FILE"
        ),
    ] = None,
    newcomers: Annotated[
        str,
        arg(
            metavar="RULE",
            help="Newcomer rule for agents who join later: zero, mean, median, entitled-share or a number.",
        ),
    ] = "zero",
    gone_after: Annotated[
        str | None, optional("An agent without an event for this long counts as away; never if left out.", "DURATION")
    ] = None,
    needs: Annotated[
        str | None,
        optional(
            "Column with each agent's need. With --served, also compares the decisions with the allocator's.", "COLUMN"
        ),
    ] = None,
    served: Annotated[
        str | None, optional("Column that tells who was served: 1 or 0, true or false, yes or no.", "COLUMN")
    ] = None,
    welfare: Annotated[
        str, arg(metavar="WELFARE", help="Welfare that the allocator maximises, with --needs.")
    ] = "egalitarian",
    every: Annotated[
        str | None, optional("Length of a period, such as 7d; if left out, chosen for at most 60 periods.", "DURATION")
    ] = None,
    at: Annotated[str | None, optional("Moment of the audit; the time of the last event if left out.", "TIME")] = None,
    timezone: Annotated[
        str, arg(metavar="ZONE", help="Time zone of times without one, and in which times are shown.")
    ] = "UTC",
    refine: Annotated[
        Literal["yes", "no"] | None,
        optional(
            "Whether to search for the half-lives at which conclusions flip; by default yes, up to ten million events.",
            "{yes,no}",
        ),
    ] = None,
    threads: Annotated[
        int | None, optional("Number of threads that DuckDB may use; all if left out.", "NUMBER")
    ] = None,
    memory: Annotated[str, arg(metavar="SIZE", help="Memory that DuckDB may use before it spills to disk.")] = "3GB",
    page: Annotated[
        Path | None, optional("Also write the audit as an HTML page, a single file that works offline.", "FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Audit a history under several half-lives: who is owed (or due), since when, and which conclusions hold.

    For example:
        bygones audit history.csv
        bygones audit rides.parquet --agent driver --time at --utility fare --half-life 1d,7d,30d,inf
        bygones audit sacct.txt --format sacct --timezone Europe/Berlin --page audit.html
        bygones audit requests.csv --needs need --served served --welfare nash
        bygones audit shifts.csv --kind burden
    """
    from bygones.audit import audit as run_audit
    from bygones.audit import read_history
    from bygones.audit.entitlements import read_entitlements
    from bygones.cli.audit_tables import print_audit

    if page is not None and page.is_dir():
        raise ValueError(f"page must be a file, got the folder {page}")
    weights = None if entitlements is None else read_entitlements(entitlements, exempt=kind == "burden")
    reading = read_history(
        history, agent=agent, time=time, utility=utility, needs=needs, served=served, table=table,
        format=format, timezone=timezone, resource=resource, threads=threads, memory=memory,
    )  # fmt: skip
    with reading as events:
        found = run_audit(
            events, None if half_life is None else half_life.split(","), entitlements=weights, newcomers=newcomers,
            gone_after=gone_after, every=every, at=at, welfare=welfare, kind=kind,
            refine=None if refine is None else refine == "yes",
        )  # fmt: skip
    if json:
        print_json(found.to_dict())
    else:
        print_audit(found)
    if page is not None:
        from bygones.report.audit.audit_page import write_audit

        written = write_audit(found, page)
        if not json:
            print_paths([written])
