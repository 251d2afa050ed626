"""A hash tree over the events of a ledger, as in transparency logs (RFC 9162, section 2.1).

Its leaves are the hashes of the events, in their order, and its root stands for all of them. The hashes next to a
leaf's path to the root, some log₂ n for n events, show that the leaf is the k-th of these n to a reader who has none of
the events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple


class _Node(NamedTuple):
    """A part of the tree over so many leaves; with the hashes next to the watched leaf's path, if the leaf is in it."""

    size: int
    hash: bytes
    path: tuple[bytes, ...] | None


class HashTree:
    """The tree over some leaves, to which more can be added.

    Args:
        leaves: the first leaves.
        watched: the place of a leaf, counted from 1, whose path is wanted.
    """

    def __init__(self, leaves: Iterable[bytes] = (), watched: int | None = None) -> None:
        self.size = 0
        self._watched = watched
        self._complete: list[_Node] = []
        for leaf in leaves:
            self.add(leaf)

    def add(self, leaf: bytes) -> None:
        """Adds a leaf behind the others."""
        self.size += 1
        node = _Node(1, _of_leaf(leaf), () if self.size == self._watched else None)
        while self._complete and self._complete[-1].size == node.size:
            node = _joined(self._complete.pop(), node)
        self._complete.append(node)

    @property
    def root(self) -> bytes:
        """The hash that stands for all leaves so far; there must be one."""
        return self._top().hash

    @property
    def path(self) -> tuple[bytes, ...]:
        """The hashes next to the path of the watched leaf, from the leaf to the root; none where no leaf is watched."""
        return self._top().path or ()

    def _top(self) -> _Node:
        return reduce(lambda right, left: _joined(left, right), reversed(self._complete))


def contains(root: bytes, size: int, place: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Whether the tree of this root over `size` leaves has this leaf at this place (RFC 9162, section 2.1.3.2)."""
    if not 1 <= place <= size:
        return False
    index, last, hashed = place - 1, size - 1, _of_leaf(leaf)
    for neighbour in path:
        if last == 0:
            return False
        if index % 2 or index == last:
            hashed = _of_parts(neighbour, hashed)
            while index % 2 == 0 and index:  # the last node of a level stands alone, and moves up unchanged
                index, last = index // 2, last // 2
        else:
            hashed = _of_parts(hashed, neighbour)
        index, last = index // 2, last // 2
    return last == 0 and hashed == root


def _joined(left: _Node, right: _Node) -> _Node:
    path = None
    if left.path is not None:
        path = (*left.path, right.hash)
    elif right.path is not None:
        path = (*right.path, left.hash)
    return _Node(left.size + right.size, _of_parts(left.hash, right.hash), path)


def _of_leaf(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\0" + leaf).digest()


def _of_parts(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
