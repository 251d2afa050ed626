"""The figures of the paper's experiments, by name, and three that the paper does not have.

Figures 2 and 3 show final welfare and Gini against the horizon (a egalitarian, b Nash), 4 and 5 the same for averaged
utilities, 6 to 9 the training curves. Not in the paper: `optimum`, `scales` and `networks`. Every run is drawn: seeds
are dots or thin lines, their mean is a line, and the band is the standard error over seeds. For comparison, figures
show the best possible value and rules with perfect recall, which need no training. Each figure names the observation
scale of its runs, and any other settings that differ from the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bygones._arrays import Floats, check_one_of
from bygones.paper.grid import AGGREGATIONS, SCALES, WELFARE_NAMES, WELFARES, in_order, memory_label, paper_weight
from bygones.paper.judging import PROTOCOL
from bygones.paper.optimum import episode_gini, for_settings
from bygones.paper.results import Results
from bygones.paper.statistics import standard_error
from bygones.paper.untrained import shares_of_optimum
from bygones.report.paper import network_figures, rule_lines
from bygones.report.paper.claims_figure import in_lines
from bygones.report.style import INK, MEMORY_LOOK, MUTED, Look, house_style, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEFAULT_SCALE = "window"
"""The observation scale of figures where results hold several and none is named. The paper only states that
observations are normalised to their expected range; which scale does that is not known (docs/decisions.md, row 6). This
one divides by the range itself: from 0 to the largest value that the memory can reach."""

AXES_NAMES = {"gini": "Gini coefficient", "welfare": "fairness score", "utility_per_step": "utility per step"}
BEST_LOOK: Look = {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 1}
SCORES = {
    ("egalitarian", "additive"): "total of the worst-off agent",
    ("egalitarian", "averaged"): "mean per step of the worst-off agent",
    ("nash", "additive"): "sum of the logarithms of totals",
    ("nash", "averaged"): "sum of the logarithms of means per step",
}
"""The meaning of the fairness score, by welfare function and aggregation."""
LINEAR_BELOW = 10.0
"""The score at which an axis changes from linear to logarithmic, if scores grow with the horizon."""
NETWORKS = "networks"
"""The figure of two networks side by side; unlike the others, it has runs of both."""
DODGE = 0.06
"""The distance between the dots of two memories at a horizon."""


def names() -> list[str]:
    """The names of the figures that are drawn from results."""
    return list(_FIGURES)


def draw(name: str, results: Results, observation_scale: str | None = None, **changes: object) -> Figure:
    """The figure of that name.

    Args:
        name: one of `names()`.
        results: the runs. The figure ignores any that it is not about.
        observation_scale: that of the runs to draw, if the results hold several; not needed by "scales".
        changes: the settings in which the runs to draw differ from the paper's protocol, e.g. `ends="termination"`.
    """
    check_one_of("figure", name, names())
    shown = _shown(name, results, observation_scale, changes)
    if not len(shown):
        raise ValueError(f"there are no runs for figure {name} among these {len(results)}")
    with house_style():
        figure = _FIGURES[name](shown)
        scales = shown.distinct("observation_scale")
        in_words = [SCALES[scale] for scale in scales if len(scales) == 1]
        _note(
            figure, [network_figures.scale_in_words(shown)] if name == NETWORKS else [*in_words, *_differences(changes)]
        )
        return figure


def draw_all(results: Results, folder: Path, observation_scale: str | None = None, **changes: object) -> list[Path]:
    """Draws and saves every figure for which there are runs, as `figure-2a.png` and so on."""
    return [
        path
        for name in names()
        if len(_shown(name, results, observation_scale, changes))
        for path in save(draw(name, results, observation_scale, **changes), folder, f"figure-{name}")
    ]


def _shown(name: str, results: Results, observation_scale: str | None, changes: Mapping[str, object]) -> Results:
    """The runs that the figure of that name is about."""
    if name == NETWORKS:
        return network_figures.shown(results, observation_scale)
    follow = results.where(**{**PROTOCOL, **changes})
    of_scale = follow if name == "scales" else _of_scale(follow, observation_scale)
    return _cell(of_scale, *_CELLS[name]) if name in _CELLS else of_scale


def _of_scale(results: Results, scale: str | None) -> Results:
    scales = in_order(results.distinct("observation_scale"))
    if scale is None:
        if len(scales) > 1:
            raise ValueError(
                f"the results hold several observation scales ({', '.join(scales)}): choose one with observation_scale"
            )
        return results
    if len(results):
        check_one_of("observation_scale", scale, scales)
    return results.where(observation_scale=scale)


def _cell(results: Results, welfare: str, aggregation: str) -> Results:
    """The runs of a welfare function and an aggregation, at the paper's λ."""
    return results.where(welfare=welfare, aggregation=aggregation, weight=paper_weight(welfare, aggregation))


