"""The charts of a leaderboard: the best rule against the best learner, and the value of each memory."""

from __future__ import annotations

from collections.abc import Sequence

from bygones.document.charts import Dots, dot_chart, label
from bygones.document.document import Chart
from bygones.leaderboard.entries import MEMORIES
from bygones.leaderboard.standings import BoardVerdict, Cell, Remembering


def verdict_chart(pairs: Sequence[BoardVerdict]) -> Chart:
    """The best rule and the best learner of every scenario, with their intervals, as shares of the better one."""
    tops = [max(pair.rule.mean, pair.learner.mean) for pair in pairs]

    def dots(name: str, cells: Sequence[Cell]) -> Dots:
        shares = [cell.mean / top for cell, top in zip(cells, tops, strict=True)]
        ends = [cell.interval if len(cell.scores) > 1 else (cell.mean, cell.mean) for cell in cells]
        return Dots(name, shares, [(low / top, high / top) for (low, high), top in zip(ends, tops, strict=True)])

    return dot_chart(
        [pair.world for pair in pairs],
        [
            dots("the best learner", [pair.learner for pair in pairs]),
            dots("the best rule", [pair.rule for pair in pairs]),
        ],
        "share of the better score",
        alt="The best rule and the best learner of every scenario. "
        f"{'; '.join(f'{pair.world}: {pair.word}' for pair in pairs)}.",
        caption="Scores with 95% intervals over seeds, as shares of the better of the two. Scenarios in which learning "
        "gains most are on top.",
        numbers=".1%",
    )


def memory_chart(ranked: Sequence[Remembering], who: str) -> Chart:
    """The value of each memory in each scenario, in percent: a heat map."""
    worlds = sorted({world for worth in ranked for world in worth.shares})
    by_name = {worth.memory: worth for worth in ranked}
    memories = [memory for memory in dict.fromkeys([*MEMORIES, *by_name]) if memory in by_name]
    shares = [[by_name[memory].shares.get(world) for memory in memories] for world in worlds]
    means = ", ".join(f"{worth.memory} {worth.mean:.0%}" for worth in ranked)
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
        alt=f"The best score of {who} with each memory, as a share of their best with any. On average: {means}.",
        caption=f"The best score of {who} with each memory, in percent of their best with any memory in the scenario.",
        height=110 + 34 * len(worlds),
    )
