"""`bygones what-if`: thin. Replays the decisions of a history, or the queue of a cluster, under other half-lives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones.audit import formats
from bygones.cli.arguments import Json, one_of, optional
from bygones.cli.console import print_json


def what_if(
    history: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="HISTORY [HISTORY ...]", help="History with needs, or the output of sacct with the field Submit."),
    ],
    half_life: Annotated[
        str, arg(metavar="LIST", help="Half-lives to replay, such as 3d,7d,inf; at least two for a cluster.")
    ] = "1d,7d,30d,inf",
    rule: Annotated[str, arg(metavar="LIST", help="Rules to replay: one-step, prices, or both.")] = "one-step",
    needs: Annotated[str, arg(metavar="COLUMN", help="Column with each agent's need.")] = "need",
    served: Annotated[
        str, arg(metavar="COLUMN", help="Column that tells who was served: 1 or 0, true or false, yes or no.")
    ] = "served",
    agent: Annotated[
        str | None, optional("Column with the names of the agents; agent if left out, or User for sacct.", "COLUMN")
    ] = None,
    time: Annotated[str | None, optional("Column with the times; time if left out.", "COLUMN")] = None,
    where: Annotated[
        tuple[str, ...] | None,
        optional("Conditions that rows must meet, such as 'state=COMPLETED'.", "CONDITION [CONDITION ...]"),
    ] = None,
    format: Annotated[
        str,
        one_of(formats.names()),
        arg(help=f"Format of the history: a table, or a log ({formats.described()}); auto detects it."),
    ] = "auto",
    resource: Annotated[str | None, optional("Resource to count in a log, or several with weights.", "NAME")] = None,
    welfare: Annotated[str, arg(metavar="WELFARE", help="Welfare that decisions maximise.")] = "egalitarian",
    kind: Annotated[
        Literal["good", "burden"], arg(metavar="{good,burden}", help="Whether goods or burdens are handed out.")
    ] = "good",
    entitlements: Annotated[
        Path | None, optional("Entitlements, as for bygones audit; the same for everyone if left out.", "FILE")
    ] = None,
    others: Annotated[
        str | None, optional("Entitlement of agents that the file does not list; refused if left out.", "NUMBER")
    ] = None,
    draws: Annotated[
        int, arg(metavar="NUMBER", help="How often each course is run, with other draws among ties.")
    ] = 10,
    timezone: Annotated[
        str | None,
        optional(
            "Time zone of times without one, and in which times are shown; UTC or a ledger's own if left out.", "ZONE"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Replay a history under other half-lives and rules: who would have been served instead, and what it changes.

    For example:
        bygones what-if requests.csv --half-life 3d,7d --rule prices,one-step
        bygones what-if sacct.txt --half-life 3d,7d
    """
    from bygones.audit import read_history
    from bygones.audit.courses import what_if as run_what_if
    from bygones.audit.entitlements import read_shares
    from bygones.audit.queue_replay import replay_queue
    from bygones.cli.what_if_tables import print_queue, print_what_if

    log = format if format in formats.FORMATS else None
    if format == "auto" and time is None:
        log = formats.recognised(Path(history[0]))
    reading = read_history(
        history[0] if len(history) == 1 else list(history), agent=agent, where=where or (), format=log or format,
        resource=resource, timezone=timezone, time=time, needs=None if log else needs, served=None if log else served,
    )  # fmt: skip
    half_lives = half_life.split(",")
    with reading as events:
        weights = None
        if entitlements is not None:
            weights = read_shares(entitlements, agent=agent, exempt=kind == "burden").entitlements
        if log:
            queue = replay_queue(events, half_lives, entitlements=weights, others=others, draws=draws)
            print_json(queue.to_dict()) if json else print_queue(queue)
            return
        found = run_what_if(
            events, half_lives, [each.strip() for each in rule.split(",")], welfare=welfare, entitlements=weights,
            others=others, kind=kind, draws=draws,
        )  # fmt: skip
    if json:
        print_json(found.to_dict())
    else:
        print_what_if(found)
