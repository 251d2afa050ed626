"""The pages of the site: their sources, and the translation of the links between them.

Pages can also be read in the repository, and link to other files by their relative paths. In the
site a link to a page or a notebook stays a link, a link to a module leads to its part of the reference, and any other
file becomes a download.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

from docs.site import module_pages

ROOT = Path(__file__).parents[2]

SECTIONS = {
    "Start in five minutes": ("start/research", "start/shifts", "start/cluster"),
    "Notebooks": ("notebooks", "notebooks/the-paper", "notebooks/your-environment", "notebooks/audit-your-history"),
    "Concepts": (
        *("concepts/memory", "concepts/half-life", "concepts/welfare", "concepts/prices", "concepts/burdens"),
        "concepts/standing",
    ),
    "Guides: decide": (
        *(
            "guides/which-rule",
            "guides/night-shifts",
            "guides/gpu-hours",
            "guides/keeping-a-ledger",
            "guides/schedulers",
        ),
    ),
    "Guides: learn": (
        "guides/environment",
        "guides/fair-rewards",
        "guides/multi-agent",
        "guides/learning",
        "guides/experiment",
    ),
    "Choose": ("rules", "memories", "own-objective", "audits", "scenarios", "leaderboard"),
    "The paper": ("why-recall-collapses", "claims", "evidence", "recompute", "decisions"),
    "Reference": ("reference/commands", "reference/index", "glossary"),
    "The project": ("install", "benchmarks", "extending", "contributing", "changelog"),
}
"""The table of contents: the names of pages without their endings, under the heading of each part."""

TITLES = {
    "start/research": "Research",
    "start/shifts": "Schedule shifts",
    "start/cluster": "Audit a cluster",
    "notebooks/your-environment": "Your own environment",
    "guides/schedulers": "Scores of schedulers",
    "own-objective": "The objective of a memory",
    "why-recall-collapses": "Why recall collapses",
    "claims": "Which claims hold",
    "decisions": "How we read the paper",
}
"""Shorter titles in the table of contents."""

ELSEWHERE = {
    "evidence/README.md": "evidence",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "README.md": "index",
}
"""Pages that lie outside `docs`, and their names in the site. The README's place is taken by the home page."""

_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")
_NAMED_BLOCK = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
_FENCE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


_LEXERS = {"csv": "text"}
"""Languages that the site has no colours for."""


def sources() -> dict[str, Path]:
    """Every page that was written by hand, by its name in the site."""
    docs = ROOT / "docs"
    written = {str(path.relative_to(docs).with_suffix("").as_posix()): path for path in sorted(docs.rglob("*.md"))}
    return written | {name: ROOT / path for path, name in ELSEWHERE.items() if name != "index"}


def notebooks() -> dict[str, Path]:
    """Every notebook, by the name of its page in the site."""
    return {f"notebooks/{path.stem}": path for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))}


def gather(folder: Path) -> None:
    """Copies the pages, with their links translated, into a folder for Sphinx, with the files that they link to."""
    for name, path in sources().items():
        page = folder / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        page.write_text(
            translated(text, path, name, folder) + (_contents() if name == "index" else ""), encoding="utf-8"
        )


def contents() -> dict[str, list[str]]:
    """The table of contents, with the pages that are generated; pages that it does not name stand at its end."""
    parts = {title: list(names) for title, names in SECTIONS.items()}
    parts["Reference"][1:2] = ["reference/ledger-commands", "reference/index"]
    parts["Python"] = [f"reference/{name}" for name in module_pages.PAGES]
    named = {name for names in parts.values() for name in names} | {"index"}
    more = [name for name in (*sources(), *notebooks()) if name not in named]
    return parts | ({"More": more} if more else {})


def _contents() -> str:
    blocks = []
    for title, names in contents().items():
        lines = "\n".join(f"{TITLES[name]} <{name}>" if name in TITLES else name for name in names)
        blocks.append(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n")
    return "".join(blocks)


def translated(text: str, path: Path, name: str, folder: Path) -> str:
    """A page with its links translated, and with the name of a file above each block that is to be saved as one."""
    text = _NAMED_BLOCK.sub(
        lambda block: f"```{{code-block}} {_LEXERS.get(block[1], block[1])}\n:caption: {block[2]}\n", text
    )
    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(lambda link: _target(link, path, name, folder), part) for part in parts[::2]]
    return "".join(parts)


def _target(link: re.Match[str], path: Path, name: str, folder: Path) -> str:
    target, anchor = link[1], link[2] or ""
    if re.match(r"\w+:", target):
        return link[0]
    file = Path(os.path.normpath(path.parent / target))
    here = PurePosixPath(name).parent
    inside = file.relative_to(ROOT).as_posix()
    if inside in ELSEWHERE:
        return _relative(f"{ELSEWHERE[inside]}.md", here) + anchor
    if inside.startswith("docs/") and file.suffix in (".md", ".ipynb"):
        return _relative(str(PurePosixPath(inside.removeprefix("docs/")).with_suffix(".md")), here) + anchor
    if _is_explained(inside):
        return f"#source-{_module(inside)}"
    copy = copy_of(file, folder)
    copy.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        raise ValueError(f"{path}: a page can link to a file, not to the folder {target}")
    shutil.copy(file, copy)
    return _relative(f"files/{inside}", here)


def copy_of(file: Path, folder: Path) -> Path:
    """The place in a folder for Sphinx of a file that pages link to."""
    return folder / "files" / file.relative_to(ROOT)


def _module(inside: str) -> str:
    return inside.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_explained(inside: str) -> bool:
    """Whether the reference has a part about a source file."""
    explained = {f"bygones.{module}" for page in module_pages.PAGES.values() for module in page.modules}
    return inside.startswith("src/") and _module(inside) in explained


def _relative(target: str, here: PurePosixPath) -> str:
    return PurePosixPath(os.path.relpath(target, here)).as_posix()
