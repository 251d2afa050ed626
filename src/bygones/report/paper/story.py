"""The short answer of the report: the paper's point, two charts, and how three memories did in the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from bygones import decay
from bygones._arrays import Floats
from bygones.document.document import Table
from bygones.learn.settings import Settings
from bygones.paper.cells import MIN_SEEDS, NotEnoughRunsError, PerSeed, per_seed
from bygones.paper.claims import FAIR_SHARE, MYOPIC, RECALL
from bygones.paper.grid import SCALES, WELFARE_NAMES, WELFARES, in_order, memory_label, paper_weight
from bygones.paper.judgements import PREDICATES, count_claims
from bygones.paper.judging import FAILS, HOLDS, PROTOCOL, difference_within, outcome
from bygones.paper.optimum import for_settings
from bygones.paper.results import Results
from bygones.report.page import Block, fragment
from bygones.report.paper.packing import AS_THE_PAPER, variant
from bygones.report.paper.verdicts import JudgedClaim
from bygones.report.style import PALETTE

EVIDENCE, OWN = "evidence", "own"
ORIGINS = {EVIDENCE: "evidence", OWN: "your runs"}
"""The origins of runs: the key that the page's scripts use, and the name that the page shows."""

FADING = 0.99
"""The memory that represents past-discounting where only one is shown; the paper calls it robust (C9)."""

STORY = {MYOPIC: "myopic", FADING: f"past-discounted, {memory_label(FADING)}", RECALL: "perfect recall"}
"""The three memories of the short answer, by γ."""

DASH = "\u2060–\u2060"
"""A dash between two numbers that keeps them on one line."""

_SHARED = {
    "symmetric": {
        "variant": variant(Settings(policy="symmetric")),
        "gamma": RECALL,
        "label": "perfect recall, shared network",
        "color": PALETTE[2],
    }
}
"""A line in addition to the three memories: perfect recall with a network that is shared across agents."""


def short_answer(sets: Mapping[str, Results], claims: Mapping[str, Sequence[JudgedClaim]]) -> list[Block]:
    """The blocks of the first section, from results by origin and claims by verdict."""
    # The runs of the network that is shared across agents, which otherwise follow the paper's protocol.
    symmetric = next(iter(sets.values())).where(**{**PROTOCOL, "policy": "symmetric"})
    how, sets = _protocol_of_the_story(sets)
    main = sets[OWN if OWN in sets else EVIDENCE]
    scale = in_order(main.distinct("observation_scale"))[0]
    rows = [row for origin, results in reversed(list(sets.items())) for row in _rows(origin, results, scale, sets)]
    charts = [
        {
            "title": WELFARE_NAMES[welfare].capitalize(),
            "alt": f"Gini coefficient against the horizon under {WELFARE_NAMES[welfare]}, for three memories. The "
            "table below gives the values at the longest horizon.",
            "runs": chart_of_runs("horizon", welfare, scale, how=how, extra=_SHARED if how == AS_THE_PAPER else {}),
        }
        for welfare in WELFARES
        if any(_ginis(results, welfare, scale) for results in sets.values())
    ]
    horizon = max(main.distinct("horizon"))
    equal = for_settings(Settings(welfare="egalitarian", horizon=horizon, total_steps=horizon))
    counted = [(len(some), PREDICATES[word][len(some) > 1]) for word, some in claims.items()]
    summary = fragment(
        "paper/templates/short_answer.html.jinja",
        answer=_answer(main, scale),
        shared=_shared_network(symmetric, scale),
        counted=counted,
        of=count_claims([claim.name for some in claims.values() for claim in some]),
        overturned=_overturned(claims),
        horizon=horizon,
        total=equal.bound,
        memory=memory_label(FADING),
        bound=decay.additive_bound(1.0, FADING),
        charts=charts,
        scale_words=SCALES[scale],
        variant="" if how == AS_THE_PAPER else how,
        half_life=decay.half_life(gamma=FADING),
    )
    caption = f"Gini at the longest horizon, mean (range); {SCALES[scale]}, unless others are named"
    return [summary, *([Table(caption, ["runs", *STORY.values()], rows)] if rows else [])]


