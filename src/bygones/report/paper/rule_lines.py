"""Rules that need no training as reference lines in the figures of trained policies, each named where its line ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from bygones.learn.settings import Settings
from bygones.paper.claims import RECALL
from bygones.paper.optimum import for_settings
from bygones.paper.untrained import reached
from bygones.report.style import INK, MUTED, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

RULE_LOOK: dict[str, Look] = {
    "prices": {"marker": "^"},
    "one-step": {"marker": "x"},
    "random": {"marker": "|"},
}
"""The rules that figures show, with their markers. Two of the five are left to tables: `calibrated` is where `prices`
is, and `proportional-fair` between it and `one-step`."""
SHARE = "share"
"""The metric that only figures have: the welfare as a share of the best possible."""
LEGEND = "untrained rules, perfect recall"
LABEL_SIZE = 7.0

_LINE: Look = {"color": INK, "linewidth": 0.7, "markersize": 4.5, "markerfacecolor": "none", "zorder": 1.5}


def rule_values(rule: str, run: Settings, horizons: Sequence[int], metric: str) -> list[float]:
    """A metric of a rule with perfect recall at several horizons, in the problem of a run."""
    by_horizon = reached(rule, run.replace(gamma=RECALL), horizons)
    if metric == SHARE:
        at = [run.replace(horizon=horizon, total_steps=max(horizon, run.total_steps)) for horizon in horizons]
        return [float(for_settings(run_at).share(by_horizon[run_at.horizon].welfare)) for run_at in at]
    return [float(getattr(by_horizon[horizon], metric)) for horizon in horizons]


def against_horizon(axes: Axes, run: Settings, horizons: Sequence[int], metric: str) -> None:
    """Draws a line per rule over evenly spaced horizons."""
    for rule, look in RULE_LOOK.items():
        axes.plot(rule_values(rule, run, horizons, metric), gid=rule, **_LINE, **look)


def across(axes: Axes, run: Settings, metric: str) -> None:
    """Draws a level line per rule, at the value that it reaches without training."""
    for rule in RULE_LOOK:
        (value,) = rule_values(rule, run, [run.horizon], metric)
        axes.axhline(value, gid=rule, **{**_LINE, "linewidth": 0.6})


def name_the_lines(axes: Axes) -> None:
    """Writes the name of each rule at the end of its line, once the limits of the axes are final.

    Names that would overlap are moved apart, each as little as possible: an isotonic regression of their places.
    """
    ends = {str(line.get_gid()): float(np.asarray(line.get_ydata())[-1]) for line in axes.lines if line.get_gid()}
    height = 1.25 * LABEL_SIZE / 72 * axes.figure.dpi / axes.bbox.height
    for name, place in _apart(_places(axes, ends), height).items():
        axes.annotate(name, (1.0, place), xycoords="axes fraction", xytext=(3, 0), textcoords="offset points",
                      va="center", fontsize=LABEL_SIZE, color=MUTED, annotation_clip=False)  # fmt: skip


def legend_line() -> Line2D:
    """The lines of all rules in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **_LINE)


def _places(axes: Axes, values: Mapping[str, float]) -> dict[str, float]:
    """Where values are on the y axis, from 0 at the bottom to 1 at the top."""
    to_axes = axes.transData + axes.transAxes.inverted()
    return {name: float(np.clip(to_axes.transform((0.0, value))[1], 0.0, 1.0)) for name, value in values.items()}


def _apart(places: Mapping[str, float], height: float) -> dict[str, float]:
    """The same places, at least a height apart, and none below the axis."""
    names = sorted(places, key=lambda name: places[name])
    steps = height * np.arange(len(names))
    moved = optimize.isotonic_regression(np.array([places[name] for name in names]) - steps).x
    return dict(zip(names, (np.maximum(moved, 0.0) + steps).tolist(), strict=True))
