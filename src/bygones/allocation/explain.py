"""A decision in plain sentences, and the same as data.

Everybody who reports a decision takes the sentences from here, in this order: who gets what, where those who are served
stood, how the past fades, what happens to welfare, and what the next best choice would be.

Of a burden agents *carry* something, whoever has carried least lately is the first to carry more, and what is told is
the burden, welfare with its sign turned: smaller is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bygones._arrays import AnyArray, Number
from bygones._text import listed
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.problems import Divide
from bygones.allocation.ties import SEEN, first_apart, is_tied

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision, RunnerUp

_QUICK = 100
"""If finding the next best choice is slow and more agents are served, it is reported only if it is already known."""

_NOTABLE = 0.05
"""A difference of learned prices, of about this share, is worth a word."""


def sentences(
    decision: Decision,
    notes: Callable[[int], str] | None = None,
    asking: Collection[int] | None = None,
    remembers: str = "",
) -> list[str]:
    """The decision and its reasons.

    Args:
        decision: who gets what.
        notes: what else is known about where an agent stood, by the agent's index.
        asking: the agents who could have been served, by their indices; by default all.
        remembers: how the past is remembered, where the memory of the decision is only that of one instant.
    """
    past = [remembers] if remembers else _past(decision)
    who = decision.problem.describe(decision.given)
    stood = [*_rounded(decision), *(_stood(decision, agent, notes) for agent in decision.served.tolist()[:NAMED])]
    if decision.prices is not None:
        learned = decision.learned_from
        basis = [] if learned is None else [f"Prices were learned from {learned}."]
        return [who, *stood, *past, *_by_prices(decision), *basis]
    return [who, *stood, *_passed_over(decision, asking), *past, _welfare(decision), *_runner_up(decision)]


def as_data(decision: Decision, reasons: Sequence[str]) -> dict[str, Any]:
    """The decision and its reasons in lists, numbers and strings; a number that is not finite is None."""
    names = decision.agent_names
    burden = decision.problem.is_burden
    extreme = int((np.nanargmax if burden else np.nanargmin)(decision.before))
    return {
        "problem": type(decision.problem).__name__,
        "kind": decision.problem.kind,
        "memory": repr(decision.memory),
        "welfare": str(decision.welfare),
        "rule": decision.rule,
        "elapsed": _number(decision.elapsed),
        "time_unit": decision.time_unit,
        "agents": list(names),
        "served": [names[i] for i in decision.served.tolist()],
        "gets": decision.gets,
        **decision.problem.given_data(decision.given),
        "utilities": _numbers(decision.utilities),
        "entitlements": None if decision.entitlements is None else _numbers(decision.entitlements),
        "remembered_before": _numbers(decision.before),
        "remembered_after": _numbers(decision.after),
        "past_kept": _numbers(decision.past_kept),
        "prices": None if decision.prices is None else _numbers(decision.prices),
        "learned_from": decision.learned_from,
        "heaviest" if burden else "lowest": {
            "agent": names[extreme],
            "before": _number(decision.before[extreme]),
            "after": _number(decision.after[extreme]),
        },
        "welfare_before": _number(decision.welfare_before),
        "welfare_after": _number(decision.welfare_after),
        "optimal": decision.optimal,
        "gap": _number(decision.gap),
        "runner_up": _runner_up_data(decision, names),
        "reasons": list(reasons),
        "explanation": " ".join(reasons),
    }


def _rounded(decision: Decision) -> list[str]:
    """How the rounding to whole units fell."""
    if decision.unrounded is None:
        return []
    apart = decision.given - decision.unrounded
    changed = np.flatnonzero(np.abs(apart) > SEEN * np.maximum(1.0, decision.given))
    if not len(changed):
        return ["All parts are whole numbers anyway; nothing had to be rounded."]
    order = changed[np.argsort(-apart[changed], kind="stable")].tolist()
    each = [f"{decision.agent_names[i]} {decision.given[i]:g} instead of {decision.unrounded[i]:.4g}" for i in order]
    return [f"In whole units: {listed(each, NAMED)}."]


def _stood(decision: Decision, agent: int, notes: Callable[[int], str] | None) -> str:
    """Where an agent who is served stood before, and stands after."""
    before, after = np.asarray(decision.before), np.asarray(decision.after)
    per = " per unit of entitlement" if decision.entitlements is not None else ""
    note = f"; {notes(agent)}" if notes is not None else ""
    name = decision.agent_names[agent]
    if decision.problem.is_burden:
        counted = before[~np.isnan(before)]
        rank = f" ({_rank(counted, before[agent], 'least', 'most')})" if len(counted) > 1 else ""
        per = " per unit of their share of the load" if per else ""
        carried = f"{name} has carried {before[agent]:.4g}{per} lately{rank}"
        return f"{carried}{_still(decision, agent)} and {after[agent]:.4g} with this{note}."
    rank = f" ({_rank(before, before[agent])})" if len(before) > 1 else ""
    remembered = f"{name}: remembered {before[agent]:.4g}{per} before{rank}"
    return f"{remembered}{_still(decision, agent)} and {after[agent]:.4g} after{note}."


def _still(decision: Decision, agent: int) -> str:
    """How much of what was remembered of an agent still counts at the time of the decision, if it is not all of it."""
    kept = float(np.asarray(decision.past_kept)[agent])
    if math.isnan(kept) or abs(kept - 1) <= SEEN:
        return ""
    return f", of which {kept * float(np.asarray(decision.before)[agent]):.4g} still counts,"


def _rank(values: np.ndarray, mine: float, lowest: str = "lowest", highest: str = "highest") -> str:
    margin = SEEN * abs(mine)
    lower, level = int((values < mine - margin).sum()), int((np.abs(values - mine) <= margin).sum())
    if level == len(values):
        return "the same as everybody"
    joint = "joint " if level > 1 else ""
    if lower + level == len(values):
        return f"{joint}{highest} of {len(values)} agents"
    return f"{joint}{_ordinal(lower)}{lowest} of {len(values)} agents"


def _passed_over(decision: Decision, asking: Collection[int] | None) -> list[str]:
    """The agents with the lowest remembered utility, if none of them is served, and whether they could have been."""
    before = np.asarray(decision.before)
    least = np.nanmin(before)
    lowest = np.flatnonzero(before <= least + SEEN * abs(least)).tolist()
    if len(lowest) == np.isfinite(before).sum() or set(lowest) & set(decision.served.tolist()):
        return []
    return [
        *_said_of([i for i in lowest if _could_be_served(decision, i, asking)], decision, "not chosen", "not served"),
        *_said_of([i for i in lowest if not _could_be_served(decision, i, asking)], decision, *["not available"] * 2),
    ]


def _said_of(agents: Sequence[int], decision: Decision, burden: str, good: str) -> list[str]:
    """That some have least, and yet are not served, for this reason."""
    if not agents:
        return []
    who, least = listed([decision.agent_names[i] for i in agents], NAMED), decision.before[agents[0]]
    have, are = ("has", "is") if len(agents) == 1 else ("have", "are")
    if decision.problem.is_burden:
        return [f"{who} {have} carried least lately, {least:.4g}, but {are} {burden}."]
    return [f"{who} {have} the lowest remembered utility, {least:.4g}, but {are} {good}."]


def _could_be_served(decision: Decision, agent: int, asking: Collection[int] | None) -> bool:
    allowed = getattr(decision.problem, "allowed", None)
    return (asking is None or agent in asking) and (allowed is None or bool(np.any(allowed[agent])))


def _past(decision: Decision) -> list[str]:
    """The half-life, and how much of what was remembered still counts."""
    known = decision.memory.half_life
    half_lives = np.asarray(math.nan if known is None else known, dtype=float)
    shortest, longest = float(half_lives.min()), float(half_lives.max())
    length = _time(shortest, decision.time_unit)
    if shortest < longest:
        length = f"between {length} and {_time(longest, decision.time_unit)}"
    fades = [f"The half-life is {length}."] if shortest > 0 and longest < math.inf else []
    kept = np.asarray(decision.past_kept)
    kept = kept[np.isfinite(kept)]
    if not len(kept):
        return [*fades, "Nothing was remembered before."]
    if decision.elapsed == 0:
        return ["Past utilities count in full."] if shortest == math.inf else fades
    least, most = _percent(kept.min()), _percent(kept.max())
    share = least if kept.max() - kept.min() <= SEEN else f"between {least} and {most}"
    return [*fades, f"Of what was remembered, {share} still counts."]


def _welfare(decision: Decision) -> str:
    if decision.problem.is_burden:
        was, will_be = 0.0 - decision.welfare_before, 0.0 - decision.welfare_after
        change, best, higher = f"The burden ({decision.welfare}) goes from {was:.6g} to {will_be:.6g}", "least", "lower"
    else:
        change = f"Welfare ({decision.welfare}) goes from {decision.welfare_before:.6g} to {decision.welfare_after:.6g}"
        best, higher = "best", "higher"
    if decision.optimal:
        return f"{change}, the {best} possible."
    if not math.isfinite(decision.gap):
        return f"{change}, which is not proven to be the {best} possible."
    return f"{change}; the {best} possible is at most {decision.gap:.4g} {higher}."


def _by_prices(decision: Decision) -> list[str]:
    """What a unit counts for somebody who is served, compared with the first who is not."""
    burden = decision.problem.is_burden
    what, best, change = ("burdens", "smallest", "raises") if burden else ("utilities", "largest", "lowers")
    total = f"The sum of {what} times prices is {float(decision.utilities @ decision.prices):.4g}, the {best} possible."
    if isinstance(decision.problem, Divide):
        pair = _last_unit(decision, decision.problem)
        return [total] if pair is None else [_compared(decision, *pair)]
    other = decision.runner_up if _tells_runner_up(decision) else None
    if other is None:
        return [total]
    lost, gained = _apart(decision.utilities, other.utilities)
    losers, winners = np.flatnonzero(lost), np.flatnonzero(gained)
    if len(losers) != 1 or len(winners) != 1:
        return [total, f"The next best choice {change} it by {other.cost:.4g}."]
    a, b = int(losers[0]), int(winners[0])
    return [_compared(decision, a, b, float(lost[a]), float(gained[b])), *_tie(decision, other)]


def _tie(decision: Decision, other: RunnerUp) -> list[str]:
    """What decided where the next best choice counts the same."""
    if not _is_equally_good(decision, other):
        return []
    if _first_apart(decision, other) is None:
        return ["Both count the same; a random draw decided."]
    return [f"Both count the same; it is decided by who has {'carried' if decision.problem.is_burden else 'had'} less."]


def _apart(chosen: np.ndarray, instead: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What agents have only if this is chosen, and only if the other is."""
    return np.maximum(chosen - instead, 0.0), np.maximum(instead - chosen, 0.0)


