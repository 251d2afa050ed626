r"""A matching of largest total gain in a large sparse graph, by an exact auction.

Every agent without an item bids for the one it gains most from at current prices, and raises its price by the margin
over its second choice (having nothing is a choice too). The highest bid gets the item, and its former holder is
free again. All free agents bid at once, which is a handful of array operations per round. Two things stay true
throughout, up to rounding: an agent with an item has the surplus $u_i = G_{ij} - v_j$ and would gain no more from any
other, and an item without an agent has the price zero. Once no agent is free they prove the matching best.

Among equally good items an agent prefers one that nobody holds, else any at random: a bid without a margin raises
nothing and could otherwise go round in circles for ever. An agent still free after many rounds, in a long price
war or among many ties, is placed along a shortest augmenting path (Dijkstra's algorithm on $u_i + v_j - G_{ij} \ge 0$),
which keeps the same two things true.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from scipy import sparse

_ROUNDS_PER_AGENT = 0.2
"""Rounds of bidding, per agent, before the agents who are left are placed one by one."""


def auction(gains: sparse.csr_array, outside: np.ndarray, *, to_the_end: bool = True) -> np.ndarray:
    """The item of each agent, -1 for none, where having none gains `outside`.

    Unless it goes `to_the_end`, only the bidding is done, and who is still free has none: not the best matching,
    but a good one.
    """
    sale = _Sale(gains, outside)
    free = np.flatnonzero(np.diff(gains.indptr))
    for _ in range(math.ceil(_ROUNDS_PER_AGENT * gains.shape[0])):
        if not len(free):
            break
        free = sale.bid(free)
    for agent in free.tolist() if to_the_end else ():
        sale.augment(agent)
    return sale.holds


class _Sale:
    """Prices v, surpluses u, and who holds what."""

    def __init__(self, gains: sparse.csr_array, outside: np.ndarray) -> None:
        n, m = gains.shape
        self.starts, self.items, self.gains, self.outside = gains.indptr, gains.indices, gains.data, outside
        self.u, self.v = outside.copy(), np.zeros(m)
        self.holds, self.owner = np.full(n, -1), np.full(m, -1)
        self._winner = np.empty(m, dtype=int)
        self._rng = np.random.default_rng(0)

    def bid(self, agents: np.ndarray) -> np.ndarray:
        """One round; who is free after it."""
        pairs = stored(self.starts, agents)
        counts = self.starts[agents + 1] - self.starts[agents]
        first = np.cumsum(counts) - counts
        net = self.gains[pairs] - self.v[self.items[pairs]]
        best = np.maximum.reduceat(net, first)
        bidder = np.repeat(np.arange(len(agents)), counts)
        hits = self._rng.permutation(np.flatnonzero(net == best[bidder]))
        chosen = np.empty(len(agents), dtype=int)
        chosen[bidder[hits]] = hits
        # Items that nobody holds are written last, and so are preferred.
        hits = hits[self.owner[self.items[pairs[hits]]] < 0]
        chosen[bidder[hits]] = hits
        net[chosen] = -math.inf
        second = np.maximum(np.maximum.reduceat(net, first), self.outside[agents])
        # Who gains nothing by any item goes without, for good: prices only rise.
        keen = best > self.outside[agents]
        agents, chosen, best, second = agents[keen], chosen[keen], best[keen], second[keen]
        wanted, margin = self.items[pairs[chosen]], best - second
        offer = self.v[wanted] + margin
        # The last of several writes to one place stays, so the highest offer for an item wins.
        rising = np.argsort(offer, kind="stable")
        self._winner[wanted[rising]] = agents[rising]
        won = self._winner[wanted] == agents
        sold, winners = wanted[won], agents[won]
        displaced = self.owner[sold]
        displaced = displaced[displaced >= 0]
        self.holds[displaced] = -1
        self.owner[sold], self.holds[winners] = winners, sold
        self.v[sold], self.u[winners] = offer[won], second[won]
        return np.concatenate([displaced, agents[~won]])

    def augment(self, start: int) -> None:
        """Places one agent along the shortest path to a free item, or to someone who can best do without."""
        # A free agent's surplus is out of date, as prices have risen. With the true one no edge has a negative length,
        # which Dijkstra's algorithm needs.
        own = slice(self.starts[start], self.starts[start + 1])
        best = (self.gains[own] - self.v[self.items[own]]).max(initial=-math.inf)
        self.u[start] = max(float(self.outside[start]), float(best))
        reached, parent, done = {start: 0.0}, {}, {}
        end, goal = math.inf, -1
        heap: list[tuple[float, int, int]] = []
        agent, far = start, 0.0
        while True:
            # The path may end here: this agent goes without, which costs its surplus over that.
            idle = far + self.u[agent] - self.outside[agent]
            if idle < end:
                end, goal, last = idle, -1, agent
            own = slice(self.starts[agent], self.starts[agent + 1])
            items = self.items[own]
            # Below zero by rounding only.
            lengths = far + np.maximum(self.u[agent] + self.v[items] - self.gains[own], 0.0)
            for length, item in zip(lengths.tolist(), items.tolist(), strict=True):
                if length < end and item not in done:
                    heapq.heappush(heap, (length, item, agent))
            far, item, via = math.inf, -1, -1
            while heap:
                far, item, via = heapq.heappop(heap)
                if item not in done:
                    break
                far = math.inf
            if far >= end:
                break
            parent[item], done[item] = via, far
            if self.owner[item] < 0:
                end, goal = far, item
                break
            # An item in someone's hands leads to its holder at no cost, since that surplus is exact.
            agent = int(self.owner[item])
            reached[agent] = far
        # The nearer to the start, the more a surplus falls and a price rises. So pairs on the path become exact, and
        # nobody comes to gain more from another item: no length is shorter than the difference of its ends.
        for agent, far in reached.items():
            self.u[agent] -= max(0.0, end - far)
        for item, far in done.items():
            self.v[item] += max(0.0, end - far)
        if goal < 0:  # the last agent on the path gives its item to the one before
            goal, self.holds[last] = int(self.holds[last]), -1
            if last == start:
                return
        while True:
            agent = parent[goal]
            self.owner[goal] = agent
            goal, self.holds[agent] = int(self.holds[agent]), goal
            if agent == start:
                return


def stored(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Where the entries of these rows of a `csr_array` are stored."""
    counts = starts[rows + 1] - starts[rows]
    ends = np.cumsum(counts)
    return np.asarray(np.arange(ends[-1]) + np.repeat(starts[rows] - (ends - counts), counts))