def _against_horizon(metric: str, welfare: str, aggregation: str) -> Callable[[Results], Figure]:
    """A figure of a final metric against the horizon."""

    def figure(runs: Results) -> Figure:
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(6.2, 4.4))
        axes = figure.subplots()
        _horizon_lines(axes, runs, f"final_{metric}")
        horizons = runs.distinct("horizon")
        examples = [runs.where(horizon=horizon).settings()[0] for horizon in horizons]
        rule_lines.against_horizon(axes, examples[-1], horizons, metric)
        if metric == "welfare":
            axes.plot([for_settings(run).bound for run in examples], label="best possible", **BEST_LOOK)
            meaning = SCORES[welfare, aggregation]
            if (welfare, aggregation) == ("egalitarian", "additive"):
                axes.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.4)
                axes.set_ylim(bottom=0.0)
                meaning += f", log axis above {LINEAR_BELOW:g}"
            axes.set_ylabel(f"final fairness score\n({meaning})")
        else:
            axes.plot([episode_gini(run) for run in examples], label="best stationary policy", **BEST_LOOK)
            axes.set_ylim(bottom=0.0)
            axes.set_ylabel("final Gini coefficient (0 is equality)")
        axes.set_title(f"{WELFARE_NAMES[welfare].capitalize()}, {aggregation} utilities")
        rule_lines.name_the_lines(axes)
        _legend(figure)
        return figure

    return figure


def _training_curves(welfare: str, aggregation: str) -> Callable[[Results], Figure]:
    """A figure of training curves: one row per horizon; utility, fairness score and Gini."""

    def figure(runs: Results) -> Figure:
        from bygones.report.figures.shown_figure import ShownFigure

        horizons = runs.distinct("horizon")
        figure = ShownFigure(figsize=(9.5, 1.75 * len(horizons) + 0.9))
        grid = figure.subplots(len(horizons), 3, sharex=True, squeeze=False)
        for row, horizon in zip(grid, horizons, strict=True):
            for axes, metric in zip(row, ("utility_per_step", "welfare", "gini"), strict=True):
                at_horizon = runs.where(horizon=horizon)
                _curve_lines(axes, at_horizon, metric)
                rule_lines.across(axes, at_horizon.settings()[0], metric)
                axes.set_title(f"T = {horizon:,}" if metric == "utility_per_step" else "")
                axes.set_ylabel(AXES_NAMES[metric])
        for column, low in ((0, None), (2, 0.0)):
            top = max(axes.get_ylim()[1] for axes in grid[:, column])
            bottom = min(axes.get_ylim()[0] for axes in grid[:, column]) if low is None else low
            for axes in grid[:, column]:
                axes.set_ylim(bottom, top)
        for axes in grid.flat:
            rule_lines.name_the_lines(axes)
        for axes in grid[-1]:
            axes.set_xlabel("million steps of training")
        _headline(figure, f"{WELFARE_NAMES[welfare].capitalize()}, {aggregation} utilities")
        _legend(figure)
        return figure

    return figure


