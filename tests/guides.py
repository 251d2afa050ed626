"""Runs the code of a guide, so that what the documentation says is what the library does."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run_guide(path):
    """Executes the Python blocks of a Markdown file, in order, in one namespace, and returns it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    namespace = {"__name__": "guide"}
    for block in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block.group(1), str(path), "exec"), namespace)
    return namespace
