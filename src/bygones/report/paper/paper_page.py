"""The report: the paper's experiment as one page, from any results, without training anything.

Claims with their verdicts, figures in which every run is a dot, the two examples with a half-life to try out, and how
it all was run. Whatever the page says of results is read from the results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bygones import __version__
from bygones.learn.settings import Settings
from bygones.paper.claims import Judgement, judge
from bygones.paper.examples import EXAMPLES
from bygones.paper.grid import AGGREGATIONS, WELFARES, in_order, memory_label
from bygones.paper.judging import MIN_SEEDS, PROTOCOL
from bygones.paper.results import Results, read
from bygones.report.figures.paper_figures import WELFARE_NAMES
from bygones.report.page import Block, Page, Section, asset, fragment, write
from bygones.report.paper.packing import AS_THE_PAPER, METRICS, kinds, packed, variant
from bygones.report.paper.story import EVIDENCE, FADING, ORIGINS, OWN, SCALES, chart_of_runs, short_answer
from bygones.report.paper.verdicts import Claim, claims_html, grouped

HALF_LIVES: tuple[float | None, ...] = (
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 69.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, None,
)  # fmt: skip
"""Where the slider stops: from a memory that is gone at once (0) to one that never fades (None)."""
EXAMPLE_STEPS = 50

_JUDGED_ANEW = ("ends", "observe_denominator", "shaping_discount")
"""Parts of the protocol under which claims are judged anew where runs differ in them."""


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
    claims = grouped(_judgements(sets))
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
            Section("The short answer", short_answer(sets, claims)),
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


def _claims(sets: Mapping[str, Results], claims: Mapping[str, Sequence[Claim]]) -> list[Block]:
    scales = in_order({scale for results in sets.values() for scale in results.distinct("observation_scale")})
    horizon = max(max(results.where(**PROTOCOL).distinct("horizon"), default=0) for results in sets.values())
    every = [claim for some in claims.values() for claim in some]
    own = sum(ORIGINS[OWN] in claim.by_set for claim in every) if len(sets) > 1 else None
    intro = fragment(
        "scales.html.jinja",
        own=own,
        others=any(len(claim.by_set) > 1 for claim in every),
        of=len(every),
        least=MIN_SEEDS,
        scales=[(scale, SCALES[scale]) for scale in scales],
        horizon=horizon,
        charts=[
            {
                "title": WELFARE_NAMES[welfare].capitalize(),
                "alt": f"Gini at T = {horizon:,} under {WELFARE_NAMES[welfare]}, by observation scale: perfect recall "
                f"beside {memory_label(FADING)}. The numbers are in the section “Every run”.",
                "runs": chart_of_runs("scale", welfare, scales[0], horizon),
            }
            for welfare in WELFARES
        ]
        if len(scales) > 1 and horizon
        else [],
    )
    return [intro, claims_html(claims)]


def _judgements(sets: Mapping[str, Results]) -> dict[str, list[Judgement]]:
    """The claims judged by each set of runs, and by those that follow another protocol than the paper's."""
    judged = {ORIGINS[origin]: judge(results) for origin, results in sets.items()}
    main = next(iter(sets.values()))
    protocols = sorted({tuple(row.items()) for row in main.table.select(list(_JUDGED_ANEW)).to_pylist()})
    for changes in map(dict, protocols):
        if changes != {name: PROTOCOL[name] for name in _JUDGED_ANEW}:
            judged[variant(Settings(**changes))] = judge(main.where(**changes), **changes)
    return judged


def _every_run(sets: Mapping[str, Results], panels: Sequence[Mapping[str, Any]]) -> list[Block]:
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
        fragment("chooser.html.jinja", choices=choices, start={**mine[0], "metric": "gini"}, own=len(sets) > 1),
    ]


def _examples() -> list[Block]:
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


def _how(sets: Mapping[str, Results]) -> list[Block]:
    """Versions, hardware, dates and commands, as they were written beside the runs."""
    ran = [
        _ran(ORIGINS[origin], results.where(command=command))
        for origin, results in sets.items()
        for command in results.distinct("command")
    ]
    ran.sort(key=lambda one: (one["origin"], -one["runs"]))
    totals = {name: sum(one[name] for one in ran) for name in ("runs", "steps", "hours")}
    return [fragment("how.html.jinja", ran=ran, named=len(sets) > 1, **totals)]


def _ran(origin: str, runs: Results) -> dict[str, Any]:
    software = [json.loads(said) for said in runs.distinct("software")]
    return {
        "origin": origin,
        "kinds": [f"memory seen {SCALES[scale]}, {how}" for scale, how in kinds(runs)],
        "command": runs["command"][0],
        "runs": len(runs),
        "steps": sum(runs["total_steps"].tolist()),
        "hours": sum(runs["seconds"].tolist()) / 3600,
        "finished": max(runs["finished"]).astype("datetime64[m]").item(),
        "hardware": runs.distinct("hardware"),
        "software": [", ".join(f"{name} {version}" for name, version in one.items()) for one in software],
        "bygones": runs.distinct("bygones"),
    }
