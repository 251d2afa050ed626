"""Advice as people read it, with its table, and as plain data."""

from __future__ import annotations

from typing import Any, NamedTuple

from bygones.audit.advice.advice import Advice
from bygones.audit.advice.advice_trials import JudgedTrials
from bygones.audit.advice.advice_words import (
    capital,
    change_figure,
    doubts,
    headline,
    length,
    percent,
    reasons,
    total_figure,
    worst_figure,
)
from bygones.kinds import Kind, words


class TrialPoint(NamedTuple):
    """A trial in a chart.

    Attributes:
        memory: what is remembered, or "as it was".
        rule: how it is decided; empty where it makes no difference.
        worst: what the worst-off quarter has in a period.
        low: the least and, of `high`, the most that it might be, beside what is recommended.
        high: see `low`.
        recommended: whether it is what is recommended.
    """

    memory: str
    rule: str
    worst: float
    low: float
    high: float
    recommended: bool


class AdviceText(NamedTuple):
    """Advice as people read it, whether rules were compared or not.

    Attributes:
        label: where the history came from.
        half_life: what is recommended, as a duration.
        rule: what is recommended.
        newcomers: the newcomer rule.
        kind: goods or burdens.
        normalised: whether reports should be normalised.
        compared: whether rules were replayed, so that `bygones what-if` can show more.
        steps: whether times are step numbers, which a ledger does not have.
        is_ledger: whether the history is a ledger already.
        is_log: whether it is the log of a cluster, whose queue can be replayed.
        gone_after: after how long without an event agents count as away; empty if never.
        headline: what to take, in a few sentences.
        reasons: why.
        doubts: what would change it.
        notes: what was skipped or assumed.
        title: of the table.
        columns: of the table.
        rows: of the table; empty if there is none.
        about: what the columns mean.
        points: the rows of the table for a chart; empty if nothing was compared.
        axis: what the chart shows.
    """

    label: str
    half_life: str
    rule: str
    newcomers: str
    kind: Kind
    normalised: bool
    compared: bool
    steps: bool
    is_ledger: bool
    is_log: bool
    gone_after: str
    headline: list[str]
    reasons: list[str]
    doubts: list[str]
    notes: list[str]
    title: str
    columns: list[str]
    rows: list[list[str]]
    about: str
    points: list[TrialPoint]
    axis: str


def advice_text(advice: Advice) -> AdviceText:
    """The advice as people read it."""
    quarter, row = ("heaviest quarter", "in a row") if advice.kind == "burden" else ("worst-off quarter", "in vain")
    received = words(advice.kind).received
    most, streak = ("carried most", "carried") if advice.kind == "burden" else ("received least", "asked in vain")
    return AdviceText(
        advice.label, advice.memory.name, advice.rule, advice.newcomers, advice.kind, advice.reported,
        bool(advice.trials), advice.clock.steps, False, False, "", headline(advice), reasons(advice), doubts(advice),
        list(advice.notes),
        f"What would have been {received} in {length(advice, advice.period)}",
        ["memory", "rule", quarter, "all together", "Gini", row, "for that quarter"],
        [] if advice.judged is None else [_row(advice, advice.judged, i) for i in _shown(advice)],
        f"{capital(quarter)}: the mean of the quarter of agents who {most}. {capital(row)}: the most times in a row "
        f"that anybody {streak}. The last column compares with the recommendation; its ranges allow for chance, for "
        f"ties and for the number of comparisons.",
        [] if advice.judged is None else [_point(advice, advice.judged, i) for i in _shown(advice)],
        f"{received} by the {quarter} in {length(advice, advice.period)}",
    )  # fmt: skip


def _shown(advice: Advice) -> list[int]:
    """The trials in the table: what happened, the recommended rule under all memories, the other one under its own."""
    rest = [
        i for i, each in enumerate(advice.trials) if i and (each.rule == advice.rule or each.memory == advice.memory)
    ]
    return [0, *sorted(rest, key=lambda i: (i != advice.chosen, advice.trials[i].memory != advice.memory, i))]


def _point(advice: Advice, judged: JudgedTrials, i: int) -> TrialPoint:
    sign, gain = (-1.0 if advice.kind == "burden" else 1.0), advice.gain(i, advice.chosen)
    ends = sorted(judged.mean(judged.worst, advice.chosen) + sign * end for end in (gain.low, gain.high))
    memory, rule = _row(advice, judged, i)[:2]
    return TrialPoint(memory, rule, judged.mean(judged.worst, i), max(ends[0], 0.0), ends[1], i == advice.chosen)


def _row(advice: Advice, judged: JudgedTrials, i: int) -> list[str]:
    trial, gain = advice.trials[i], advice.gain(i, advice.chosen)
    was = judged.mean(judged.worst, advice.chosen)
    # Of burdens more is worse: the column says what happens to the number, as the others do.
    low, high = (gain.low, gain.high) if advice.kind == "good" else (-gain.high, -gain.low)
    change = (
        f"{change_figure(judged, i, advice.chosen)} ({percent(low / was)} to {percent(high / was)})" if was > 0 else ""
    )
    return [
        "as it was" if i == 0 else trial.memory.name,
        "" if i == 0 or trial.memory.kind == "instantaneous" else trial.rule,
        worst_figure(judged, i), total_figure(judged, i), f"{judged.mean(judged.gini, i):.2f}", str(trial.longest),
        "recommended" if i == advice.chosen else change,
    ]  # fmt: skip


def advice_data(advice: Advice) -> dict[str, Any]:
    """The advice as plain data for JSON."""
    length_text, time = advice.clock.length_text, advice.clock.json_time
    facts = advice.facts._asdict() | {"first": time(advice.facts.first), "last": time(advice.facts.last)}
    facts |= {name: length_text(facts[name]) for name in ("every", "turn", "stay")}
    return {
        "history": advice.label,
        "kind": advice.kind,
        "recommendation": {
            "half_life": advice.memory.name,
            "rule": advice.rule,
            "newcomers": advice.newcomers,
            "reports": "normalised" if advice.reported else "as-reported",
            "verdict": advice.verdict,
            "sentences": headline(advice),
        },
        "reasons": reasons(advice),
        "would_change_it": doubts(advice),
        "period": length_text(advice.period),
        "facts": facts,
        "trials": [_trial_data(advice, i) for i in range(len(advice.trials))],
        "other_periods": {length_text(p): {"half_life": m.name, "rule": r} for p, (m, r) in advice.others.items()},
        "notes": list(advice.notes),
    }


def _trial_data(advice: Advice, i: int) -> dict[str, Any]:
    trial, worst = advice.trials[i], "heaviest_quarter" if advice.kind == "burden" else "worst_off_quarter"
    found: dict[str, Any] = {
        "memory": None if i == 0 else trial.memory.name,
        "rule": trial.rule,
        "longest_in_a_row": trial.longest,
    }
    if advice.judged is not None:
        of = advice.judged
        found |= {worst: of.mean(of.worst, i), "total": of.mean(of.total, i), "gini": of.mean(of.gini, i)}
        found["gain"] = advice.gain(i, advice.simple)._asdict()
    return found
