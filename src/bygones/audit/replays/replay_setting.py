"""What a replay takes from a history: the decisions, the agents who asked, and the usual time between decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bygones.allocation.settling import settle
from bygones.audit.inputs.history import History
from bygones.audit.replays.counterfactual import DecisionRequest, decision_requests
from bygones.audit.trajectory import Members
from bygones.ledger.rules import check_newcomers


class ReplaySetting(NamedTuple):
    """What all courses of a replay share.

    Attributes:
        requests: the decisions, in the order of time.
        who: the agents, their entitlements and the newcomer rule.
        usual: the usual time between two decisions, which is a step of the memories.
    """

    requests: Sequence[DecisionRequest]
    who: Members
    usual: float


def replay_setting(
    history: History,
    newcomers: str | float = "zero",
    entitlements: Mapping[str, float] | None = None,
    others: str | float | None = None,
) -> ReplaySetting:
    """The decisions of a history that records who asked, ready to be replayed.

    Args:
        history: see `read_history(needs=…, served=…)`.
        newcomers: the newcomer rule, for agents who ask for the first time.
        entitlements: of each agent; by default the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
    """
    requests, names = decision_requests(history)
    if not requests:
        raise ValueError(f"{history.source.label}: nobody was served, so there is no decision to replay")
    weights = np.ones(len(names))
    if entitlements is not None:
        settled = settle(entitlements, dict.fromkeys(names, 1.0), others, history.source.label)
        weights = np.array([settled[name] for name in names])
    who = Members(names, weights, np.zeros(len(names), dtype=np.int64), check_newcomers(newcomers), math.inf)
    gaps = np.diff([request.time for request in requests])
    return ReplaySetting(requests, who, float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0)
