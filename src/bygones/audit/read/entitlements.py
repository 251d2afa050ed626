"""The entitlements that go with a history: from a table, or from a Slurm cluster's own shares. `settle` completes them.

A cluster's shares are in its account tree, as `sshare -P` or `sacctmgr -P show assoc` print it. An association's share
is the product, from the root down, of its shares over its siblings' shares. With it comes Slurm's fair-tree factor
(`priority/fair_tree`), computed from the recent totals: at each level, siblings are sorted by their level's ratio of
share to usage, users are ranked in that order from the root down, and a user's factor is its rank from the end over the
number of users. The next job is the one of the user with the largest factor.

Layouts that were checked against what clusters print in public: `sshare -a -P` and `-l -P` (accounts indented by their
depth, the root without shares, `parent` for shares that are the account's own), `sacctmgr -P show assoc` with its
default columns (`Cluster|Account|User|Partition|Share|…`, one row per user and partition, no parents), the same with
`format=…,ParentName` (`Par Name`, empty for users), and `sacctmgr -P list account withassoc` (no row for the root).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bygones._csv import number, read, separator
from bygones._text import check_text, counted
from bygones.audit.read.engines import first_line
from bygones.audit.read.sources import is_number

_SHARES = ("RawShares", "Share", "Fairshare", "FairShare", "Shares")
_PARENTS = ("ParentName", "Par Name", "Parent")


@dataclass(eq=False)
class Node:
    """An account, or a user of one.

    Attributes:
        name: the account or the user.
        shares: relative to its siblings.
        is_user: whether it is a user.
        factor: the fair-share factor that `sshare` gives, NaN if it gives none.
        children: the accounts and users below.
    """

    name: str
    shares: float
    is_user: bool = False
    factor: float = math.nan
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class ShareTree:
    """The account tree of a cluster.

    Attributes:
        root: its root.
        notes: assumptions, in sentences.
    """

    root: Node
    notes: tuple[str, ...] = ()

    def entitlements(self, *, by_user: bool) -> dict[str, float]:
        """The share of every user, added up over accounts, or of every account that has users or nothing below it."""
        shares: dict[str, float] = {}
        _share_out(self.root, 1.0, shares, by_user=by_user)
        return {name: share for name, share in shares.items() if share > 0}

    def factors(self, usage: Mapping[str, float], *, by_user: bool) -> dict[str, float]:
        """The fair-tree factor of every user, or account, from their usage; users in several accounts have none."""
        leaves = _leaves(self.root, by_user=by_user)
        used = {leaf: usage.get(leaf.name, 0.0) for leaf in leaves}
        factors: dict[Node, float] = {}
        factor = 1.0
        for leaf, is_tied in _ranked([self.root], used):
            factor = factor if is_tied else (len(leaves) - len(factors)) / len(leaves)
            factors[leaf] = factor
        return {leaf.name: factors[leaf] for leaf in _once(leaves)}

    def paths(self, *, by_user: bool) -> list[tuple[Node, ...]]:
        """For every user, or account, the nodes from below the root down to it."""
        wanted = {id(leaf) for leaf in _leaves(self.root, by_user=by_user)}
        return [path for path in _paths(self.root) if id(path[-1]) in wanted]

    def given(self, *, by_user: bool) -> dict[str, float]:
        """The factor that `sshare` gives of every user, or account, that is there once."""
        leaves = _leaves(self.root, by_user=by_user)
        return {leaf.name: leaf.factor for leaf in _once(leaves) if math.isfinite(leaf.factor)}


class Shares(NamedTuple):
    """Entitlements by agent; from a Slurm cluster, with its account tree.

    Attributes:
        entitlements: one per agent.
        tree: the account tree.
        by_user: whether agents are users of the tree, not accounts.
        notes: assumptions, in sentences.
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
            account tree, `Account` takes the shares of accounts, anything else the shares of users.
        exempt: whether an entitlement may be 0, as of a share of a load.
    """
    header = first_line(path)
    if column is None and _is_tree(header):
        tree, by_user = read_tree(path), (agent or "User").lower() != "account"
        note = f"Entitlements are the shares of {'users' if by_user else 'accounts'} in the account tree of {path}."
        return Shares(tree.entitlements(by_user=by_user), tree, by_user, (note, *tree.notes))
    names = [name.strip() for name in header.strip().split(separator(header))]
    key = agent if agent in names and "agent" not in names else "agent"
    return Shares(_read_table(path, key or "agent", column or "entitlement", exempt=exempt))


def _read_table(path: Path, agent: str, column: str, *, exempt: bool) -> dict[str, float]:
    weights: dict[str, float] = {}
    for line, row in read(path, (agent, column)):
        where = f"{path}, row {line}: "
        name = check_text(f"{where}{agent}", row[agent], empty=False)
        if name in weights:
            raise ValueError(f"{where}{name!r} appears twice")
        weights[name] = number(f"{where}{column}", row[column])
        if not weights[name] and not exempt:
            raise ValueError(f"{where}{column} must be above 0, got {row[column]!r}")
    return weights


def _is_tree(header: str) -> bool:
    """Whether a file with this first line is the output of `sshare -P` or `sacctmgr -P show assoc`."""
    names = {name.strip() for name in header.split("|")}
    return {"Account", "User"} <= names and bool(names & set(_SHARES))


def read_tree(path: Path) -> ShareTree:
    """Reads the account tree."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    header = [name.strip() for name in lines[0].split("|")]
    shares = next(name for name in _SHARES if name in header)
    parent_column = next((name for name in _PARENTS if name in header), None)
    _check_one_cluster(path, header, lines[1:])
    root = Node("root", 1.0)
    accounts: dict[str, Node] = {"root": root}
    above: list[Node] = [root]
    users: list[tuple[str, Node]] = []
    parents: dict[str, str] = {}
    inherited, is_flat = 0, parent_column is None
    for line, text in enumerate(lines[1:], 2):
        if not text.strip():
            continue
        cells = dict(zip(header, text.split("|"), strict=False))
        account, user = cells.get("Account", ""), cells.get("User", "").strip()
        raw = cells.get(shares, "").strip()
        where = f"{path}, row {line}: "
        if raw.lower() == "parent":
            inherited += 1
            raw = "1"
        weight = number(f"{where}{shares}", raw or "0")
        factor = cells.get("FairShare", "").strip() if shares != "FairShare" else ""
        node = Node(user or account.strip(), weight, bool(user), float(factor) if is_number(factor) else math.nan)
        if not account.strip():
            raise ValueError(f"{where}Account must be a name, got nothing")
        if user:
            users.append((account.strip(), node))
        elif node.name == "root":
            continue
        else:
            accounts[node.name] = node
            depth = len(account) - len(account.lstrip())
            is_flat = is_flat and not depth
            above = [*above[: max(depth, 1)], node]
            parents[node.name] = (cells.get(parent_column, "").strip() if parent_column else "") or above[-2].name
    for name, node in accounts.items():
        if node is not root:
            accounts.get(parents[name], root).children.append(node)
    for account, node in users:
        if account not in accounts:
            raise ValueError(
                f"{path}: user {node.name!r} is in the account {account!r}, which has no row: list all "
                "associations, with sshare -a -P or sacctmgr -P show assoc, for all users"
            )
        accounts[account].children.append(node)
    notes = []
    if inherited:
        many = counted(inherited, "association")
        notes.append(f"{many} with the shares of the parent count with equal shares of their account.")
    if is_flat and len(accounts) > 2:
        notes.append(
            f"{path} does not show which account is below which, so all count as siblings; add ParentName to the "
            "--format of sacctmgr, or give it the word tree."
        )
    return ShareTree(root, tuple(notes))


