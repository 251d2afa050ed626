"""Runs in a form that is small enough to embed in a page: every final value, and thinned curves.

Runs of the same kind form a *panel*: the same origin, differences from the paper's protocol, observation scale, welfare
and aggregation. A panel has a cell for every memory and horizon, and a cell has one run per seed. Numbers are encoded
in base64: final values as float32, curves as whole numbers from 0 to 65534 between the smallest and the largest value
of the cell, or 65535 for a missing value. `templates/runs.js` decodes them.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bygones._arrays import Json
from bygones.learn.settings import Settings
from bygones.paper.grid import SCALES, in_order, memory_label, paper_weight
from bygones.paper.optimum import episode_gini, for_settings
from bygones.paper.results import Results
from bygones.paper.untrained import RULES
from bygones.report.paper.rule_lines import RULE_LOOK, rule_values
from bygones.report.style import MEMORY_LOOK, PALETTE

AS_THE_PAPER = "as in the paper"
RUN_BYTES = 2_300_000
"""The space for runs in a page of 8 MB, before base64 encoding; with more runs, each curve has fewer points."""
UNKNOWN = 65535


class Metric(NamedTuple):
    """A metric of runs, as the page shows it."""

    name: str
    label: str
    reference: str
    """The name of the best value for comparison; empty if there is none."""
    better: str
    """Which way is better."""
    has_curve: bool


METRICS = (
    Metric("gini", "Gini coefficient", "best stationary policy", "lower is fairer", True),
    Metric("welfare", "fairness score", "best possible", "higher is better", True),
    Metric("share", "share of the best possible welfare", "best possible", "higher is better", False),
    Metric("utility_per_step", "utility per step, all agents", "best possible", "higher is better", True),
    Metric("utility_least", "utility per step, worst-off agent", "best possible", "higher is better", False),
    Metric("utility_most", "utility per step, best-off agent", "", "", False),
)
CURVES = tuple(metric.name for metric in METRICS if metric.has_curve)

_PANEL = ("observation_scale", "welfare", "aggregation")
_CELL = ("gamma", "horizon")
_NO_VARIANT = {*_PANEL, *_CELL, "seed", "weight"}


def packed(sets: Mapping[str, Results], run_bytes: int = RUN_BYTES) -> Json:
    """The runs as plain values for the page.

    Args:
        sets: results by origin; runs that stopped early are left out.
        run_bytes: the space for final values and curves.
    """
    finished = {origin: Results(results.finished().table.sort_by("seed")) for origin, results in sets.items()}
    kept = {origin: results for origin, results in finished.items() if len(results)}
    n_runs = sum(map(len, kept.values()))
    points = max(5, (run_bytes // max(1, n_runs) - 4 * len(METRICS)) // (2 * len(CURVES)))
    panels: list[Json] = []
    finals: dict[str, list[np.ndarray]] = defaultdict(list)
    curves: dict[str, list[np.ndarray]] = defaultdict(list)
    steps: dict[tuple[int, ...], int] = {}  # each distinct list, with its position
    first = offset = 0
    for origin, results in kept.items():
        for panel, cells in _panels(results).items():
            described: list[Json] = []
            for settings, runs in cells:
                for metric in METRICS:
                    finals[metric.name].append(_final(metric.name, runs, settings))
                at, ranges = None, {}
                for name in CURVES:
                    at, values = _thinner(*runs.curves(name), points)
                    whole, ranges[name] = _whole_numbers(values)
                    curves[name].append(whole)
                assert at is not None
                which = steps.setdefault(tuple(at.tolist()), len(steps))
                described.append({
                    "gamma": settings.gamma, "horizon": settings.horizon, "seeds": runs["seed"].tolist(),
                    "first": first, "offset": offset, "steps": which, "ranges": ranges,
                })  # fmt: skip
                first += len(runs)
                offset += len(runs) * len(at)
            panels.append({
                "origin": origin, **dict(zip(("variant", *_PANEL), panel, strict=True)), "cells": described,
                "references": _references(*_problem([settings for settings, _ in cells])),
            })  # fmt: skip
    return {
        "metrics": [metric._asdict() for metric in METRICS],
        "scales": SCALES,
        "rules": list(RULE_LOOK),
        "memories": _memories(cell["gamma"] for panel in panels for cell in panel["cells"]),
        "panels": panels,
        "steps": list(steps),
        "finals": {name: _base64(parts, "<f4") for name, parts in finals.items()},
        "curves": {name: _base64(parts, "<u2") for name, parts in curves.items()},
    }


def kinds(results: Results) -> list[tuple[str, str]]:
    """The observation scales of the runs, each with the differences from the paper's protocol."""
    return list(dict.fromkeys((scale, how) for how, scale, *_ in _panels(results)))


