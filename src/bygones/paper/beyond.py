"""Statements beyond the paper, B1 to B5, with criteria that were written before any of their runs.

B1 and B2 ask whether the collapse of perfect recall is due to the memory. The symmetric policy is one network shared
across agents, which sees how far each agent is above the least (Zᵢ − min Z). An earlier study outside this repository,
of 576 runs, found that it does not collapse under perfect recall with egalitarian welfare, while under Nash welfare,
whose reward fades as Z grows, it does. That study is why these statements are made; its runs are not among those
judged. B5 asks the same of that network where it sees large numbers as small ones.

B3 and B4 compare trained policies with policies in training. The paper's metric is measured while the policy still
learns and samples its actions. A finished policy can be evaluated with sampled or with greedy actions.
"""

from __future__ import annotations

from collections.abc import Mapping

from bygones._arrays import Json
from bygones.paper.cells import Cells, per_seed
from bygones.paper.criteria import FAIR_SHARE, LONG, MARGIN, MYOPIC, RECALL, REMEMBERING, Ask
from bygones.paper.grid import memory_label
from bygones.paper.judging import EQUIVALENCE_LEVEL, Claim, Comparison, Some, difference_within

SYMMETRIC = {"policy": "symmetric", "agent_features": "plain"}
"""The settings of the network that is shared across agents and sees the unscaled memory, as in that study."""

LOGARITHMIC = {"policy": "symmetric", "agent_features": "logarithmic"}
"""The same network where it sees the memory on a logarithmic scale, which is its default."""

SMALL_SCALE = 10.0
"""The divisor for both networks under the observation scale "fixed": the earlier study's."""

SAMPLED, DETERMINISTIC = "sampled_gini", "deterministic_gini"
"""The columns of a finished policy's Gini, with sampled and with greedy actions."""

_SCALES = ("none", "fixed")

_EARLIER = (
    "The earlier study found, at T = 10000 and for the paper's network and the symmetric one, Ginis of 0.74 and 0.006 "
    "(egalitarian, unscaled memory) and 0.55 and 0.000 (egalitarian, divided by 10); and of 0.68 for the symmetric one "
    "under Nash welfare, unscaled memory. No run of the symmetric policy in this repository had been seen."
)


def b1(cells: Cells, welfare: str) -> Ask:
    """Perfect recall at T ≥ 5000: the symmetric policy is fair, and the paper's network less fair than it."""
    for horizon in LONG:
        yield _fair(cells, welfare, horizon, expected=True)
        symmetric, paper = (
            cells.seeds("gini", welfare, "additive", RECALL, horizon, **_divisor(cells), **network)
            for network in (SYMMETRIC, {})
        )
        what = f"Gini of the paper's network less that of the symmetric one, {welfare}, perfect recall, T = {horizon}"
        yield difference_within(what, paper, symmetric, low=MARGIN)


def b2(cells: Cells, welfare: str) -> Ask:
    """Perfect recall at T = 10000: the symmetric policy is not fair."""
    yield _fair(cells, welfare, 10000, expected=False)


def b3(cells: Cells, welfare: str) -> Ask:
    """At T = 10000 a finished policy with sampled actions is as fair as at the end of its training."""
    for gamma in (MYOPIC, *REMEMBERING):
        runs = cells.runs(welfare, "additive", gamma, 10000)
        what = f"Gini of sampled actions less that of training, {welfare}, {memory_label(gamma)}, T = 10000"
        sampled, trained = per_seed(runs, SAMPLED), per_seed(runs, "final_gini")
        yield difference_within(what, sampled, trained, -MARGIN, MARGIN, EQUIVALENCE_LEVEL)


def b4(cells: Cells, welfare: str) -> Ask:
    """At T = 10000 greedy actions are more or less fair than sampled ones, for at least one memory."""
    alternatives = []
    for gamma in REMEMBERING:
        runs = cells.runs(welfare, "additive", gamma, 10000)
        sampled, greedy = (per_seed(runs, column) for column in (SAMPLED, DETERMINISTIC))
        what = f"Gini of greedy actions less that of sampled ones, {welfare}, {memory_label(gamma)}, T = 10000"
        alternatives.append((difference_within(what, greedy, sampled, low=MARGIN),))
        alternatives.append((difference_within(what, greedy, sampled, high=-MARGIN),))
    yield Some(tuple(alternatives))