def _overturned(claims: Mapping[str, Sequence[JudgedClaim]]) -> list[tuple[int, str]]:
    """How many of the claims that hold fail in other sets of runs, by the difference of those."""
    others = [
        name
        for claim in claims.get(HOLDS, ())
        for name, judged in list(claim.by_set.items())[1:]
        if any(chip.word == FAILS for one in judged for chip in one.chips)
    ]
    return [
        (number, f"{'fails' if number == 1 else 'fail'} for runs with {name}")
        for name, number in Counter(others).items()
    ]


def chart_of_runs(
    kind: str,
    welfare: str,
    scale: str,
    horizon: int | None = None,
    how: str = AS_THE_PAPER,
    extra: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> str:
    """The description of a chart of additive runs, against `horizon` or `scale`, for the script that draws it.

    `extra` are lines from runs that differ from the others, each with its variant, γ, label and colour.
    """
    choice = {"variant": how, "observation_scale": scale, "welfare": welfare, "aggregation": "additive"}
    names = {f"{gamma:g}": name for gamma, name in STORY.items() if kind == "horizon" or gamma != MYOPIC}
    chart = {"kind": kind, "choice": choice, "metric": "gini", "names": names, "horizon": horizon}
    return json.dumps({**chart, "extra": dict(extra)})


def _shared_network(runs: Results, scale: str) -> str:
    """The Gini of perfect recall with the shared network, in a sentence; empty without runs."""
    recall = runs.where(gamma=RECALL, aggregation="additive", observation_scale=scale)
    if not len(recall):
        return ""
    longest = recall.where(horizon=max(recall.distinct("horizon")))
    ginis = [
        f"{longest.where(welfare=welfare)['final_gini'].mean():.2f} under {WELFARE_NAMES[welfare]}"
        for welfare in WELFARES
        if welfare in longest.distinct("welfare")
    ]
    return (
        "With a network that is shared across agents and sees the memory on a logarithmic scale, the Gini coefficient "
        f"with perfect recall is {' and '.join(ginis)}."
    )


def _protocol_of_the_story(sets: Mapping[str, Results]) -> tuple[str, dict[str, Results]]:
    """The runs of the short answer and their differences from the paper's protocol: none, if there are such runs."""
    follow = {origin: results.where(**PROTOCOL) for origin, results in sets.items()}
    if any(map(len, follow.values())):
        return AS_THE_PAPER, {origin: results for origin, results in follow.items() if len(results)}
    origin, results = next(iter(sets.items()))
    first = results.settings()[0]
    return variant(first), {origin: results.where(**{name: first.to_dict()[name] for name in PROTOCOL})}


class Answer(NamedTuple):
    """Which memories fail at the longest horizon, and what happens under other scales."""

    verdict: str
    elsewhere: str


def _answer(results: Results, scale: str) -> Answer | None:
    """The answer from the runs of one observation scale; None if a memory has no runs."""
    cells = _cells(results, scale)
    if not cells:
        return None
    try:
        everything, fading = (_how_it_does(gamma, cells) for gamma in (RECALL, FADING))
    except NotEnoughRunsError:
        return Answer(f"These runs are too few for a verdict, which needs {MIN_SEEDS} seeds per cell.", "")
    rest = (
        f", and so does {memory_label(FADING)}" if fading == everything else f", while {memory_label(FADING)} {fading}"
    )
    elsewhere = []
    for other in SCALES:
        with suppress(NotEnoughRunsError):
            elsewhere += (
                [_how_it_does(RECALL, of_other)] if other != scale and (of_other := _cells(results, other)) else []
            )
    where = f", with the {SCALES[scale]}" if elsewhere else ""
    return Answer(
        f"At the longest horizon{where}, perfect recall {everything}{rest}.",
        _elsewhere(set(elsewhere), everything),
    )


def _cells(results: Results, scale: str) -> dict[str, dict[float, PerSeed]]:
    """The final Gini of each seed and memory at the longest horizon, for each welfare function with runs."""
    runs = {welfare: _runs(results, welfare, scale) for welfare in WELFARES}
    return {
        welfare: {gamma: per_seed(of_memory, "final_gini") for gamma, of_memory in by_memory.items()}
        for welfare, by_memory in runs.items()
        if by_memory
    }


_OUTCOMES = {True: "works", False: "fails", None: "is open"}


def _how_it_does(gamma: float, cells: Mapping[str, Mapping[float, PerSeed]]) -> str:
    """How a memory does, judged like a claim: it works if its Gini is below `FAIR_SHARE` of the myopic agent's.

    Raises:
        NotEnoughRunsError: a cell has fewer seeds than a verdict needs.
    """
    words: dict[str, list[str]] = {}
    for welfare, ginis in cells.items():
        bar = FAIR_SHARE * ginis[MYOPIC]
        comparison = difference_within(f"Gini, {welfare}", ginis[gamma], bar, high=0.0)
        words.setdefault(_OUTCOMES[outcome(comparison)], []).append(WELFARE_NAMES[welfare])
    if len(words) == 1:
        return next(iter(words))
    return " and ".join(f"{word} under {' and '.join(names)}" for word, names in words.items() if word != "works")


def _elsewhere(others: set[str], here: str) -> str:
    """How perfect recall does under the other observation scales; empty if there are none."""
    if not others:
        return ""
    if others == {here}:
        return f"Perfect recall {here} under every other scale below."
    if len(others) > 1:
        return "Under the other scales below, the result for perfect recall varies."
    (there,) = others
    return f"Under every other scale below, perfect recall {there}{' only' if 'under' in there else ''}."


def _rows(origin: str, results: Results, scale: str, sets: Mapping[str, Results]) -> list[list[str]]:
    """The results of the memories for each welfare function: under the main scale, and under the others."""
    rows = []
    for welfare in WELFARES:
        name = f"{ORIGINS[origin]}, {WELFARE_NAMES[welfare]}" if len(sets) > 1 else WELFARE_NAMES[welfare]
        ginis = _ginis(results, welfare, scale)
        if ginis:
            rows.append([name, *map(_with_range, ginis.values())])
        others = [of_scale for other in SCALES if other != scale and (of_scale := _ginis(results, welfare, other))]
        if others:
            means = [sorted(float(of_scale[gamma].mean()) for of_scale in others) for gamma in STORY]
            between = [_range(low, high) for low, *_, high in ([some[0], *some] for some in means)]
            rows.append([f"{name}, means where the memory is scaled otherwise", *between])
    return rows


def _ginis(results: Results, welfare: str, scale: str) -> dict[float, Floats]:
    """The final Ginis of the three memories at the longest horizon that all have in common; empty if there is none."""
    return {gamma: runs["final_gini"] for gamma, runs in _runs(results, welfare, scale).items()}


def _runs(results: Results, welfare: str, scale: str) -> dict[float, Results]:
    """The runs of the three memories at the longest horizon that all have in common; empty if there is none."""
    weight = paper_weight(welfare, "additive")
    runs = results.where(welfare=welfare, aggregation="additive", observation_scale=scale, weight=weight)
    common = set.intersection(*(set(runs.where(gamma=gamma)["horizon"].tolist()) for gamma in STORY))
    return {gamma: runs.where(gamma=gamma, horizon=max(common)) for gamma in STORY} if common else {}


def _with_range(values: Floats) -> str:
    mean = f"{values.mean():.2f}"
    return f"{mean} ({_range(values.min(), values.max())})" if len(values) > 1 else mean


def _range(low: float, high: float) -> str:
    return f"{low:.2f}{DASH}{high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{low:.2f}"