def variant(settings: Settings) -> str:
    """The differences of a run from the paper's protocol, in words."""
    usual, differences = _usual(), []
    if settings.weight != paper_weight(settings.welfare, settings.aggregation):
        differences.append(f"λ = {settings.weight:g}")
    for name, value in dataclasses.asdict(settings).items():
        if name not in _NO_VARIANT and value != usual[name]:
            differences.append(_VARIANT_WORDS.get(name, "{name} = {value}").format(name=name, value=value))
    return ", ".join(differences) or AS_THE_PAPER


@functools.cache
def _usual() -> Json:
    return dataclasses.asdict(Settings())


_VARIANT_WORDS = {
    "total_steps": "{value:,} steps of training",
    "ends": "episodes that end by {value}",
    "observe_denominator": "dₜ observed",
    "shaping_discount": "shaping discounted by {value:g}",
    "policy": "{value} network",
    "agent_features": "{value} features",
    "fixed_scale": "divided by {value:g}",
}


def _panels(results: Results) -> dict[tuple[str, ...], list[tuple[Settings, Results]]]:
    """The cells of each panel: the settings of one run, and all runs."""
    panels: dict[tuple[str, ...], list[tuple[Settings, Results]]] = defaultdict(list)
    for settings, runs in results.cells():
        panels[(variant(settings), *(getattr(settings, name) for name in _PANEL))].append((settings, runs))
    scales = in_order(results.distinct("observation_scale"))
    order = sorted(panels, key=lambda key: (key[0] != AS_THE_PAPER, key[0], scales.index(key[1]), *key[2:]))
    return {key: sorted(panels[key], key=lambda cell: (cell[0].gamma, cell[0].horizon)) for key in order}


def _final(metric: str, runs: Results, settings: Settings) -> np.ndarray:
    if metric == "share":
        return for_settings(settings).share(runs["final_welfare"])
    return runs[f"final_{metric}"]


def _problem(cells: Sequence[Settings]) -> tuple[Settings, tuple[int, ...]]:
    """The settings that the references depend on, so they are computed once for all observation scales."""
    horizons = tuple(sorted({settings.horizon for settings in cells}))
    sizes = ("welfare", "aggregation", "n_agents", "n_resources", "n_advantaged")
    same = {name: getattr(cells[0], name) for name in sizes}
    return Settings(**same, horizon=horizons[-1], total_steps=horizons[-1]), horizons


@functools.cache
def _references(problem: Settings, horizons: tuple[int, ...]) -> list[Json]:
    """The best possible values at each horizon, and the values of rules with perfect recall, without training."""
    per_step = problem.replace(aggregation="averaged")
    rules = {
        rule: {metric.name: rule_values(rule, problem, horizons, metric.name) for metric in METRICS} for rule in RULES
    }
    references = []
    for at, horizon in enumerate(horizons):
        run = problem.replace(horizon=horizon)
        references.append({
            "horizon": horizon,
            "best": {
                "gini": episode_gini(run),
                "welfare": for_settings(run).bound,
                "share": 1.0,
                "utility_per_step": for_settings(per_step.replace(welfare="utilitarian")).bound,
                "utility_least": for_settings(per_step.replace(welfare="egalitarian")).bound,
            },
            "rules": {rule: {name: values[at] for name, values in of.items()} for rule, of in rules.items()},
        })  # fmt: skip
    return references


def _memories(gammas: Iterable[float]) -> list[Json]:
    """The name and line of each memory; memories that the style does not list take the next colours of the palette."""
    memories = []
    for number, gamma in enumerate(sorted(set(gammas))):
        look = MEMORY_LOOK.get(memory_label(gamma), {"color": PALETTE[number % len(PALETTE)], "linestyle": "-"})
        dash = look["linestyle"]
        memories.append({
            "gamma": gamma,
            "label": memory_label(gamma),
            "color": look["color"],
            "dash": "solid" if dash == "-" else ",".join(f"{2 * length:g}px" for length in dash[1]),
            "width": look.get("linewidth", 1.8),
        })  # fmt: skip
    return memories


def _thinner(steps: np.ndarray, values: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Curves of at most this many points, each the mean of the known values in a stretch."""
    stretches = np.array_split(np.arange(len(steps)), min(points, len(steps)))
    known = np.isfinite(values)
    sums = [np.where(known, values, 0.0)[:, stretch].sum(axis=1) for stretch in stretches]
    counts = [known[:, stretch].sum(axis=1) for stretch in stretches]
    with np.errstate(invalid="ignore"):
        means = np.stack(sums, axis=1) / np.stack(counts, axis=1)
    return steps[[stretch[-1] for stretch in stretches]], means


def _whole_numbers(values: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Values as whole numbers between the smallest and the largest, and these two."""
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    shares = (np.where(known, values, low) - low) / ((high - low) or 1.0)
    return np.where(known, np.rint(shares * (UNKNOWN - 1)), UNKNOWN).astype(np.uint16), (low, high)


def _base64(parts: list[np.ndarray], kind: str) -> str:
    return base64.b64encode(np.concatenate([part.ravel() for part in parts]).astype(kind).tobytes()).decode()
