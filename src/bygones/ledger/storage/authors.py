"""Who records an event: as they say, else as the environment says, else the user of the operating system.

On PostgreSQL the database's user is named as well (`ana as desk`), which nobody else can claim to be where the database
asks for passwords. Elsewhere an author is a note, not a proof.
"""

from __future__ import annotations

import getpass
import os

import sqlalchemy as sa

from bygones._text import check_text

VARIABLE = "BYGONES_AUTHOR"


def author_of(given: str | None) -> str:
    """The author of what is recorded from here on; empty if nothing is known."""
    author = given if given is not None else os.environ.get(VARIABLE, "")
    try:
        return check_text("author", author) or check_text("author", getpass.getuser())
    except (KeyError, OSError):  # an operating system without users
        return ""


def in_database(connection: sa.Connection, author: str) -> str:
    """The author with the database's user, where the database has users."""
    if connection.dialect.name == "sqlite":
        return author
    user = str(connection.scalar(sa.text("SELECT session_user")))
    return f"{author} as {user}" if author else user
