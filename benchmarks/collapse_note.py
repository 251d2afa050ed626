"""The numbers of `docs/why-recall-collapses.md`, from the shipped runs, and its figures.

`python -m benchmarks.collapse_note` writes them again. A test compares the page with the runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.symmetric_parts import NETWORKS as NETWORKS_BY_PARTS
from benchmarks.symmetric_parts import PARTS as PARTS_OF_NETWORKS
from benchmarks.symmetric_parts import TRIED, name_of
from benchmarks.symmetric_parts import runs as runs_of_network
from bygones._files import write_text
from bygones.learn.settings import Settings
from bygones.paper.collapse import LOTS, NETWORKS, WEIGHTS, Cell, cells, cells_by_network, evaluated_runs
from bygones.paper.grid import SCALES, WELFARES, memory_label
from bygones.paper.judging import PROTOCOL
from bygones.paper.optimum import for_settings
from bygones.paper.provenance import CHECKOUT
from bygones.paper.results import Results
from bygones.paper.untrained import Reached, reached
from bygones.report.paper.collapse_figure import draw
from bygones.report.style import save

DOCUMENT = CHECKOUT / "docs" / "why-recall-collapses.md"
IMAGES = CHECKOUT / "docs" / "images"
LONG = 10_000
"""The horizon at which the cells are compared: the longest of the paper."""
RECALL, HALF_LIFE_69 = 1.0, 0.99
UNFAIR = 0.3
"""A Gini coefficient above this is counted as unfair in the answer."""

_MARK = "<!-- {}: written by benchmarks/collapse_note.py -->"
_END = "<!-- end -->"
_UNSCALED, _SCALED, _SYMMETRIC = NETWORKS


@functools.cache
def runs() -> Results:
    """The evaluated runs of the evidence."""
    return evaluated_runs()


@functools.cache
def _networks(welfare: str) -> dict[str, list[Cell]]:
    return cells_by_network(runs(), horizon=LONG, welfare=welfare)


def cell(network: str, welfare: str, gamma: float, weight: float) -> Cell:
    """The cell of a network with additive memories at the longest horizon."""
    (only,) = [one for one in _networks(welfare)[network] if (one.run.gamma, one.run.weight) == (gamma, weight)]
    return only


def answer() -> str:
    """The answer in five sentences."""
    asked, lots = cell(_UNSCALED, "nash", RECALL, 0.9).asked.gini, _lots(LONG).gini
    nash, egalitarian = (_range(_scaled(welfare, 0.9), "gini") for welfare in ("nash", "egalitarian"))
    learned_nash, learned_egalitarian = (_range(_scaled(of, 1.0), "learned", ".0%") for of in ("nash", "egalitarian"))
    alone = [one for scale in SCALES for one in cells(_seen(scale, gamma=RECALL, weight=1.0))]
    half_life_69 = [one for scale in SCALES for one in cells(_seen(scale, gamma=HALF_LIFE_69, weight=WEIGHTS))]
    assert (len(alone), len(half_life_69)) == (12, 48)
    others = [one for welfare in WELFARES for weight in (0.9, 1.0) for one in _tuned(welfare, HALF_LIFE_69, weight)]
    unfair = sum(one.median("gini") > UNFAIR for one in others)
    sentences = (
        f"With the paper's reward (λ = 0.9) and unscaled totals, perfect recall ends with a Gini coefficient of "
        f"{_ginis(_UNSCALED, RECALL, 0.9)}, which is unfair, since drawing lots has {lots:.2f}.",
        f"With the totals scaled in any of five other ways, perfect recall becomes fair under egalitarian welfare "
        f"({egalitarian}) but stays unfair under Nash welfare ({nash}), where a formula that follows the reward, "
        f"without learning, already has {asked:.2f}.",
        f"With welfare alone as the reward (λ = 1), the Gini coefficient of perfect recall is at most "
        f"{max(one.median('gini') for one in alone):.2f} under every scale, but with unscaled totals the paper's "
        f"network is no better than drawing lots, at {_shares(_UNSCALED, RECALL, 1.0)} of the way from there to the "
        f"optimum.",
        f"With λ = 1 and scaled totals the same network goes {learned_nash} (Nash) and {learned_egalitarian} "
        f"(egalitarian) of the way from drawing lots to the optimum, and a network that treats all agents alike goes "
        f"{_shares(_SYMMETRIC, RECALL, 1.0)} with unscaled totals, so perfect recall can be learned.",
        f"With a half-life of 69 steps (γ = 0.99), the paper's network has a Gini coefficient of at most "
        f"{max(one.median('gini') for one in half_life_69):.2f} and goes {_range(half_life_69, 'learned', '.0%')} of "
        f"the way from drawing lots to the optimum under every λ, scale and welfare, but {unfair} of {len(others)} "
        f"cells with varied settings of PPO and unscaled totals are above {UNFAIR:g}.",
    )
    return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))


def _lots(horizon: int) -> Reached:
    return reached(LOTS, Settings(horizon=horizon), [horizon])[horizon]


def _seen(scale: str, **settings: object) -> Results:
    """The runs of additive memories at the longest horizon under an observation scale, by the paper's protocol."""
    return runs().where(
        **{**PROTOCOL, "aggregation": "additive", "horizon": LONG, "observation_scale": scale, **settings}
    )


