"""The results of the shipped runs of the leaderboard, as a part of `docs/leaderboard.md`.

`python -m benchmarks.leaderboard_note` writes it. A test compares the document with the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bygones._files import write_text
from bygones.envs import catalogue
from bygones.leaderboard import board
from bygones.leaderboard.board import Board
from bygones.leaderboard.entries import MEMORIES
from bygones.leaderboard.players import WELFARE as FOR_WELFARE
from bygones.leaderboard.standings import (
    BoardVerdict,
    Cell,
    Remembering,
    best,
    best_memories,
    cells,
    compared,
    headline,
    remembering,
    verdicts,
)
from bygones.learn import learners
from bygones.paper.provenance import CHECKOUT

FULL = CHECKOUT / "evidence" / "leaderboard" / "full"
QUICK = CHECKOUT / "evidence" / "leaderboard" / "quick"
WELFARE = CHECKOUT / "evidence" / "leaderboard" / "welfare"
GGF = CHECKOUT / "evidence" / "leaderboard" / "ggf"
LEARNED = (FULL, WELFARE, GGF)
OTHERS = CHECKOUT / "evidence" / "other-learners"
DOCUMENT = CHECKOUT / "docs" / "leaderboard.md"
FULL_MARKS = ("<!-- from the full runs -->", "<!-- end of full runs -->")
QUICK_MARKS = ("<!-- from the quick runs -->", "<!-- end of quick runs -->")
WELFARE_MARKS = ("<!-- from the runs for welfare alone -->", "<!-- end of runs for welfare alone -->")
STEPS_MARKS = ("<!-- from both -->", "<!-- end of both -->")
GGF_MARKS = ("<!-- from the runs of ggf-ppo -->", "<!-- end of runs of ggf-ppo -->")
EVIDENCE_MARKS = ("<!-- from the learners that were run -->", "<!-- end of learners -->")
OTHERS_MARKS = ("<!-- from the runs of others -->", "<!-- end of others -->")


def note(folders: Sequence[Path] = LEARNED) -> str:
    """The results of the learners in some folders against the rules in the first, in Markdown."""
    results = together(folders)
    found, first = cells(results), cells(board.read(folders[0]))
    steps, seeds = max(entry.steps for entry in results), len({entry.seed for entry in results})
    welfare = next(iter(results)).welfare
    pairs = verdicts(found)
    without = [cell for cell in found if cell.family != "lookahead"]
    exchanged = cells({entry._replace(seed=entry.seed ^ 1): score for entry, score in results.items()})
    return "\n".join(
        [
            f"**{headline(found)}**",
            "",
            f"- With the two halves of the seeds exchanged: {headline(exchanged)}",
            f"- Without `lookahead`, which knows the scenario's functions: {headline(without)}",
            "",
            f"{len(results):,} runs with {welfare} welfare: {steps:,} steps of learning, {seeds} seeds.",
            "",
            *(f"- {sentence}" for sentence in [*compared(found), *best_memories(first)]),
            "",
            *_compared(pairs),
            "",
            *_received(pairs),
            "",
            *_without(without),
            "",
            *_memories(remembering(first, rules=True), remembering(first, rules=False)),
        ]
    )


def together(folders: Sequence[Path]) -> Board:
    """The results in several folders."""
    return {entry: score for folder in folders for entry, score in board.read(folder).items()}


def welfare_note(folder: Path = WELFARE, full: Path = FULL) -> str:
    """The scores of learners whose reward is welfare alone, against the same rules, in Markdown."""
    runs = cells(board.read(full))
    alone = [*(cell for cell in runs if cell.is_rule), *cells(board.read(folder))]
    usual = {pair.world: pair.learner for pair in verdicts(runs)}
    lines = [
        "| scenario | best rule | score | best learner, λ = 0.9 | score | best learner, λ = 1 | score "
        "| λ = 1 against the rule, 95% | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for pair in verdicts(alone):
        low, high = pair.difference
        each = " | ".join(f"{cell.name} | {cell.mean:.4f}" for cell in (pair.rule, usual[pair.world], pair.learner))
        lines.append(f"| `{pair.world}` | {each} | {low:+.2g} to {high:+.2g} | {pair.word} |")
    worth = [{each.memory: each for each in remembering(found, rules=False)} for found in (runs, alone)]
    lines += ["", "| memory | learners, λ = 0.9 | at worst | learners, λ = 1 | at worst |", "|---|---|---|---|---|"]
    lines += [f"| {memory} | {' | '.join(_worth(each[memory]) for each in worth)} |" for memory in worth[1]]
    return "\n".join(lines)


def _compared(pairs: Sequence[BoardVerdict]) -> list[str]:
    """The best rule against the best learner."""
    lines = [
        "| scenario | best rule | score | best learner | score | its actions | difference, 95% | p-value | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for pair in pairs:
        low, high = pair.difference
        each = " | ".join(f"{cell.name} | {cell.mean:.4f}{_share(cell.share)}" for cell in (pair.rule, pair.learner))
        difference = f"{low:+.2g} to {high:+.2g} | {pair.chance:.2g}"
        lines.append(f"| `{pair.world}` | {each} | {pair.learner.actions} | {difference} | {pair.word} |")
    return lines


def _without(found: Sequence[Cell]) -> list[str]:
    """The best rule that does not know the scenario's functions, against the best learner."""
    lines = [
        "| scenario | best rule without a model | score | difference, 95% | p-value | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for pair in verdicts(found):
        low, high = pair.difference
        difference = f"{low:+.2g} to {high:+.2g} | {pair.chance:.2g}"
        lines.append(f"| `{pair.world}` | {pair.rule.name} | {pair.rule.mean:.4f} | {difference} | {pair.word} |")
    return lines


def _received(pairs: Sequence[BoardVerdict]) -> list[str]:
    """The totals of the two, and how equal they are."""
    lines = [
        "| scenario | total per step, best rule | best learner | Gini, best rule | best learner |",
        "|---|---|---|---|---|",
    ]
    for pair in pairs:
        totals, ginis = ([getattr(cell, name) for cell in (pair.rule, pair.learner)] for name in ("total", "gini"))
        numbers = [f"{total:.4g}" for total in totals] + [f"{gini:.3f}" for gini in ginis]
        lines.append(f"| `{pair.world}` | {' | '.join(numbers)} |")
    return lines


def _memories(rules: Sequence[Remembering], learners: Sequence[Remembering]) -> list[str]:
    """The value of each memory."""
    by_kind = [{each.memory: each for each in ranked} for ranked in (rules, learners)]
    lines = ["| memory | rules | at worst | learners | at worst |", "|---|---|---|---|---|"]
    for each in learners:
        worth = [_worth(kind.get(each.memory)) for kind in by_kind]
        lines.append(f"| {each.memory} | {' | '.join(worth)} |")
    return lines


def ggf_note(folders: Sequence[Path] = LEARNED) -> str:
    """The scores of `ggf-ppo` beside those of the best rule and of the best PPO, in Markdown."""
    lines = ["| scenario | best rule | best PPO | ggf-ppo | its memory |", "|---|---|---|---|---|"]
    by_world: dict[str, list[Cell]] = {}
    for cell in cells(together(folders)):
        by_world.setdefault(cell.world, []).append(cell)
    for world, found in by_world.items():
        ggf = best(cell for cell in found if cell.family == "ggf-ppo")
        rule = best(cell for cell in found if cell.is_rule)
        ppo = best(cell for cell in found if cell.family.startswith("ppo"))
        lines.append(f"| `{world}` | {rule.mean:.4f} | {ppo.mean:.4f} | {ggf.mean:.4f} | {ggf.memory} |")
    return "\n".join(lines)


def evidence_note(folders: Sequence[Path] = (*LEARNED, OTHERS)) -> str:
    """The runs of each learner, in Markdown; a learner without runs has a row too."""
    lines = ["| learner | scenarios | memories | rewards | seeds | steps |", "|---|---|---|---|---|---|"]
    results = [entry for entry in together(folders) if entry.steps]
    for name in (f"{learner}{network}" for learner in learners.names() for network in ("", "-symmetric")):
        runs = [entry for entry in results if entry.player.removesuffix(FOR_WELFARE) == name]
        if not runs:
            lines.append(f"| `{name}` | none | | | | |")
            continue
        counts = [len({getattr(run, part) for run in runs}) for part in ("world", "memory", "player", "seed")]
        lines.append(f"| `{name}` | {' | '.join(map(str, counts))} | {max(run.steps for run in runs):,} |")
    return "\n".join([*lines, "| `dqn` with counterfactual memories (FairQCM) | none | | | | |"])


def steps_note(quick: Path = QUICK, full: Path = FULL) -> str:
    """The scores of learners with the steps of each map, in the scenarios that are the same in both, in Markdown."""
    few, many = board.read(quick), board.read(full)
    before, after = ({(c.world, c.player, c.memory): c for c in cells(each)} for each in (few, many))
    same = [
        key
        for key, cell in after.items()
        if key in before and not cell.is_rule and _is_same(cell.scenario, before[key].scenario)
    ]
    lines = [f"| scenario | learner | {' | '.join(MEMORIES)} |", f"|---|---|{'---|' * len(MEMORIES)}"]
    for world, player in sorted({key[:2] for key in same}):
        shown = [
            f"{_reached(before[world, player, memory])} → {_reached(after[world, player, memory])}"
            for memory in MEMORIES
        ]
        lines.append(f"| `{world}` | {player} | {' | '.join(shown)} |")
    return "\n".join(lines)


def others_note(folder: Path = OTHERS, ours: Path = QUICK) -> str:
    """Other people's learners with the best rule and our learners with the same memories, in Markdown."""
    others, own = cells(board.read(folder)), cells(board.read(ours))
    lines = [
        "| scenario | player | seeds | score | 95% interval | actions | Gini | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for scenario in dict.fromkeys(cell.scenario for cell in others):
        theirs = [cell for cell in others if cell.scenario == scenario]
        memories = {cell.memory for cell in theirs}
        ours_here = [cell for cell in own if cell.scenario == scenario]
        rules = [cell for cell in ours_here if cell.is_rule][:1]
        learners = [cell for cell in ours_here if not cell.is_rule and cell.memory in memories]
        shown = sorted([*theirs, *rules, *learners], key=lambda cell: -cell.mean)
        lines += [_row(cell) for cell in shown]
    return "\n".join(lines)


def _row(cell: Cell) -> str:
    low, high = cell.interval
    gini = "" if cell.gini is None else f"{cell.gini:.3f}"
    score = f"{cell.mean:.4f}{_share(cell.share)}"
    shown = [
        f"`{cell.world}`",
        cell.name,
        len(cell.scores),
        score,
        f"{low:.4f} to {high:.4f}",
        cell.actions or "",
        gini,
    ]
    return f"| {' | '.join(map(str, shown))} | {cell.seconds:.0f} |"


def written(text: str, shown: str, marks: tuple[str, str]) -> str:
    """A document with new text between the marks."""
    before, _, rest = text.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n{shown}\n{marks[1]}{after}"


def _share(share: float | None) -> str:
    return "" if share is None else f" ({share:.1%} of the bound)"


def _worth(worth: Remembering | None) -> str:
    return " | " if worth is None else f"{worth.mean:.1%} | {worth.least:.0%}"


def _reached(cell: Cell) -> str:
    return f"{cell.mean:.4f}" if cell.share is None else f"{cell.share:.1%}"


def _is_same(one: str, other: str) -> bool:
    return catalogue.parse_scenario(one) == catalogue.parse_scenario(other)


def rewritten(text: str) -> str:
    """The document with everything that follows from the runs written again."""
    parts = [
        (note(), FULL_MARKS),
        (evidence_note(), EVIDENCE_MARKS),
        (welfare_note(), WELFARE_MARKS),
        (note([QUICK]), QUICK_MARKS),
        (ggf_note(), GGF_MARKS),
        (steps_note(), STEPS_MARKS),
        (others_note(), OTHERS_MARKS),
    ]
    for shown, marks in parts:
        text = written(text, shown, marks)
    return text


if __name__ == "__main__":
    write_text(DOCUMENT, rewritten(DOCUMENT.read_text(encoding="utf-8")))
