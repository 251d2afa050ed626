"""The short answer: what the paper says, a picture of it, and what three memories came to, read from results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from bygones import decay
from bygones._arrays import Array
from bygones.experiments.claims import CLAIMS, MYOPIC, RECALL
from bygones.experiments.grid import WELFARES, in_order, memory_label, paper_weight
from bygones.experiments.judging import FAILS, HOLDS, NOT_ENOUGH, PROTOCOL
from bygones.experiments.optimum import for_settings
from bygones.experiments.results import Results
from bygones.learn.settings import Settings
from bygones.report.packing import AS_THE_PAPER
from bygones.report.page import Block, Table, fragment
from bygones.report.paper_figures import WELFARE_NAMES
from bygones.report.verdicts import DEPENDS, Claim

EVIDENCE, OWN = "evidence", "own"
ORIGINS = {EVIDENCE: "evidence", OWN: "your runs"}
"""Who made the runs, by the name that the page's scripts know."""

FADING = 0.99
"""The memory that stands for past-discounting where only one is shown; the paper calls it robust (C9)."""

STORY = {MYOPIC: "only today", FADING: f"fading, {memory_label(FADING)}", RECALL: "everything"}
"""What is remembered, in the words of the short answer, by γ."""

SCALES = {
    "none": "as it is",
    "fixed": "divided by one constant",
    "window": "divided by the largest value it can reach",
    "expected": "divided by the value to expect of it",
    "relative": "relative to its mean",
}
"""How the network sees the memory, in words, by observation scale."""

DASH = "\u2060–\u2060"
"""From one number to another, kept together on a line."""

_COUNTED = {
    HOLDS: ("stands", "stand"),
    DEPENDS: ("depends on how the network sees the memory", "depend on how the network sees the memory"),
    FAILS: ("does not stand", "do not stand"),
    NOT_ENOUGH: ("is open", "are open"),
}
"""What is said of one claim with a verdict, and of several."""


def short_answer(sets: Mapping[str, Results], claims: Mapping[str, Sequence[Claim]]) -> list[Block]:
    """The blocks of the page's first section, from results by who made them and claims by verdict."""
    scale = _scale_of_the_story(sets[OWN if OWN in sets else EVIDENCE])
    rows = [row for origin, results in reversed(list(sets.items())) for row in _rows(origin, results, scale, sets)]
    charts = [
        {
            "title": WELFARE_NAMES[welfare].capitalize(),
            "alt": f"Gini coefficient against the horizon under {WELFARE_NAMES[welfare]}, for three memories. The "
            "table below says what they come to at the longest horizon.",
            "runs": chart_of_runs("horizon", welfare, scale),
        }
        for welfare in WELFARES
        if any(_ginis(results, welfare, scale) for results in sets.values())
    ]
    picture = fragment(
        "short_answer.html.jinja", charts=charts, scale=SCALES[scale], half_life=decay.half_life(gamma=FADING)
    )
    counted = [(len(some), _COUNTED[word][len(some) > 1]) for word, some in claims.items()]
    caption = f"Gini in the end, at the longest horizon; seen {SCALES[scale]}, unless other scales are named"
    horizons = [horizon for results in sets.values() for horizon in results.where(**PROTOCOL).distinct("horizon")]
    longest = Settings(welfare="egalitarian", horizon=max(horizons), total_steps=max(horizons)) if rows else None
    return [
        picture,
        *([Table(caption, ["runs", *STORY.values()], rows)] if rows else []),
        fragment(
            "counted.html.jinja",
            horizon=longest and longest.horizon,
            total=longest and for_settings(longest).bound,
            memory=memory_label(FADING),
            bound=decay.additive_bound(1.0, FADING),
            counted=counted,
            of=len(CLAIMS),
            overturned=_overturned(claims),
        ),
    ]


def _overturned(claims: Mapping[str, Sequence[Claim]]) -> list[tuple[int, str]]:
    """How many of the claims that stand fail in other sets of runs, by what is different there."""
    others = [
        name
        for claim in claims.get(HOLDS, ())
        for name, judged in list(claim.by_set.items())[1:]
        if any(one.chip.word == FAILS for one in judged)
    ]
    return [(number, f"{'fails' if number == 1 else 'fail'} where {name}") for name, number in Counter(others).items()]


def chart_of_runs(kind: str, welfare: str, scale: str, horizon: int | None = None) -> str:
    """What a chart of additive runs shows, against `horizon` or against `scale`, for the script that draws it."""
    choice = {"variant": AS_THE_PAPER, "observation_scale": scale, "welfare": welfare, "aggregation": "additive"}
    names = {f"{gamma:g}": name for gamma, name in STORY.items() if kind == "horizon" or gamma != MYOPIC}
    return json.dumps({"kind": kind, "choice": choice, "metric": "gini", "names": names, "horizon": horizon})


def _scale_of_the_story(results: Results) -> str:
    """The observation scale at which the story is told: the memory as it is, where there are such runs."""
    follow = results.where(**PROTOCOL)
    return in_order((follow if len(follow) else results).distinct("observation_scale"))[0]


def _rows(origin: str, results: Results, scale: str, sets: Mapping[str, Results]) -> list[list[str]]:
    """For each welfare function what the memories came to: at the scale of the story, and at the others."""
    rows = []
    for welfare in WELFARES:
        name = f"{ORIGINS[origin]}, {welfare}" if len(sets) > 1 else welfare
        ginis = _ginis(results, welfare, scale)
        if ginis:
            rows.append([name, *map(_with_range, ginis.values())])
        others = [found for one in SCALES if one != scale and (found := _ginis(results, welfare, one))]
        if others:
            means = [sorted(float(found[gamma].mean()) for found in others) for gamma in STORY]
            between = [_range(low, high) for low, *_, high in ([some[0], *some] for some in means)]
            rows.append([f"{name}, means at other scales", *between])
    return rows


def _ginis(results: Results, welfare: str, scale: str) -> dict[float, Array]:
    """The final Ginis of the three memories at the longest horizon that all of them have; empty if there is none."""
    runs = results.where(
        **PROTOCOL,
        welfare=welfare,
        aggregation="additive",
        observation_scale=scale,
        weight=paper_weight(welfare, "additive"),
    )
    common = set.intersection(*(set(runs.where(gamma=gamma)["horizon"].tolist()) for gamma in STORY))
    return {gamma: runs.where(gamma=gamma, horizon=max(common))["final_gini"] for gamma in STORY} if common else {}


def _with_range(values: Array) -> str:
    mean = f"{values.mean():.2f}"
    return f"{mean} ({_range(values.min(), values.max())})" if len(values) > 1 else mean


def _range(low: float, high: float) -> str:
    return f"{low:.2f}{DASH}{high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{low:.2f}"
