"""Advice as a page: what to take, what to type next, why, what was compared, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bygones.audit.advice_words import AdviceText
from bygones.report.page import Page, Section, Table, asset, write


def write_advice(text: AdviceText, commands: Mapping[str, str], path: Path) -> Path:
    """Writes advice as a self-contained HTML file."""
    return write(advice_page(text, commands), path)


def advice_page(text: AdviceText, commands: Mapping[str, str]) -> Page:
    """The page of some advice, with the commands to type next by what they are for."""
    table = Table(text.about, text.columns, text.rows)
    typed = Table("On the command line.", ["what for", "command"], [[what, each] for what, each in commands.items()])
    return Page(
        title="Which rule?",
        lede=" ".join(text.headline),
        sections=[
            Section("Why", text.reasons),
            *([Section(text.title, [table], "compared")] if text.rows else []),
            Section("What would change this", text.doubts, "change"),
            Section("What to type next", [typed], "next"),
            Section("Data", [" ".join(text.notes)]),
        ],
        kicker=text.label,
        footer="Made by bygones advise.",
        styles=[asset("audit/templates/audit.css")],
    )
