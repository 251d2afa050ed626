"""The runs of an experiment: the paper's grid, a quick slice of it, or any subset.

A grid is every combination of a few lists of values over common settings. A run is identified by a stable hash of its
settings, seed included, so it does not matter where, in what order or in which batch it was trained.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from bygones._arrays import Json, check_count, check_one_of
from bygones.envs.problem import Scale
from bygones.learn.descriptions import Run
from bygones.learn.settings import Settings, later_defaults
from bygones.welfare import parse_welfare

WELFARES = ("egalitarian", "nash")
WELFARE_NAMES = {"egalitarian": "egalitarian welfare", "nash": "Nash welfare"}
AGGREGATIONS = ("additive", "averaged")
HORIZONS = (100, 500, 1000, 5000, 10000)
GAMMAS = (0.0, 0.9, 0.99, 0.999, 1.0)
N_SEEDS = 10

WEIGHT = 0.9
AVERAGED_EGALITARIAN_WEIGHT = 0.999
"""The paper's λ for averaged egalitarian runs, where every memory struggled with 0.9."""

MEMORY_LABELS = {0.0: "myopic", 1.0: "perfect recall"}
"""The paper's names for the agents that remember nothing and everything."""


SCALES = {
    "none": "unscaled memory",
    "fixed": "memory divided by a constant",
    "window": "memory divided by its largest possible value",
    "expected": "memory divided by its expected value",
    "relative": "memory relative to its mean",
    "running": "memory normalised by its mean and variance so far",
}
"""The memory as the network sees it under each observation scale, in plain words (docs/decisions.md, row 6)."""


@dataclass(frozen=True)
class Grid:
    """Every combination of the listed values; the defaults are the paper's thousand runs.

    Attributes:
        welfare: welfare functions.
        aggregation: how memories aggregate.
        horizon: steps in an episode.
        gamma: discount factors of the memories.
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
    common: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds, most=10_000)
        if not isinstance(self.welfare, str):
            object.__setattr__(self, "welfare", tuple(str(parse_welfare(each)) for each in self.welfare))
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
        return Run(Settings.from_dict({**self.common, **varied, "seed": seed})).settings


SIZES: dict[str, Json] = {
    "quick": {"aggregation": ("additive",), "horizon": (100, 1000, 10000), "seeds": 1},
    "paper": {},
}
"""How each size differs from the paper's grid. The runs of "quick" are as long as the paper's; there are fewer."""


def grid(size: str = "quick", **changes: Any) -> Grid:
    """The grid of a size, with changes.

    `welfare`, `aggregation`, `horizon`, `gamma`, `seeds` and `weight` choose another set of combinations; anything
    else is a setting that all runs share: `grid("paper", gamma=(1.0,), observation_scale="window")`.
    """
    check_one_of("size", size, tuple(SIZES))
    lists = {name: changes.pop(name) for name in tuple(changes) if name in Grid.__dataclass_fields__}
    return Grid(**{**SIZES[size], "common": changes, **lists})


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of a setting from a command line, such as `ends=termination` or `total_steps=10000000`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"a setting must be written name=value, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def parse_shared_settings(words: Iterable[str]) -> Json:
    """The settings that all runs share, from a command line. Settings that a grid varies have their own flags."""
    settings = dict(map(parse_setting, words))
    for name in settings:
        if name == "seed":
            raise ValueError("seeds are counted from 0: set their number with --seeds instead of --set seed=…")
        if name in Grid.__dataclass_fields__ or name == "observation_scale":
            raise ValueError(f"{name} has its own flag: use --{name.replace('_', '-')} instead of --set {name}=…")
    return settings


def paper_weight(welfare: str, aggregation: str) -> float:
    """The paper's λ: 0.9, and 0.999 for averaged egalitarian runs."""
    return AVERAGED_EGALITARIAN_WEIGHT if (welfare, aggregation) == ("egalitarian", "averaged") else WEIGHT


def in_order(scales: Iterable[str]) -> list[str]:
    """Observation scales in the order in which they are explained, from `none` to `relative`."""
    return sorted(scales, key=get_args(Scale).index)


def memory_label(gamma: float) -> str:
    """The name of a memory in figures and tables."""
    return MEMORY_LABELS.get(gamma, f"γ = {gamma:g}")


def identity(settings: Settings) -> str:
    """The name of a run: 16 hexadecimal digits that two runs share only if all their settings are equal.

    A setting added after format 1 counts only where it differs from its default, so adding one does not change
    the names of earlier runs.
    """
    columns = {name: [value] for name, value in settings.to_dict().items()}
    return identities(columns, type(settings))[0]


def identities(columns: Mapping[str, Sequence[object]], kind: type[Settings] = Settings) -> list[str]:
    """The names of many runs, as of `identity`, from the values of every setting, one for each run."""
    later = later_defaults(kind)
    parts = []
    for name, values in sorted(columns.items()):
        # Few values are different, so each is written once.
        texts = {repr(value): value for value in values}
        texts = {key: json.dumps(_plain(value)) for key, value in texts.items()}
        left_out = json.dumps(_plain(later[name])) if name in later else None
        parts.append([f'"{name}": {text}' if (text := texts[repr(v)]) != left_out else None for v in values])
    descriptions = ("{" + ", ".join(filter(None, row)) + "}" for row in zip(*parts, strict=True))
    return [hashlib.sha256(text.encode()).hexdigest()[:16] for text in descriptions]


def _plain(value: Any) -> Any:
    """Equal numbers in one form, however they were written: 1, 1.0 and NumPy's 1.0 are one setting."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | str) else repr(float(value))
