"""The headline of a decision: who gets what, and a reason that its table bears out.

A reason is given only if it is true of the numbers, such as that the agents who are served have the lowest recent
totals, or the largest need × price. Where no such reason is true, the headline names the aim of the decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bygones._text import listed, number_in_words, plural
from bygones.allocation.comparison import Comparison
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.problems import Assign, Divide, in_words
from bygones.allocation.ties import SEEN
from bygones.kinds import of_the, words

NOBODY = "Nobody is served: no choice would raise welfare."


def headline(compared: Comparison, when: str = "") -> str:
    """Who gets what, and why.

    Args:
        compared: the agents of the decision.
        when: the day of the decision, as text.
    """
    if not len(compared.decision.served):
        return NOBODY
    return f"{_who_gets_what(compared)}{f' on {when}' if when else ''}: {reason(compared)}."


def _who_gets_what(compared: Comparison) -> str:
    """Everyone with their part; agents with equal parts are named together."""
    decision = compared.decision
    is_burden, one = decision.problem.is_burden, words(decision.problem.kind).gets
    gets = in_words(decision.handed_out, decision.problem, decision.problem.kind, decision.thing, brief=True)
    shown = list(gets) if len(gets) <= NAMED + 1 else list(gets)[:NAMED]
    more = [f"{len(gets) - len(shown)} others"] if len(shown) < len(gets) else []
    agents_of: dict[str, list[str]] = {}
    for agent in shown:
        agents_of.setdefault(gets[agent], []).append(agent)
    if more and len(set(gets.values())) == 1:
        agents_of[gets[shown[0]]] += more
    elif more:
        agents_of["a part" if isinstance(decision.problem, Divide) else "something"] = more
    clauses, before = [], ""
    for thing, agents in agents_of.items():
        many = "take" if is_burden else "get"
        verb = many if agents == more else one if len(agents) == 1 else f"each {many}"
        # Ana takes the evening shift and Ben the night shift.
        clauses.append(" ".join([listed(agents), *([verb] if verb != before else []), thing]))
        before = verb
    if any(" and " in clause and ", " not in clause for clause in clauses):
        return ", and ".join([", ".join(clauses[:-1]), clauses[-1]]) if len(clauses) > 1 else clauses[0]
    return listed(clauses)


def reason(compared: Comparison, *, brief: bool = False) -> str:
    """The first reason that is true.

    Args:
        compared: the agents of the decision.
        brief: leaves out among how many agents the choice was made.
    """
    kind, several = compared.decision.problem.kind, len(compared.candidates) > 1
    if compared.is_enough:
        if kind == "burden":
            return "no one else is available"
        return "there is enough for everyone who asked" if several else "no one else asked"
    if compared.decision.policy:
        return f"chosen by the rule {compared.decision.policy}"
    text = next((text for text, keys in _reasons(compared) if compared.come_first(*keys)), None)
    if text is None:
        return aim(compared)
    text = text.removesuffix(",") if brief else f"{text} {of_the(len(compared.candidates), kind)}"
    return _drawn(compared, text) if compared.is_tie else text


def _drawn(compared: Comparison, text: str) -> str:
    """The reason of a decision by a random draw, which no agent has alone."""
    tied, names = compared.tied, compared.decision.agent_names
    if len(tied) == len(compared.candidates):
        number, others = number_in_words(len(tied)), words(compared.decision.problem.kind).others
        return f"{'both' if len(tied) == 2 else f'all {number}'} {others} are tied, so a random draw decided"
    if not set(compared.decision.served.tolist()) <= set(tied):
        return f"{text}, with a random draw {'between' if len(tied) == 2 else 'among'} {_named(names, tied)}"
    rivals = [agent for agent in tied if not compared.is_served[agent]]
    return f"tied with {_named(names, rivals)} for the {text}, and picked by a random draw"


def _named(names: Sequence[str], agents: Sequence[int]) -> str:
    return listed([names[agent] for agent in agents], NAMED)


def _reasons(compared: Comparison) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Reasons that fit the rule, the simplest first, each with the numbers of which those who are served have the
    smallest.
    """
    decision, worth, recent = compared.decision, compared.worth, compared.recent
    is_burden, kind = decision.problem.is_burden, words(decision.problem.kind)
    least = plural(kind.least, len(decision.served))
    least = f"{least} per share" if compared.has_shares else least
    if compared.score is not None:
        name, score = compared.score
        best = f"{'lowest' if is_burden else 'highest'} {name}"
        yield best, (score if is_burden else -score,)
        yield f"{best}, then {least}", (score if is_burden else -score, recent)
    elif worth is None or decision.welfare.form is None:
        return
    elif compared.has_equal_needs or decision.welfare.name == "egalitarian":
        yield least, (recent,)
        if is_burden:
            yield f"{least} with this {decision.thing.name or kind.one},", (compared.with_this,)
        else:
            yield f"{least}, then largest need", (recent, -worth)
    elif decision.welfare.name == "nash" and not compared.has_shares:
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.where(recent > 0, compared.with_this / recent, math.inf)
        yield "largest gain relative to the recent total,", (-growth,)


