"""Corrections of the pages that Sphinx has written.

People who use a keyboard or a screen reader need names and a focus that the theme does not give. Empty phrases and very
long values are left out.
"""

from __future__ import annotations

import re

LONGEST_VALUE = 80
"""The most characters of a constant's value that are shown."""

_CHANGES = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    # Wide content scrolls, and has to be reached with the keyboard.
    ("<pre>", '<pre tabindex="0">'),
    ("<p><img ", '<p class="picture" tabindex="0"><img '),
    ('<div class="table-wrapper', '<div tabindex="0" role="group" aria-label="Table" class="table-wrapper'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
    # The corner of a table whose first column has no title heads nothing.
    ('<th class="head"><p></p></th>', "<td></td>"),
    ('">Variables<span class="colon">', '">Attributes<span class="colon">'),
)
_BASE = re.compile(r'<p>Bases: <code[^>]*><span class="pre">object</span></code></p>\n')
_ALIAS = re.compile(
    r'<span class="pre">TypeAliasForwardRef</span><span class="p"><span class="pre">\(</span></span>'
    r"""<span class="s"><span class="pre">'(\w+)'</span></span><span class="p"><span class="pre">\)</span></span>"""
)
_DASHES = re.compile(r"(</strong>|</em>\)|</a>\)) -- ")
_SIGNATURE = re.compile(r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>")
_VALUE = re.compile(
    r'<span class="property"><span class="w"> </span><span class="p"><span class="pre">=</span></span>'
    r'(.*?)</span>(?=<a class="headerlink"|</dt>)'
)


def mended(html: str) -> str:
    """A page with names for its parts, the keyboard's focus on content that scrolls, and no empty phrases."""
    for before, after in _CHANGES:
        html = html.replace(before, after)
    html = _DASHES.sub(r"\1: ", _BASE.sub("", html))
    html = _ALIAS.sub(r'<span class="pre">\1</span>', html)  # Sphinx's name for a name such as Number
    return _SIGNATURE.sub(_lines, _VALUE.sub(_value, html))


def _lines(signature: re.Match[str]) -> str:
    """The arguments of a long signature, one to a line: Sphinx writes a list of definitions that defines nothing."""
    arguments = signature[1].replace("<dd>", '<span class="argument">').replace("</dd>", "</span>")
    return f'<span class="arguments">{arguments}</span>'


def _value(written: re.Match[str]) -> str:
    """The value of a constant, unless it is long."""
    return written[0] if len(re.sub(r"<.*?>", "", written[1])) <= LONGEST_VALUE else ""
