"""The report: the paper's experiment as one page, made from existing results.

The page begins with Alice and Bob and an adjustable half-life. It then shows whether learning is worth it, the claims
with their verdicts, figures in which every run is a dot, and how the runs were made. All its statements about results
are computed from the results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bygones import __version__
from bygones._arrays import Json
from bygones._text import counted
from bygones.document.document import Section
from bygones.learn.settings import Settings
from bygones.paper.cells import MIN_SEEDS
from bygones.paper.claims import Judgement, judge
from bygones.paper.examples import EXAMPLES
from bygones.paper.grid import AGGREGATIONS, SCALES, WELFARE_NAMES, WELFARES, in_order, memory_label
from bygones.paper.judging import PROTOCOL
from bygones.paper.results import Results, read
from bygones.report.page import Block, Page, asset, fragment, write
from bygones.report.paper.packing import AS_THE_PAPER, METRICS, kinds, packed, variant
from bygones.report.paper.story import EVIDENCE, FADING, ORIGINS, OWN, chart_of_runs, short_answer
from bygones.report.paper.verdicts import JudgedClaim, beyond, claims_html, grouped, sentences_html
from bygones.report.paper.without_training import without_training
from bygones.report.paper.worth_of_policies import tables_of_networks, tables_of_worth

HALF_LIVES: tuple[float | None, ...] = (
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 69.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, None,
)  # fmt: skip
"""The positions of the slider, from a memory that fades at once (0) to one that never fades (None)."""
EXAMPLE_STEPS = 50

_JUDGED_SEPARATELY = ("ends", "observe_denominator", "shaping_discount")
"""Settings for which claims are judged separately, if there are runs that differ in them."""


def write_report(path: Path | str, own: Results | None = None, evidence: Results | None = None) -> Path:
    """Writes the report to a file and returns its path.

    Args:
        path: the file.
        own: the reader's own runs, drawn next to the evidence if there is any.
        evidence: the runs from which claims are judged; if None, the reader's own runs are used.
    """
    return write(report_page(own, evidence), path)


def read_evidence(folder: Path) -> Results | None:
    """All sets of results in a folder, or None if the folder does not exist."""
    return read(*sorted(folder.iterdir())) if folder.is_dir() else None


def report_page(own: Results | None = None, evidence: Results | None = None) -> Page:
    """The report as a page."""
    sets = {origin: results for origin, results in ((EVIDENCE, evidence), (OWN, own)) if results is not None}
    sets = {origin: results for origin, results in sets.items() if len(results)}
    if not sets:
        raise ValueError(
            "a report needs at least one run: name a folder of results, or use a checkout that has evidence/grid"
        )
    judgements = _judgements(sets)
    claims = grouped(judgements)
    data = packed(sets)
    n_runs = sum(map(len, sets.values()))
    finished = _finished(next(iter(sets.values())))
    return Page(
        title="How much past does fairness need?",
        lede=lede(n_runs),
        kicker="bygones · a reproduction of the paper’s experiment",
        sections=[
            Section("Alice and Bob", _examples(), "examples"),
            Section("The short answer", short_answer(sets, claims)),
            Section("Is learning worth it?", without_training(sets)),
            Section("The claims, one by one", _claims(sets, claims)),
            Section("Beyond the paper", _beyond(judgements, next(iter(sets.values())))),
            *([Section("What a policy is worth", finished)] if finished else []),
            Section("Every run", _every_run(sets, data["panels"])),
            Section("How the runs were made", _how(sets), "how"),
        ],
        footer=f"Made by bygones {__version__}. This page is a single file and works without a network.",
        data={"runs": data, "examples": _examples_data()},
        scripts=[asset(f"paper/templates/{name}.js") for name in ("runs", "chooser", "examples")],
        styles=[asset("paper/templates/paper.css")],
        plotly=True,
    )


def lede(n_runs: int) -> str:
    """The first sentences of the page."""
    return (
        "An allocator serves two of ten agents at every step. If it considers only that step, the same agents win "
        "every time. If it remembers everything, it may fail to learn. The paper’s answer is to let the past fade. "
        f"This page shows the results of {counted(n_runs, 'training run')}."
    )


def _claims(sets: Mapping[str, Results], claims: Mapping[str, Sequence[JudgedClaim]]) -> list[Block]:
    scales = in_order({scale for results in sets.values() for scale in results.distinct("observation_scale")})
    horizon = max(max(results.where(**PROTOCOL).distinct("horizon"), default=0) for results in sets.values())
    every = [claim for some in claims.values() for claim in some]
    own = sum(ORIGINS[OWN] in claim.by_set for claim in every) if len(sets) > 1 else None
    intro = fragment(
        "paper/templates/scales.html.jinja",
        own=own,
        others=any(len(claim.by_set) > 1 for claim in every),
        of=len(every),
        least=MIN_SEEDS,
        scales=[SCALES[scale] for scale in scales],
        horizon=horizon,
        charts=[
            {
                "title": WELFARE_NAMES[welfare].capitalize(),
                "alt": f"Gini at T = {horizon:,} under {WELFARE_NAMES[welfare]}, by what the network sees, for perfect "
                f"recall and {memory_label(FADING)}. The numbers are in the section “Every run”.",
                "runs": chart_of_runs("scale", welfare, scales[0], horizon),
            }
            for welfare in WELFARES
        ]
        if len(scales) > 1 and horizon
        else [],
    )
    return [intro, sentences_html(claims), claims_html(claims)]


def _beyond(judgements: Mapping[str, Sequence[Judgement]], main: Results) -> list[Block]:
    intro = (
        "These statements are ours, not the paper’s. Their criteria were written before their runs were made, and they "
        "are judged in the same way."
    )
    return [intro, claims_html({"": beyond(judgements)}), *tables_of_networks(main)]


def _finished(main: Results) -> list[Block]:
    """Tables of trained policies; empty if none was evaluated."""
    tables = tables_of_worth(main)
    intro = (
        "The paper measures a policy in the last tenth of its training, while it still learns and samples its actions. "
        "A finished policy can go on sampling, or be greedy and always take the likeliest action. Each cell "
        "has the three values in that order. The last rows are rules that need no training, and the best possible."
    )
    return [intro, *tables] if tables else []


def _judgements(sets: Mapping[str, Results]) -> Mapping[str, Sequence[Judgement]]:
    """The claims judged from each set of runs, and from the runs that follow another protocol than the paper's."""
    judged = {ORIGINS[origin]: judge(results) for origin, results in sets.items()}
    main = next(iter(sets.values()))
    protocols = sorted({tuple(row.items()) for row in main.table.select(list(_JUDGED_SEPARATELY)).to_pylist()})
    for changes in map(dict, protocols):
        if changes != {name: PROTOCOL[name] for name in _JUDGED_SEPARATELY}:
            judged[variant(Settings(**changes))] = judge(main.where(**changes), **changes)
    return judged


