r"""The leximin-best matching of agents and items, one item each, and a fair draw among equally good ones.

Agent $i$ with item $j$ ends at the value $V_{ij}$, with nothing at its base. Levels are gone through from the lowest
value held. At each level as few agents as possible are left there: for each of them an exchange is sought that lifts it
while nobody comes down to the level. It passes from an agent to any item that is worth more to it, to that
item's holder, and so on, back to the item that was given up. Where no exchange exists, the agent stays.

If it alone is at that level, with no item of that same value for anybody else within reach, then it stays there in
every best matching; with one such private item, both leave the game. Otherwise any of several agents may stay, and
which one matters for the levels above. Then the Hungarian method with costs of one at this level and zero above gives
dual numbers, and the matchings that are best at this level are exactly those on the tight edges (complementary
slackness): all others are struck out, and the next level is solved on the rest. At the end every matching on the
edges left is leximin-best, and lots drawn for the edges choose among them, so interchangeable agents have equal
chances.

Columns $0,\dots,m-1$ are the items; column $m+i$ is agent $i$'s private "nothing". A column that no agent
holds belongs to "nobody", a holder who takes anything that need not be held.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from bygones.allocation.ties import TIE

Test: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Values(Protocol):
    """The values of the pairs of agent and item; in the course of the search +inf is settled, -inf is struck out."""

    shape: tuple[int, int]

    def of(self, agent: int, item: int) -> float:
        """The value of one pair."""

    def row(self, agent: int) -> np.ndarray:
        """The values of one agent's pairs, open to being changed."""

    def select(self, agents: np.ndarray, test: Test) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of these agents whose values, agents and items pass the test."""

    def everything(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, agents and items of all pairs, shaped to go together, the values open to being changed."""