def _scaled(welfare: str, weight: float) -> list[Cell]:
    """Perfect recall under every scale but the first, with which the memory is unscaled."""
    _, *scaled = SCALES
    return [one for scale in scaled for one in cells(_seen(scale, welfare=welfare, gamma=RECALL, weight=weight))]


def _tuned(welfare: str, gamma: float, weight: float) -> list[Cell]:
    """The eighteen settings of the learner, with the unscaled memory."""
    varied = {name: (*values,) for name, values in WIDE.items()}
    some = list(cells(_seen("none", **varied, welfare=welfare, gamma=gamma, weight=weight)))
    assert len(some) == 18
    return some


def _ginis(network: str, gamma: float, weight: float) -> str:
    nash, egalitarian = (cell(network, of, gamma, weight).median("gini") for of in ("nash", "egalitarian"))
    return f"{nash:.2f} (Nash) and {egalitarian:.2f} (egalitarian)"


def _shares(network: str, gamma: float, weight: float) -> str:
    nash, egalitarian = (cell(network, of, gamma, weight).median("learned") for of in ("nash", "egalitarian"))
    return f"{nash:.0%} (Nash) and {egalitarian:.0%} (egalitarian)"


def table(welfare: str) -> str:
    """Every memory and λ with the three networks, and what the reward asks for."""
    lines = [
        f"| memory | λ | {' | '.join(f'{name}: Gini | learned' for name in NETWORKS)} | asked for: Gini | learned |",
        "|---|---|" + "---|" * (2 * len(NETWORKS) + 2),
    ]
    for gamma in sorted({one.run.gamma for one in _networks(welfare)[_UNSCALED]}, reverse=True):
        for weight in WEIGHTS:
            row = [
                next((c for c in some if (c.run.gamma, c.run.weight) == (gamma, weight)), None)
                for some in _networks(welfare).values()
            ]
            asked = row[0]
            assert asked is not None
            numbers = [f"{asked.asked.gini:.2f}", f"{asked.asked_learned:.2f}"]
            lines.append(f"| {memory_label(gamma)} | {weight:g} | {' | '.join([*map(_measures, row), *numbers])} |")
    return "\n".join(lines)


def formula() -> str:
    """The difference between the rule of the reward and learned policies."""
    lines = ["| network | welfare | correlation of Gini | largest difference |", "|---|---|---|---|"]
    for name in (_SYMMETRIC, _SCALED, _UNSCALED):
        for welfare in ("nash", "egalitarian"):
            some = _networks(welfare)[name]
            reached = np.array([one.median("gini") for one in some])
            asked = np.array([one.asked.gini for one in some])
            lines.append(
                f"| {name} | {welfare} | {np.corrcoef(reached, asked)[0, 1]:.3f} over {len(some)} cells "
                f"| {np.abs(reached - asked).max():.2f} |"
            )
    return "\n".join(lines)


def horizons() -> str:
    """Perfect recall with welfare alone, against the horizon."""
    some = {
        (name, welfare): sorted(of_network, key=lambda one: one.run.horizon)
        for welfare in ("nash", "egalitarian")
        for name, of_network in cells_by_network(runs(), welfare=welfare, gamma=RECALL, weight=1.0).items()
    }
    lengths = [one.run.horizon for one in next(iter(some.values()))]
    lines = [
        f"| network | welfare | {' | '.join(f'T = {T:,}' for T in lengths)} |",
        "|---|---|" + "---|" * len(lengths),
    ]
    for (name, welfare), row in some.items():
        lines.append(f"| {name} | {welfare} | {' | '.join(map(_measures_together, row))} |")
    return "\n".join(lines)