def _optimum_figure(results: Results) -> Figure:
    """Each memory's share of the best possible welfare: one panel per welfare function and aggregation."""
    from bygones.report.figures.shown_figure import ShownFigure

    panels = [(welfare, kind, runs) for welfare, kind in _panels() if len(runs := _cell(results, welfare, kind))]
    rows = len({kind for _, kind, _ in panels}) if len(panels) % 2 == 0 else len(panels)
    figure = ShownFigure(figsize=(9.5 if len(panels) > rows else 6.2, 3.1 * rows + 0.8))
    grid = figure.subplots(rows, len(panels) // rows, sharey=True, squeeze=False)
    for axes, (welfare, kind, runs) in zip(grid.T.flat, panels, strict=True):
        _horizon_lines(axes, runs, shares_of_optimum)
        rule_lines.against_horizon(axes, runs.settings()[0], runs.distinct("horizon"), rule_lines.SHARE)
        axes.axhline(1.0, **BEST_LOOK)
        axes.set_title(f"{WELFARE_NAMES[welfare].capitalize()}, {kind} utilities")
        axes.set_ylim(0.0, 1.05)
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        rule_lines.name_the_lines(axes)
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the best possible")
    _headline(figure, "Share of the best possible welfare")
    _legend(figure)
    return figure


def _scales_figure(results: Results) -> Figure:
    """The Gini against the horizon under each observation scale, additive utilities."""
    from bygones.report.figures.shown_figure import ShownFigure

    scales = in_order(results.distinct("observation_scale"))
    figure = ShownFigure(figsize=(max(6.2, 2.1 * len(scales)), 6.0))
    grid = figure.subplots(len(WELFARES), len(scales), sharex="col", sharey=True, squeeze=False)
    for row, welfare in zip(grid, WELFARES, strict=True):
        for axes, scale in zip(row, scales, strict=True):
            runs = _cell(results.where(observation_scale=scale), welfare, "additive")
            if len(runs):
                _horizon_lines(axes, runs, "final_gini")
                horizons = runs.distinct("horizon")
                rule_lines.against_horizon(axes, runs.settings()[0], horizons, "gini")
                axes.set_xticks(range(len(horizons)), [_short(horizon) for horizon in horizons])
            axes.set_xlabel("")
            axes.set_ylim(bottom=0.0)
        row[0].set_ylabel(f"Gini coefficient, {WELFARE_NAMES[welfare]}")
        rule_lines.name_the_lines(row[-1])
    for top, bottom, scale in zip(grid[0], grid[-1], scales, strict=True):
        top.set_title(in_lines(scale, 22), fontsize=8.5)
        bottom.set_xlabel("horizon T")
    _headline(figure, "The same memories, scaled for the network in different ways; additive utilities")
    _legend(figure)
    return figure


def _short(steps: int) -> str:
    return f"{steps // 1000}k" if steps >= 1000 and steps % 1000 == 0 else str(steps)


def _headline(figure: Figure, text: str) -> None:
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold")


def _note(figure: Figure, parts: Sequence[str]) -> None:
    """A note in the upper right corner of a figure, or below the title of a single panel."""
    from matplotlib.transforms import offset_copy

    text = ", ".join(parts)
    if figure.get_suptitle():
        level = offset_copy(figure.transFigure, figure, y=-5, units="points")
        figure.text(0.99, 1.0, text, transform=level, ha="right", va="top", fontsize=8, color=MUTED)
    else:
        (axes,) = figure.axes
        axes.set_title(axes.get_title(loc="left"), pad=18)
        axes.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points",
                      fontsize=8, color=MUTED)  # fmt: skip


def _differences(changes: Mapping[str, object]) -> list[str]:
    """The settings that differ from the paper's protocol."""
    return [f"{name} = {value}" for name, value in changes.items() if value != PROTOCOL.get(name)]


def _panels() -> list[tuple[str, str]]:
    return [(welfare, aggregation) for welfare in WELFARES for aggregation in AGGREGATIONS]