def aim(compared: Comparison) -> str:
    """The aim of the decision, where no simpler reason is true."""
    decision, is_burden = compared.decision, compared.decision.problem.is_burden
    names: dict[type, str] = {Assign: "assignment", Divide: "division"}
    choice = names.get(type(decision.problem), "choice")
    if compared.is_tie:
        return f"one of several equally good {choice}s, picked by a random draw"
    if not decision.optimal:
        return f"the best {choice} found"
    if decision.prices is not None:
        score = compared.score[0] if compared.score else "utility × price"
        return f"no other {choice} has a {'lower' if is_burden else 'higher'} sum of {score}"
    if decision.welfare.name == "egalitarian":
        otherwise = "load as heavy or heavier" if is_burden else "total as low or lower"
        return _level(compared) or f"with every other {choice} someone would have a recent {otherwise}"
    name = str(decision.welfare)
    named = "" if "<" in name else f" ({name})"  # a lambda has no name
    return f"no other {choice} has a {'lower burden' if is_burden else 'higher welfare'}{named}"


def _level(compared: Comparison) -> str:
    """The level to which a division brings everyone with a part, but for those who get as much as they can; else empty.

    Parts in whole units leave them about level, within a unit of one another.
    """
    decision, problem, after = compared.decision, compared.decision.problem, compared.with_this
    if not isinstance(problem, Divide):
        return ""
    served = decision.served
    is_full = decision.given[served] >= problem.caps[served] * (1 - SEEN)
    full, level = served[is_full], after[served[~is_full]]
    if not len(level):
        return ""
    lowest, highest = float(level.min()), float(level.max())
    slack = SEEN * abs(lowest)
    if problem.whole:
        slack += float(np.asarray(decision.per_unit(problem.rates))[served].max())
    if highest > lowest + slack or (after[compared.others] < lowest - slack).any():
        return ""
    is_even = highest <= lowest + SEEN * abs(lowest)
    target = f"{'' if is_even else 'about '}{compared.total(lowest if is_even else float(level.mean()))}"
    total = "recent load" if problem.is_burden else "recent total"
    if len(full):
        names = [listed([decision.agent_names[i] for i in agents], NAMED) for agents in (full, served[~is_full])]
        met = f"{names[0]}'s request is" if len(full) == 1 else f"the requests of {names[0]} are"
        if problem.is_burden:
            met = f"{names[0]} {'takes' if len(full) == 1 else 'take'} as much as possible"
        return f"{met}{'' if problem.is_burden else ' met in full'}, and the rest brings {names[1]} to {target}"
    if not len(compared.others) and len(level) > 1:
        everyone = "both" if len(level) == 2 else f"all {number_in_words(len(level))}"
        return f"this brings {everyone} to a {total} of {target}"
    return f"this raises the lowest {plural(total, len(level))} to {target}"
