"""Builds the site: `make docs`, or `python -m docs.site.build out/site`. Then open `index.html` in that folder."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import collapse_note
from docs.site import command_pages, mending, module_pages, notebook_pages, pages, pictures
from sphinx.cmd.build import build_main
from sphinx.ext.autodoc.mock import mock

HERE = Path(__file__).parent


def draw_pictures(sources: Path) -> None:
    """Draws the pictures of all pages again, in place of the copies that are stored with the pages."""
    pictures.draw(pages.copy_of(pictures.FOLDER, sources))
    collapse_note.draw_figures(pages.copy_of(collapse_note.IMAGES, sources))


def build(folder: Path) -> int:
    """Builds the site into a folder, in place of its old contents; 0 if there were no complaints."""
    with tempfile.TemporaryDirectory() as folder_of_sources:
        sources = Path(folder_of_sources)
        pages.gather(sources)
        draw_pictures(sources)
        command_pages.write(sources / "reference")
        # The pages of modules are written after importing them, and one module needs Stable-Baselines3.
        with mock(module_pages.not_installed()):
            module_pages.write(sources / "reference")
        notebook_pages.write(sources)
        shutil.copytree(HERE / "static", sources / "_static")
        shutil.copy(HERE / "conf.py", sources)
        if folder.exists():
            shutil.rmtree(folder)
        # -W makes an error of every warning of Sphinx, such as a link that leads nowhere.
        arguments = [
            "-b",
            "html",
            "-q",
            "-W",
            "--keep-going",
            "-d",
            str(sources / ".doctrees"),
            str(sources),
            str(folder),
        ]
        code = build_main(arguments)
    for page in folder.rglob("*.html"):
        page.write_text(mending.mended(page.read_text(encoding="utf-8")), encoding="utf-8")
    return code


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out/site")
    code = build(target)
    print(f"Open {target / 'index.html'}.", file=sys.stderr)
    sys.exit(code)
