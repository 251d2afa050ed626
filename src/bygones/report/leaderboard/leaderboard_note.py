"""What the shipped runs of the map show, as a part of `docs/leaderboard.md`.

`python -m bygones.report.leaderboard.leaderboard_note` writes it anew. A test compares the document with the runs.
"""

from __future__ import annotations

from pathlib import Path

from bygones._files import write_text
from bygones.leaderboard import board
from bygones.leaderboard.standings import Cell, answer, cells, remembering, verdicts
from bygones.paper.provenance import CHECKOUT

EVIDENCE = CHECKOUT / "evidence" / "leaderboard"
OTHERS = CHECKOUT / "evidence" / "other-learners"
DOCUMENT = CHECKOUT / "docs" / "leaderboard.md"
MARKS = ("<!-- from the runs -->", "<!-- end -->")
OTHERS_MARKS = ("<!-- from the runs of others -->", "<!-- end of others -->")


def note(folder: Path = EVIDENCE) -> str:
    """What the runs in a folder show, in Markdown."""
    results = board.read(folder)
    found = cells(results)
    steps, seeds = max(entry.steps for entry in results), len({entry.seed for entry in results})
    welfare = next(iter(results)).welfare
    lines = [
        f"{len(results):,} runs with {welfare} welfare: {steps:,} steps of learning, {seeds} seeds.",
        "",
        *(f"- {sentence}" for sentence in answer(found)),
        "",
        "| scenario | best rule | score | best learner | score | its actions | difference, 95% | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for pair in verdicts(found):
        low, high = pair.difference
        each = " | ".join(f"{cell.name} | {cell.mean:.4f}{_share(cell.share)}" for cell in pair)
        acts = pair.learner.actions
        lines.append(f"| `{pair.world}` | {each} | {acts} | {low:+.2g} to {high:+.2g} | {pair.word} |")
    by_kind = [{each.memory: each.mean for each in remembering(found, is_rule)} for is_rule in (True, False)]
    lines += ["", "| memory | rules | learners |", "|---|---|---|"]
    lines += [
        f"| {memory} | {_percent(by_kind[0], memory)} | {_percent(by_kind[1], memory)} |" for memory in by_kind[1]
    ]
    return "\n".join(lines)


def others_note(folder: Path = OTHERS, ours: Path = EVIDENCE) -> str:
    """Other people's learners beside the best rule and our learners with the same memories, in Markdown."""
    others, own = cells(board.read(folder)), cells(board.read(ours))
    lines = [
        "| scenario | player | seeds | score | 95% interval | actions | Gini | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for scenario in dict.fromkeys(cell.scenario for cell in others):
        theirs = [cell for cell in others if cell.scenario == scenario]
        memories = {cell.memory for cell in theirs}
        beside = [cell for cell in own if cell.scenario == scenario]
        rules = [cell for cell in beside if cell.is_rule][:1]
        learners = [cell for cell in beside if not cell.is_rule and cell.memory in memories]
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


def written(text: str, shown: str, marks: tuple[str, str] = MARKS) -> str:
    """A document with what is between the marks replaced."""
    before, _, rest = text.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n{shown}\n{marks[1]}{after}"


def _share(share: float | None) -> str:
    return "" if share is None else f" ({share:.1%} of the bound)"


def _percent(means: dict[str, float], memory: str) -> str:
    return f"{means[memory]:.1%}" if memory in means else ""


if __name__ == "__main__":
    text = written(DOCUMENT.read_text(encoding="utf-8"), note())
    write_text(DOCUMENT, written(text, others_note(), OTHERS_MARKS))
