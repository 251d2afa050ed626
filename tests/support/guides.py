"""Runs the Python of a guide as its reader would: every block in order, in one namespace."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_guide(path: Path, section: str | None = None) -> dict[str, Any]:
    """The names that the guide's ```python blocks leave behind; errors point at the guide's own lines.

    With `section`, only the blocks below this heading are run.
    """
    text = path.read_text(encoding="utf-8")
    start, end = 0, len(text)
    if section is not None:
        start = text.index(f"\n## {section}\n") + 1
        end = text.find("\n## ", start) % len(text)
    namespace: dict[str, Any] = {"__name__": path.stem}
    blocks = list(_BLOCK.finditer(text, start, end))
    assert blocks, f"{path} has nothing to run"
    for block in blocks:
        lines_before = text.count("\n", 0, block.start(1))
        exec(compile("\n" * lines_before + block[1], str(path), "exec"), namespace)
    return namespace