def _every_run(sets: Mapping[str, Results], panels: Sequence[Json]) -> list[Block]:
    def there(name: str, order: Sequence[str] = ()) -> list[str]:
        values = dict.fromkeys(panel[name] for panel in panels)
        return [*(value for value in order if value in values), *(value for value in values if value not in order)]

    scales = in_order(there("observation_scale"))
    choices = [
        ("welfare", "Welfare", [(name, WELFARE_NAMES.get(name, name)) for name in there("welfare", WELFARES)]),
        ("aggregation", "Utilities", [(name, name) for name in there("aggregation", AGGREGATIONS)]),
        ("observation_scale", "What the network sees", [(name, SCALES[name]) for name in scales]),
        ("metric", "Metric", [(metric.name, metric.label) for metric in METRICS]),
        ("variant", "Runs", [(name, name) for name in there("variant", [AS_THE_PAPER])]),
    ]
    first = panels[-1] if OWN in sets else panels[0]
    mine = [panel for panel in panels if panel["origin"] == first["origin"]]
    return [
        "Choose which runs to show. A mean hides that some seeds learn and others do not, so every run is drawn.",
        fragment(
            "paper/templates/chooser.html.jinja",
            choices=choices,
            start={**mine[0], "metric": "gini"},
            own=len(sets) > 1,
        ),
    ]


def _examples() -> list[Block]:
    names = [("example-1", "1: both join at the start"), ("example-2", "2: Bob joins after ten steps")]
    return [
        "At every step there is one cake and one donut. The donut is worth 0.5 to both Alice and Bob. The cake is "
        "worth 0.2 to Alice and 0.3 to Bob. Each allocation gives as much as possible to the agent with the smaller "
        "memory. Move the half-life and see who gets what: the longer the memory, the longer Alice waits.",
        fragment(
            "paper/templates/examples.html.jinja",
            names=names,
            last=len(HALF_LIVES) - 1,
            start=HALF_LIVES.index(7.0),
        ),
    ]


def _examples_data() -> Json:
    plain = {
        name: {"agents": example.agents, "items": example.items, "utilities": example.utilities, "joins": example.joins}
        for name, example in EXAMPLES.items()
    }
    return {"examples": plain, "halfLives": HALF_LIVES, "steps": EXAMPLE_STEPS}


def _how(sets: Mapping[str, Results]) -> list[Block]:
    """Versions, hardware, dates and commands, as stored with the runs."""
    ran = [
        _ran(ORIGINS[origin], results.where(command=command))
        for origin, results in sets.items()
        for command in results.distinct("command")
    ]
    ran.sort(key=lambda row: (row["origin"], -row["runs"]))
    totals = {name: sum(row[name] for row in ran) for name in ("runs", "steps", "hours")}
    return [fragment("paper/templates/how.html.jinja", ran=ran, named=len(sets) > 1, **totals)]


def _ran(origin: str, runs: Results) -> Json:
    software = [json.loads(text) for text in runs.distinct("software")]
    return {
        "origin": origin,
        "kinds": [f"{SCALES[scale]}, {how}" for scale, how in kinds(runs)],
        "command": runs["command"][0],
        "runs": len(runs),
        "steps": sum(runs["total_steps"].tolist()),
        "hours": sum(runs["seconds"].tolist()) / 3600,
        "finished": max(runs["finished"]).astype("datetime64[m]").item(),
        "hardware": runs.distinct("hardware"),
        "software": [", ".join(f"{name} {version}" for name, version in one.items()) for one in software],
        "bygones": runs.distinct("bygones"),
        "commits": sorted(set(runs.table.column("commit").drop_null().to_pylist())),
    }
