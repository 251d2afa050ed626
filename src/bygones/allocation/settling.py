"""Entitlements for everyone: completed for agents who were not given one, and refused for agents who do not exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bygones._arrays import check_between
from bygones._text import listed

LISTED = 20
"""The most agents without an entitlement that an error names."""


def settle(
    given: Mapping[str, float], received: Mapping[str, float], others: str | float | None, label: str
) -> dict[str, float]:
    """The entitlement of every agent, in the history or only given one.

    Args:
        given: the entitlements by agent.
        received: the total received by each agent of the history.
        others: for agents who are not given one: a number, or `proportional` to their total received, at the rate of
            agents who are given one. None refuses them.
        label: the history, for the error.
    """
    missing = sorted(set(received) - set(given))
    if not missing or not given:
        return dict(given)
    if others is None:
        or_else = ", or proportional to their total received" if any(received.values()) else ""
        raise ValueError(
            f"{len(missing)} of {len(received)} agents in {label} have no entitlement: {listed(missing, LISTED)}; add "
            f"them, or set theirs with others (--others): a number such as 1{or_else}"
        )
    if others == "proportional":
        total = sum(received[name] for name in given if name in received)
        if not total:
            raise ValueError("others must be a number here: nobody with an entitlement received anything")
        rate = sum(given[name] for name in given if name in received) / total
        nothing = [name for name in missing if not received[name]]
        if nothing:
            raise ValueError(
                f"others must be a number here: {listed(nothing, LISTED)} received nothing, so there is no proportion"
            )
        return {**given, **{name: rate * received[name] for name in missing}}
    try:
        weight = float(others)
    except ValueError:
        raise ValueError(f"others must be a number above 0 or proportional, got {others!r}") from None
    check_between(
        "others", weight, 0.0, float("inf"), "a number above 0 or proportional", open_low=True, open_high=True
    )
    return {**given, **dict.fromkeys(missing, weight)}


def check_known(given: Collection[str], agents: Collection[str], label: str, where: str) -> None:
    """Refuses entitlements of agents who are not among these, naming all of them.

    Args:
        given: who is given an entitlement.
        agents: who there is.
        label: where the entitlements are given, for the error.
        where: what the agents have to be in, for the error.
    """
    unknown = [repr(name) for name in given if name not in agents]
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        raise ValueError(f"{label}: {listed(unknown, LISTED)} {verb} not in {where}: correct or leave out their rows")
