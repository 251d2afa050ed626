"""A figure of several policies, simulated on the same needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bygones.report.style import PALETTE, house_style
from bygones.simulation import Course

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", (0, (6, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)))


def policies_figure(played: Mapping[str, Course], welfare: str) -> Figure:
    """True and remembered utilities, inequality and welfare over time, one line style per policy."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(10, 6.8))
        (true, remembered), (gini, judged) = figure.subplots(2, 2)
        for number, (name, each) in enumerate(played.items()):
            look = {"color": PALETTE[number % len(PALETTE)], "linestyle": _DASHES[number % len(_DASHES)]}
            worst, best = ("most", "least") if each.kind == "burden" else ("least", "most")
            for axes, place in ((true, ""), (remembered, " in memory")):
                axes.plot(each.ends, each.over_time[worst + place], label=name, **look)
                axes.plot(each.ends, each.over_time[best + place], linewidth=0.9, **look)
            gini.plot(each.ends, each.over_time["gini"], label=name, **look)
            judged.plot(each.ends, each.over_time["welfare"], label=name, **look)
        what = "loads" if next(iter(played.values())).kind == "burden" else "utilities"
        true.set(title=f"True {what}", ylabel="total so far (thick: worst-off, thin: best-off)")
        remembered.set(title=f"{what.capitalize()} in the memory", ylabel="memory (thick: worst-off, thin: best-off)")
        gini.set(title=f"Inequality of true {what}", ylabel="Gini coefficient", ylim=(0, None))
        judged.set(title=f"Welfare of the memory: {welfare}", ylabel="log-Nash" if welfare == "nash" else welfare)
        for axes in (true, remembered, gini, judged):
            axes.set_xlabel("step")
            axes.set_xscale("log")
            axes.margins(x=0.01)
        # Totals grow with time: if both axes are logarithmic, a steady gain is a straight line. The axis is linear up
        # to 1 to show zero.
        true.set_yscale("symlog", linthresh=1)
        true.set_ylim(bottom=0)
        handles, labels = gini.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), handlelength=3.2)
        return figure