def scales() -> str:
    """Perfect recall and γ = 0.99 under every observation scale, with the paper's λ and with welfare alone."""
    lines = ["| memory | what the network sees | welfare | λ = 0.9: Gini | learned | λ = 1: Gini | learned |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for gamma in (RECALL, HALF_LIFE_69):
        for scale, in_words in SCALES.items():
            for welfare in WELFARES:
                row = cells(_seen(scale, welfare=welfare, gamma=gamma, weight=(0.9, 1.0)))
                ends = sorted(row, key=lambda one: one.run.weight)
                lines.append(f"| {memory_label(gamma)} | {in_words} | {welfare} | {' | '.join(map(_measures, ends))} |")
    return "\n".join(lines)


def learner() -> str:
    """The range of the medians over eighteen settings of the learner."""
    lines = ["| memory | welfare | λ | Gini | learned |", "|---|---|---|---|---|"]
    for gamma in (RECALL, HALF_LIFE_69):
        for welfare in ("nash", "egalitarian"):
            for weight in (0.9, 1.0):
                some = _tuned(welfare, gamma, weight)
                cells_of = [_range(some, "gini"), _range(some, "learned")]
                lines.append(f"| {memory_label(gamma)} | {welfare} | {weight:g} | {' | '.join(cells_of)} |")
    return "\n".join(lines)


WIDE = {"learning_rate": (3e-4, 1e-4, 3e-5), "entropy_weight": (0.0, 0.01), "discount": (0.9, 0.99, 0.999)}
"""The settings of the learner that were tried, in all combinations."""


def parts_of_the_symmetric_network() -> str:
    """Perfect recall with the MLP, with the symmetric network, and with networks that have some of its parts."""
    lines = [
        f"| {' | '.join(PARTS_IN_WORDS.values())} | Nash, λ = 0.9 | Nash, λ = 1 | egalitarian, λ = 0.9 "
        "| egalitarian, λ = 1 |",
        "|---" * (len(PARTS_IN_WORDS) + 4) + "|",
    ]
    networks: dict[str, dict[str, object]] = {
        name_of(()): {"policy": "mlp"},
        **{name: _network(name) for name in TRIED},
        "shared_differences_sequential": {"policy": "symmetric", "agent_features": "plain"},
        name_of(PARTS_OF_NETWORKS): {"policy": "symmetric"},
    }
    for name, network in networks.items():
        some = [
            list(cells(_seen("none", **network, welfare=welfare, gamma=RECALL, weight=weight)))
            for welfare in ("nash", "egalitarian")
            for weight in (0.9, 1.0)
        ]
        has = ["yes" if part in NETWORKS_BY_PARTS[name] else "no" for part in PARTS_IN_WORDS]
        lines.append(f"| {' | '.join([*has, *(_measures_together(*each) if each else '–' for each in some)])} |")
    return "\n".join(lines)


PARTS_IN_WORDS = {
    "shared": "shared weights",
    "logarithmic": "logarithms",
    "differences": "differences",
    "sequential": "one by one",
}
"""The parts of the symmetric network, in the order of the columns."""


def _network(name: str) -> dict[str, object]:
    """The settings of the runs of a network with some of the parts."""
    run = next(runs_of_network(name))
    return {"policy": run.policy, "learner": run.learner}


def averages() -> str:
    """Averaged memories with perfect recall: the paper's λ, welfare alone, and agents that see the denominator."""
    lines = ["| welfare | λ | sees d | what the network sees | Gini | learned |", "|---|---|---|---|---|---|"]
    for welfare, paper_weight in (("nash", 0.9), ("egalitarian", 0.999)):
        for weight, sees in ((paper_weight, False), (paper_weight, True), (1.0, False)):
            for scale in ("none", "fixed", "expected"):
                protocol = {**PROTOCOL, "aggregation": "averaged", "observation_scale": scale, "gamma": RECALL}
                wanted = {**protocol, "observe_denominator": sees, "horizon": LONG}
                (only,) = cells(runs().where(**wanted, welfare=welfare, weight=weight))
                seen = "yes" if sees else "no"
                lines.append(f"| {welfare} | {weight:g} | {seen} | {SCALES[scale]} | {_measures(only)} |")
    return "\n".join(lines)


def worst() -> str:
    """The least fair cell of perfect recall with welfare alone, at each horizon, and drawing lots."""
    lines = ["| T | additive: Gini | of | averaged: Gini | of | drawing lots |", "|---|---|---|---|---|---|"]
    for horizon in (100, 500, 1000, 5000, LONG):
        row = [f"{horizon:,}"]
        for aggregation in ("additive", "averaged"):
            wanted = {**PROTOCOL, "aggregation": aggregation, "horizon": horizon, "gamma": RECALL, "weight": 1.0}
            unfair = max(cells(runs().where(**wanted)), key=lambda one: one.median("gini"))
            row += [f"{unfair.median('gini'):.2f}", f"{unfair.run.welfare}, {SCALES[unfair.run.observation_scale]}"]
        lines.append(f"| {' | '.join([*row, f'{_lots(horizon).gini:.2f}'])} |")
    return "\n".join(lines)


def bounded() -> str:
    """Cells with and without a bounded state that a claim about unboundedness is judged by."""
    lines = ["| welfare | network | memory | state | Gini | learned |", "|---|---|---|---|---|---|"]
    for welfare, network, gamma in (
        ("egalitarian", _UNSCALED, RECALL), ("egalitarian", _UNSCALED, 0.999), ("egalitarian", _SCALED, RECALL),
        ("egalitarian", _SYMMETRIC, RECALL), ("egalitarian", _UNSCALED, 0.9), ("nash", _UNSCALED, RECALL),
        ("nash", _UNSCALED, 0.999),
    ):  # fmt: skip
        state = "unbounded" if gamma == RECALL and network != _SCALED else "bounded"
        measures = _measures(cell(network, welfare, gamma, 0.9))
        lines.append(f"| {welfare} | {network} | {memory_label(gamma)} | {state} | {measures} |")
    return "\n".join(lines)


def constants() -> str:
    """What the second measure is measured against."""
    lines = ["| welfare | drawing lots | optimum |", "|---|---|---|"]
    for welfare in ("nash", "egalitarian"):
        run = Settings(welfare=welfare, horizon=LONG)
        lots = reached(LOTS, run, [LONG])[LONG].welfare
        lines.append(f"| {welfare} | {lots:.4f} | {for_settings(run).bound:.4f} |")
    return "\n".join(lines)


PARTS = {
    "answer": answer, "nash": lambda: table("nash"), "egalitarian": lambda: table("egalitarian"), "formula": formula,
    "horizons": horizons, "scales": scales, "learner": learner, "symmetric": parts_of_the_symmetric_network,
    "averages": averages, "worst": worst, "bounded": bounded, "constants": constants,
}  # fmt: skip
"""The parts of the page that are written from the runs, by their marks."""


def rewritten(page: str) -> str:
    """The page with these parts as the runs have them."""
    for name, part in PARTS.items():
        before, _, rest = page.partition(_MARK.format(name))
        if not rest:
            raise ValueError(f"{DOCUMENT.name} has no mark for {name!r}")
        _, _, after = rest.partition(_END)
        page = f"{before}{_MARK.format(name)}\n\n{part()}\n\n{_END}{after}"
    return page


def _measures(one: Cell | None) -> str:
    if one is None:
        return "– | –"
    return f"{one.median('gini'):.2f} | {one.median('learned'):z.2f}"


def _measures_together(one: Cell) -> str:
    return f"{one.median('gini'):.2f}, {one.median('learned'):z.2f}"


def _range(some: Iterable[Cell], measure: str, form: str = "z.2f") -> str:
    medians: Sequence[float] = [one.median(measure) for one in some]
    return f"{min(medians):{form}} to {max(medians):{form}}"


def draw_figures(folder: Path) -> list[Path]:
    """Draws the figures of the page, and returns where they are."""
    pictures = []
    for welfare in ("nash", "egalitarian"):
        title = f"{welfare.capitalize()} welfare, episodes of {LONG:,} steps"
        picture, svg = save(draw(_networks(welfare), title), folder, f"weight-{welfare}")
        svg.unlink()
        pictures.append(picture)
    return pictures


def main() -> None:
    """Writes the page's numbers and its figures again."""
    draw_figures(IMAGES)
    write_text(DOCUMENT, rewritten(DOCUMENT.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
