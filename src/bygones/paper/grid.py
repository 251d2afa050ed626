"""Which runs there are: the paper's grid, a quick slice of it, and any subset.

A grid is every combination of a few lists of values over common settings. A run is known by a stable hash of its
settings, seed included, so that it does not matter where, in what order or in which batch it ran.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from bygones._arrays import check_count, check_one_of
from bygones.envs.problem import Scale
from bygones.learn.settings import Settings

WELFARES = ("egalitarian", "nash")
AGGREGATIONS = ("additive", "averaged")
HORIZONS = (100, 500, 1000, 5000, 10000)
GAMMAS = (0.0, 0.9, 0.99, 0.999, 1.0)
N_SEEDS = 10

WEIGHT = 0.9
AVERAGED_EGALITARIAN_WEIGHT = 0.999
"""The paper's λ for averaged egalitarian runs, where every memory struggled with 0.9."""

PAPER_SCALE = "window"
"""What the observation scale `paper` stands for. The paper does not say how it scales what the agent sees; this is the
scale under which most of its claims hold in the shipped evidence (8 of 13, `docs/claims.md`)."""

MEMORY_LABELS = {0.0: "myopic", 1.0: "perfect recall"}
"""What the paper calls the agents that remember nothing and everything."""


@dataclass(frozen=True)
class Grid:
    """Every combination of the listed values; the defaults are the paper's thousand runs.

    Attributes:
        welfare: welfare functions.
        aggregation: how memories aggregate.
        horizon: steps in an episode.
        gamma: past discounts of the memories.
        seeds: how many seeds, counted from 0.
        weight: λ; by default the paper's choice for each welfare and aggregation.
        common: settings that all runs share besides.
    """

    welfare: Sequence[str] = WELFARES
    aggregation: Sequence[str] = AGGREGATIONS
    horizon: Sequence[int] = HORIZONS
    gamma: Sequence[float] = GAMMAS
    seeds: int = N_SEEDS
    weight: float | None = None
    common: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)
        for name in ("welfare", "aggregation", "horizon", "gamma"):
            values = getattr(self, name)
            if isinstance(values, str) or not values or len(set(values)) != len(values):
                raise ValueError(f"{name} must be a list of different values, at least one, got {values!r}")
        self._run(self.welfare[0], self.aggregation[0], self.horizon[0], self.gamma[0], 0)

    def runs(self) -> list[Settings]:
        """The settings of every run, seeds innermost."""
        combinations = itertools.product(self.welfare, self.aggregation, self.horizon, self.gamma, range(self.seeds))
        return [self._run(*combination) for combination in combinations]

    def _run(self, welfare: str, aggregation: str, horizon: int, gamma: float, seed: int) -> Settings:
        weight = paper_weight(welfare, aggregation) if self.weight is None else self.weight
        varied = {"welfare": welfare, "aggregation": aggregation, "horizon": horizon, "gamma": gamma, "weight": weight}
        return Settings.from_dict({**self.common, **varied, "seed": seed})


SCALES: dict[str, dict[str, Any]] = {
    "quick": {"aggregation": ("additive",), "horizon": (100, 1000, 10000), "seeds": 1},
    "paper": {},
}
"""How each scale differs from the paper's grid; "quick" is full million-step runs, only fewer of them."""


def grid(scale: str = "quick", **changes: Any) -> Grid:
    """The grid of a scale, with changes.

    `welfare`, `aggregation`, `horizon`, `gamma`, `seeds` and `weight` choose another set of combinations; anything
    else is a setting that all runs share: `grid("paper", gamma=(1.0,), observation_scale="window")`. The observation
    scale may also be `"paper"`, which stands for `PAPER_SCALE`.
    """
    check_one_of("scale", scale, tuple(SCALES))
    if changes.get("observation_scale") == "paper":
        changes["observation_scale"] = PAPER_SCALE
    lists = {name: changes.pop(name) for name in tuple(changes) if name in Grid.__dataclass_fields__}
    return Grid(**{**SCALES[scale], "common": changes, **lists})


def setting(said: str) -> tuple[str, Any]:
    """A setting as it is said on a command line: `ends=termination`, `total_steps=10000000`."""
    name, equals, value = said.partition("=")
    if not equals:
        raise ValueError(f"a setting is said as name=value, got {said!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def settings_said(words: Iterable[str]) -> dict[str, Any]:
    """The settings that all runs share, from a command line; those that a grid varies have a flag of their own."""
    said = dict(map(setting, words))
    for name in said:
        if name == "seed":
            raise ValueError("seeds are counted from 0: say how many with --seeds, not a seed with --set")
        if name in Grid.__dataclass_fields__ or name == "observation_scale":
            raise ValueError(f"{name} has a flag of its own: say --{name.replace('_', '-')}, not --set {name}=…")
    return said


def paper_weight(welfare: str, aggregation: str) -> float:
    """The paper's λ: 0.9, and 0.999 for averaged egalitarian runs."""
    return AVERAGED_EGALITARIAN_WEIGHT if (welfare, aggregation) == ("egalitarian", "averaged") else WEIGHT


def in_order(scales: Iterable[str]) -> list[str]:
    """Observation scales in the order in which they are explained, from the memory as it is to one free of scale."""
    return sorted(scales, key=get_args(Scale).index)


def memory_label(gamma: float) -> str:
    """The name of a memory in figures and tables."""
    return MEMORY_LABELS.get(gamma, f"γ = {gamma:g}")


def identity(settings: Settings) -> str:
    """The name of a run: 16 hexadecimal digits that any two runs share only if all their settings are equal."""
    plain = {name: _plain(value) for name, value in settings.to_dict().items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Numbers alike however they were written: 1, 1.0 and numpy's 1.0 are one setting."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | str) else repr(float(value))
