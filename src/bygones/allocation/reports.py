"""Needs that people report themselves, as multiples of what each of them usually reports.

A decision that compares reports believes them. Whoever reports in larger units than others seems to have received more
and is served less; whoever reports in smaller units is served more. Divided by their own mean, reports say how much a
day differs from the agent's other days, and the unit no longer matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from bygones.allocation.requests import Request

Reports = Literal["as-reported", "normalised"]
"""Whether reports are taken as they are, or as multiples of the agent's own mean."""


def usual_reports(requests: Iterable[Request]) -> dict[str, float]:
    """The mean of each agent's reports above 0; an agent without any is left out."""
    every: dict[str, list[float]] = {}
    for request in requests:
        for name, reported in request.reports.items():
            every.setdefault(name, []).extend(number for number in reported if number > 0)
    return {name: sum(numbers) / len(numbers) for name, numbers in every.items() if numbers}


def normalised(request: Request, usual: Mapping[str, float]) -> Request:
    """The request with each agent's reports as multiples of what it usually reports."""
    return request.scaled({name: 1.0 / mean for name, mean in usual.items()})
