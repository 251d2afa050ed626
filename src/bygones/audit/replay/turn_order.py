r"""Whose job comes next in a cluster: the recent usage of every association, and its rank in Slurm's fair tree.

Usage fades while it accrues. Over a time $\tau$ in which an association runs jobs of the total size $r$,

$$ Z \leftarrow 2^{-\tau/h} Z + r\,\frac{h}{\ln 2}\,\bigl(1 - 2^{-\tau/h}\bigr) . $$

Any other memory gets the usage in steps, as schedulers with a window recompute it at intervals.

In the fair tree, siblings are ranked by their part of the siblings' usage over their part of the siblings' shares, the
smallest first, from the root down. Siblings that are tied are ranked as if their children were of one account. A
cluster without accounts is a tree in which all users are siblings: the least recent usage per share comes first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from bygones.audit.read.entitlements import ShareTree
from bygones.audit.replay.memories import Alternative
from bygones.audit.replay.queued_jobs import HOUR, Jobs

TIED = 11
"""Ratios of usage to shares that are equal to this many decimals are tied."""

STEPS = 100
"""The least number of steps into which a window is divided."""


class RecentUsage(Protocol):
    """The recent usage of every association while jobs run."""

    def at(self, time: float) -> np.ndarray:
        """The recent usage at a time, which never goes back."""

    def add(self, row: int, rate: float) -> None:
        """Changes by how much an association uses from now on."""


class Fading(RecentUsage):
    """Usage with a half-life, perhaps an infinite one, to the instant."""

    def __init__(self, n: int, began: float, half_life: float) -> None:
        self._used, self._rate, self._now, self._half_life = np.zeros(n), np.zeros(n), began, half_life

    def at(self, time: float) -> np.ndarray:
        passed = time - self._now
        if passed > 0:
            if math.isinf(self._half_life):
                self._used = self._used + self._rate * passed
            else:
                left = 2.0 ** (-passed / self._half_life)
                self._used = self._used * left + self._rate * (self._half_life / math.log(2) * (1 - left))
            self._now = time
        return self._used

    def add(self, row: int, rate: float) -> None:
        self._rate[row] += rate


class Stepped(RecentUsage):
    """Usage under any other memory, which gets it at the end of every step."""

    def __init__(self, n: int, began: float, memory: Alternative) -> None:
        self._memory, self._step = memory.memory(min(HOUR, memory.length / STEPS))
        self._state: Any = self._memory.init(n)
        self._used, self._rate, self._now, self._next = np.zeros(n), np.zeros(n), began, began + self._step
        self._read = np.zeros(n)

    def at(self, time: float) -> np.ndarray:
        while self._next <= time:
            self._used += self._rate * (self._next - self._now)
            self._state = self._memory.advance(self._state, self._used, 1)
            self._used, self._now, self._next = np.zeros_like(self._used), self._next, self._next + self._step
            self._read = np.asarray(self._memory.read(self._state))
        self._used += self._rate * (time - self._now)
        self._now = time
        return self._read

    def add(self, row: int, rate: float) -> None:
        self._rate[row] += rate


class Nothing(RecentUsage):
    """Nothing is remembered: all associations are level, and jobs start in the order of submission."""

    def __init__(self, n: int) -> None:
        self._none = np.zeros(n)

    def at(self, time: float) -> np.ndarray:
        return self._none

    def add(self, row: int, rate: float) -> None:
        pass


def recent_usage(memory: Alternative, n: int, began: float) -> RecentUsage:
    """The recent usage of `n` associations under a memory, none so far."""
    if memory.is_half_life:
        return Fading(n, began, memory.length)
    return Nothing(n) if memory.kind == "instantaneous" else Stepped(n, began, memory)


class Level(NamedTuple):
    """One level of a fair tree.

    Attributes:
        node: for each association, its ancestor on this level, or itself; -1 below which there is none.
        parent: for each node of the level, a number that siblings have in common.
        share: for each node, its part of the shares of its siblings.
    """

    node: np.ndarray
    parent: np.ndarray
    share: np.ndarray


class FairTree:
    """The associations of a cluster, and their order from their usage.

    Attributes:
        levels: the levels of the tree, the one below the root first.
        association: for each job, the row of its association.
        size: the number of associations.
    """

    def __init__(self, levels: list[Level], association: np.ndarray, size: int) -> None:
        """Takes the levels, the association of each job and the number of associations."""
        self.levels, self.association, self.size = levels, association, size

    def ranks(self, used: np.ndarray) -> np.ndarray:
        """The rank of every association from its recent usage; 0 comes first, and ties have one rank."""
        keys = []
        for level in self.levels:
            inside = level.node >= 0
            usage = np.bincount(level.node[inside], used[inside], len(level.share))
            siblings = np.bincount(level.parent, usage)[level.parent]
            part = np.divide(usage, siblings, out=np.zeros_like(usage), where=siblings > 0)
            ratio = np.divide(part, level.share, out=np.full_like(part, np.inf), where=level.share > 0)
            ratio[part == 0] = 0.0
            # A user is tied with the first of the users of an account that is tied with it.
            keys.append(np.where(inside, np.round(ratio, TIED)[level.node], -1.0))
        if len(keys) == 1:
            return np.asarray(np.unique(keys[0], return_inverse=True)[1])
        order = np.lexsort(keys[::-1])
        ranks = np.empty(self.size, dtype=np.int64)
        ordered = np.array(keys)[:, order]
        one, next_one = ordered[:, :-1], ordered[:, 1:]
        differ = ((one != next_one) & (one >= 0) & (next_one >= 0)).any(axis=0)
        ranks[order] = np.concatenate([[0], np.cumsum(differ)])
        return ranks


def flat(jobs: Jobs, entitlements: np.ndarray) -> FairTree:
    """A cluster without accounts, whose users have these entitlements."""
    n = len(jobs.names)
    level = Level(np.arange(n), np.zeros(n, dtype=np.int64), entitlements / entitlements.sum())
    return FairTree([level], jobs.who, n)


def slurm_tree(jobs: Jobs, tree: ShareTree, *, by_user: bool) -> FairTree:
    """A cluster with accounts; the association of a job is that of its user in its account."""
    paths = tree.paths(by_user=by_user)
    levels = []
    for depth in range(max(len(path) for path in paths)):
        nodes: dict[int, int] = {}
        parents: dict[int, int] = {}
        node, parent, share = np.full(len(paths), -1), list[int](), list[float]()
        for row, path in enumerate(paths):
            if depth >= len(path):
                continue
            above = tree.root if depth == 0 else path[depth - 1]
            if id(path[depth]) not in nodes:
                nodes[id(path[depth])] = len(nodes)
                parent.append(parents.setdefault(id(above), len(parents)))
                share.append(path[depth].shares / (sum(child.shares for child in above.children) or 1.0))
            node[row] = nodes[id(path[depth])]
        levels.append(Level(node, np.array(parent), np.array(share)))
    return FairTree(levels, _associations(jobs, tree, paths, by_user=by_user), len(paths))


def _associations(jobs: Jobs, tree: ShareTree, paths: list[tuple[Any, ...]], *, by_user: bool) -> np.ndarray:
    """For each job, the row of the path that leads to its association."""
    of_name: dict[str, list[int]] = {}
    of_pair: dict[tuple[str, str], int] = {}
    for row, path in enumerate(paths):
        of_name.setdefault(path[-1].name, []).append(row)
        of_pair[path[-1].name, (path[-2] if len(path) > 1 else tree.root).name] = row
    rows: list[int] = []
    for who, account in zip(jobs.who.tolist(), jobs.accounts, strict=True):
        name = jobs.names[who]
        known = of_name.get(name, [])
        if by_user and (name, account) in of_pair:
            rows.append(of_pair[name, account])
        elif len(known) == 1:
            rows.append(known[0])
        else:
            where = f"in the account {account!r} " if account and by_user else ""
            raise ValueError(
                f"{name!r} {where}is not in the account tree: list all associations, with sshare -a -P"
                if not known or account
                else f"{name!r} is in several accounts: add Account to the --format of sacct"
            )
    return np.array(rows, dtype=np.int64)
