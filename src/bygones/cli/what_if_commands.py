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
        int, arg(metavar="NUMBER", help="How often each memory and rule is replayed, with different draws among ties.")
    ] = 10,
) -> None:
    """Replay a history under other memories and rules: who would have been served instead, and the difference it makes.

    The history must have needs, or be the output of sacct with the field Submit.

    For example:
        bygones what-if requests.csv --half-life 3d,7d --rule prices,one-step
        bygones what-if requests.csv --memory 'sliding_window(length=30d)' 'reset(every=30d)' --page what-if.html
        bygones what-if sacct.txt --half-life 3d,7d
    """
    from bygones._registry import texts_in
    from bygones.audit.measure.audit import HALF_LIVES, STEP_HALF_LIVES
    from bygones.audit.replay.queue_replay import replay_queue
    from bygones.audit.replay.what_if import what_if as replay_decisions

    answer.check(history, shares.entitlements)
    log = options.format if options.format in formats.FORMATS else None
    if options.format == "auto" and options.time is None:
        log = formats.recognised(Path(history[0]), (options.fields or "").split(",") if options.fields else ())
    if log:
        for given, name in ((memory, "--memory"), (rule, "--rule"), (newcomers, "--newcomers")):
            if given is not None:
                raise ValueError(f"{name} does not apply to the queue of a cluster, which is replayed by fair share")
    columns = {"format": log} if log else {"needs": needs, "served": served}
    with options.read(history, **columns) as events:
        defaults = STEP_HALF_LIVES if events.clock.steps else HALF_LIVES
        half_lives = half_life.split(",") if half_life is not None else () if memory else defaults
        entitled = shares.read(events, options.agent, kind)
        weights = None if entitled is None else entitled.entitlements
        replayed: QueueReplay | WhatIf
        if log:
            replayed = replay_queue(events, half_lives, entitlements=weights, others=shares.others, draws=draws)
        else:
            replayed = replay_decisions(
                events, half_lives, texts_in(rule or "one-step"), memories=memory or (),
                newcomers=newcomers or "zero", welfare=welfare, entitlements=weights, others=shares.others, kind=kind,
                draws=draws,
            )  # fmt: skip
    answer.show(replayed.document(), replayed.to_dict(), "what-if")