def _last_unit(decision: Decision, problem: Divide) -> tuple[int, int, float, float] | None:
    """Who has the last unit of an amount, and who would be next, with what it is worth to them; None if all is full."""
    priced = problem.rates * np.asarray(decision.prices) * (-1.0 if problem.is_burden else 1.0)
    may = True if problem.allowed is None else problem.allowed
    has, wants = decision.given > 0, (decision.given <= 0) & (problem.caps > 0) & may & ~np.isnan(decision.before)
    if not has.any() or not wants.any():
        return None
    a, b = int(np.where(has, priced, np.inf).argmin()), int(np.where(wants, priced, -np.inf).argmax())
    return a, b, float(problem.rates[a]), float(problem.rates[b])


def _compared(decision: Decision, chosen: int, passed: int, worth: float, instead: float) -> str:
    """Somebody who is chosen and somebody who is not, the one with the higher price first."""
    burden, prices = decision.problem.is_burden, np.asarray(decision.prices)
    pair = [(chosen, worth), (passed, instead)]
    (dear, its), (cheap, others) = pair if prices[chosen] >= prices[passed] else pair[::-1]
    name, other = decision.agent_names[dear], decision.agent_names[cheap]
    carries = f"; {decision.agent_names[chosen]} carries it" if burden else ""
    ratio = float(prices[dear] / prices[cheap])
    if ratio < 1 + SEEN:
        return f"A unit counts the same for {name} and {other}: {its:.4g} against {others:.4g}{carries}."
    served = "" if burden or dear == chosen else ", who is served"
    priced = f"{its:.4g} × {ratio:.3g} = {its * ratio:.4g} against {others:.4g} for {other}{served}{carries}"
    return f"{_why_dear(decision, dear, cheap)}, so a unit counts {ratio:.3g} times as much for {name}: {priced}."


