"""The report: the paper's experiment as one page, from any results, without training anything.

Claims with their verdicts, figures in which every run is a dot, the two examples with a half-life to try out, and how
it all was run. Whatever the page says of results is read from the results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from bygones import __version__, decay
from bygones.experiments.claims import CLAIMS, MARGIN, MYOPIC, RECALL, judge
from bygones.experiments.grid import AGGREGATIONS, WELFARES, in_order, memory_label, paper_weight
from bygones.experiments.judging import APART, FAILS, HOLDS, NOT_ENOUGH, PROTOCOL
from bygones.experiments.results import Results, read
from bygones.experiments.statistics import groups
from bygones.report.packing import AS_THE_PAPER, METRICS, packed
from bygones.report.page import Page, Section, asset, fragment, write
from bygones.report.paper_figures import WELFARE_NAMES
from bygones.report.verdicts import DEPENDS, Claim, claims_html, grouped
from bygones.simulate import EXAMPLES

MOST_BYTES = 8_000_000
"""A page is smaller than this."""

EVIDENCE, OWN = "evidence", "own"
ORIGINS = {EVIDENCE: "shipped evidence", OWN: "your runs"}

FADING = 0.99
"""The memory that stands for past-discounting where only one is shown; the paper calls it robust (C9)."""

SCALES = {
    "none": "as it is",
    "fixed": "divided by one constant, whatever the memory",
    "window": "divided by the largest value it can reach",
    "expected": "divided by the value to expect of it",
    "relative": "relative to its mean",
}
"""How the network sees the memory, in words, by observation scale."""

HALF_LIVES: tuple[float | None, ...] = (
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 69.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, None,
)  # fmt: skip
"""Where the slider stops: from a memory that is gone at once (0) to one that never fades (None)."""
EXAMPLE_STEPS = 50


def write_report(path: Path | str, own: Results | None = None, evidence: Results | None = None) -> Path:
    """Writes the report to a file and gives its path.

    Args:
        path: where to.
        own: the reader's own runs, drawn beside the evidence where there is some.
        evidence: the runs that everything is judged by; without them, the reader's own are.
    """
    return write(report_page(own, evidence), path)


def read_evidence(folder: Path) -> Results | None:
    """All the sets of results in a folder, or None where there is no such folder."""
    return read(*sorted(folder.iterdir())) if folder.is_dir() else None


def report_page(own: Results | None = None, evidence: Results | None = None) -> Page:
    """The report as a page."""
    sets = {origin: results for origin, results in ((EVIDENCE, evidence), (OWN, own)) if results is not None}
    sets = {origin: results for origin, results in sets.items() if len(results)}
    if not sets:
        raise ValueError("a report needs results, got none: name folders of results, or run where evidence/grid lies")
    claims = grouped({origin: judge(results) for origin, results in sets.items()})
    data = packed(sets)
    n_runs = sum(map(len, sets.values()))
    return Page(
        title="How much past does fairness need?",
        lede=(
            "Serve two of ten people, again and again, ten thousand times. Look only at today, and the same ones win "
            "every day. Remember everything, and a learner may lose its way. Let the past fade, says the paper. "
            f"Here is what {n_runs:,} training {'run says' if n_runs == 1 else 'runs say'}."
        ),
        kicker="bygones · the paper’s experiment, run again",
        sections=[
            Section("The short answer", _short_answer(sets, claims)),
            Section("The claims, one by one", _claims(sets, claims)),
            Section("Every run", _every_run(sets, data["panels"])),
            Section("Alice, Bob and a half-life", _examples()),
            Section("How it was run", _how(sets)),
        ],
        footer=f"Made by bygones {__version__}. This page is one file and loads nothing.",
        data={"runs": data, "examples": _examples_data()},
        scripts=[asset(name) for name in ("runs.js", "chooser.js", "examples.js")],
        styles=[asset("report.css")],
        plotly=True,
    )


def _short_answer(sets: Mapping[str, Results], claims: Mapping[str, Sequence[Claim]]) -> list[str | Markup]:
    """What the paper says, one picture of it per welfare function, and what came out."""
    told = OWN if OWN in sets else EVIDENCE
    scale = _story_scale(sets[told])
    findings = [(origin, _findings(results, scale)) for origin, results in reversed(list(sets.items()))]
    charts = [
        {
            "title": WELFARE_NAMES[welfare].capitalize(),
            "alt": f"Gini coefficient against the horizon under {WELFARE_NAMES[welfare]}, for three memories. {said}",
            "runs": _asked("horizon", welfare, scale, [MYOPIC, FADING, RECALL]),
        }
        for welfare in WELFARES
        if (said := " ".join(found[welfare] for _, found in findings if welfare in found))
    ]
    return [
        fragment(
            "short_answer.html.jinja",
            charts=charts,
            scale=SCALES[scale],
            half_life=decay.half_life(gamma=FADING),
            findings=[(ORIGINS[origin], list(found.values())) for origin, found in findings if found],
            named=len(sets) > 1,
            counts=[(word, [claim.name for claim in claims[word]]) for word in claims],
            words={HOLDS: "stand", DEPENDS: "depend on how the network sees the memory",
                   FAILS: "do not stand", NOT_ENOUGH: "are open"},
            of=len(CLAIMS),
        )
    ]  # fmt: skip


def _story_scale(results: Results) -> str:
    """The observation scale that the story is told at: the memory as it is, where there are such runs."""
    return in_order(_protocol(results).distinct("observation_scale") or results.distinct("observation_scale"))[0]


def _protocol(results: Results) -> Results:
    return results.where(**PROTOCOL)


def _findings(results: Results, scale: str) -> dict[str, str]:
    """For each welfare function, what remembering everything came to at the longest horizon, in a sentence or two."""
    found = {}
    for welfare in WELFARES:
        runs = _protocol(results).where(
            observation_scale=scale, welfare=welfare, aggregation="additive", weight=paper_weight(welfare, "additive")
        )
        horizons = [set(runs.where(gamma=gamma)["horizon"].tolist()) for gamma in (MYOPIC, FADING, RECALL)]
        common = set.intersection(*horizons)
        if common:
            found[welfare] = _finding(welfare, runs.where(horizon=max(common)))
    return found


def _finding(welfare: str, runs: Results) -> str:
    ginis = {gamma: runs.where(gamma=gamma)["final_gini"] for gamma in (MYOPIC, FADING, RECALL)}
    myopic, fading, recall = (float(values.mean()) for values in ginis.values())
    fairer = "no fairer than" if recall > myopic - MARGIN else "fairer than"
    said = (
        f"Under {WELFARE_NAMES[welfare]}, at T = {runs['horizon'][0]:,}, the learner that remembers everything ends at "
        f"a Gini of {recall:.2f}, {fairer} the one that looks only at today ({myopic:.2f}). "
        f"With {memory_label(FADING)} it ends at {fading:.2f}."
    )
    split = groups(ginis[RECALL], APART)
    if len(split) > 1:
        low, high = split
        said += (
            f" Remembering everything, {len(low)} of {len(ginis[RECALL])} seeds end near {np.mean(low):.2f} and the "
            f"others near {np.mean(high):.2f}: the mean describes none of them."
        )
    return said


def _claims(sets: Mapping[str, Results], claims: Mapping[str, Sequence[Claim]]) -> list[str | Markup]:
    scales = in_order({scale for results in sets.values() for scale in results.distinct("observation_scale")})
    horizon = max(max(_protocol(results).distinct("horizon"), default=0) for results in sets.values())
    intro = fragment(
        "scales.html.jinja",
        scales=[(scale, SCALES[scale]) for scale in scales],
        horizon=horizon,
        charts=[
            {
                "title": WELFARE_NAMES[welfare].capitalize(),
                "alt": f"Gini at T = {horizon:,} under {WELFARE_NAMES[welfare]}, by observation scale: perfect recall "
                f"beside {memory_label(FADING)}. The numbers are in the section “Every run”.",
                "runs": _asked("scale", welfare, scales[0], [FADING, RECALL], horizon),
            }
            for welfare in WELFARES
        ]
        if len(scales) > 1 and horizon
        else [],
    )
    return [intro, claims_html(claims, {origin: ORIGINS[origin] for origin in sets})]


def _asked(kind: str, welfare: str, scale: str, gammas: Sequence[float], horizon: int | None = None) -> str:
    """What a chart of runs shows, for the script that draws it."""
    choice = {"variant": AS_THE_PAPER, "observation_scale": scale, "welfare": welfare, "aggregation": "additive"}
    return json.dumps({"kind": kind, "choice": choice, "metric": "gini", "gammas": gammas, "horizon": horizon})


def _every_run(sets: Mapping[str, Results], panels: Sequence[Mapping[str, Any]]) -> list[str | Markup]:
    def there(name: str, order: Sequence[str] = ()) -> list[str]:
        values = dict.fromkeys(panel[name] for panel in panels)
        return [*(value for value in order if value in values), *(value for value in values if value not in order)]

    scales = in_order(there("observation_scale"))
    choices = [
        ("welfare", "Welfare", [(name, WELFARE_NAMES.get(name, name)) for name in there("welfare", WELFARES)]),
        ("aggregation", "Utilities", [(name, name) for name in there("aggregation", AGGREGATIONS)]),
        ("observation_scale", "Memory seen", [(name, f"{SCALES[name]} ({name})") for name in scales]),
        ("metric", "Measure", [(metric.name, metric.label) for metric in METRICS]),
        ("variant", "Runs", [(name, name) for name in there("variant", [AS_THE_PAPER])]),
    ]
    first = panels[-1] if OWN in sets else panels[0]
    mine = [panel for panel in panels if panel["origin"] == first["origin"]]
    return [
        "Choose what to look at. Where some seeds learn and others do not, a mean hides it; so every run is there.",
        fragment("chooser.html.jinja", choices=choices, start={**mine[0], "metric": "gini"}, own=OWN in sets),
    ]


def _examples() -> list[str | Markup]:
    names = [("example-1", "both are there from the start"), ("example-2", "Bob joins after ten steps")]
    return [
        "Each day there is one cake and one donut. Alice likes the donut (0.5) more than the cake (0.2), and so does "
        "Bob (0.5 and 0.3). Both items go where they leave the worst-off best off, as far as the past is remembered. "
        "Move the half-life and see who gets what.",
        fragment("examples.html.jinja", names=names, last=len(HALF_LIVES) - 1, start=HALF_LIVES.index(7.0)),
    ]


def _examples_data() -> dict[str, Any]:
    plain = {
        name: {"agents": each.agents, "items": each.items, "utilities": each.utilities, "joins": each.joins}
        for name, each in EXAMPLES.items()
    }
    return {"examples": plain, "halfLives": HALF_LIVES, "steps": EXAMPLE_STEPS}


def _how(sets: Mapping[str, Results]) -> list[str | Markup]:
    """Versions, hardware, dates and commands, as they were written beside the runs."""
    ran = []
    for origin, results in sets.items():
        for command in results.distinct("command"):
            part = results.where(command=command)
            software = [json.loads(said) for said in part.distinct("software")]
            ran.append(
                {
                    "origin": ORIGINS[origin],
                    "command": command,
                    "runs": len(part),
                    "steps": sum(part["total_steps"].tolist()),
                    "hours": sum(part["seconds"].tolist()) / 3600,
                    "finished": max(part["finished"]).astype("datetime64[m]").item(),
                    "hardware": part.distinct("hardware"),
                    "software": [", ".join(f"{name} {version}" for name, version in one.items()) for one in software],
                    "bygones": part.distinct("bygones"),
                }
            )
    return [fragment("how.html.jinja", ran=ran)]