def b5(cells: Cells, welfare: str) -> Ask:
    """Perfect recall at T ≥ 5000: the symmetric policy is fair where it sees memories on a logarithmic scale."""
    for horizon in LONG:
        yield _fair(cells, welfare, horizon, expected=True, network=LOGARITHMIC)


def _fair(
    cells: Cells, welfare: str, horizon: int, expected: bool, network: Mapping[str, object] = SYMMETRIC
) -> Comparison:
    """Whether the symmetric policy is fair under perfect recall, measured by the paper's myopic agent."""
    symmetric = cells.seeds("gini", welfare, "additive", RECALL, horizon, **_divisor(cells), **network)
    myopic = cells.seeds("gini", welfare, "additive", MYOPIC, horizon)
    what = (
        f"Gini of the symmetric network less {FAIR_SHARE:g} × that of myopic, {welfare}, perfect recall, T = {horizon}"
    )
    return difference_within(what, symmetric, FAIR_SHARE * myopic, **{"high" if expected else "low": 0.0})


def _divisor(cells: Cells) -> Json:
    return {"fixed_scale": SMALL_SCALE} if cells.scale == "fixed" else {}


BEYOND = (
    Claim(
        name="B1",
        text="Under egalitarian welfare the collapse of perfect recall comes from the network: one that is shared "
        "across agents does not collapse.",
        criterion="Additive egalitarian, perfect recall, T = 5000 and 10000, memory unscaled and divided by 10: the "
        "Gini of the symmetric policy is below `FAIR_SHARE` of the myopic agent's (the paper's network), and that of "
        "the paper's network is above it by more than `MARGIN`.",
        known=f"{_EARLIER} The paper's network had been seen with the unscaled memory (mean Gini 0.42 at T = 5000 and "
        "0.66 at T = 10000, where seeds split into two groups), not divided by 10.",
        asks=b1,
        welfares=("egalitarian",),
        scales=_SCALES,
    ),
    Claim(
        name="B2",
        text="Under Nash welfare the collapse of perfect recall comes from the reward signal: the shared network "
        "collapses too.",
        criterion="Additive Nash, perfect recall, T = 10000, memory unscaled and divided by 10: the Gini of the "
        "symmetric policy is above `FAIR_SHARE` of the myopic agent's.",
        known=_EARLIER,
        asks=b2,
        welfares=("nash",),
        scales=_SCALES,
    ),
    Claim(
        name="B3",
        text="The paper's metric, measured during training, is that of the finished policy with sampled actions.",
        criterion="Additive, T = 10000, every memory: the Gini of the finished policy with sampled actions differs by "
        "less than `MARGIN` from that of the last tenth of training (two one-sided tests, each at 5%).",
        known="No evaluation of the grid's policies had been seen.",
        asks=b3,
        level=EQUIVALENCE_LEVEL,
    ),
    Claim(
        name="B4",
        text="A policy with greedy actions is not as fair or as unfair as the same policy with sampled actions.",
        criterion="Additive, T = 10000: for at least one memory (γ = 0.9, 0.99, 0.999 or perfect recall) the two Ginis "
        "of the finished policy differ by more than `MARGIN`.",
        known="One policy had been seen, outside the grid, with a Gini of 0.17 with sampled and of 0.52 with "
        "greedy actions. No evaluation of the grid's policies had been seen.",
        asks=b4,
    ),
    Claim(
        name="B5",
        text="A shared network that sees memories on a logarithmic scale is fair under perfect recall, whatever the "
        "welfare function.",
        criterion="Additive, perfect recall, T = 5000 and 10000, memory unscaled and divided by 10: the Gini of the "
        "symmetric policy with logarithmic features is below `FAIR_SHARE` of the myopic agent's (the paper's network).",
        known="Nothing but short runs at T = 1000, made to see that the network learns.",
        asks=b5,
        scales=_SCALES,
    ),
)
