"""`bygones what-if`: thin. Replays the decisions of a history, or the queue of a cluster, under other memories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from tyro.conf import Positional, arg

from bygones.audit.read import formats
from bygones.cli.arguments import Json, one_of, optional
from bygones.cli.console import print_json, print_paths
from bygones.cli.history_arguments import (
    AgentColumn,
    EntitlementColumn,
    Entitlements,
    Fields,
    Others,
    Resource,
    SkipUnnamed,
    Table,
    TimeColumn,
    TimeFormat,
    TimeZone,
    Where,
    check_files,
    names_in,
    read_entitlements,
)

if TYPE_CHECKING:
    from bygones.audit import QueueReplay, WhatIf

Result = TypeVar("Result", "WhatIf", "QueueReplay")


def what_if(
    history: Annotated[
        Positional[tuple[str, ...]],
        arg(
            metavar="HISTORY [HISTORY ...]",
            help="History with needs, or the output of sacct with the field Submit.",
            help_behavior_hint="(required)",
        ),
    ],
    half_life: Annotated[
        str | None,
        optional(
            "Half-lives to replay, such as 3d,7d,inf; at least two for a cluster. If left out, 1d,7d,30d,inf, or "
            "10,100,1000,inf steps, unless --memory is given.",
            "LIST",
        ),
    ] = None,
    memory: Annotated[
        tuple[str, ...] | None,
        optional(
            "Other memories to replay, each in quotes: 'sliding_window(length=30d)' 'reset(every=30d)' perfect none.",
            "MEMORY [MEMORY ...]",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        optional("Rules to replay: one-step, prices, or both, as one-step,prices; one-step if left out.", "LIST"),
    ] = None,
    newcomers: Annotated[
        str | None,
        optional(
            "Newcomer rule for agents who ask for the first time later on: zero, mean, median, entitled-share or a "
            "number; zero if left out.",
            "RULE",
        ),
    ] = None,
    needs: Annotated[str, arg(metavar="COLUMN", help="Column with each agent's need.")] = "need",
    served: Annotated[
        str, arg(metavar="COLUMN", help="Column that tells who was served: 1 or 0, true or false, yes or no.")
    ] = "served",
    agent: AgentColumn = None,
    time: TimeColumn = None,
    where: Where = None,
    skip_unnamed: SkipUnnamed = False,
    time_format: TimeFormat = "auto",
    fields: Fields = None,
    table: Table = None,
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, or a log ({formats.described()}); auto detects it."),
    ] = "auto",
    resource: Resource = None,
    welfare: Annotated[str, arg(metavar="WELFARE", help="Welfare that decisions maximise.")] = "egalitarian",
    kind: Annotated[
        Literal["good", "burden"], arg(metavar="{good,burden}", help="Whether goods or burdens are handed out.")
    ] = "good",
    entitlements: Entitlements = None,
    entitlement: EntitlementColumn = None,
    others: Others = None,
    draws: Annotated[
        int, arg(metavar="NUMBER", help="How often each memory and rule is replayed, with different draws among ties.")
    ] = 10,
    time_zone: TimeZone = None,
    title: Annotated[str | None, optional("Title of the page, instead of What if.", "TEXT")] = None,
    page: Annotated[
        Path | None, optional("Also write the result as an HTML page, a single file that works offline.", "FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Replay a history under other memories and rules: who would have been served instead, and what it changes.

    For example:
        bygones what-if requests.csv --half-life 3d,7d --rule prices,one-step
        bygones what-if requests.csv --memory 'sliding_window(length=30d)' 'reset(every=30d)' --page what-if.html
        bygones what-if sacct.txt --half-life 3d,7d
    """
    from bygones.audit import read_history
    from bygones.audit.measure.audit import HALF_LIVES, STEP_HALF_LIVES
    from bygones.audit.replay.queue_replay import replay_queue
    from bygones.audit.replay.what_if import what_if as run_what_if
    from bygones.cli.what_if_tables import print_queue, print_what_if

    check_files(history, page, entitlements)
    names = names_in(fields)
    log = format if format in formats.FORMATS else None
    if format == "auto" and time is None:
        log = formats.recognised(Path(history[0]), names or ())
    if log:
        for given, name in ((memory, "--memory"), (rule, "--rule"), (newcomers, "--newcomers")):
            if given is not None:
                raise ValueError(f"{name} does not apply to the queue of a cluster, which is replayed by fair share")
    reading = read_history(
        history[0] if len(history) == 1 else list(history), agent=agent, where=where or (), format=log or format,
        resource=resource, time_zone=time_zone, time=time, needs=None if log else needs, served=None if log else served,
        skip_unnamed=skip_unnamed, time_format=time_format, table=table,
        fields=names,
    )  # fmt: skip
    with reading as events:
        defaults = STEP_HALF_LIVES if events.clock.steps else HALF_LIVES
        half_lives = half_life.split(",") if half_life is not None else () if memory else defaults
        entitled = read_entitlements(events, entitlements, entitlement, agent, kind)
        weights = None if entitled is None else entitled.entitlements
        if log:
            queue = replay_queue(events, half_lives, entitlements=weights, others=others, draws=draws)
            if page is not None:
                from bygones.report.audit.what_if_page import write_queue

                write_queue(queue, page, title or "")
            _print(queue, json, page, print_queue)
            return
        found = run_what_if(
            events, half_lives, [each.strip() for each in (rule or "one-step").split(",")], memories=memory or (),
            newcomers=newcomers or "zero", welfare=welfare, entitlements=weights, others=others, kind=kind,
            draws=draws,
        )  # fmt: skip
    if page is not None:
        from bygones.report.audit.what_if_page import write_what_if

        write_what_if(found, page, title or "")
    _print(found, json, page, print_what_if)


def _print(found: Result, json: bool, page: Path | None, shown: Callable[[Result], None]) -> None:
    if json:
        print_json(found.to_dict())
    else:
        shown(found)
        print_paths([] if page is None else [page])
