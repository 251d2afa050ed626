"""`bygones audit`: thin. Reads a history, audits it, and prints a summary or JSON, or writes a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones.audit.read import formats
from bygones.cli.arguments import Json, one_of, optional
from bygones.cli.console import print_json, print_paths
from bygones.cli.history_arguments import (
    AgentColumn,
    EntitlementColumn,
    Fields,
    SkipUnnamed,
    Table,
    TimeZone,
    check_files,
    names_in,
    read_entitlements,
)


def audit(
    history: Annotated[
        Positional[tuple[str, ...]],
        arg(
            metavar="HISTORY [HISTORY ...]",
            help="CSV or Parquet files or globs, DuckDB or SQLite file, ledger, log files, or a URL such as "
            "postgresql://user@host/name.",
            help_behavior_hint="(required)",
        ),
    ],
    agent: AgentColumn = None,
    time: Annotated[
        str | None, optional("Column with timestamps, dates or step numbers; time if left out.", "COLUMN")
    ] = None,
    utility: Annotated[
        str | None,
        optional(
            "Column with what was received, or several to add up with their weights, such as first=1,booster=0.5; "
            "utility if left out.",
            "COLUMN",
        ),
    ] = None,
    start: Annotated[
        str | None,
        optional(
            "Column with the time at which usage began, if it lasted until --time; it is spread evenly in between.",
            "COLUMN",
        ),
    ] = None,
    where: Annotated[
        tuple[str, ...] | None,
        optional(
            "Conditions that rows must meet, each in quotes: 'state=COMPLETED,TIMEOUT' 'user!=root' 'fare>=10'.",
            "CONDITION [CONDITION ...]",
        ),
    ] = None,
    skip_unnamed: SkipUnnamed = False,
    time_format: Annotated[
        str,
        arg(
            metavar="FORMAT",
            help="How times are written: month-first, day-first, unix, unix-ms, steps, or a format such as "
            "'%d %b %Y %H:%M'; auto detects it and says so.",
        ),
    ] = "auto",
    fields: Fields = None,
    half_life: Annotated[
        str | None,
        optional(
            "Half-lives to compare: durations such as 1d,7d,30d,inf, or numbers of steps if times are step numbers.",
            "LIST",
        ),
    ] = None,
    table: Table = None,
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, a ledger, or a log ({formats.described()}); auto detects it."),
    ] = "auto",
    resource: Annotated[
        str | None,
        optional(
            "Resource to count in a log: for sacct cpu, gpu, mem, …, or several with weights, such as cpu=1,gpu=40; if "
            "left out, gpu if most jobs have any, else cpu.",
            "NAME",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"] | None,
        optional(
            "Whether the history is about goods, or about burdens such as shifts; if left out, as a ledger's rules "
            "say, or good.",
            "{good,burden}",
        ),
    ] = None,
    entitlements: Annotated[
        Path | None,
        optional(
            "CSV file with the columns agent and entitlement (see --entitlement), or the output of Slurm's sshare -P "
            "or sacctmgr -P show assoc; for burdens, the share of the load (0 is exempt).",
            "FILE",
        ),
    ] = None,
    entitlement: EntitlementColumn = None,
    others: Annotated[
        str | None,
        optional(
            "Entitlement of agents that the file does not list: a number, or the word proportional (in proportion to "
            "what they received); if left out, a file that lists only some is refused.",
            "NUMBER",
        ),
    ] = None,
    newcomers: Annotated[
        str | None,
        optional(
            "Newcomer rule for agents who join later: zero, mean, median, entitled-share or a number; zero if left "
            "out, or the rule of a ledger.",
            "RULE",
        ),
    ] = None,
    gone_after: Annotated[
        str | None, optional("An agent without an event for this long counts as away; never if left out.", "DURATION")
    ] = None,
    needs: Annotated[
        str | None,
        optional(
            "Column with each agent's need. With --served, also compares the decisions with the rule's.", "COLUMN"
        ),
    ] = None,
    served: Annotated[
        str | None, optional("Column that tells who was served: 1 or 0, true or false, yes or no.", "COLUMN")
    ] = None,
    welfare: Annotated[
        str, arg(metavar="WELFARE", help="Welfare that the rule maximises, with --needs.")
    ] = "egalitarian",
    every: Annotated[
        str | None,
        optional(
            "Length of a period, such as 7d; if left out, chosen so that there are at most 60 periods.", "DURATION"
        ),
    ] = None,
    at: Annotated[str | None, optional("Moment of the audit; the time of the last event if left out.", "TIME")] = None,
    time_zone: TimeZone = None,
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
    title: Annotated[str | None, optional("Title of the page, instead of Who is owed what.", "TEXT")] = None,
    unit: Annotated[str | None, optional("Unit of what was received, such as doses or hours.", "TEXT")] = None,
    note: Annotated[
        tuple[str, ...] | None, optional("Notes of your own for the reader, each in quotes.", "TEXT [TEXT ...]")
    ] = None,
    page: Annotated[
        Path | None, optional("Also write the audit as an HTML page, a single file that works offline.", "FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Audit a history under several half-lives: who is owed (or due), since when, and which conclusions hold.

    For example:
        bygones audit history.csv
        bygones audit monday.csv tuesday.csv --where 'state=COMPLETED'
        bygones audit rides.parquet --agent driver --time at --utility fare --half-life 1d,7d,30d,inf
        bygones audit sacct.txt --format sacct --time-zone Europe/Berlin --page audit.html
        bygones audit requests.csv --needs need --served served --welfare nash
        bygones audit shifts.csv --kind burden
    """
    from bygones.audit import audit as run_audit
    from bygones.audit import read_history
    from bygones.cli.audit_tables import print_audit

    check_files(history, page, entitlements)
    reading = read_history(
        history[0] if len(history) == 1 else list(history), agent=agent, time=time, utility=utility, start=start,
        needs=needs, served=served, where=where or (), skip_unnamed=skip_unnamed, time_format=time_format,
        fields=names_in(fields), table=table, format=format,
        time_zone=time_zone, resource=resource, threads=threads, memory=memory,
    )  # fmt: skip
    with reading as events:
        weights = read_entitlements(events, entitlements, entitlement, agent, kind)
        found = run_audit(
            events, None if half_life is None else half_life.split(","), entitlements=weights, others=others,
            newcomers=newcomers, title=title or "", unit=unit or "", remarks=note or (),
            gone_after=gone_after, every=every, at=at, welfare=welfare, kind=kind,
            refine=None if refine is None else refine == "yes",
        )  # fmt: skip
    if page is not None:
        from bygones.report.audit.audit_page import write_audit

        # Before anything is printed: a pipe may be closed before the last line, as by `head`.
        write_audit(found, page)
    if json:
        print_json(found.to_dict())
    else:
        print_audit(found)
        print_paths([] if page is None else [page])