def _check_one_cluster(path: Path, header: list[str], lines: list[str]) -> None:
    """Refuses the associations of several clusters, whose accounts may have the same names."""
    if "Cluster" in header:
        at = header.index("Cluster")
        clusters = sorted({line.split("|")[at].strip() for line in lines if line.count("|") >= at} - {""})
        if len(clusters) > 1:
            raise ValueError(
                f"{path} has the associations of several clusters ({', '.join(clusters)}): choose one with cluster="
                f"{clusters[0]}"
            )


def _share_out(node: Node, share: float, shares: dict[str, float], *, by_user: bool) -> None:
    total = sum(child.shares for child in node.children)
    for child in node.children:
        part = share * child.shares / total if total else 0.0
        if child.is_user:
            name = child.name if by_user else node.name
            shares[name] = shares.get(name, 0.0) + part
        elif child.children:
            _share_out(child, part, shares, by_user=by_user)
        elif not by_user:
            shares[child.name] = shares.get(child.name, 0.0) + part


def _leaves(node: Node, *, by_user: bool) -> list[Node]:
    """The users, or the accounts that have no account below them."""
    if by_user:
        return [
            leaf for child in node.children for leaf in ([child] if child.is_user else _leaves(child, by_user=True))
        ]
    below = [child for child in node.children if not child.is_user]
    return [leaf for child in below for leaf in _leaves(child, by_user=False)] if below else [node]


def _paths(node: Node) -> Iterator[tuple[Node, ...]]:
    """The ways from below a node to every node further down."""
    for child in node.children:
        yield (child,)
        yield from ((child, *path) for path in _paths(child))


def _once(nodes: Sequence[Node]) -> list[Node]:
    """The nodes whose name no other has."""
    times = Counter(node.name for node in nodes)
    return [node for node in nodes if times[node.name] == 1]


def _ranked(nodes: Sequence[Node], used: Mapping[Node, float], *, is_tied: bool = False) -> Iterator[tuple[Node, bool]]:
    """The leaves below these nodes, whose children compete, in the order of their rank, and whether each is tied with
    the one before.

    Args:
        nodes: the nodes.
        used: the usage of every leaf.
        is_tied: whether the first is tied with the one before these.
    """
    ratios: list[tuple[float, Node]] = []
    for node in nodes:
        shares = sum(child.shares for child in node.children) or 1.0
        usage = {child: _usage(child, used) for child in node.children}
        total = sum(usage.values())
        for child in node.children:
            part = usage[child] / total if total else 0.0
            ratios.append((child.shares / shares / part if part else math.inf, child))
    ratios.sort(key=lambda pair: -pair[0])
    for _, group in groupby(ratios, key=lambda pair: pair[0]):
        equal = [child for _, child in group]
        for child in equal:
            if child in used:
                yield child, is_tied
                is_tied = True
        # Accounts that are tied are ranked as if their children were of one account. If they are tied with a user, so
        # is the first of their children.
        accounts = [child for child in equal if child not in used and child.children]
        if accounts:
            yield from _ranked(accounts, used, is_tied=is_tied)
        is_tied = False


def _usage(node: Node, used: Mapping[Node, float]) -> float:
    return used[node] if node in used else sum(_usage(child, used) for child in node.children)
