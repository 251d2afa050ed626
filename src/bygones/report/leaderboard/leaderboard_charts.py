"""The figures of a leaderboard: the best rule and the best learner, and the value of each memory."""

from __future__ import annotations

from collections.abc import Sequence

from bygones._arrays import Json
from bygones.leaderboard.entries import MEMORIES
from bygones.leaderboard.standings import BoardVerdict, Remembering
from bygones.report.page import Chart, label
from bygones.report.style import PALETTE

_KINDS = (("the best rule", "diamond", PALETTE[1]), ("the best learner", "circle", PALETTE[0]))


def verdict_chart(pairs: Sequence[BoardVerdict]) -> Chart:
    """The best rule and the best learner of every scenario, with their intervals, as shares of the better one."""
    shown = sorted(pairs, key=lambda pair: pair.gain)
    traces: list[Json] = []
    for place, (name, symbol, colour) in enumerate(_KINDS):
        cells = [pair[place] for pair in shown]
        shares = [[cell.mean, *(cell.interval if len(cell.scores) > 1 else [cell.mean] * 2)] for cell in cells]
        tops = [max(pair.rule.mean, pair.learner.mean) for pair in shown]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "orientation": "h",
                "offsetgroup": name,
                "name": name,
                "x": [share[0] / top for share, top in zip(shares, tops, strict=True)],
                "y": [label(pair.world) for pair in shown],
                "marker": {"symbol": symbol, "color": colour, "size": 12},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [(share[2] - share[0]) / top for share, top in zip(shares, tops, strict=True)],
                    "arrayminus": [(share[0] - share[1]) / top for share, top in zip(shares, tops, strict=True)],
                    "color": colour,
                    "thickness": 1.5,
                },
                "text": [label(cell.name) for cell in cells],
                "customdata": [cell.mean for cell in cells],
                "hovertemplate": "%{text}: score %{customdata:.4f}<extra>%{y}</extra>",
                "cliponaxis": False,
            }
        )
    verdicts = "; ".join(f"{pair.world}: {pair.word}" for pair in shown)
    return Chart(
        {
            "data": traces,
            "layout": {
                "xaxis": {
                    "title": {"text": "share of the better score"}, "tickformat": ".0%",
                    "rangemode": "tozero",
                },
                "yaxis": {"automargin": True, "type": "category"},
                "hovermode": "closest",
                "scattermode": "group",  # one above the other, so equal scores do not hide each other
                "scattergap": 0.4,
            },
        },
        alt=f"The best rule and the best learner of every scenario. {verdicts}.",
        caption="Scores with 95% intervals over seeds, as shares of the better of the two. Scenarios in which learning "
        "gains most are on top.",
        height=140 + 44 * len(shown),
    )  # fmt: skip


def memory_chart(ranked: Sequence[Remembering], who: str) -> Chart:
    """The value of each memory in each scenario, in percent: a heat map."""
    worlds = sorted({world for each in ranked for world in each.shares})
    by_name = {each.memory: each for each in ranked}
    memories = [memory for memory in MEMORIES if memory in by_name]
    shares = [[by_name[memory].shares.get(world) for memory in memories] for world in worlds]
    best = ", ".join(f"{each.memory} {each.mean:.0%}" for each in ranked)
    return Chart(
        {
            "data": [
                {
                    "type": "heatmap",
                    "x": memories,
                    "y": [label(world) for world in worlds],
                    "z": [[None if share is None else 100 * share for share in row] for row in shares],
                    "zmin": 0,
                    "zmax": 100,
                    "colorscale": [[0, "#D55E00"], [0.5, "#F2E9D8"], [1, "#0072B2"]],
                    "texttemplate": "%{z:.0f}",
                    "hovertemplate": "%{y}, %{x}: %{z:.1f}%<extra></extra>",
                    "showscale": False,
                    "xgap": 2,
                    "ygap": 2,
                }
            ],
            "layout": {
                "xaxis": {"automargin": True, "side": "top"},
                "yaxis": {"automargin": True, "type": "category", "autorange": "reversed"},
                "margin": {"b": 12},
            },
        },
        alt=f"The best score of {who} with each memory, as a share of their best with any. On average: {best}.",
        caption=f"The best score of {who} with each memory, in percent of their best with any memory in the scenario.",
        height=110 + 34 * len(worlds),
    )