class DenseValues:
    """Values in a matrix, -inf where the pair is forbidden. The matrix is used up by the search."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix, self.shape = matrix, (matrix.shape[0], matrix.shape[1])
        self._items = np.arange(matrix.shape[1])

    def of(self, agent: int, item: int) -> float:
        return float(self.matrix[agent, item])

    def row(self, agent: int) -> np.ndarray:
        return np.asarray(self.matrix[agent])

    def select(self, agents: np.ndarray, test: Test) -> tuple[np.ndarray, np.ndarray]:
        hits = np.flatnonzero(test(self.matrix[agents], agents[:, None], self._items))
        rows = hits // self.shape[1]
        return agents[rows], hits - rows * self.shape[1]

    def everything(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.matrix, np.arange(self.shape[0])[:, None], self._items


class SparseValues:
    """Values of the stored pairs of a `csr_array`, whose data are used up by the search."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        matrix.sort_indices()
        self.data, self.items, self.starts = matrix.data, matrix.indices, matrix.indptr
        self.shape = (matrix.shape[0], matrix.shape[1])

    def of(self, agent: int, item: int) -> float:
        first, end = self.starts[agent], self.starts[agent + 1]
        return float(self.data[first + np.searchsorted(self.items[first:end], item)])

    def row(self, agent: int) -> np.ndarray:
        return np.asarray(self.data[self.starts[agent] : self.starts[agent + 1]])

    def select(self, agents: np.ndarray, test: Test) -> tuple[np.ndarray, np.ndarray]:
        first = self.starts[agents]
        counts = self.starts[agents + 1] - first
        ends = np.cumsum(counts)
        where = np.arange(ends[-1]) + np.repeat(first - (ends - counts), counts)
        rows, items = np.repeat(agents, counts), self.items[where]
        hits = test(self.data[where], rows, items)
        return rows[hits], items[hits]

    def everything(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.data, np.repeat(np.arange(self.shape[0]), np.diff(self.starts)), self.items


def leximin(
    values: Values, nothing: np.ndarray, holds: np.ndarray, may_be_left: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The item of each agent (-1: nothing) in a leximin-best matching.

    Args:
        values: the value of each pair; used up.
        nothing: the value of having nothing to each agent, -inf if it must have something; used up.
        holds: a matching to start from, the item of each agent or -1; the better, the faster.
        may_be_left: per item, whether it may be left over.
        rng: draws among equally good matchings.
    """
    game = _Game(values, nothing, holds, may_be_left)
    waiting = [(worth, agent) for agent, worth in enumerate(game.worth.tolist())]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < math.inf:
        lowest = waiting[0][0]
        slack = TIE * abs(lowest)
        level = []
        while waiting and waiting[0][0] <= lowest + slack:
            worth, agent = heapq.heappop(waiting)
            # The entry of an agent that has moved since is out of date, and its new one comes later.
            if game.worth[agent] == worth and not game.out[agent]:
                level.append(agent)
        for moved in game.settle(dict.fromkeys(level), lowest - slack, lowest + slack):
            heapq.heappush(waiting, (float(game.worth[moved]), moved))
    return game.draw(rng)


class _Game:
    """Who holds which column, and the search for exchanges at one level."""

    def __init__(self, values: Values, nothing: np.ndarray, holds: np.ndarray, may_be_left: np.ndarray) -> None:
        self.values, self.nothing, self.may_be_left = values, nothing, may_be_left
        self.n, self.m = values.shape
        n, m = self.n, self.m
        self.nobody = n
        self.held = np.where(holds < 0, m + np.arange(n), holds)
        self.owner = np.full(m + n, self.nobody)
        self.owner[self.held] = np.arange(n)
        self.worth = np.array([self._worth(agent) for agent in range(n)])
        self.out = np.zeros(n, dtype=bool)
        # Columns seen by the latest search have its number; those out of the game a larger one than any search.
        self.seen = np.zeros(m + n, dtype=np.int64)
        self.now = 0
        self.via = np.zeros(m + n, dtype=np.int64)
        self.low = self.high = -math.inf
        self.reached, self.nobody_reached = np.zeros(0, dtype=int), False
        self.plain, self.nobody_dual = True, 0
        self.agent_duals: np.ndarray = np.zeros(n, dtype=int)
        self.column_duals: np.ndarray = np.zeros(m + n, dtype=int)

    def settle(self, level: Iterable[int], low: float, high: float) -> list[int]:
        """Leaves as few agents as possible at the level, strikes out pairs that would leave more; who has moved."""
        self.low, self.high = low, high
        level, moved = list(level), []
        for agent in level:
            # An exchange for another agent may have lifted this one, or a failed one paid for its place here.
            if self.worth[agent] > high or self._is_tight(agent):
                continue
            exchange = self._exchange(agent)
            if exchange:
                moved += exchange
            elif len(level) == 1 and (own := self._own_places(agent)):
                self._stay(agent, own)
            else:
                # The Hungarian method's step after a failed search. Duals are whole numbers, so a pair that leads out
                # of reach has room for one. Pairs within reach stay tight. The agent's own column is out of reach, so
                # its place at the level is now paid for.
                self.plain = False
                self.agent_duals[self.reached] += 1
                self.column_duals[self.seen == self.now] += 1
                self.nobody_dual += self.nobody_reached
        if not self.plain:
            self._strike_out()
        return moved

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One of the matchings on the settled pairs, by random weights; the item of each agent or -1."""
        agents = np.flatnonzero(~self.out)
        if len(agents):
            values, rows, items = self.values.everything()
            rows, items = np.broadcast_arrays(rows, items)
            settled = (values == math.inf) & ~self.out[rows] & (self.seen[items] <= self.now)
            idle = agents[self.nothing[agents] == math.inf]
            i, j = np.append(rows[settled], idle), np.append(items[settled], self.m + idle)
            # Held by a wide margin: an item that may not be left over is always taken.
            spare = np.append(self.may_be_left, np.ones(self.n, dtype=bool))[j]
            weights = 1.0 + rng.random(len(i)) + 2.0 * len(agents) * spare
            graph = sparse.csr_array((weights, (i, j)), shape=(self.n, self.m + self.n))[agents]
            self.held[agents] = min_weight_full_bipartite_matching(graph)[1]
        return np.where(self.held < self.m, self.held, -1)

    def _worth(self, agent: int) -> float:
        column = self.held[agent]
        return self.values.of(agent, column) if column < self.m else float(self.nothing[agent])

    def _is_tight(self, agent: int) -> bool:
        """Whether the agent's place at the level is already paid for by the dual numbers."""
        column = self.held[agent]
        column_dual = self.column_duals[column] if column < self.m else self.nobody_dual
        return bool(self.agent_duals[agent] - column_dual == 1)

    def _tight(self, values: np.ndarray, agent_duals: np.ndarray, column_duals: np.ndarray | int) -> np.ndarray:
        """Where an exchange may pass: costs of one at the level and zero above equal the difference of the duals."""
        paid = agent_duals - column_duals
        return np.asarray(np.where(values > self.high, paid == 0, (values >= self.low) & (paid == 1)))

    def _is_wanted(self, values: np.ndarray, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        unseen = self.seen[items] < self.now
        if self.plain:
            return np.asarray((values > self.high) & unseen)
        return np.asarray(self._tight(values, self.agent_duals[agents], self.column_duals[items]) & unseen)

    def _is_at_level(self, values: np.ndarray, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray((values >= self.low) & (values <= self.high) & (self.seen[items] <= self.now))

    def _exchange(self, start: int) -> list[int]:
        """Lifts the agent if some exchange can, and returns who has moved; else sets `reached`."""
        self.now += 1
        target, reached, frontier = self.held[start], [], np.array([start])
        self.nobody_reached, door = False, -1
        while len(frontier):
            reached.append(frontier)
            columns = self._wanted(frontier)
            if self.seen[target] == self.now:
                return self._pass_on(start, target, door)
            owners = self.owner[columns]
            if not self.nobody_reached:
                free = columns[owners == self.nobody]
                idle = frontier[self._tight(self.nothing[frontier], self.agent_duals[frontier], self.nobody_dual)]
                idle = idle[self.held[idle] != self.m + idle]
                if len(free) or len(idle):
                    # Nobody holds many columns, which are all within reach once it takes one, the `door`.
                    self.nobody_reached = True
                    door = int(free[0]) if len(free) else self.m + int(idle[0])
                    self.via[door] = self.via[door] if len(free) else idle[0]
                    left = self._left_over(target)
                    if self.seen[target] == self.now:
                        return self._pass_on(start, target, door)
                    owners = np.append(owners, self.owner[left])
            frontier = owners[owners != self.nobody]
        self.reached = np.concatenate(reached)
        return []

    def _wanted(self, agents: np.ndarray) -> np.ndarray:
        """The items, not seen before, that these agents would be lifted by; marks them as seen."""
        rows, items = self.values.select(agents, self._is_wanted)
        self.via[items] = rows
        self.seen[items] = self.now
        return np.asarray(items[self.via[items] == rows])

    def _left_over(self, target: int) -> np.ndarray:
        """The columns, not seen before, that may go to nobody; marks them as seen."""
        items = np.flatnonzero(self.may_be_left & (self.column_duals[: self.m] == self.nobody_dual))
        columns = np.append(items, self.held[self.held >= self.m])
        columns = np.asarray(columns[self.seen[columns] < self.now])
        self.via[columns] = self.nobody
        self.seen[columns] = self.now
        return columns

    def _pass_on(self, start: int, target: int, door: int) -> list[int]:
        """Makes the exchange, from the item given up back to the agent that it lifts."""
        column, moved = target, []
        while True:
            agent = int(self.via[column])
            self.owner[column] = agent
            if agent == self.nobody:  # it takes the door for the column that it gives
                column = door
                continue
            given_up, self.held[agent] = self.held[agent], column
            self.worth[agent] = self._worth(agent)
            moved.append(agent)
            if agent == start:
                return moved
            column = given_up

    def _own_places(self, agent: int) -> int:
        """How many columns of this level are within reach, if all of them are for this agent only, else 0."""
        agents = self.values.select(self.reached, self._is_at_level)[0]
        idle = self.reached[(self.nothing[self.reached] >= self.low) & (self.nothing[self.reached] <= self.high)]
        return len(agents) + len(idle) if (agents == agent).all() and (idle == agent).all() else 0

    def _stay(self, agent: int, places: int) -> None:
        """The agent stays at this level in every best matching: at its one place, or at one of several."""
        if places == 1:
            self.out[agent] = True
            self.seen[self.held[agent]] = np.iinfo(np.int64).max
            return
        row, idle = self.values.row(agent), self.nothing[agent : agent + 1]
        for worth in (row, idle):
            worth[:] = np.where((worth >= self.low) & (worth <= self.high), math.inf, -math.inf)
        self.worth[agent] = math.inf

    def _strike_out(self) -> None:
        """Keeps the tight pairs of this level as settled, strikes out all others that are not tight."""
        values, rows, items = self.values.everything()
        paid = self.agent_duals[rows] - self.column_duals[items]
        # A best matching has tight pairs only, and every matching of tight pairs is best. So the level is done with:
        # its tight pairs need no further look, however they are chosen later.
        for worth, dual in ((values, paid), (self.nothing, self.agent_duals - self.nobody_dual)):
            at_level = (worth >= self.low) & (worth <= self.high)
            worth[(at_level & (dual != 1)) | ((worth > self.high) & (dual < 0))] = -math.inf
            worth[at_level & (dual == 1)] = math.inf
        # Being left over costs nothing, so it is tight where the duals are equal. An item's is never the lower one.
        self.may_be_left &= self.column_duals[: self.m] <= self.nobody_dual
        self.worth[self.worth <= self.high] = math.inf
        self.plain, self.nobody_dual = True, 0
        self.agent_duals[:], self.column_duals[:] = 0, 0
