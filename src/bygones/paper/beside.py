"""What stands beside a trained policy: the rules that need no training, and the best that any policy can reach."""

from __future__ import annotations

from typing import NamedTuple

from bygones.learn.settings import Settings
from bygones.paper.optimum import Optimum, episode_gini, for_settings
from bygones.paper.untrained import RULES, Reached, reached


class Beside(NamedTuple):
    """What is reached in the problem of a run without training, and at best, in the metrics of runs."""

    rules: dict[str, Reached]
    """Means over episodes, by the name of the rule."""
    best: Reached
    """The bound on the welfare of every policy; all else is that of the stationary policy that comes closest."""
    optimum: Optimum


def beside(run: Settings) -> Beside:
    """What stands beside the policy of a run.

    Raises:
        ValueError: the welfare of the run is one for which the optimum is not known.
    """
    optimum = for_settings(run)
    rules = {rule: reached(rule, run, [run.horizon])[run.horizon] for rule in RULES}
    shares = optimum.utilities
    best = Reached(episode_gini(run), optimum.bound, float(shares.sum()), float(shares.min()), float(shares.max()))
    return Beside(rules, best, optimum)
