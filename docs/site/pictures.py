"""The pictures of the home page and the concepts, computed by the package and drawn in the style of its figures.

    python -m docs.site.pictures        # replaces those in docs/concepts/pictures

The site draws them each time it is built. Copies are stored with the pages, which can also be read in the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bygones import (
    ChooseK,
    Discounted,
    Instantaneous,
    Memory,
    PerfectRecall,
    SlidingWindow,
    allocate,
    decay,
    egalitarian,
    nash,
    utilitarian,
)
from bygones.envs.needs import advantaged
from bygones.paper.examples import Example, run
from bygones.report.style import INK, MUTED, PALETTE, RULE, house_style
from bygones.simulation import policy_named, simulate

FOLDER = Path(__file__).parents[1] / "concepts" / "pictures"

USAGE = {
    "ana": ((192.0, 23.0), (192.0, 16.0)),
    "ben": ((24.0, 24.0), (192.0, 1.0)),
    "cem": ((4.0, 17.0), (144.0, 10.0)),
    "dana": ((48.0, 3.0), (20.0, 0.0)),
}
"""The jobs of four people in the guide to GPU hours: GPU-hours, and age in days. `live.js` has them too."""

DASHED, DOTTED = (0, (6, 1.5)), (0, (1, 1.2))

BOB_IS_LATE = Example(("Alice", "Bob"), ("cake", "donut"), ((0.2, 0.5), (0.3, 0.5)), joins=(0, 30))
"""The paper's second example, with more steps in which Alice is alone."""


def alice_and_bob() -> Figure:
    """The owners of a cake and a donut at each step, with three memories."""
    memories: Mapping[str, Memory] = {
        "No memory": Instantaneous(),
        "Half-life of 7 steps": Discounted(half_life=7),
        "Perfect recall": PerfectRecall(),
    }
    figure = Figure(figsize=(5.8, 3.9))
    panels = figure.subplots(len(memories), 1, sharex=True)
    steps, joins = 75, max(BOB_IS_LATE.joins)
    for axes, (name, kind) in zip(panels, memories.items(), strict=True):
        owners = run(BOB_IS_LATE, kind, steps=steps).owners
        for row, _ in enumerate(BOB_IS_LATE.items):
            for agent, colour in enumerate((PALETTE[0], PALETTE[1])):
                cells = [(step + 0.6, 0.8) for step in np.flatnonzero(owners[:, row] == agent)]
                axes.broken_barh(cells, (row, 0.84), color=colour, label=BOB_IS_LATE.agents[agent])
        wait = int((owners[joins:] == 0).any(axis=1).argmax())
        axes.set_title(f"{name}: Alice {f'waits for {wait} steps' if wait else 'gets every donut'}")
        axes.axvline(joins + 0.5, color=INK, linewidth=1)
        axes.set_yticks([0.42, 1.42], BOB_IS_LATE.items)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False)
        axes.set(xlim=(0.4, steps + 0.6), ylim=(0, 1.9))
    panels[-1].set_xlabel(f"steps (Bob joins after step {joins})")
    handles, labels = panels[-1].get_legend_handles_labels()
    agents = dict(zip(labels, handles, strict=True))
    figure.legend(agents.values(), agents.keys(), loc="outside lower right", ncols=2)
    return figure


def memory() -> Figure:
    """The hours of Ana's shifts, and her recent hours in three memories."""
    received = np.zeros(90)
    received[[3, 9, 14, 21, 26, 60, 75]] = [8, 8, 6, 8, 8, 6, 8]
    figure, axes = _axes("Recent hours after seven shifts, in three memories", "days", "hours")
    memories: Mapping[str, Memory] = {
        "perfect recall": PerfectRecall(),
        "window of 30 days": SlidingWindow(30),
        "half-life of 14 days": Discounted(half_life=14),
    }
    looks = ({"color": PALETTE[3]}, {"color": PALETTE[2], "linestyle": DOTTED}, {"color": PALETTE[0]})
    axes.bar(np.arange(90), received, width=1.4, color=MUTED, label="worked that day")
    for (name, kind), look in zip(memories.items(), looks, strict=True):
        axes.step(np.arange(90), _recent_totals(kind, received), where="post", label=name, **look)
    axes.legend(loc="upper left")
    axes.set_ylim(0, 62)
    return figure


def _recent_totals(memory: Memory, received: np.ndarray) -> np.ndarray:
    state, values = memory.init(1), []
    for utility in received:
        state = memory.update(state, np.array([utility]))
        values.append(float(memory.values(state)[0]))
    return np.array(values)


