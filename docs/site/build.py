"""Builds the site: `make docs`, or `python -m docs.site.build out/site`. Then open `index.html` in that folder."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from docs.site import command_pages, mending, module_pages, notebook_pages, pages, pictures
from sphinx.cmd.build import build_main

HERE = Path(__file__).parent


def build(folder: Path) -> int:
    """Builds the site into a folder, in place of what it held; 0 if there was nothing to complain about."""
    with tempfile.TemporaryDirectory() as made:
        sources = Path(made)
        pages.gather(sources)
        pictures.draw(sources / "concepts" / "pictures")
        pictures.draw_images(sources / "images")
        command_pages.write(sources / "reference")
        module_pages.write(sources / "reference")
        notebook_pages.write(sources)
        shutil.copytree(HERE / "static", sources / "_static")
        shutil.copy(HERE / "conf.py", sources)
        if folder.exists():
            shutil.rmtree(folder)
        # -W: whatever Sphinx would warn of, such as a link that leads nowhere, is an error.
        arguments = ["-b", "html", "-q", "-W", "--keep-going", "-d", str(sources / ".doctrees"), made, str(folder)]
        code = build_main(arguments)
    for page in folder.rglob("*.html"):
        page.write_text(mending.mended(page.read_text(encoding="utf-8")), encoding="utf-8")
    return code


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out/site")
    code = build(target)
    print(f"Open {target / 'index.html'}.", file=sys.stderr)
    sys.exit(code)
