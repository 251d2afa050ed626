"""Why an agent was not chosen: it is compared with the one whose place it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bygones._text import amount, listed
from bygones.allocation.explanation import Explanation, leximin_apart, ordinal
from bygones.allocation.problems import Assign, ChooseK
from bygones.allocation.ties import is_tied
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision


def why_not(explanation: Explanation, agent: str) -> str:
    """Why an agent was not chosen."""
    decision = explanation.decision
    names = list(decision.agent_names)
    if agent not in names:
        raise ValueError(f"why_not must name an agent of the decision, such as {listed(names, 5)}, got {agent!r}")
    row, kind = names.index(agent), words(decision.problem.kind)
    if agent in decision.gets:
        return f"{agent} was chosen: {agent} {kind.gets} {decision.gets[agent]}."
    if row not in explanation.candidates.tolist():
        return f"{agent} was not available." if decision.problem.is_burden else f"{agent} did not ask."
    instead = _best_with(decision, row)
    if instead is None:
        return f"No possible choice has anything for {agent}."
    return " ".join([*_compared(explanation, row, instead), *_cost(decision, agent, instead)])


def _best_with(decision: Decision, row: int) -> np.ndarray | None:
    """The best of the choices that differ from the decision only in that something of another's goes to this agent."""
    problem, choices = decision.problem, []
    if isinstance(problem, ChooseK):
        choices = [np.append(decision.given[decision.given != other], row) for other in decision.served.tolist()]
    elif isinstance(problem, Assign):
        full = np.bincount(decision.given[decision.given >= 0], minlength=problem.n_agents)
        may = np.ones(problem.utilities.shape, dtype=bool) if problem.allowed is None else problem.allowed
        if full[row] < problem.room[row]:
            choices = [_with(decision.given, j, row) for j in range(problem.n_items) if bool(may[row, j])]
    if not choices:
        return None
    worth = [_value(decision, given) for given in choices]
    return choices[int(np.argmax(worth))]


def _with(given: np.ndarray, j: int, value: float) -> np.ndarray:
    changed = given.copy()
    changed[j] = value
    return changed


def _value(decision: Decision, given: np.ndarray) -> float:
    """What is maximised, of another choice."""
    utilities = decision.problem.utilities_of(given)
    if decision.prices is not None:
        total = float(utilities @ decision.prices)
        return -total if decision.problem.is_burden else total
    return decision.welfare_of(utilities)


def _compared(explanation: Explanation, row: int, instead: np.ndarray) -> list[str]:
    """The agent beside the one whose place it would take."""
    decision = explanation.decision
    out = set(decision.served.tolist()) - set(decision.problem.served(instead).tolist())
    if len(out) != 1 or not isinstance(decision.problem, ChooseK):
        return []
    other, names, thing = out.pop(), decision.agent_names, decision.thing
    if explanation.priced is not None:
        what = "load × price" if decision.problem.is_burden else "need × price"
        mine, theirs = amount(float(explanation.priced[row])), amount(float(explanation.priced[other]))
        return [f"{names[row]}'s {what} is {mine}, {names[other]}'s is {theirs}."]
    has, other_has = float(explanation.recent[row]), float(explanation.recent[other])
    more = "more" if has > other_has else "less" if has < other_has else "the same"
    than = f"as {names[other]}"
    if more != "the same":
        than = f"than {names[other]}, who has {thing.with_unit(amount(other_has))}"
    return [f"{names[row]} has {more} ({thing.with_unit(amount(has))}) {than}."]


def _cost(decision: Decision, agent: str, instead: np.ndarray) -> list[str]:
    """What the other choice would lead to."""
    utilities = decision.problem.utilities_of(instead)
    after = decision.after_receiving(utilities)
    lost = _value(decision, decision.given) - _value(decision, instead)
    is_as_good = is_tied(_value(decision, decision.given), _value(decision, instead), lost)
    apart = leximin_apart(decision, after)
    if is_as_good and apart is None:
        return ["It was a tie, which a random draw decided."]
    if decision.prices is not None:
        return ["They are equal, so the lower recent total decided."] if is_as_good else []
    if apart is not None and (is_as_good or decision.welfare.name == "egalitarian"):
        rank, is_now, would_be = apart
        which = f"{ordinal(rank)}{'heaviest' if decision.problem.is_burden else 'lowest'} recent total"
        return [f"With {agent}, the {which} would be {amount(would_be)} instead of {amount(is_now)}."]
    if decision.problem.is_burden:
        return [f"With {agent}, the burden ({decision.welfare}) would be {amount(lost)} higher."]
    return [f"With {agent}, {decision.welfare} welfare would be {amount(lost)} lower."]
