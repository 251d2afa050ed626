"""The trials of an advice in a table and a chart, and changes in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bygones._text import amount, capitalized
from bygones.audit.advice.trials import JudgedTrials
from bygones.document.charts import Dots, dot_chart
from bygones.document.document import Cell, Chart, Column, Table
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.audit.advice.advice import Advice


def comparison_table(advice: Advice) -> Table:
    """The trials in numbers; empty if there are too few periods to compare."""
    burden, judged = advice.kind == "burden", advice.judged
    quarter, row = ("heaviest quarter", "in a row") if burden else ("worst-off quarter", "turned down")
    most, streak = ("worked most", "worked") if burden else ("received least", "was turned down")
    if judged is None:
        return Table("", [], [])
    shown = advice.shown()
    return Table(
        f"What would have been {words(advice.kind).received} per {advice.length(advice.period)}",
        ["memory", "rule", quarter, "total", Column("Gini", 1), row, "difference"],
        [_row(advice, judged, i) for i in shown],
        chosen=frozenset([shown.index(advice.chosen)]),
        note=f"{capitalized(quarter)}: the mean of the quarter of agents who {most}. {capitalized(row)}: the most "
        f"times in a row that any agent {streak}. Difference: of that quarter from the recommendation; its ranges "
        f"allow for chance, for ties and for the number of comparisons.",
    )


def comparison_charts(advice: Advice) -> list[Chart]:
    """The totals of the worst-off quarter in each trial, with their uncertainty."""
    if advice.judged is None:
        return []
    shown, judged, chosen = advice.shown(), advice.judged, advice.chosen
    worst, recommended = [judged.mean(judged.worst, i) for i in shown], judged.mean(judged.worst, chosen)
    sign = -1.0 if advice.kind == "burden" else 1.0
    gains = [advice.gain(i, chosen) for i in shown]
    ends = [sorted(max(recommended + sign * end, 0.0) for end in (gain.low, gain.high)) for gain in gains]
    spans = [(low, high) for low, high in ends]
    looks = {"recommended": [chosen], "actual": [0], "compared": [i for i in shown if i not in (0, chosen)]}
    dots = [
        Dots(
            name,
            [x if i in which else None for i, x in zip(shown, worst, strict=True)],
            spans,
            "grey" if name == "actual" else "",
        )
        for name, which in looks.items()
    ]
    axis = f"{words(advice.kind).received} by {advice.worst_off} per {advice.length(advice.period)}"
    better = "left" if advice.kind == "burden" else "right"
    values = "; ".join(f"{_title(advice, i)}: {amount(x)}" for i, x in zip(shown, worst, strict=True))
    return [
        dot_chart(
            [_title(advice, i) for i in shown],
            dots,
            axis,
            alt=f"{capitalized(axis)}. {values}.",
            caption=f"{capitalized(axis)}. Further to the {better} is better. Bars are the uncertainty of the "
            "difference from the recommendation.",
        )
    ]


def _row(advice: Advice, judged: JudgedTrials, i: int) -> list[Cell]:
    trial, gain, was = advice.trials[i], advice.gain(i, advice.chosen), judged.mean(judged.worst, advice.chosen)
    # Of burdens more is worse. The column shows what happens to the number, as the others do.
    low, high = (gain.low, gain.high) if advice.kind == "good" else (-gain.high, -gain.low)
    change = change_of(judged.worst, i, advice.chosen)
    change = f"{change} ({percent_change(low / was)} to {percent_change(high / was)})" if was > 0 else ""
    has_rule = i > 0 and trial.memory.kind != "instantaneous"
    return [
        trial.memory.title if i else "actual", trial.rule if has_rule else "",
        judged.mean(judged.worst, i), judged.mean(judged.total, i), judged.mean(judged.gini, i), trial.longest,
        "recommended" if i == advice.chosen else change,
    ]  # fmt: skip


def _title(advice: Advice, i: int) -> str:
    """A trial in a chart."""
    trial = advice.trials[i]
    if i == 0 or trial.memory.kind == "instantaneous":
        return trial.memory.title if i else "actual"
    return f"{trial.memory.title}, {trial.rule}"


def change_of(what: np.ndarray, i: int, other: int) -> str:
    """How much more of something a trial gives than another, in percent."""
    was = float(what[other].mean())
    return percent_change(float(what[i].mean()) / was - 1) if was > 0 else "from nothing"


def more_than(what: np.ndarray, i: int, other: int) -> str:
    """The same in words: `37% more than`."""
    was = float(what[other].mean())
    points = round(100 * (float(what[i].mean()) / was - 1)) if was > 0 else 0
    if was > 0 and not points:
        return "as much as"
    return f"{abs(points)}% {'more' if points > 0 else 'less'} than" if was > 0 else "instead of"


def percent_change(change: float) -> str:
    """A change in percent with its sign; nothing falls by more than all of it."""
    points = max(round(100 * change), -100)
    return f"{points:+d}%" if points else "0%"
