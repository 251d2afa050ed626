"""Which half-life and rule to choose, by what they would have done on a history.

Half-lives, other memories and both rules are replayed on the needs of the history and judged by what the worst-off
quarter of the agents would have received (of burdens, carried) within periods; see `advice_trials`. The simple choice
is a half-life as long as a period and the rule `one-step`. Another is recommended only if it is clearly better: by at
least 5%, with an interval above zero that allows for the number of comparisons. It may be better for the worst-off
quarter, or no worse for them, without much longer waits, and better in total. Of several such, the simplest is taken
that is within 5% of the best for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from bygones._arrays import check_count
from bygones._text import counted
from bygones.allocation.decide import Rule
from bygones.audit.advice.advice_facts import PERIODS, HistoryFacts, facts_of, round_lengths, suitable_period, written
from bygones.audit.advice.advice_trials import Gain, JudgedTrials, Trial, judge, trials
from bygones.audit.clock import Clock
from bygones.audit.inputs.history import History
from bygones.audit.replays.alternatives import Alternative, alternatives, named_memory, of_half_life
from bygones.audit.replays.counterfactual import DecisionRequest
from bygones.audit.replays.replay_setting import ReplaySetting, replay_setting
from bygones.kinds import Kind, check_kind

DRAWS = 3
"""How often each trial is run, with other draws among ties."""

MOST_DECISIONS = 2000
"""The most decisions that are replayed, the latest."""

WORTH = 0.05
"""The least difference that is worth a word, as a share of what everybody would receive if it were equal."""

LONGER = 2
"""What is better only in total may let nobody ask in vain, or carry, more than this many times as often in a row."""

LEAST_PERIODS = 4
"""The fewest independent periods by which trials are compared."""

_AROUND = 10.0

AdviceVerdict = Literal["better", "better in total", "hardly matters", "cannot tell", "nothing to decide"]
"""How what is recommended compares with the simple choice: better for the worst-off quarter, no worse for them and
better in total, the simple choice itself since nothing is better, the simple choice since there are too few periods to
compare, or since there never was a choice."""


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """The result of `advise`.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        kind: goods or burdens.
        kind_assumed: whether it was not said, and goods are assumed.
        facts: what the history is like.
        period: the time over which shares should even out.
        verdict: how sure the advice is.
        memory: the half-life that is recommended.
        rule: the rule that is recommended.
        reported: whether needs are what agents report themselves.
        newcomers: the newcomer rule.
        trials: what was replayed; what happened comes first. Empty if there was nothing to decide.
        judged: the trials judged by what was received within periods; None if there are too few.
        others: what would be recommended for other periods, by their length.
        held_out: the choice by the first half of the periods alone, and its gain over the simple one in the second.
        entitled: whether entitlements differ.
        notes: what was skipped or assumed, in sentences.
    """

    label: str
    clock: Clock
    kind: Kind
    kind_assumed: bool
    facts: HistoryFacts
    period: float
    verdict: AdviceVerdict
    memory: Alternative
    rule: str
    reported: bool
    newcomers: str
    trials: tuple[Trial, ...]
    judged: JudgedTrials | None
    others: Mapping[float, tuple[Alternative, str]]
    held_out: tuple[Alternative, str, float] | None
    entitled: bool
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Advice for {self.label}: half-life {self.memory.name}, rule {self.rule}>"

    def _repr_html_(self) -> str:
        from bygones.audit.advice.advice_card import advice_html
        from bygones.audit.advice.advice_text import advice_text

        return advice_html(advice_text(self))

    def index(self, memory: Alternative, rule: str) -> int:
        """The trial of a memory and a rule."""
        return _index(self.trials, memory, rule)

    @property
    def chosen(self) -> int:
        """The trial that is recommended."""
        return self.index(self.memory, self.rule)

    @property
    def simple(self) -> int:
        """The trial of the simple choice."""
        return _simple(self.trials, self.period)

    def fading(self) -> list[int]:
        """The trials of half-lives, perfect recall among them."""
        return _fading(self.trials)

    def gain(self, trial: int, other: int) -> Gain:
        """What a trial gives the worst-off quarter more than another, as all comparisons together allow to say."""
        if self.judged is None:
            raise ValueError("there are too few periods to compare trials")
        return self.judged.gain(self.judged.worst, trial, other, len(self.fading()) - 1)

    def clearly_better(self, trial: int, other: int) -> bool:
        """Whether a trial is better for the worst-off quarter than another, beyond chance and by more than a little."""
        return self.judged is not None and _clear(self.judged, trial, other, self.simple, len(self.fading()) - 1)

    def alike(self, rule: str) -> list[Alternative]:
        """The half-lives under a rule that are neither clearly better nor clearly worse than what is recommended."""
        return [
            self.trials[i].memory
            for i in self.fading()
            if self.trials[i].rule == rule
            and not self.clearly_better(i, self.chosen)
            and not self.clearly_better(self.chosen, i)
        ]


class _Choice(NamedTuple):
    verdict: AdviceVerdict
    trial: int


def advise(
    history: History,
    *,
    period: str | float | None = None,
    half_lives: Sequence[str | float] | None = None,
    reported: bool = False,
    newcomers: str | float = "mean",
    entitlements: Mapping[str, float] | None = None,
    others: str | float | None = None,
    kind: Kind | None = None,
    draws: int = DRAWS,
    advance: Callable[[float], None] = lambda done: None,
) -> Advice:
    """Recommends a half-life and a rule for a history that records who asked.

    Args:
        history: see `read_history(needs=…, served=…)`.
        period: the time over which shares should even out; by default long enough for three turns each.
        half_lives: the half-lives to try; by default round ones around the period, and perfect recall.
        reported: whether needs are what agents report themselves. They then count as multiples of what each usually
            reports, and only the rule that is safe with them is recommended.
        newcomers: the newcomer rule, for agents who ask for the first time; by default that of a ledger.
        entitlements: of each agent; by default the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
        kind: goods or burdens; goods if left out, and the advice says so.
        draws: how often each trial is run, with other draws among ties.
        advance: called after each trial with the share of the work that is done.
    """
    if history.requests is None:
        raise ValueError("advise needs to know who asked: name the columns with needs and served")
    check_count("draws", draws, most=1000)
    about: Kind = "good" if kind is None else check_kind(kind)
    clock = history.clock
    setting = replay_setting(history, newcomers, entitlements, others)
    notes = [clock.sentence(), *history.notes]
    if len(setting.requests) > MOST_DECISIONS:
        notes.append(f"The latest {MOST_DECISIONS:,} of {len(setting.requests):,} decisions were replayed.")
        setting = setting._replace(requests=setting.requests[-MOST_DECISIONS:])
    if len(setting.requests) < 2 and period is None:
        raise ValueError(
            f"{history.source.label} is too short to advise on: it has {counted(len(setting.requests), 'decision')}, "
            f"so that it does not show how often a turn comes; give more of the history, or --period with the time "
            f"over which shares should even out"
        )
    if reported:
        setting = setting._replace(requests=_as_multiples(setting.requests, len(setting.who.names)))
    facts = facts_of(setting.requests, len(setting.who.names), setting.usual)
    over = suitable_period(clock, facts.turn, facts.span) if period is None else clock.length(period, "period")
    if math.isinf(over):
        raise ValueError("period must be finite, got inf")
    if over < facts.turn and period is not None:
        least = clock.length_text(facts.turn)
        raise ValueError(
            f"period must be at least as long as it takes until everybody has had a turn, {least}, got {period!r}: "
            f"nobody could come out even within it"
        )
    tried = _memories(clock, over, facts, half_lives)
    found: list[Trial] = []
    if facts.contested and facts.agents > 1:
        found = trials(setting, tried, get_args(Rule), about, draws, advance)
    judged = judge(setting, found, over, about) if found else None
    if judged is not None and judged.n_periods < LEAST_PERIODS:
        judged = None
    choice = _choose(found, judged, over, reported) if found else None
    chosen = found[choice.trial] if choice else None
    return Advice(
        label=history.source.label,
        clock=clock,
        kind=about,
        kind_assumed=kind is None,
        facts=facts,
        period=over,
        verdict=choice.verdict if choice else "nothing to decide",
        memory=chosen.memory if chosen else _nearest(tried, over),
        rule=chosen.rule if chosen else "one-step",
        reported=reported,
        newcomers=setting.who.newcomers,
        trials=tuple(found),
        judged=judged,
        others=_other_periods(setting, found, clock, over, facts, about, reported) if judged else {},
        held_out=_held_out(found, judged, over, reported),
        entitled=len(set(setting.who.entitlements.tolist())) > 1,
        notes=tuple(notes),
    )


def _as_multiples(requests: Sequence[DecisionRequest], n_agents: int) -> list[DecisionRequest]:
    """The needs as multiples of the mean of what each agent has reported so far, as a ledger counts them."""
    sums, counts, found = np.zeros(n_agents), np.zeros(n_agents), []
    for request in requests:
        reports = request.needs > 0
        sums[request.who] += request.needs
        counts[request.who] += reports
        usual = sums[request.who] / np.maximum(counts[request.who], 1)
        found.append(request._replace(needs=request.needs / np.where(usual > 0, usual, 1.0)))
    return found


def _memories(
    clock: Clock, period: float, facts: HistoryFacts, half_lives: Sequence[str | float] | None
) -> list[Alternative]:
    """The memories to try: half-lives, and a window and resets of one period."""
    if half_lives is None:
        known = round_lengths(clock, min(facts.span, _AROUND * period))
        around = [length for length in known if length >= period / _AROUND]
        fading = [of_half_life(clock, written(clock, length)) for length in dict.fromkeys([*around, period])]
        fading = [*sorted(fading, key=lambda each: each.length), of_half_life(clock, "inf")]
    else:
        fading = alternatives(clock, half_lives, ())
    if not fading:
        raise ValueError("half_lives must not be empty")
    text = written(clock, period)
    rest = [f"sliding_window(length={text})", f"reset(every={text})", "none"]
    return [*fading, *(named_memory(clock, name) for name in rest)]


def _fading(found: Sequence[Trial]) -> list[int]:
    """The trials of half-lives; what happened comes first, and is none of them."""
    return [i for i, each in enumerate(found) if i and each.memory.kind in ("discounted", "perfect_recall")]


def _index(found: Sequence[Trial], memory: Alternative, rule: str) -> int:
    return next(i for i, each in enumerate(found) if i and each.memory == memory and each.rule == rule)


def _nearest(memories: Sequence[Alternative], period: float) -> Alternative:
    """The half-life nearest to a period, by ratio."""
    fading = [each for each in memories if each.kind in ("discounted", "perfect_recall")]
    return min(fading, key=lambda each: abs(math.log(each.length / period)))


def _simple(found: Sequence[Trial], period: float) -> int:
    return _index(found, _nearest([found[i].memory for i in _fading(found)], period), "one-step")


def _clear(judged: JudgedTrials, trial: int, other: int, simple: int, comparisons: int) -> bool:
    """Whether a trial is clearly better for the worst-off quarter, by a part of what is an even share of a period."""
    gain = judged.gain(judged.worst, trial, other, max(comparisons, 1))
    return gain.low > 0 and gain.mean >= WORTH * judged.level[simple]


def _clear_in_total(judged: JudgedTrials, trial: int, simple: int, comparisons: int) -> bool:
    """Whether a trial is clearly better in total than the simple choice, and no worse for the worst-off quarter."""
    gain = judged.gain(judged.total, trial, simple, max(comparisons, 1))
    enough = gain.mean >= WORTH * judged.mean(judged.total, simple)
    return gain.low > 0 and enough and judged.gain(judged.worst, trial, simple).mean >= 0


def _choose(found: Sequence[Trial], judged: JudgedTrials | None, period: float, reported: bool) -> _Choice:
    """The simple choice, or the simplest of those that are clearly better and about as good as the best."""
    simple, pool = _simple(found, period), _fading(found)
    if judged is None:
        return _Choice("cannot tell", simple)
    comparisons = len(pool) - 1
    if reported:
        pool = [i for i in pool if found[i].rule == "one-step"]
    verdict: AdviceVerdict = "better"
    better = [i for i in pool if _clear(judged, i, simple, simple, comparisons)]
    if not better:
        verdict = "better in total"
        patient = [i for i in pool if found[i].longest <= LONGER * found[simple].longest]
        better = [i for i in patient if _clear_in_total(judged, i, simple, comparisons)]
    if not better:
        return _Choice("hardly matters", simple)
    sign = -1.0 if judged.kind == "burden" else 1.0
    best = max(better, key=lambda i: sign * judged.mean(judged.worst, i))
    good = [i for i in better if judged.gain(judged.worst, best, i).mean < WORTH * judged.level[simple]]
    of_period = {i: abs(math.log(found[i].memory.length / period)) for i in good}
    return _Choice(verdict, min(good, key=lambda i: (found[i].rule != "one-step", of_period[i])))


def _other_periods(
    setting: ReplaySetting,
    found: Sequence[Trial],
    clock: Clock,
    period: float,
    facts: HistoryFacts,
    kind: Kind,
    reported: bool,
) -> dict[float, tuple[Alternative, str]]:
    """What would be recommended for the next shorter and the next longer period by which it can be judged."""
    known = [each for each in round_lengths(clock, facts.span / PERIODS) if each >= facts.turn]
    near = [*[each for each in known if each < period][-1:], *[each for each in known if each > period][:1]]
    chosen = {}
    for other in near:
        judged = judge(setting, found, other, kind)
        if judged is not None and judged.n_periods >= LEAST_PERIODS:
            trial = found[_choose(found, judged, other, reported).trial]
            chosen[other] = (trial.memory, trial.rule)
    return chosen


def _held_out(
    found: Sequence[Trial], judged: JudgedTrials | None, period: float, reported: bool
) -> tuple[Alternative, str, float] | None:
    """The choice by the first half of the periods, and its gain in the second as a share of the simple choice's."""
    if judged is None or judged.n_periods < 2 * LEAST_PERIODS:
        return None
    middle, simple = judged.n_periods // 2, _simple(found, period)
    trial = _choose(found, judged.part(slice(0, middle)), period, reported).trial
    later = judged.part(slice(middle, None))
    usual = later.mean(later.worst, simple)
    if not usual:
        return None
    return found[trial].memory, found[trial].rule, later.gain(later.worst, trial, simple).mean / usual
