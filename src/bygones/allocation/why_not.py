"""Why an agent was not chosen: it is compared with the agent whose place it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bygones._text import amount, listed
from bygones.allocation.comparison import Comparison, leximin_apart
from bygones.allocation.headline import aim
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.ties import is_tied
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision

_COMPARED = {
    "good": ("a lower recent total", "the same recent total", "a higher recent total"),
    "burden": ("less recent work", "as much recent work", "more recent work"),
}


def why_not(compared: Comparison, agent: str) -> str:
    """Why an agent was not chosen, in a sentence or two."""
    decision = compared.decision
    names = list(decision.agent_names)
    if agent not in names:
        raise ValueError(f"why_not must name an agent of the decision, such as {listed(names, 5)}, got {agent!r}")
    row = names.index(agent)
    if agent in decision.gets:
        return _chosen(compared, row)
    if row not in compared.candidates.tolist():
        if not decision.problem.is_burden:
            return f"{agent} did not ask."
        is_exempt = decision.entitlements is not None and decision.entitlements[row] == 0
        return f"{agent} {'is exempt' if is_exempt else 'was not available'}."
    if decision.policy:
        return f"The rule {decision.policy} chose {listed(list(decision.gets), 5)}."
    instead = _best_with(decision, row)
    if instead is None:
        better = "lower burden" if decision.problem.is_burden else "higher welfare"
        return f"{_standing(compared, row)}. No choice that gives {agent} something has a {better}."
    return " ".join([*_side_by_side(compared, row, instead), *_cost(compared, row, instead)])


def _chosen(compared: Comparison, row: int) -> str:
    """That an agent was chosen; of a division, why it does not get more of a good or less of a burden."""
    decision, problem = compared.decision, compared.decision.problem
    agent, gets = decision.agent_names[row], words(problem.kind).gets
    if isinstance(problem, ChooseK):
        return f"{agent} was chosen."
    part = f"{agent} {gets} {decision.gets[agent]}"
    if not isinstance(problem, Divide):
        return f"{part}."
    if not problem.is_burden and decision.given[row] >= problem.caps[row]:
        return f"{part}, so {agent}'s request is met in full."
    if decision.prices is not None or decision.welfare.name != "egalitarian":
        return f"{part}: {aim(compared)}."
    level = compared.total(float(np.asarray(decision.after)[row]))
    change, side = ("Less", "above") if problem.is_burden else ("More", "below")
    side = f"at or {side}" if problem.whole else side
    return f"{part}, which makes {level}. {change} for {agent} would bring someone else {side} that level."


def _best_with(decision: Decision, row: int) -> np.ndarray | None:
    """The best of the choices that differ from the decision only in that this agent has something of another's."""
    problem, choices = decision.problem, []
    if isinstance(problem, ChooseK):
        choices = [np.append(decision.given[decision.given != other], row) for other in decision.served.tolist()]
    elif isinstance(problem, Assign):
        agents, items, _ = problem.pairs
        choices = [np.where(np.arange(problem.n_items) == j, row, decision.given) for j in items[agents == row]]
    return max(choices, key=lambda given: _worth(decision, given), default=None)


def _worth(decision: Decision, given: np.ndarray) -> float:
    """The number that the decision maximises, for another choice."""
    utilities = decision.problem.utilities_of(given)
    if decision.prices is None:
        return decision.welfare_of(utilities)
    total = float(utilities @ decision.prices)
    return -total if decision.problem.is_burden else total


def _standing(compared: Comparison, row: int) -> str:
    """The number by which an agent of a division is compared with the others."""
    name = compared.decision.agent_names[row]
    if compared.score is not None:
        return f"{name}'s {compared.score[0]} is {compared.score_of(row)}"
    return f"{name}'s {words(compared.decision.problem.kind).recent} is {_total(compared, row)}"


def _total(compared: Comparison, row: int) -> str:
    return compared.total(float(compared.recent[row]))


def _side_by_side(compared: Comparison, row: int, instead: np.ndarray) -> list[str]:
    """The agent next to the one whose place it would take."""
    decision = compared.decision
    out = set(decision.served.tolist()) - set(decision.problem.served(instead).tolist())
    if len(out) != 1 or compared.worth is None:
        return []
    other, names = out.pop(), decision.agent_names
    if compared.score is not None:
        return [f"{_standing(compared, row)}, and {names[other]}'s is {compared.score_of(other)}."]
    difference = np.sign(compared.recent[row] - compared.recent[other])
    has, than = _COMPARED[decision.problem.kind][int(difference) + 1], "than" if difference else "as"
    return [f"{names[row]} has {has} ({_total(compared, row)}) {than} {names[other]} ({_total(compared, other)})."]


def _cost(compared: Comparison, row: int, instead: np.ndarray) -> list[str]:
    """The outcome of the other choice."""
    decision, thing = compared.decision, compared.decision.thing
    agent, is_burden = decision.agent_names[row], decision.problem.is_burden
    case = f"With {agent}"
    if isinstance(decision.problem, Assign):
        item = thing.item(decision.problem.item_names[int(np.flatnonzero(instead != decision.given)[0])])
        case = f"If {agent} {'took' if is_burden else 'got'} {item}"
    objective = f"{'the burden' if is_burden else 'welfare'} ({decision.welfare})"
    chosen, other = _worth(decision, decision.given), _worth(decision, instead)
    is_as_good = is_tied(chosen, other, chosen - other)
    apart = leximin_apart(decision, decision.after_receiving(decision.problem.utilities_of(instead)))
    if is_as_good and apart is None:
        if isinstance(decision.problem, Assign):
            return [f"{case}, that would be as good. A random draw decided."]
        return ["They were tied, so a random draw decided."]
    if compared.score is not None:
        return ["They are equal, so the recent totals decided."] if is_as_good else []
    if apart is not None and (is_as_good or decision.welfare.name == "egalitarian"):
        rank, is_now, would_be = apart
        which = f"{ordinal(rank)}{'heaviest recent load' if is_burden else 'lowest recent total'}"
        numbers = [compared.total(total) for total in (would_be, is_now)]
        if numbers[0] == numbers[1]:
            numbers = [thing.with_unit(f"{total:.9g}") for total in (would_be, is_now)]
        same = "" if decision.welfare.name == "egalitarian" else f"{objective} would be the same, but "
        return [f"{case}, {same}the {which} would be {numbers[0]} instead of {numbers[1]}."]
    return [f"{case}, {objective} would be {amount(chosen - other)} {'higher' if is_burden else 'lower'}."]


def ordinal(rank: int) -> str:
    """The words before `lowest`, counting from 0: nothing, `second-`, `third-`, `4th-`, `21st-`."""
    n = rank + 1
    ending = "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return {0: "", 1: "second-", 2: "third-"}.get(rank, f"{n}{ending}-")
