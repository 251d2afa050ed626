"""Which half-life and rule to choose for a history, by a replay where it records who asked.

Half-lives, other memories and both rules are replayed on the needs of the history, judged by the total of the worst-off
quarter of the agents within periods, and compared (`bygones.audit.advice.trials`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from bygones._arrays import check_count
from bygones._text import counted
from bygones.allocation.decide import RULES
from bygones.audit.advice.advice import Advice
from bygones.audit.advice.recommendation import AROUND, PERIODS, HistoryFacts, facts_of, period_of, round_lengths
from bygones.audit.advice.trials import AdviceVerdict, Trials, compare, nearest
from bygones.audit.advice.without_needs import ReceivedAdvice, advise_received
from bygones.audit.read.clock import Clock
from bygones.audit.read.history import History
from bygones.audit.replay.courses import ACTUAL, Course, replay
from bygones.audit.replay.memories import Alternative, alternatives, named_memory, of_length
from bygones.audit.replay.past_decisions import DecisionRequest, Decisions, decisions_of
from bygones.kinds import Kind, check_kind

DRAWS = 3
"""How often each trial is run, with other draws among ties."""

MOST_DECISIONS = 2000
"""The most decisions that are replayed, the latest."""


def advise(
    history: History,
    *,
    period: str | float | None = None,
    half_lives: Sequence[str | float] | None = None,
    reported: bool = False,
    newcomers: str | float | None = None,
    entitlements: Mapping[str, float] | None = None,
    others: str | float | None = None,
    kind: Kind | None = None,
    draws: int = DRAWS,
    advance: Callable[[float], None] = lambda done: None,
) -> Advice | ReceivedAdvice:
    """Recommends a half-life and a rule for a history; where it does not record who asked, a half-life to begin with.

    Args:
        history: see `read_history`; rules are compared if it was read with `needs` and `served`.
        period: the time over which shares should even out; by default long enough for three turns each.
        half_lives: the half-lives to try; by default round ones around the period, and perfect recall.
        reported: whether agents report their needs themselves. They then count as multiples of each agent's usual
            report, and only the rule that is safe with them is recommended.
        newcomers: the newcomer rule; by default `zero`, as in an audit, or that of a ledger.
        entitlements: of each agent; by default from the ledger, or the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
        kind: goods or burdens; by default the kind of a ledger, or goods, which the advice then mentions.
        draws: how often each trial is run, with other draws among ties.
        advance: called after each trial with the share of the work that is done.
    """
    if history.requests is None:
        if reported:
            raise ValueError(
                "--reports normalised needs a history with needs: name the columns with --needs and --served"
            )
        return advise_received(history, period, half_lives, newcomers, entitlements, others, kind)
    check_count("draws", draws, most=1000)
    about: Kind = "good" if kind is None else check_kind(kind)
    clock, notes = history.clock, [history.clock.sentence(), *history.notes]
    decisions = decisions_of(history, "zero" if newcomers is None else newcomers, entitlements, others)
    number = len(decisions.requests)
    if number > MOST_DECISIONS:
        notes.append(f"The latest {MOST_DECISIONS:,} of {number:,} decisions were replayed.")
        decisions = Decisions(decisions.requests[-MOST_DECISIONS:], decisions.who, decisions.usual)
    if number < 2 and period is None:
        raise ValueError(
            f"{history.source.label} is too short to advise on: it has {counted(number, 'decision')}, so it does "
            f"not show how often a turn comes; give more of the history, or --period with the time over which shares "
            f"should even out"
        )
    if reported:
        decisions = Decisions(_as_multiples(decisions), decisions.who, decisions.usual)
    facts = facts_of(decisions)
    over = period_of(clock, period, facts.turn, facts.span)
    if over < facts.turn and period is not None:
        least = clock.length_text(facts.turn)
        raise ValueError(
            f"period must be at least as long as it takes until every agent has had a turn, {least}, got {period!r}: "
            f"no one could come out even within it"
        )
    memories = _memories(clock, over, facts, half_lives)
    trials = _trials(decisions, memories, about, draws, advance) if facts.contested and facts.agents > 1 else []
    compared = compare(decisions, trials, over, about)
    verdict: AdviceVerdict = "nothing to decide"
    memory, rule = nearest(memories, over), "one-step"
    if trials:
        verdict, chosen = compared.choose(reported)
        memory, rule = trials[chosen].memory, trials[chosen].rule
    return Advice(
        label=history.source.label,
        clock=clock,
        kind=about,
        kind_assumed=kind is None,
        facts=facts,
        period=over,
        verdict=verdict,
        memory=memory,
        rule=rule,
        reported=reported,
        newcomers=decisions.who.newcomers,
        trials=compared.trials,
        judged=compared.judged,
        others=_other_periods(decisions, compared, clock, facts, about, reported),
        held_out=compared.choose_early(reported),
        entitled=len(set(decisions.who.entitlements.tolist())) > 1,
        notes=tuple(notes),
    )


def _as_multiples(decisions: Decisions) -> list[DecisionRequest]:
    """The needs as multiples of each agent's mean report so far, as a ledger counts them."""
    n = len(decisions.who.names)
    sums, counts, multiples = np.zeros(n), np.zeros(n), []
    for request in decisions.requests:
        sums[request.who] += request.needs
        counts[request.who] += request.needs > 0
        usual = sums[request.who] / np.maximum(counts[request.who], 1)
        multiples.append(request._replace(needs=request.needs / np.where(usual > 0, usual, 1.0)))
    return multiples


def _memories(
    clock: Clock, period: float, facts: HistoryFacts, half_lives: Sequence[str | float] | None
) -> list[Alternative]:
    """The memories to try: half-lives, and a window and resets of one period."""
    if half_lives is None:
        known = round_lengths(clock, min(facts.span, AROUND * period))
        around = {period, *(length for length in known if length >= period / AROUND)}
        fading = [of_length(clock, length) for length in [*sorted(around), math.inf]]
    else:
        fading = alternatives(clock, half_lives, ())
    if not fading:
        raise ValueError("half_lives must not be empty")
    of_period = [of_length(clock, period, kind) for kind in ("sliding_window", "reset")]
    return [*fading, *of_period, named_memory(clock, "none")]


def _trials(
    decisions: Decisions, memories: Sequence[Alternative], kind: Kind, draws: int, advance: Callable[[float], None]
) -> list[Course]:
    """The actual course, then each rule under each memory; `advance` gets the share of the work that is done."""
    trials, tried = [replay(decisions, memories[0], ACTUAL, kind)], list(product(memories, RULES))
    for done, (memory, rule) in enumerate(tried, 1):
        trials.append(replay(decisions, memory, rule, kind, draws=draws))
        advance(done / len(tried))
    return trials


def _other_periods(
    decisions: Decisions, compared: Trials, clock: Clock, facts: HistoryFacts, kind: Kind, reported: bool
) -> dict[float, tuple[Alternative, str]]:
    """The recommendations for the next shorter and the next longer period by which trials can be judged."""
    if compared.judged is None:
        return {}
    known = [each for each in round_lengths(clock, facts.span / PERIODS) if each >= facts.turn]
    shorter, longer = ([x for x in known if x < compared.period], [x for x in known if x > compared.period])
    chosen = {}
    for period in [*shorter[-1:], *longer[:1]]:
        other = compare(decisions, compared.trials, period, kind)
        if other.judged is not None:
            trial = other.trials[other.choose(reported)[1]]
            chosen[period] = (trial.memory, trial.rule)
    return chosen
