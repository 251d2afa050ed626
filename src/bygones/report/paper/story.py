"""The short answer: what the paper says, a picture of it, and what three memories came to, read from results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bygones import decay
from bygones._arrays import Array
from bygones.learn.settings import Settings
from bygones.paper.claims import CLAIMS, FAIR_SHARE, MYOPIC, RECALL
from bygones.paper.grid import WELFARES, in_order, memory_label, paper_weight
from bygones.paper.judging import FAILS, HOLDS, NOT_ENOUGH, PROTOCOL
from bygones.paper.optimum import for_settings
from bygones.paper.results import Results
from bygones.report.figures.paper_figures import WELFARE_NAMES
from bygones.report.page import Block, Table, fragment
from bygones.report.paper.packing import AS_THE_PAPER, variant
from bygones.report.paper.verdicts import DEPENDS, Claim

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
    how, sets = _protocol_of_the_story(sets)
    told = sets[OWN if OWN in sets else EVIDENCE]
    scale = in_order(told.distinct("observation_scale"))[0]
    rows = [row for origin, results in reversed(list(sets.items())) for row in _rows(origin, results, scale, sets)]
    charts = [
        {
            "title": WELFARE_NAMES[welfare].capitalize(),
            "alt": f"Gini coefficient against the horizon under {WELFARE_NAMES[welfare]}, for three memories. The "
            "table below says what they come to at the longest horizon.",
            "runs": chart_of_runs("horizon", welfare, scale, how=how),
        }
        for welfare in WELFARES
        if any(_ginis(results, welfare, scale) for results in sets.values())
    ]
    horizon = max(told.distinct("horizon"))
    equal = for_settings(Settings(welfare="egalitarian", horizon=horizon, total_steps=horizon))
    picture = fragment(
        "short_answer.html.jinja",
        answer=_answer(told, scale),
        horizon=horizon,
        total=equal.bound,
        memory=memory_label(FADING),
        bound=decay.additive_bound(1.0, FADING),
        charts=charts,
        scale=SCALES[scale],
        variant="" if how == AS_THE_PAPER else how,
        half_life=decay.half_life(gamma=FADING),
    )
    counted = [(len(some), _COUNTED[word][len(some) > 1]) for word, some in claims.items()]
    seen = f"the memory is seen {SCALES[scale]}, unless other scales are named"
    caption = f"Gini at the longest horizon: the mean, and from the least to the largest of several; {seen}"
    return [
        picture,
        *([Table(caption, ["runs", *STORY.values()], rows)] if rows else []),
        fragment("counted.html.jinja", counted=counted, of=len(CLAIMS), overturned=_overturned(claims)),
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


def chart_of_runs(kind: str, welfare: str, scale: str, horizon: int | None = None, how: str = AS_THE_PAPER) -> str:
    """What a chart of additive runs shows, against `horizon` or against `scale`, for the script that draws it."""
    choice = {"variant": how, "observation_scale": scale, "welfare": welfare, "aggregation": "additive"}
    names = {f"{gamma:g}": name for gamma, name in STORY.items() if kind == "horizon" or gamma != MYOPIC}
    return json.dumps({"kind": kind, "choice": choice, "metric": "gini", "names": names, "horizon": horizon})


def _protocol_of_the_story(sets: Mapping[str, Results]) -> tuple[str, dict[str, Results]]:
    """What runs the story is told of, and how they differ from the paper's: not at all, where there are such runs."""
    follow = {origin: results.where(**PROTOCOL) for origin, results in sets.items()}
    if any(map(len, follow.values())):
        return AS_THE_PAPER, {origin: results for origin, results in follow.items() if len(results)}
    origin, results = next(iter(sets.items()))
    first = results.settings()[0]
    return variant(first), {origin: results.where(**{name: first.to_dict()[name] for name in PROTOCOL})}


class Answer(NamedTuple):
    """Who fails at the longest horizon and who does not, the numbers that say so, and what other scales say."""

    verdict: str
    numbers: str
    elsewhere: str


def _answer(results: Results, scale: str) -> Answer | None:
    """The answer of the runs of an observation scale; None where there are too few to give one."""
    means = _means(results, scale)
    if not means:
        return None
    everything, fading = (_how_it_does(gamma, means) for gamma in (RECALL, FADING))
    rest = ", and so does letting the past fade" if fading == everything else f", while letting the past fade {fading}"
    pattern = "{:.2f} with everything remembered, {:.2f} with a fading memory and {:.2f} without any under {}"
    numbers = []
    for welfare, of in means.items():
        numbers.append(pattern.format(of[RECALL], of[FADING], of[MYOPIC], WELFARE_NAMES[welfare]))
        pattern = "{:.2f}, {:.2f} and {:.2f} under {}"
    others = [found for one in SCALES if one != scale and (found := _means(results, one))]
    said = f"Shown to the network {SCALES[scale]}, a memory of everything" if others else "Remembering everything"
    return Answer(
        f"{said} {everything}{rest}.",
        f"In the end the Gini coefficient, 0 being equal, is {'; '.join(numbers)}.",
        _elsewhere({_how_it_does(RECALL, found) for found in others}, everything),
    )


def _means(results: Results, scale: str) -> dict[str, dict[float, float]]:
    """The mean final Gini of each memory at the longest horizon, by welfare function, as far as there are runs."""
    found = {welfare: _ginis(results, welfare, scale) for welfare in WELFARES}
    return {
        welfare: {gamma: float(v.mean()) for gamma, v in ginis.items()} for welfare, ginis in found.items() if ginis
    }


def _how_it_does(gamma: float, means: Mapping[str, Mapping[float, float]]) -> str:
    """A memory fails where its mean Gini is not below `FAIR_SHARE` of the myopic agent's, as in the claims."""
    failed = [WELFARE_NAMES[welfare] for welfare, of in means.items() if of[gamma] >= FAIR_SHARE * of[MYOPIC]]
    if failed and len(failed) < len(means):
        return f"fails under {' and '.join(failed)}"
    return "fails" if failed else "works"


def _elsewhere(others: set[str], here: str) -> str:
    """What a memory of everything comes to at the other observation scales; empty where there are none."""
    if not others:
        return ""
    if others == {here}:
        return f"It {here} on every other scale as well."
    if len(others) > 1:
        return "On other scales it comes out differently."
    (there,) = others
    return f"On every other scale, a memory of everything {there}{' only' if 'under' in there else ''}."


def _rows(origin: str, results: Results, scale: str, sets: Mapping[str, Results]) -> list[list[str]]:
    """For each welfare function what the memories came to: at the scale of the story, and at the others."""
    rows = []
    for welfare in WELFARES:
        name = f"{ORIGINS[origin]}, {WELFARE_NAMES[welfare]}" if len(sets) > 1 else WELFARE_NAMES[welfare]
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
    weight = paper_weight(welfare, "additive")
    runs = results.where(welfare=welfare, aggregation="additive", observation_scale=scale, weight=weight)
    common = set.intersection(*(set(runs.where(gamma=gamma)["horizon"].tolist()) for gamma in STORY))
    return {gamma: runs.where(gamma=gamma, horizon=max(common))["final_gini"] for gamma in STORY} if common else {}


def _with_range(values: Array) -> str:
    mean = f"{values.mean():.2f}"
    return f"{mean} ({_range(values.min(), values.max())})" if len(values) > 1 else mean


def _range(low: float, high: float) -> str:
    return f"{low:.2f}{DASH}{high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{low:.2f}"
