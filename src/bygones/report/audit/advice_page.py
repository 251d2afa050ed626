"""Advice as a page: what to take, what to type next, why, what was compared, and what would change it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bygones._text import amount
from bygones.audit.advice.advice_text import AdviceText, TrialPoint
from bygones.report.page import Block, Chart, Page, Section, asset, fragment, label, write
from bygones.report.style import MUTED, PALETTE

_OPTION = re.compile(r"(--[a-z][a-z-]*(?: burden)?)")
_NUMBER = re.compile(r"[\d.,]+")
_APART = {"ticks": "outside", "ticklen": 10, "tickcolor": "rgba(0,0,0,0)"}  # room between the names and the points


def write_advice(text: AdviceText, commands: Mapping[str, str], path: Path) -> Path:
    """Writes advice as a self-contained HTML file."""
    return write(advice_page(text, commands), path)


def advice_page(text: AdviceText, commands: Mapping[str, str]) -> Page:
    """The page of some advice, with the commands to type next by what they are for."""
    compared: list[Block] = [_chart(text)] if text.points else []
    compared += [_trials(text)] if text.rows else []
    return Page(
        title="Which rule?",
        lede=" ".join(text.headline),
        sections=[
            Section("What to type next", [_commands(commands)], "next"),
            Section("Why", [_sentences(text.reasons)]),
            *([Section(text.title, compared, "compared")] if compared else []),
            Section("What would change this", [_sentences(text.doubts)], "change"),
            Section("Data", [" ".join(text.notes)]),
        ],
        kicker=text.label,
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


def _trials(text: AdviceText) -> Block:
    """The table of what was compared, with what is recommended standing out."""
    numeric = [all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*text.rows, strict=True)]
    shown = {"columns": text.columns, "rows": text.rows, "numeric": numeric}
    return fragment("audit/templates/trials.html.jinja", title=text.title, about=text.about, **shown)


def _chart(text: AdviceText) -> Chart:
    """What the worst-off quarter has in each trial, with its uncertainty beside what is recommended."""
    names, rows = [label(_name(each)) for each in text.points], list(range(len(text.points)))
    colours = [PALETTE[0] if each.recommended else MUTED for each in text.points]
    trace = {
        "type": "scatter", "mode": "markers", "x": [each.worst for each in text.points], "y": rows,
        "marker": {"size": [14 if each.recommended else 10 for each in text.points], "color": colours, "opacity": 1},
        "error_x": {
            "type": "data", "symmetric": False, "color": MUTED, "thickness": 1.5,
            "array": [max(each.high - each.worst, 0.0) for each in text.points],
            "arrayminus": [max(each.worst - each.low, 0.0) for each in text.points],
        },
        "cliponaxis": False, "customdata": names, "hovertemplate": "%{customdata}: %{x:,.3g}<extra></extra>",
    }  # fmt: skip
    layout = {
        "xaxis": {**_APART, "rangemode": "tozero"},
        "yaxis": {**_APART, "tickvals": rows, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False},
        "hovermode": "closest", "showlegend": False,
    }  # fmt: skip
    better = "Further to the left is better." if text.kind == "burden" else "Further to the right is better."
    values = "; ".join(f"{_name(each)}: {amount(each.worst)}" for each in text.points)
    return Chart(
        {"data": [trace], "layout": layout},
        alt=f"{text.axis[0].upper()}{text.axis[1:]}. {values}.",
        caption=f"{text.axis[0].upper()}{text.axis[1:]}; what is recommended is large and blue. {better} Bars are the "
        "uncertainty of the difference from what is recommended.",
        height=120 + 30 * len(rows),
    )


def _name(point: TrialPoint) -> str:
    """A trial in few words."""
    memory = re.sub(r"sliding_window\(length=(.*)\)", r"window \1", point.memory)
    memory = re.sub(r"reset\(every=(.*)\)", r"reset \1", memory).replace("instantaneous", "no memory")
    return f"{memory}, {point.rule}" if point.rule else memory