def half_life() -> Figure:
    """The weight of a past utility against its age, for three half-lives."""
    figure, axes = _axes("Weight of a past utility, by its age", "days ago", "weight")
    ages = np.linspace(0, 180, 361)
    for days, look in zip((7, 30, 90), ("-", DASHED, DOTTED), strict=True):
        colour = PALETTE[(7, 30, 90).index(days)]
        axes.plot(
            ages, decay.gamma(half_life=days) ** ages, color=colour, linestyle=look, label=f"half-life {days} days"
        )
        axes.plot([days], [0.5], "o", color=colour)
    axes.axhline(0.5, color=MUTED, linewidth=0.8, zorder=1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    axes.set_xticks([0, 7, 30, 60, 90, 120, 150, 180])
    axes.legend(loc="upper right")
    return figure


def welfare() -> Figure:
    """Three welfare functions of how ten units are split between two agents."""
    figure, axes = _axes("Ten units, split between Ana and Ben", "units for Ana", "welfare")
    for_ana = np.linspace(0, 10, 201)
    split = np.stack([for_ana, 10 - for_ana], axis=1)
    axes.plot(for_ana, [float(utilitarian(each)) for each in split], color=PALETTE[3], label="utilitarian: the sum")
    means = [float(nash(each)) ** 0.5 for each in split]
    axes.plot(for_ana, means, color=PALETTE[0], linestyle=DASHED, label="Nash: the geometric mean")
    least = [float(egalitarian(each)) for each in split]
    axes.plot(for_ana, least, color=PALETTE[2], linestyle=DOTTED, label="egalitarian: the least")
    axes.set_ylim(0, 11)
    axes.legend(loc="lower center")
    return figure


def prices() -> Figure:
    """The worst-off agent's utility per step, in the paper's problem, under two rules and by chance."""
    figure, axes = _axes("Utility of the worst-off of ten agents", "steps", "utility per step")
    needs, steps = advantaged(10, 2), 1000
    for name, look in zip(("prices", "one-step", "random"), ("-", DASHED, DOTTED), strict=True):
        each = Discounted(half_life=69)
        played = simulate(policy_named(name, each, "egalitarian", needs, 2), needs, each, "egalitarian", steps)
        per_step = played.cumulative.min(axis=1) / np.arange(1, steps + 1)
        axes.plot(np.arange(1, steps + 1)[20:], per_step[20:], linestyle=look, label=name)
    axes.set_ylim(0, 0.2)
    axes.legend(loc="lower right")
    return figure


def burdens() -> Figure:
    """The recent work of four people, and the next six nights, each for the person with the least."""
    work, people = np.array([26.0, 12.0, 18.0, 4.0]), ["Ana", "Ben", "Cem", "Dana"]
    figure, axes = _axes("The next six nights", "hours, so far and after the six nights", "")
    axes.barh(people, work, color=MUTED, height=0.6, label="recent hours")
    recall, rng = PerfectRecall(), np.random.default_rng(0)  # the same picture each time, though two nights are ties
    state = recall.update(recall.init(4), work)
    for night in range(1, 7):
        load = recall.values(state)
        decision = allocate(ChooseK([8.0] * 4, k=1, kind="burden"), recall, state, "egalitarian", rng=rng)
        who = int(decision.served[0])
        axes.barh(
            people[who], 8, left=float(load[who]), color=PALETTE[4], edgecolor="white", height=0.6,
            label="one night of 8 hours" if night == 1 else None,
        )  # fmt: skip
        axes.text(float(load[who]) + 4, who, str(night), ha="center", va="center", color=INK)
        state = decision.state_after
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 48)
    axes.legend(loc="upper right")
    return figure


def standing() -> Figure:
    """The totals of four people, their recent totals with a half-life of a week, and an equal share of these."""
    received = np.array([sum(hours for hours, _ in jobs) for jobs in USAGE.values()])
    weight = decay.gamma(half_life=7)
    recent = np.array([sum(hours * weight**days for hours, days in jobs) for jobs in USAGE.values()])
    figure, axes = _axes("Total, and recent total with a half-life of 7 days", "GPU-hours", "")
    rows = np.arange(len(USAGE))
    axes.barh(rows - 0.2, received, height=0.36, color=RULE, label="total")
    axes.barh(rows + 0.2, recent, height=0.36, color=PALETTE[0], label="recent total")
    axes.axvline(recent.mean(), color=PALETTE[3], linestyle=DASHED, label="equal share of recent totals")
    axes.set_yticks(rows, list(USAGE))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower right")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "alice-and-bob": alice_and_bob,
    "memory": memory,
    "half-life": half_life,
    "welfare": welfare,
    "prices": prices,
    "burdens": burdens,
    "standing": standing,
}
"""The picture of the home page, and that of each concept."""


def _axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.8, 3.4))
    axes = figure.subplots()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.margins(x=0.02)
    axes.set_axisbelow(True)
    return figure, axes


def draw(folder: Path = FOLDER) -> None:
    """Draws every picture as SVG. Equal pictures give equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    metadata: dict[str, Any] = {"Date": None, "Creator": "bygones"}
    for name, picture in PICTURES.items():
        with house_style():
            picture().savefig(folder / f"{name}.svg", metadata=metadata)


if __name__ == "__main__":
    draw()
