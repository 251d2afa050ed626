"""An allocation in plain sentences, and the same as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.ties import TIE

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision

_NAMED = 10
"""Longer lists of names are cut off after this many."""

_QUICK = 100
"""In matchings of more pairs the next best choice takes long to find, and is told only if it has been asked for."""


def explain(allocation: Decision) -> str:
    """Who was served, why, how much of the past still counts, and what the next best choice would have cost."""
    sentences = [_given(allocation), *_lowest(allocation), *_past(allocation), *_welfare(allocation)]
    return " ".join([*sentences, *_runner_up(allocation)])


def as_data(allocation: Decision) -> dict[str, Any]:
    """The same in lists, numbers and strings; what has no number (infinite, not a number) is None."""
    problem, names = allocation.problem, _names(allocation)
    lowest = int(np.argmin(allocation.before))
    data: dict[str, Any] = {
        "problem": type(problem).__name__,
        "memory": repr(allocation.memory),
        "welfare": _welfare_name(allocation),
        "elapsed": _number(allocation.elapsed),
        "time_unit": allocation.time_unit,
        "agents": list(names),
        "served": [names[i] for i in allocation.served],
        **_given_data(allocation),
        "utilities": _numbers(allocation.utilities),
        "entitlements": None if allocation.entitlements is None else _numbers(allocation.entitlements),
        "remembered_before": _numbers(allocation.before),
        "remembered_after": _numbers(allocation.after),
        "past_kept": _numbers(allocation.past_kept),
        "lowest": {
            "agent": names[lowest],
            "before": _number(allocation.before[lowest]),
            "after": _number(allocation.after[lowest]),
        },
        "welfare_before": _number(allocation.welfare_before),
        "welfare_after": _number(allocation.welfare_after),
        "optimal": allocation.optimal,
        "gap": _number(allocation.gap),
        "runner_up": None,
    }
    runner_up = allocation.runner_up if _is_quick(allocation) else None
    if runner_up is not None:
        data["runner_up"] = {
            "served": [names[i] for i in np.flatnonzero(runner_up.utilities > 0).tolist()],
            "utilities": _numbers(runner_up.utilities),
            "welfare": _number(runner_up.welfare),
            "cost": _number(runner_up.cost),
        }
    data["explanation"] = explain(allocation)
    return data


def _given(allocation: Decision) -> str:
    problem, names = allocation.problem, _names(allocation)
    served = allocation.served
    if not len(served):
        return "Nobody was served: nobody has any use for what there is."
    if isinstance(problem, ChooseK):
        left = problem.k - len(served)
        rest = f"; {_count(left, 'resource')} left over, of use to nobody" if left else ""
        return (
            f"Served: {_list([names[i] for i in served.tolist()])} ({len(served)} of {problem.n_agents} agents{rest})."
        )
    if isinstance(problem, Divide):
        parts = [f"{names[i]} {allocation.given[i]:.4g}" for i in served.tolist()]
        left = problem.amount - allocation.given.sum()
        rest = f"; {left:.4g} left over" if left > TIE * problem.amount else ""
        return f"Of {problem.amount:.4g}: {_list(parts)}{rest}."
    items = _item_names(allocation)
    bundles = [
        f"{names[i]} gets {_list([items[j] for j in np.flatnonzero(allocation.given == i).tolist()])}"
        for i in served.tolist()
    ]
    left = int((allocation.given < 0).sum())
    rest = f"; {_count(left, 'item')} left over" if left else ""
    return f"{_list(bundles)[:1].upper()}{_list(bundles)[1:]}{rest}."


def _lowest(allocation: Decision) -> list[str]:
    names, before, after = _names(allocation), np.asarray(allocation.before), np.asarray(allocation.after)
    low = np.flatnonzero(before <= before.min() + TIE * abs(before.min()))
    per = " per entitlement" if allocation.entitlements is not None else ""
    if len(low) == len(before):
        return [f"Everybody had the same remembered utility{per}, {before[0]:.4g}."] if len(before) > 1 else []
    who = _list([names[i] for i in low.tolist()])
    now = f", now {after[low[0]]:.4g}" if len(low) == 1 else ""
    return [f"The lowest remembered utility{per} was {before[low[0]]:.4g} ({who}){now}."]


def _past(allocation: Decision) -> list[str]:
    kept = np.asarray(allocation.past_kept)
    kept = kept[np.isfinite(kept)]
    half_life = allocation.memory.half_life
    life = math.nan if half_life is None else float(half_life)
    half = f"At a half-life of {_time(life, allocation.time_unit)}" if 0 < life < math.inf else "In this memory"
    if not len(kept):
        return ["Nothing was remembered before."]
    if kept.max() - kept.min() <= 1e-9:
        return [f"{half}, {_percent(kept[0])} of what was remembered of each agent still counts."]
    least, most = _percent(kept.min()), _percent(kept.max())
    return [f"{half}, between {least} and {most} of what was remembered of an agent still counts."]


def _welfare(allocation: Decision) -> list[str]:
    before, after = f"{allocation.welfare_before:.6g}", f"{allocation.welfare_after:.6g}"
    change = f"Welfare ({_welfare_name(allocation)}) goes from {before} to {after}"
    if allocation.optimal:
        return [f"{change}, the best there is."]
    return [f"{change}; within the time given the best is only proven to be no more than {allocation.gap:.4g} higher."]


def _runner_up(allocation: Decision) -> list[str]:
    if isinstance(allocation.problem, Divide) or not _is_quick(allocation):
        return []
    other = allocation.runner_up
    if other is None:
        return ["There was no other choice."] if allocation.optimal else []
    names = _names(allocation)
    now, then = set(allocation.served.tolist()), set(np.flatnonzero(other.utilities > 0).tolist())
    into, out = _list([names[i] for i in sorted(then - now)]), _list([names[i] for i in sorted(now - then)])
    what = {
        (True, True): f"{into} instead of {out}",
        (True, False): f"{into} as well",
        (False, True): f"nothing for {out}",
        (False, False): "the same agents with other items",
    }[bool(then - now), bool(now - then)]
    if other.cost > TIE * max(abs(allocation.welfare_after), abs(other.welfare)):
        return [f"The next best choice ({what}) would have cost {other.cost:.4g} of welfare."]
    chosen, instead = np.sort(allocation.after), np.sort(other.after)
    worse = np.flatnonzero(np.abs(chosen - instead) > 1e-9 * np.maximum(np.abs(chosen), np.abs(instead)))
    if not len(worse):
        return [f"The next best choice ({what}) was just as good: it was decided by lot."]
    k = int(worse[0])
    return [
        f"The next best choice ({what}) has the same welfare, but leaves {_ordinal(k)} worst-off agent "
        f"at {instead[k]:.4g} instead of {chosen[k]:.4g}."
    ]


def _is_quick(allocation: Decision) -> bool:
    """Whether the next best choice is known, or soon found."""
    is_matching = isinstance(allocation.problem, Assign)
    return not is_matching or len(allocation.served) <= _QUICK or "runner_up" in allocation.__dict__


def _given_data(allocation: Decision) -> dict[str, Any]:
    if isinstance(allocation.problem, Divide):
        return {"amounts": _numbers(allocation.given)}
    if isinstance(allocation.problem, Assign):
        names, items = _names(allocation), _item_names(allocation)
        owners = {items[j]: (None if i < 0 else names[i]) for j, i in enumerate(allocation.given.tolist())}
        return {"owners": owners}
    return {}


def _names(allocation: Decision) -> Sequence[str]:
    return allocation.agents or [f"agent {i}" for i in range(allocation.problem.n_agents)]


def _item_names(allocation: Decision) -> Sequence[str]:
    return allocation.items or [f"item {j}" for j in range(len(allocation.given))]


def _welfare_name(allocation: Decision) -> str:
    return str(allocation.welfare)


def _list(words: Sequence[str]) -> str:
    if len(words) > _NAMED:
        return f"{', '.join(words[:_NAMED])} and {len(words) - _NAMED} others"
    return " and ".join(([", ".join(words[:-1])] if len(words) > 1 else []) + list(words[-1:]))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _ordinal(k: int) -> str:
    return {0: "the", 1: "the second", 2: "the third"}.get(k, f"the {k + 1}th")


def _time(length: float, unit: str) -> str:
    """A length of time in words; what is shorter than a day or an hour is told in the next smaller unit."""
    for larger, smaller, times in (("day", "hour", 24), ("hour", "minute", 60)):
        if unit == larger and length < 1 - 1e-9:
            length, unit = length * times, smaller
    return f"{length:.4g} {unit}" if f"{length:.4g}" == "1" else f"{length:.4g} {unit}s"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in np.asarray(values).tolist()]
