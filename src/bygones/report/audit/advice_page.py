"""Advice as a page: what to take, what to type next, why, what was compared, and what would change it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bygones._text import amount
from bygones.audit import Advice
from bygones.audit.advice.recommendation import Recommendation
from bygones.audit.advice.trials import JudgedTrials
from bygones.document.document import Table
from bygones.kinds import words
from bygones.report.page import Block, Chart, Page, Section, asset, fragment, label, write
from bygones.report.style import MUTED, PALETTE

_OPTION = re.compile(r"(--[a-z][a-z-]*(?: burden)?)")
_NUMBER = re.compile(r"[\d.,]+")
_APART = {"ticks": "outside", "ticklen": 10, "tickcolor": "rgba(0,0,0,0)"}  # room between the names and the points


def write_advice(advice: Recommendation, commands: Mapping[str, str], path: Path) -> Path:
    """Writes advice as a self-contained HTML file."""
    return write(advice_page(advice, commands), path)


def advice_page(advice: Recommendation, commands: Mapping[str, str]) -> Page:
    """The page of some advice, with the commands to type next by what they are for."""
    table, compared = advice.table(), list[Block]()
    if isinstance(advice, Advice) and advice.judged is not None:
        compared.append(_chart(advice, advice.judged))
    compared += [_trials(table)] if table.rows else []
    return Page(
        title="Which rule?",
        lede=" ".join(advice.headline()),
        sections=[
            Section("What to type next", [_commands(commands)], "next"),
            Section("Why", [_sentences(advice.reasons())]),
            *([Section(table.title, compared, "compared")] if compared else []),
            Section("What would change this", [_sentences(advice.doubts())], "change"),
            Section("Data", [" ".join(advice.notes)]),
        ],
        kicker=advice.label,
        footer="Made by bygones advise.",
        styles=[asset("audit/templates/audit.css"), asset("audit/templates/advice.css")],
    )


def _commands(commands: Mapping[str, str]) -> Block:
    """What to type next; a line is broken between options, not within them."""
    parts = {what: _OPTION.split(command) for what, command in commands.items()}
    return fragment("audit/templates/commands.html.jinja", commands=parts)


def _sentences(sentences: Sequence[str]) -> Block:
    """A list of sentences, with the options in them as code: an option is not broken at its dashes."""
    return fragment("audit/templates/sentences.html.jinja", sentences=[_OPTION.split(each) for each in sentences])


def _trials(table: Table) -> Block:
    """The table of what was compared, with what is recommended standing out."""
    numeric = [all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*table.rows, strict=True)]
    shown = {"columns": table.columns, "rows": table.rows, "numeric": numeric}
    return fragment("audit/templates/trials.html.jinja", title=table.title, about=table.note, **shown)


def _chart(advice: Advice, judged: JudgedTrials) -> Chart:
    """What the worst-off quarter has in each trial, with its uncertainty beside what is recommended."""
    shown, chosen = advice.shown(), advice.chosen
    names, rows = [label(_name(advice, i)) for i in shown], list(range(len(shown)))
    worst, recommended = [judged.mean(judged.worst, i) for i in shown], judged.mean(judged.worst, chosen)
    sign = -1.0 if advice.kind == "burden" else 1.0
    gains = [advice.gain(i, chosen) for i in shown]
    ends = [sorted(recommended + sign * end for end in (gain.low, gain.high)) for gain in gains]
    trace = {
        "type": "scatter", "mode": "markers", "x": worst, "y": rows,
        "marker": {
            "size": [14 if i == chosen else 10 for i in shown],
            "color": [PALETTE[0] if i == chosen else MUTED for i in shown], "opacity": 1,
        },
        "error_x": {
            "type": "data", "symmetric": False, "color": MUTED, "thickness": 1.5,
            "array": [max(high - x, 0.0) for x, (_, high) in zip(worst, ends, strict=True)],
            "arrayminus": [max(x - max(low, 0.0), 0.0) for x, (low, _) in zip(worst, ends, strict=True)],
        },
        "cliponaxis": False, "customdata": names, "hovertemplate": "%{customdata}: %{x:,.3g}<extra></extra>",
    }  # fmt: skip
    layout = {
        "xaxis": {**_APART, "rangemode": "tozero"},
        "yaxis": {**_APART, "tickvals": rows, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False},
        "hovermode": "closest", "showlegend": False,
    }  # fmt: skip
    better = "Further to the left is better." if advice.kind == "burden" else "Further to the right is better."
    values = "; ".join(f"{_name(advice, i)}: {amount(x)}" for i, x in zip(shown, worst, strict=True))
    quarter = "heaviest quarter" if advice.kind == "burden" else "worst-off quarter"
    axis = f"{words(advice.kind).received.capitalize()} by the {quarter} in {advice.length(advice.period)}"
    return Chart(
        {"data": [trace], "layout": layout},
        alt=f"{axis}. {values}.",
        caption=f"{axis}; what is recommended is large and blue. {better} Bars are the uncertainty of the difference "
        "from what is recommended.",
        height=120 + 30 * len(rows),
    )


def _name(advice: Advice, i: int) -> str:
    """A trial in few words."""
    trial = advice.trials[i]
    if i == 0:
        return "as it was"
    if trial.memory.kind == "instantaneous":
        return "no memory"
    memory = re.sub(r"sliding_window\(length=(.*)\)", r"window \1", trial.memory.name)
    memory = re.sub(r"reset\(every=(.*)\)", r"reset \1", memory)
    return f"{memory}, {trial.rule}"
