r"""Goods and burdens to allocate, and the agents who may have them.

Three kinds of problem, all with utilities of at least zero:

- `ChooseK`: $k$ identical resources, at most one per agent (the paper's problem).
- `Assign`: $m$ distinct items, each to at most one agent; an agent's utility is the sum over its items.
- `Divide`: an amount of something divisible, each agent's utility proportional to its part.

Agents are known by position, or by name: `ChooseK([2, 1], k=1)`, `ChooseK([2, 1], k=1, agents=["ana", "ben"])` and
`ChooseK({"ana": 2, "ben": 1}, k=1)` are one problem. By name, a number that is None or missing is something that the
agent may not have. Tables of needs and requests to a ledger are read in this way. A problem by name may lack
agents who join it before it is decided (`among`), so only then is it checked that it has enough of them.

A problem allocates a *good* or a *burden* (`kind`). Goods need not be allocated: a resource that no agent
has a use for is left over. Of burdens everything has to be: exactly $k$ agents are chosen, every item and the whole
amount is taken by someone, and a problem in which that is impossible is refused when it is decided. The utilities
of a burden are loads.

A new kind of problem is a subclass of `Problem` (`bygones.allocation.problem_contract`) and a function with
`bygones.allocation.decide.solver`; see `docs/extending.md`.
"""

from __future__ import annotations

from collections.abc import Sequence

from bygones._arrays import Json
from bygones._text import listed
from bygones.allocation.amounts import Divide
from bygones.allocation.items import Assign
from bygones.allocation.places import ChooseK
from bygones.allocation.problem_contract import Given, Problem
from bygones.kinds import UNNAMED, Kind, Thing

__all__ = ["Assign", "ChooseK", "Divide", "in_words", "problem_from"]


def problem_from(data: Json) -> Problem | None:
    """The problem of which this is the `to_dict`; None if it is of a custom kind."""
    if "needs" in data:
        return ChooseK(data["needs"], data["k"])
    if "utilities" in data:
        return Assign(data["utilities"], data["capacity"], items=data.get("items"))
    if "rates" in data:
        return Divide(data["amount"], data["rates"], data["caps"], whole=data.get("whole", False))
    return None


def in_words(
    given: Sequence[Given], problem: Problem | None, kind: Kind, thing: Thing = UNNAMED, brief: bool = False
) -> dict[str, str]:
    """Each agent's part, in words; `brief` leaves out needs and loads, which a table shows."""
    is_only = not isinstance(problem, ChooseK) or problem.k == 1
    gets: dict[str, list[str]] = {}
    for agent, item, part, utility in given:
        if item is not None:
            text = thing.item(item)
        elif isinstance(problem, Divide) and part is not None:
            text = thing.part(part, problem.amount)
        else:
            text = thing.place(utility, kind, is_only, brief)
        gets.setdefault(agent, []).append(text)
    return {agent: listed(texts) for agent, texts in gets.items()}