def _horizon_lines(axes: Axes, runs: Results, value: str | Callable[[Results], Floats]) -> None:
    """One line per memory over evenly spaced horizons, with its seeds as dots and the standard error as a band."""
    horizons, gammas = runs.distinct("horizon"), runs.distinct("gamma")
    for index, gamma in enumerate(gammas):
        look = MEMORY_LOOK.get(memory_label(gamma), {})
        cells = {i: runs.where(gamma=gamma, horizon=horizon) for i, horizon in enumerate(horizons)}
        seeds = {i: _values(cell, value) for i, cell in cells.items() if len(cell)}
        at = np.array(list(seeds))
        means = np.array([some.mean() for some in seeds.values()])
        errors = np.nan_to_num([standard_error(some) for some in seeds.values()])
        (line,) = axes.plot(at, means, label=memory_label(gamma), **look)
        axes.fill_between(at, means - errors, means + errors, color=line.get_color(), alpha=0.18, linewidth=0)
        shift = DODGE * (index - (len(gammas) - 1) / 2)
        for x, some in seeds.items():
            axes.plot(np.full(len(some), x + shift), some, "o", color=line.get_color(), markersize=2.6, alpha=0.55,
                      markeredgewidth=0)  # fmt: skip
    axes.set_xticks(range(len(horizons)), [f"{horizon:,}" for horizon in horizons])
    axes.set_xlabel("horizon T (steps in an episode)")
    axes.grid(axis="x", visible=False)


def _values(cell: Results, value: str | Callable[[Results], Floats]) -> Floats:
    values = cell[value] if isinstance(value, str) else value(cell)
    return values[np.isfinite(values)]


def _curve_lines(axes: Axes, runs: Results, metric: str) -> None:
    """One line per memory over training, with its seeds as thin lines and the standard error as a band."""
    from matplotlib.collections import LineCollection

    for gamma in runs.distinct("gamma"):
        look: Look = {**MEMORY_LOOK.get(memory_label(gamma), {}), "linewidth": 1.4}
        steps, seeds = runs.where(gamma=gamma).curves(metric)
        known = np.isfinite(seeds).all(axis=0)
        steps, seeds = steps[known] / 1e6, seeds[:, known]
        means = seeds.mean(axis=0)
        (line,) = axes.plot(steps, means, label=memory_label(gamma), **look)
        thin = [np.column_stack([steps, one]) for one in seeds]
        axes.add_collection(LineCollection(thin, colors=line.get_color(), linewidths=0.4, alpha=0.25, zorder=1))
        if len(seeds) > 1:
            errors = seeds.std(axis=0, ddof=1) / np.sqrt(len(seeds))
            axes.fill_between(steps, means - errors, means + errors, color=line.get_color(), alpha=0.18, linewidth=0)


def _legend(figure: Figure) -> None:
    """One legend for all panels, from the first panel with data."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    first = next(axes for axes in figure.axes if axes.get_legend_handles_labels()[1])
    handles, labels = first.get_legend_handles_labels()
    dots = any(line.get_marker() == "o" for line in first.lines)
    look: Look = {"linestyle": "", "marker": "o", "markersize": 3} if dots else {"linewidth": 0.6}
    handles += [Line2D([], [], color=MUTED, alpha=0.7, **look), Patch(color=MUTED, alpha=0.25, linewidth=0)]
    handles.append(rule_lines.legend_line())
    labels += ["one run", "mean ± standard error", rule_lines.LEGEND]
    columns = (len(labels) + 1) // 2 if figure.get_figwidth() > 8 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3.2, columnspacing=1.4)


_CELLS = {
    **{
        f"{number}{letter}": (welfare, aggregation)
        for number, aggregation in ((2, "additive"), (3, "additive"), (4, "averaged"), (5, "averaged"))
        for letter, welfare in zip("ab", WELFARES, strict=True)
    },
    "6": ("egalitarian", "additive"),
    "7": ("nash", "additive"),
    "8": ("egalitarian", "averaged"),
    "9": ("nash", "averaged"),
}
"""The welfare function and aggregation of each figure that shows only one of each."""

_FIGURES: dict[str, Callable[[Results], Figure]] = {
    name: _training_curves(*cell)
    if name.isdigit()
    else _against_horizon("welfare" if name[0] in "24" else "gini", *cell)
    for name, cell in _CELLS.items()
} | {"optimum": _optimum_figure, "scales": _scales_figure, NETWORKS: network_figures.networks}
