"""The entitlements that go with a history, read from a file; `settle` completes them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bygones._csv import number, read, separator
from bygones._text import check_text
from bygones.audit.inputs import slurm_shares
from bygones.audit.inputs.csv_source import first_line
from bygones.audit.inputs.slurm_shares import ShareTree


class Shares(NamedTuple):
    """Entitlements by agent; from a Slurm cluster, with its account tree.

    Attributes:
        entitlements: one per agent.
        tree: the account tree.
        by_user: whether agents are users of the tree, not accounts.
        notes: what was assumed, in sentences.
    """

    entitlements: dict[str, float]
    tree: ShareTree | None = None
    by_user: bool = True
    notes: tuple[str, ...] = ()


def read_shares(path: Path, column: str | None = None, *, agent: str | None = None, exempt: bool = False) -> Shares:
    """Reads entitlements from a CSV file, or from the output of Slurm's `sshare -P` or `sacctmgr -P show assoc`.

    Args:
        path: the file.
        column: the column with the entitlements; by default `entitlement`.
        agent: the column of the history that names the agents. In the file it is called the same, or `agent`. In an
            account tree, `Account` takes the shares of accounts, anything else those of users.
        exempt: whether an entitlement may be 0, as of a share of a load.
    """
    header = first_line(path)
    if column is None and slurm_shares.recognises(header):
        tree, by_user = slurm_shares.read_tree(path), (agent or "User").lower() != "account"
        note = f"Entitlements are the shares of {'users' if by_user else 'accounts'} in the account tree of {path}."
        return Shares(tree.entitlements(by_user=by_user), tree, by_user, (note, *tree.notes))
    names = [name.strip() for name in header.strip().split(separator(header))]
    key = agent if agent in names and "agent" not in names else "agent"
    return Shares(_read_table(path, key or "agent", column or "entitlement", exempt=exempt))


def _read_table(path: Path, agent: str, column: str, *, exempt: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for line, row in read(path, (agent, column)):
        where = f"{path}, row {line}: "
        name = check_text(f"{where}{agent}", row[agent], empty=False)
        if name in found:
            raise ValueError(f"{where}{name!r} appears twice")
        found[name] = number(f"{where}{column}", row[column])
        if not found[name] and not exempt:
            raise ValueError(f"{where}{column} must be above 0, got {row[column]!r}")
    return found
