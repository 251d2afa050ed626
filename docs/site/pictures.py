"""The pictures of the pages: those of the concepts, Figure 1, and the report in a browser.

    python -m docs.site.pictures        # draws those in docs/concepts/pictures and docs/images again

The site draws them each time it is built. Copies are kept next to the pages, which can then be read in the repository
too. The picture of the report needs Chromium, and is drawn only if the report has changed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bygones import (
    ChooseK,
    Discounted,
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
from bygones.report.style import INK, MUTED, PALETTE, RULE, house_style
from bygones.simulation import policy_named, simulate

FOLDER = Path(__file__).parents[1] / "concepts" / "pictures"
IMAGES = Path(__file__).parents[1] / "images"
FIGURE_1, REPORT = "figure-1.png", "report.png"
ABOUT = "Description"
"""The field of a PNG file that holds the first sentences of the report in it."""

USAGE = {
    "ana": ((192.0, 23.0), (192.0, 16.0)),
    "ben": ((24.0, 24.0), (192.0, 1.0)),
    "cem": ((4.0, 17.0), (144.0, 10.0)),
    "dana": ((48.0, 3.0), (20.0, 0.0)),
}
"""Four people's jobs in the guide to GPU hours: how many GPU-hours, and how many days ago. `live.js` has them too."""

DASHED, DOTTED = (0, (6, 1.5)), (0, (1, 1.2))


def memory() -> Figure:
    """What Ana received, and what perfect recall, a window and a discounted memory make of it."""
    received = np.zeros(90)
    received[[3, 9, 14, 21, 26, 60, 75]] = [8, 8, 6, 8, 8, 6, 8]
    figure, axes = _axes("What is remembered of seven shifts", "days", "hours")
    memories: Mapping[str, Memory] = {
        "perfect recall": PerfectRecall(),
        "window of 30 days": SlidingWindow(30),
        "half-life of 14 days": Discounted(half_life=14),
    }
    looks = ({"color": PALETTE[3]}, {"color": PALETTE[2], "linestyle": DOTTED}, {"color": PALETTE[0]})
    axes.bar(np.arange(90), received, width=1.4, color=MUTED, label="received that day")
    for (name, each), look in zip(memories.items(), looks, strict=True):
        axes.step(np.arange(90), _remembered(each, received), where="post", label=name, **look)
    axes.legend(loc="upper left")
    axes.set_ylim(0, 62)
    return figure


def _remembered(memory: Memory, received: np.ndarray) -> np.ndarray:
    state, values = memory.init(1), []
    for utility in received:
        state = memory.update(state, np.array([utility]))
        values.append(float(memory.values(state)[0]))
    return np.array(values)


def half_life() -> Figure:
    """The weight of a past utility against its age, for three half-lives."""
    figure, axes = _axes("How much a past utility still counts", "days ago", "weight")
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
    figure, axes = _axes("What the worst-off of ten agents receives", "steps", "utility per step")
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
    """What four people have carried, and the next six nights, each on the lightest load."""
    carried, people = np.array([26.0, 12.0, 18.0, 4.0]), ["Ana", "Ben", "Cem", "Dana"]
    figure, axes = _axes("Who carries the next six nights", "hours carried, and to be carried", "")
    axes.barh(people, carried, color=MUTED, height=0.6, label="carried, as remembered")
    recall = PerfectRecall()
    state = recall.update(recall.init(4), carried)
    for night in range(1, 7):
        load = recall.values(state)
        decision = allocate(ChooseK([8.0] * 4, k=1, kind="burden"), recall, state, "egalitarian")
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
    """What four people received, and what is remembered of it with a half-life of a week, beside an equal share."""
    received = np.array([sum(hours for hours, _ in jobs) for jobs in USAGE.values()])
    weight = decay.gamma(half_life=7)
    remembered = np.array([sum(hours * weight**days for hours, days in jobs) for jobs in USAGE.values()])
    figure, axes = _axes("Received, and remembered with a half-life of 7 days", "GPU-hours", "")
    rows = np.arange(len(USAGE))
    axes.barh(rows - 0.2, received, height=0.36, color=RULE, label="received")
    axes.barh(rows + 0.2, remembered, height=0.36, color=PALETTE[0], label="remembered")
    axes.axvline(remembered.mean(), color=PALETTE[3], linestyle=DASHED, label="equal share of what is remembered")
    axes.set_yticks(rows, list(USAGE))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower right")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "memory": memory,
    "half-life": half_life,
    "welfare": welfare,
    "prices": prices,
    "burdens": burdens,
    "standing": standing,
}
"""The picture of each concept."""


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


def draw_images(folder: Path = IMAGES) -> None:
    """Draws Figure 1, and the report if the picture in the folder is of another one and there is a browser."""
    from bygones.paper import examples
    from bygones.report.paper.example_figures import figure_1

    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        figure_1(examples.figure_1()).savefig(folder / FIGURE_1, metadata={"Software": None})
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser and not is_of_this_report(folder / REPORT):
        _draw_report(folder / REPORT, browser)


def is_of_this_report(picture: Path) -> bool:
    """Whether a picture is one of the report on the evidence as it is now."""
    return picture.exists() and _first_sentences().encode() in picture.read_bytes()


def _first_sentences() -> str:
    """The first sentences of the report on the evidence, in the letters that a PNG file can hold."""
    from bygones.paper.evidence import evidence_folder
    from bygones.report.paper.paper_page import lede, read_evidence

    runs = read_evidence(evidence_folder())
    return lede(0 if runs is None else len(runs)).replace("’", "'")


def _draw_report(path: Path, browser: str) -> None:
    """Draws the upper part of the report as a browser shows it."""
    import matplotlib.image

    from bygones.paper.evidence import evidence_folder
    from bygones.report.paper.paper_page import read_evidence, write_report

    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "report.html"), Path(folder, "report.png")
        write_report(page, None, read_evidence(evidence_folder()))
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1180,1270"]
        # The charts are drawn once the page has time.
        waits = ["--virtual-time-budget=10000", f"--screenshot={picture}"]
        subprocess.run([browser, *options, *waits, page.as_uri()], check=True, capture_output=True)
        pixels = matplotlib.image.imread(picture)
    matplotlib.image.imsave(path, pixels, metadata={"Software": None, ABOUT: _first_sentences()})


if __name__ == "__main__":
    draw()
    draw_images()
