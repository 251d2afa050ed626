"""`python -m approval.freeze`: the ledgers that documents here make, as SQL in tests/ledger, to be read for ever.

A frozen ledger is never made again: what it tests is that later versions read what an earlier one wrote. For a new
version of the schema, change the names below.
"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from approval import documents
from approval.stage import REPOSITORY, set_up

FROZEN = {
    "goods": "ledger_version_2.sql",
    "burdens": "ledger_version_2_burdens.sql",
    "swapped": "ledger_version_2_swapped.sql",
}
"""What the ledger of a document is kept as."""


def main() -> None:
    """Makes each ledger that is not there yet."""
    set_up()
    for document, name in FROZEN.items():
        target = REPOSITORY / "tests" / "ledger" / name
        if target.exists():
            print(f"{name} is frozen already")
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve() / "here"
            folder.mkdir()
            for _ in documents.walk(f"tests/approval/{document}.md", folder):
                pass
            with closing(sqlite3.connect(folder / f"{document}.db")) as connection:
                target.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
