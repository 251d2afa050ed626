"""`bygones audit`: thin. Reads the history, looks at it, and prints for people or programs, or writes a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones.cli.console import print_json, print_paths


def _optional(help_text: str, metavar: str) -> object:
    return arg(help=help_text, help_behavior_hint="", metavar=metavar)


def audit(
    history: Annotated[
        Positional[str],
        arg(
            metavar="HISTORY",
            help="A CSV or Parquet file or glob, a DuckDB or SQLite file, a ledger, or a URL such as postgresql://…",
        ),
    ],
    agent: Annotated[
        str | None, _optional("Column with the agent's name; agent if left out, User for sacct.", "COLUMN")
    ] = None,
    time: Annotated[
        str | None, _optional("Column with time stamps, dates or step numbers; time if left out.", "COLUMN")
    ] = None,
    utility: Annotated[str | None, _optional("Column with what was received; utility if left out.", "COLUMN")] = None,
    half_life: Annotated[
        str | None,
        _optional(
            "Half-lives to compare, such as 1d,7d,30d,inf; numbers of steps where times are step numbers.", "LIST"
        ),
    ] = None,
    table: Annotated[str | None, _optional("Which table, for databases.", "NAME")] = None,
    format: Annotated[
        Literal["auto", "table", "ledger", "sacct"],
        arg(help="What the history is: a table, events of a ledger, or the output of Slurm's sacct -P."),
    ] = "auto",
    resource: Annotated[
        str | None, _optional("For sacct: cpu, gpu, mem, …; GPUs if there are any, else CPUs, if left out.", "NAME")
    ] = None,
    entitlements: Annotated[Path | None, _optional("CSV file with columns agent and entitlement.", "FILE")] = None,
    newcomers: Annotated[
        str, arg(help="Those who come later start with zero, mean, median, entitled-share, or a number.")
    ] = "zero",
    gone_after: Annotated[
        str | None, _optional("After so long without an event somebody counts as away; never if left out.", "DURATION")
    ] = None,
    needs: Annotated[
        str | None,
        _optional(
            "Column with what an agent would have had from being served; with --served, decides again.", "COLUMN"
        ),
    ] = None,
    served: Annotated[
        str | None, _optional("Column that says who was served: 1 or 0, true or false, yes or no.", "COLUMN")
    ] = None,
    welfare: Annotated[str, arg(help="What the allocator maximises when it decides again.")] = "egalitarian",
    every: Annotated[
        str | None, _optional("The length of a period, such as 7d; at most 60 periods if left out.", "DURATION")
    ] = None,
    at: Annotated[str | None, _optional("The moment of the audit; the last event if left out.", "TIME")] = None,
    timezone: Annotated[
        str, arg(help="The zone of times that do not say theirs, and in which times are shown.")
    ] = "UTC",
    refine: Annotated[
        Literal["yes", "no"] | None,
        _optional(
            "Search for the half-lives at which conclusions flip; up to ten million events if left out.", "{yes,no}"
        ),
    ] = None,
    threads: Annotated[int | None, _optional("How many threads DuckDB may use; all if left out.", "NUMBER")] = None,
    memory: Annotated[str, arg(help="How much memory DuckDB may use before it works on disk.")] = "3GB",
    page: Annotated[
        Path | None, _optional("Also write the audit as a page, one file that works offline.", "FILE")
    ] = None,
    json: Annotated[bool, arg(help="Print JSON for programs.")] = False,
) -> None:
    """What a history looks like under several half-lives: who is owed, since when, and which conclusions hold.

    Example: bygones audit rides.parquet --agent driver --time at --utility fare --half-life 1d,7d,30d,inf
    """
    from bygones.audit import audit as look
    from bygones.audit import read_history
    from bygones.audit.entitlements import read_entitlements
    from bygones.cli.audit_tables import print_audit

    if page is not None and page.is_dir():
        raise ValueError(f"page must be a file, got the folder {page}")
    weights = None if entitlements is None else read_entitlements(entitlements)
    reading = read_history(
        history, agent=agent, time=time, utility=utility, needs=needs, served=served, table=table,
        format=format, timezone=timezone, resource=resource, threads=threads, memory=memory,
    )  # fmt: skip
    with reading as events:
        found = look(
            events, None if half_life is None else half_life.split(","), entitlements=weights, newcomers=newcomers,
            gone_after=gone_after, every=every, at=at, welfare=welfare,
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
