"""`bygones what-if`: thin. Replays the decisions of a history, or the queue of a cluster, under other memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from bygones.audit.read import formats
from bygones.cli.arguments import optional
from bygones.cli.history_arguments import AnswerOptions, EntitlementOptions, HistoryFiles, HistoryOptions

if TYPE_CHECKING:
    from bygones.audit import QueueReplay, WhatIf


def what_if(
    history: HistoryFiles,
    options: Annotated[HistoryOptions, arg(name="")],
    shares: Annotated[EntitlementOptions, arg(name="")],
    answer: Annotated[AnswerOptions, arg(name="")],
    half_life: Annotated[
        str | None,
        optional(
            "Half-lives to replay, such as 3d,7d,inf. If left out, 1d,7d,30d,inf, or 10,100,1000,inf steps, unless "
            "--memory is given.",
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
        optional(
            "Policies to replay, such as one-step,prices,max-min or your own as module:name; one-step if left out.",
            "LIST",
        ),
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
        str, arg(metavar="COLUMN", help="Column that shows who was served: 1 or 0, true or false, yes or no.")
    ] = "served",
    welfare: Annotated[str, arg(metavar="WELFARE", help="Welfare that decisions maximise.")] = "egalitarian",
    kind: Annotated[
        Literal["good", "burden"], arg(metavar="{good,burden}", help="Whether the history is about goods or burdens.")
    ] = "good",
    draws: Annotated[
        int | None,
        optional(
            "How often each memory and rule is replayed, with different draws among ties; 10 if left out.", "NUMBER"
        ),
    ] = None,
    in_force: Annotated[
        str | None,
        optional(
            "Of a cluster: the half-life or memory by which it really ordered jobs, or none if in the order of "
            "submission; 7d if left out, as in Slurm. It is replayed first, and compared with what happened.",
            "MEMORY",
        ),
    ] = None,
    capacity: Annotated[
        float | None,
        optional(
            "Of a cluster: how many CPUs, GPUs or other units of the resource it has; the most in use at once if left "
            "out.",
            "NUMBER",
        ),
    ] = None,
    backfill: Annotated[
        Literal["auto", "requested", "actual", "no"],
        arg(
            metavar="{auto,requested,actual,no}",
            help="Of a cluster: the run times by which jobs are backfilled; auto takes the requested ones "
            "(Timelimit), if the log has them.",
        ),
    ] = "auto",
) -> None:
    """Replay a history under other memories and rules: who would have been served instead, and the difference it makes.

    The history must have needs, or be the output of sacct with the field Submit, whose queue is simulated.

    For example:
        bygones what-if requests.csv --half-life 3d,7d --rule prices,one-step
        bygones what-if requests.csv --memory 'sliding_window(length=30d)' 'reset(every=30d)' --page what-if.html
        bygones what-if sacct.txt --in-force 14d --half-life 3d,7d --entitlements sshare.txt
    """
    from bygones._registry import texts_in
    from bygones.audit.measure.audit import HALF_LIVES, STEP_HALF_LIVES
    from bygones.audit.replay.queue_replay import replay_queue
    from bygones.audit.replay.what_if import DRAWS
    from bygones.audit.replay.what_if import what_if as replay_decisions

    answer.check(history, shares.entitlements)
    log = options.format if options.format in formats.FORMATS else None
    if options.format == "auto" and options.time is None:
        log = formats.recognised(Path(history[0]), (options.fields or "").split(",") if options.fields else ())
    tables, clusters = (
        {"rule": rule, "newcomers": newcomers, "draws": draws},
        {"in-force": in_force, "capacity": capacity},
    )
    for name, given in (tables if log else clusters).items():
        if given is not None:
            kind_of = (
                "the queue of a cluster, which is simulated" if log else "a history that is not the log of a cluster"
            )
            raise ValueError(f"--{name} does not apply to {kind_of}")
    columns = {"format": log} if log else {"needs": needs, "served": served}
    with options.read(history, **columns) as events:
        defaults = STEP_HALF_LIVES if events.clock.steps else HALF_LIVES
        half_lives = half_life.split(",") if half_life is not None else () if memory else defaults
        entitled = shares.read(events, options.agent, kind)
        replayed: QueueReplay | WhatIf
        if log:
            replayed = replay_queue(
                events, half_lives, memories=memory or (), in_force=in_force, capacity=capacity, backfill=backfill,
                entitlements=entitled, others=shares.others,
            )  # fmt: skip
        else:
            replayed = replay_decisions(
                events, half_lives, texts_in(rule or "one-step"), memories=memory or (),
                newcomers=newcomers or "zero", welfare=welfare,
                entitlements=None if entitled is None else entitled.entitlements, others=shares.others, kind=kind,
                draws=DRAWS if draws is None else draws,
            )  # fmt: skip
    answer.show(replayed.document(), replayed.to_dict(), "what-if")
