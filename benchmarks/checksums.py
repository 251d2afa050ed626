"""The checksums of the evidence, in `evidence/SHA256SUMS`: `cd evidence && sha256sum --check SHA256SUMS` compares them.

    python -m benchmarks.checksums

adds the checksums of new files and leaves out those of files that are gone. A file that has changed is refused: restore
it, or, if it was meant to change, take its line out of `SHA256SUMS` first.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

EVIDENCE = Path(__file__).parents[1] / "evidence"
PROSE = ("README.md",)
NAME = "SHA256SUMS"


def computed(folder: Path) -> dict[str, str]:
    """The checksum of every file in a folder, by its name from there, but not of prose and of the checksums."""
    files = [(file.relative_to(folder).as_posix(), file) for file in folder.rglob("*") if file.is_file()]
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in sorted(files)
        if name not in (*PROSE, NAME)
    }


def noted(folder: Path) -> dict[str, str]:
    """The checksums that were noted, by name."""
    lines = (folder / NAME).read_text(encoding="utf-8").splitlines() if (folder / NAME).exists() else []
    return {name: checksum for checksum, name in (line.split("  ", 1) for line in lines)}


def note(folder: Path) -> list[str]:
    """Notes the checksums of new files; the names of those files."""
    old, new = noted(folder), computed(folder)
    changed = [name for name in old if name in new and old[name] != new[name]]
    if changed:
        raise SystemExit(
            f"{folder / changed[0]} has changed since its checksum was noted: restore it, or take its line out "
            f"of {NAME} if it was meant to change"
        )
    text = "".join(f"{checksum}  {name}\n" for name, checksum in new.items())
    (folder / NAME).write_bytes(text.encode())
    return [name for name in new if name not in old]


if __name__ == "__main__":
    for name in note(Path(sys.argv[1]) if len(sys.argv) > 1 else EVIDENCE):
        print(name)
