"""Notebooks as pages: they are run when the site is built, and the pages show the outputs.

They are stored without outputs, so changes of a notebook are readable and a page is never older than the code. Text
becomes a block, HTML stays unchanged, and a figure becomes a file.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from docs.site import pages
from nbclient import NotebookClient

SECONDS = 300
"""The most seconds that a cell may take."""


def executed(notebook: Path, folder: Path) -> nbformat.NotebookNode:
    """A notebook with its outputs, run in a folder; an error in a cell is an error here."""
    content = nbformat.read(notebook, as_version=4)
    client = NotebookClient(content, timeout=SECONDS, resources={"metadata": {"path": str(folder)}})
    # A kernel warns of problems that do not matter on one machine.
    return client.execute(stderr=subprocess.DEVNULL)


def write(folder: Path) -> None:
    """Runs every notebook in an empty folder and writes its page into the folder for Sphinx."""
    for name, notebook in pages.notebooks().items():
        with tempfile.TemporaryDirectory() as empty:
            done = executed(notebook, Path(empty))
        page = folder / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("\n\n".join(_parts(done, notebook, name, folder)) + "\n", encoding="utf-8")


def _parts(done: nbformat.NotebookNode, notebook: Path, name: str, folder: Path) -> Iterator[str]:
    for cell in done.cells:
        if cell.cell_type == "markdown":
            yield pages.translated(cell.source, notebook, name, folder)
            continue
        yield f"```python\n{cell.source}\n```"
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        if printed:
            yield _block(printed)
        for number, output in enumerate(cell.outputs):
            if "data" in output:
                yield _shown(output.data, cell, folder / f"{name}-{cell.id}-{number}.png")
    copy = folder / "files" / "docs" / "notebooks" / notebook.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(notebook, copy)
    yield f"To run it yourself, download [{notebook.name}](../files/docs/notebooks/{notebook.name})."


def _shown(data: nbformat.NotebookNode, cell: nbformat.NotebookNode, picture: Path) -> str:
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![{cell.metadata['alt']}]({picture.name})"
    if "text/html" in data:
        return f'```{{raw}} html\n<div class="shown">{data["text/html"]}</div>\n```'
    return _block(data["text/plain"])


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