def _why_dear(decision: Decision, dear: int, cheap: int) -> str:
    """Why one agent has a higher price than another: by what is remembered, by what was learned, or both."""
    burden, before, learned = decision.problem.is_burden, np.asarray(decision.before), decision.calibration
    name, other = decision.agent_names[dear], decision.agent_names[cheap]
    if burden:
        remembered, prices = f"{name} has carried more lately than {other}", f"the prices learned so far spare {name}"
    else:
        remembered, prices = f"Less is remembered of {name} than of {other}", f"the prices learned so far favour {name}"
    if not (before[dear] > before[cheap] if burden else before[dear] < before[cheap]):
        return prices[0].upper() + prices[1:]
    by_prices = learned is not None and learned.log_prices[dear] - learned.log_prices[cheap] > _NOTABLE
    return f"{remembered}, and {prices}" if by_prices else remembered


def _runner_up(decision: Decision) -> list[str]:
    if not _tells_runner_up(decision):
        return []
    other = decision.runner_up
    if other is None:
        return ["There was no other choice."] if decision.optimal else []
    names = decision.agent_names
    burden = decision.problem.is_burden
    now, then = set(decision.served.tolist()), set(decision.problem.served(other.given).tolist())
    into = listed([names[i] for i in sorted(then - now)], NAMED)
    out = listed([names[i] for i in sorted(now - then)], NAMED)
    what = {
        (True, True): f"{into} instead of {out}",
        (True, False): f"{into} as well",
        (False, True): f"nothing for {out}",
        (False, False): "the same agents with other items",
    }[bool(then - now), bool(now - then)]
    choice = f"The next best choice ({what})"
    if not _is_equally_good(decision, other):
        return [f"{choice} would {'raise the burden' if burden else 'lower welfare'} by {other.cost:.4g}."]
    apart = _first_apart(decision, other)
    if apart is None:
        return [f"{choice} is equally good; a random draw decided."]
    k, chosen, instead = apart
    same, who = ("burden", "heaviest load") if burden else ("welfare", "worst-off agent")
    return [
        f"{choice} has the same {same}, but would leave the {_ordinal(k)}{who} at {instead:.4g} "
        f"instead of {chosen:.4g}."
    ]


