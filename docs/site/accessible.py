"""What the theme's pages lack for people who use a keyboard or a screen reader, put in after they are written."""

from __future__ import annotations

import re

_BASE = re.compile(r'<p>Bases: <code[^>]*><span class="pre">object</span></code></p>\n')
_SIGNATURE = re.compile(r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>")
_CHANGES = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    # What is too wide scrolls, and has to be reached with the keyboard.
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" role="group" aria-label="Table" class="table-wrapper'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)


def mended(html: str) -> str:
    """A page with names for its parts, the keyboard's focus on what scrolls, and nothing that says nothing."""
    for before, after in _CHANGES:
        html = html.replace(before, after)
    return _SIGNATURE.sub(_lines, _BASE.sub("", html))


def _lines(signature: re.Match[str]) -> str:
    """The arguments of a long signature, one to a line: Sphinx writes a list of definitions that defines nothing."""
    arguments = signature[1].replace("<dd>", '<span class="argument">').replace("</dd>", "</span>")
    return f'<span class="arguments">{arguments}</span>'
