"""Needs that people report themselves, as multiples of each person's usual report.

A decision that compares reports believes them. Someone who reports in larger units than others seems to have received
more and is served less; someone who reports in smaller units is served more. Divided by their own mean, reports show
how much a day differs from the agent's other days, and the unit no longer matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from bygones.allocation.problem_contract import Problem

Reports = Literal["as-reported", "normalised"]
"""Whether reports are taken unscaled, or as multiples of the agent's own mean."""


def usual_reports(requests: Iterable[Problem]) -> dict[str, float]:
    """The mean of each agent's reports above 0; an agent without any is left out."""
    every: dict[str, list[float]] = {}
    for request in requests:
        for name, reported in request.worth.items():
            every.setdefault(name, []).extend(number for number in reported.values() if number > 0)
    return {name: sum(numbers) / len(numbers) for name, numbers in every.items() if numbers}


def normalised(request: Problem, usual: Mapping[str, float]) -> Problem:
    """The request with each agent's reports as multiples of its usual report."""
    factors = {name: 1.0 / mean for name, mean in usual.items()}
    worth = {
        name: {item: number * factors.get(name, 1.0) for item, number in reported.items()}
        for name, reported in request.worth.items()
    }
    return request.with_worth(worth, request.kind)
