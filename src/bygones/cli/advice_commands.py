"""`bygones advise`: thin. Reads a history, asks for advice, and prints it or writes JSON or a page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones.audit.read import formats
from bygones.cli.arguments import Json, one_of, optional
from bygones.cli.console import print_json, print_paths, progress
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


def advise(
    history: Annotated[
        Positional[tuple[str, ...]],
        arg(
            metavar="HISTORY [HISTORY ...]",
            help="History, as for bygones audit. If it has the columns need and served, rules are replayed on it.",
            help_behavior_hint="(required)",
        ),
    ],
    period: Annotated[
        str | None,
        optional(
            "Time over which shares should even out, such as 30d; if left out, enough for about three turns each.",
            "TIME",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"] | None,
        optional(
            "Whether goods are handed out, or burdens such as shifts; if left out, as a ledger's rules say, or good.",
            "{good,burden}",
        ),
    ] = None,
    reported: Annotated[
        bool, arg(help="Agents report their needs themselves: recommend what is safe against false reports.")
    ] = False,
    half_life: Annotated[
        str | None,
        optional("Half-lives to compare, such as 7d,30d,inf; if left out, several around the period.", "LIST"),
    ] = None,
    needs: Annotated[
        str | None, optional("Column with each agent's need; need if left out and there is one.", "COLUMN")
    ] = None,
    served: Annotated[
        str | None,
        optional(
            "Column that tells who was served: 1 or 0, true or false, yes or no; served if left out and there is one.",
            "COLUMN",
        ),
    ] = None,
    utility: Annotated[
        str | None,
        optional(
            "Column with what was received, if the history does not record who asked; utility if left out.", "COLUMN"
        ),
    ] = None,
    agent: AgentColumn = None,
    time: TimeColumn = None,
    newcomers: Annotated[
        str | None,
        optional(
            "Newcomer rule: zero, mean, median, entitled-share or a number; mean if left out, or that of a ledger.",
            "RULE",
        ),
    ] = None,
    entitlements: Entitlements = None,
    entitlement: EntitlementColumn = None,
    others: Others = None,
    where: Where = None,
    skip_unnamed: SkipUnnamed = False,
    time_format: TimeFormat = "auto",
    fields: Fields = None,
    table: Table = None,
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, a ledger, or a log ({formats.described()}); auto detects it."),
    ] = "auto",
    resource: Resource = None,
    draws: Annotated[
        int, arg(metavar="NUMBER", help="How often each memory and rule is replayed, with different draws among ties.")
    ] = 3,
    time_zone: TimeZone = None,
    page: Annotated[
        Path | None, optional("Also write the advice as an HTML page, a single file that works offline.", "FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Recommend a half-life and a rule for a history, with reasons and what would change them.

    Half-lives, other memories and the rules one-step and prices are replayed on the history, and compared by what the
    worst-off quarter of the agents would have received in each period (of burdens, by what those with the most would
    have carried). If nothing is clearly better than the simplest choice, that is what is recommended.

    For example:
        bygones advise requests.csv
        bygones advise nights.csv --kind burden --agent nurse --time date --needs hours --served worked
        bygones advise requests.csv --period 90d --reported --page advice.html
    """
    from bygones.audit import advise as recommend
    from bygones.audit import read_history
    from bygones.cli.advice_tables import next_commands, print_advice

    check_files(history, page, entitlements)
    reading = read_history(
        list(history), agent=agent, time=time, needs=needs, served=served, utility=utility, table=table, format=format,
        fields=names_in(fields), where=where or (), skip_unnamed=skip_unnamed, time_format=time_format,
        time_zone=time_zone, resource=resource, look_for_needs=True,
    )  # fmt: skip
    with reading as events, ExitStack() as bar:
        entitled = read_entitlements(events, entitlements, entitlement, agent, kind)
        advice = recommend(
            events, period=period, half_lives=None if half_life is None else half_life.split(","), reported=reported,
            newcomers=newcomers, entitlements=None if entitled is None else entitled.entitlements, others=others,
            kind=kind, draws=draws, advance=_shown(bar),
        )  # fmt: skip
    same = {"agent": agent, "time": time, "needs": needs, "served": served, "utility": utility,
            "entitlements": entitlements,
            "entitlement": entitlement, "others": others, "where": where, "skip-unnamed": skip_unnamed,
            "time-format": time_format, "fields": fields, "table": table, "format": format, "resource": resource,
            "time-zone": time_zone}  # fmt: skip
    commands = next_commands(advice, history, same)
    if page is not None:
        from bygones.report.audit.advice_page import write_advice

        write_advice(advice, commands, page)
    if json:
        print_json(advice.to_dict() | {"next": commands})
    else:
        print_advice(advice, commands)
        print_paths([] if page is None else [page])


def _shown(bar: ExitStack) -> Callable[[float], None]:
    """Shows how much is done in a progress bar, which appears when there is something to show."""
    percent, advance = 0, None

    def show(done: float) -> None:
        nonlocal percent, advance
        advance = advance or bar.enter_context(progress("Replaying", total=100))
        percent, before = round(100 * done), percent
        advance(percent - before)

    return show
