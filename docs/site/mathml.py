"""Formulas as MathML, made when the site is built: browsers draw it themselves, with the font `static/math.woff`."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(translator: Any, node: nodes.math) -> None:
    """Writes a formula within a sentence."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    """Writes a displayed formula; a wide one scrolls, and can be reached with the keyboard."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the renderer; Sphinx calls it."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
