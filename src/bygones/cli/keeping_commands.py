"""`bygones ledger copy`, `backup`, `restore` and `rebuild`: moving a ledger, and keeping it through damage."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._text import counted
from bygones.cli.arguments import Output, Printed
from bygones.cli.console import progress
from bygones.cli.ledger_arguments import Target, print_recorded

if TYPE_CHECKING:
    from bygones.ledger import Verification

Source = Annotated[
    Positional[str], arg(metavar="SOURCE", help="A file such as team.db, or postgresql://user@host/name.")
]
NewLedger = Annotated[Positional[str], arg(metavar="TARGET", help="A new file, or an empty PostgreSQL database.")]


def copy(source: Source, target: NewLedger, output: Printed = Output()) -> None:
    """Copy a whole ledger, between files and PostgreSQL in any direction.

    All events, hashes, rules and standings are copied, compared and verified. Nothing is overwritten.

    For example:
        bygones ledger copy team.db postgresql://user@host/name
        bygones ledger copy postgresql://user@host/name team.db
    """
    from bygones.ledger.proof import copies as copying

    with progress("copying", copying.size(source)) as advance:
        verification = copying.copy(source, target, advance)
    _print_written("Copied", verification, output.json)


def backup(
    target: Target,
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The file to write; it must not exist yet.")],
    output: Printed = Output(),
) -> None:
    """Back a ledger up to one file while others go on using it.

    For example:
        bygones ledger backup team.db backup-2026-03-02.db
    """
    from bygones.ledger.proof import copies as copying

    with progress("backing up", copying.backup_size(target)) as advance:
        verification = copying.backup(target, file, advance)
    _print_written("Backed up", verification, output.json)


def restore(
    file: Annotated[Positional[Path], arg(metavar="BACKUP", help="A file that `bygones ledger backup` wrote.")],
    target: NewLedger,
    output: Printed = Output(),
) -> None:
    """Restore a ledger from a backup, which is verified first. Nothing is overwritten.

    For example:
        bygones ledger restore backup-2026-03-02.db team.db
    """
    from bygones.ledger.proof import copies as copying

    _print_written("Restored", copying.restore(file, target), output.json)


def rebuild(target: Target, output: Printed = Output()) -> None:
    """Recompute all tables from the events, after `verify` has found damage outside the events.

    A ledger whose events are damaged is refused: restore a backup instead.

    For example:
        bygones ledger rebuild team.db
    """
    from bygones.ledger.proof.verification import rebuild
    from bygones.ledger.storage.store import Store

    with closing(Store(target)) as store:
        store.check()
        agents = rebuild(store)
    print_recorded(
        {"agents": agents}, output.json, f"Rebuilt the standing of {counted(agents, 'agent')} from the events."
    )


def _print_written(done: str, kept: Verification, json: bool) -> None:
    sentence = f"{done} {counted(kept.events, 'event')} of {counted(kept.agents, 'agent')}. Head: {kept.head}"
    print_recorded({"events": kept.events, "agents": kept.agents, "head": kept.head}, json, sentence)
