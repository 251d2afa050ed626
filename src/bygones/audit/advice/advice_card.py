"""Advice as notebooks show it: what to take, why, and what would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bygones._html import bullets, card, heading, note, table

if TYPE_CHECKING:
    from bygones.audit.advice.advice_text import AdviceText


def advice_html(text: AdviceText) -> str:
    """The advice: what to take, why, a table of what was compared, and what would change it."""
    parts = [bullets(text.reasons)]
    if text.rows:
        parts += [heading(text.title), table(text.columns, text.rows), note(text.about)]
    parts += [heading("What would change it"), bullets(text.doubts)] if text.doubts else []
    return card(" ".join(text.headline), *parts, name="Advice")
