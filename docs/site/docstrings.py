r"""Docstrings as Sphinx reads them.

Ours have Google's sections, and are Markdown otherwise: `$Z^t$` is a formula and `$$ … $$` a displayed formula, `##`
begins a part, and there are tables and indented examples. Sphinx wants reStructuredText. A name in backticks is a
link where it can be (`default_role` in `conf.py`); this module translates the rest.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_CODE = re.compile(r"(`[^`]+`)")
_DISPLAY = re.compile(r"^([ \t]*)\$\$\s*(.+?)\s*\$\$[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<![\w$\\])\$(?!\s)([^$]+?)(?<!\s)\$(?!\w)")
_COLON = "\ue000"
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Example|Examples|Note|Notes|See Also):$")


def as_restructured_text(docstring: str) -> str:
    """A docstring in Markdown, as reStructuredText."""
    parts = _CODE.split(_DISPLAY.sub(_display, docstring))
    parts[::2] = [_INLINE.sub(_inline, part) for part in parts[::2]]  # code in backticks is not changed
    parts[1::2] = [
        f"{code}\\ " if after[:1].isalpha() else code for code, after in zip(parts[1::2], parts[2::2], strict=True)
    ]
    lines = "".join(parts).split("\n")
    return "\n".join(_with_examples(list(_with_headings_and_tables(lines))))


def _display(formula: re.Match[str]) -> str:
    latex = _INLINE.sub(r"}\1\\text{", " ".join(formula[2].split()))  # a formula within the words of a formula
    return f"{formula[1]}.. math::\n\n{formula[1]}   {latex}\n"


def _inline(formula: re.Match[str]) -> str:
    return rf"\ :math:`{' '.join(formula[1].split())}`\ "


def _with_headings_and_tables(lines: list[str]) -> Iterator[str]:
    for is_table, group in groupby(lines, lambda line: line.startswith("|")):
        block = list(group)
        if is_table:
            yield from _table(block)
            continue
        for line in block:
            yield from ("", f".. rubric:: {line[3:]}", "") if line.startswith("## ") else (line,)


def _table(lines: list[str]) -> Iterator[str]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    yield from ("", ".. list-table::", "   :header-rows: 1", "")
    for row in [rows[0], *rows[2:]]:
        for j, cell in enumerate(row):
            yield f"   {'  -' if j else '* -'} {cell}"
    yield ""


def _with_examples(lines: list[str]) -> Iterator[str]:
    """The lines, with a mark of code before every indented part that follows an empty line at the margin."""
    before, in_section = "", False
    for previous, line in zip(["", *lines], lines, strict=False):
        margin = not line.startswith(" ")
        if margin and line:
            in_section = bool(_SECTION.match(line))
        after_text = bool(before) and not before.startswith((" ", ".. ", "- "))
        if line.startswith("    ") and not previous and after_text and not in_section:
            yield from (".. code-block:: python", "")
        if line:
            before = line
        yield line


def _translate(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = as_restructured_text("\n".join(lines)).split("\n")
    if what in ("attribute", "data"):
        # Google's style would take the words before a colon for a type.
        lines[:] = [line.replace(":", _COLON) for line in lines]


def _restore(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def _signature(
    app: Sphinx, what: str, name: str, obj: object, options: Any, arguments: str | None, result: str | None
) -> Any:
    """A signature that Sphinx can parse: a default that a dataclass creates for each object is an ellipsis."""
    return (arguments.replace("<factory>", "..."), result) if arguments else None


def _skip(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: Any) -> bool | None:
    """Leaves out Python's docstring of every field of a named tuple, which is its number."""
    return True if (inspect.getdoc(obj) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the translation, before and after that of Google's sections (500); Sphinx calls it."""
    app.connect("autodoc-process-docstring", _translate, priority=400)
    app.connect("autodoc-process-docstring", _restore, priority=600)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