def _is_equally_good(decision: Decision, other: RunnerUp) -> bool:
    return is_tied(decision.welfare_after, other.welfare, other.cost)


def _first_apart(decision: Decision, other: RunnerUp) -> tuple[int, float, float] | None:
    """Where two choices first differ, from the worst-off or the heaviest load on, and both values; None if nowhere."""
    chosen, instead = (np.sort(Z[np.isfinite(Z)]) for Z in (np.asarray(decision.after), np.asarray(other.after)))
    if decision.problem.is_burden:
        chosen, instead = chosen[::-1], instead[::-1]
    k = first_apart(chosen, instead)
    return None if k is None else (k, float(chosen[k]), float(instead[k]))


def _tells_runner_up(decision: Decision) -> bool:
    """Whether there is a next best choice that is known, or soon found."""
    problem, is_known = decision.problem, "runner_up" in decision.__dict__
    return problem.has_next_best and (not problem.next_best_is_slow or len(decision.served) <= _QUICK or is_known)


def _runner_up_data(decision: Decision, names: Sequence[str]) -> dict[str, Any] | None:
    other = decision.runner_up if _tells_runner_up(decision) else None
    if other is None:
        return None
    return {
        "served": [names[i] for i in decision.problem.served(other.given).tolist()],
        "utilities": _numbers(other.utilities),
        "welfare": _number(other.welfare),
        "cost": _number(other.cost),
    }


def _ordinal(k: int) -> str:
    """What stands before `lowest` and `worst-off`, counting from 0: nothing, `second`, `third`, `4th`, `21st`."""
    n = k + 1
    ending = "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return {0: "", 1: "second ", 2: "third "}.get(k, f"{n}{ending} ")


def _time(length: float, unit: str) -> str:
    """A length of time in words; less than a day or an hour is given in the next smaller unit."""
    for larger, smaller, times in (("day", "hour", 24), ("hour", "minute", 60)):
        if unit == larger and length < 1 - 1e-9:
            length, unit = length * times, smaller
    return f"{length:.4g} {unit}" if f"{length:.4g}" == "1" else f"{length:.4g} {unit}s"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _number(value: Number) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: AnyArray) -> list[float | None]:
    return [_number(value) for value in np.asarray(values).tolist()]
