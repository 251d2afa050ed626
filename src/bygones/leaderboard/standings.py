"""The results of a leaderboard: where a rule is enough, where learning wins and by how much, and which memory is best.

A cell is a player with a memory in a scenario. In each scenario the best rule is compared with the best learner, seed
by seed in the same worlds. Both are the best of several cells, so one half of the seeds chooses them and the other half
compares them. On the same seeds, the best of many cells would be ahead by luck. Student's test of the mean difference
is corrected for the number of scenarios by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from bygones._arrays import Floats
from bygones._text import counted, listed
from bygones.leaderboard import players
from bygones.leaderboard.board import Board
from bygones.leaderboard.entries import MEMORIES, NONE, BoardEntry
from bygones.leaderboard.matches import Score
from bygones.paper.statistics import CONFIDENCE, Interval, holm, mean_chance, mean_interval
from bygones.scenario_policies.rule_players import rule_of

Word = Literal["learning wins", "a rule is enough", "no clear difference"]

Actions = Literal["sampled", "greedy"]

CHOOSING, COMPARING = slice(1, None, 2), slice(0, None, 2)
"""The seeds that choose the best rule and the best learner, and those that compare the two: every other one."""


class Cell(NamedTuple):
    """A player with a memory in a scenario."""

    scenario: str
    memory: str
    player: str
    runs: tuple[Score, ...]
    """One per seed, in the order of the seeds."""
    actions: Actions | None
    """How a learned policy acts: in the way with the better mean score in the seeds that choose, which all numbers are
    of. None for a rule."""

    @property
    def world(self) -> str:
        """The scenario without its parameters."""
        return self.scenario.partition("(")[0]

    @property
    def family(self) -> str:
        """The player without its parameters."""
        return self.player.partition("(")[0]

    @property
    def is_rule(self) -> bool:
        """Whether the player needs no training."""
        return rule_of(self.player) is not None

    @property
    def scores(self) -> Floats:
        """One per seed."""
        return self._column("score")

    @property
    def gini(self) -> float | None:
        """None where files of format 1 lack it, which have it for sampled actions only; so are the two below."""
        return self._mean("gini")

    @property
    def worst_off(self) -> float | None:
        """The mean utility per step of the worst-off agent."""
        return self._mean("worst_off")

    @property
    def total(self) -> float | None:
        """The mean utility per step of all agents together."""
        return self._mean("total")

    @property
    def bound(self) -> float | None:
        """The score that no policy exceeds on average, where that is known."""
        return self.runs[0].bound

    @property
    def seconds(self) -> float:
        """The mean time of training and evaluation."""
        return float(_column(self.runs, "seconds").mean())

    def chosen_by(self) -> Cell:
        """The seeds that choose; all if there is only one."""
        return self._replace(runs=self.runs[CHOOSING] or self.runs)

    def compared_by(self) -> Cell:
        """The seeds that compare."""
        return self._replace(runs=self.runs[COMPARING])

    @property
    def mean(self) -> float:
        """The mean score of the seeds."""
        return float(self.scores.mean())

    @property
    def interval(self) -> Interval:
        """Student's interval of the mean score."""
        return _interval(self.scores)

    @property
    def share(self) -> float | None:
        """The mean score as a share of what no policy exceeds."""
        return None if not self.bound else self.mean / self.bound

    @property
    def name(self) -> str:
        """The player, and its memory if it uses one."""
        return f"{self.player}, {self.memory}" if players.uses_memory(self.player) else self.player

    def _column(self, name: str) -> Floats:
        return _column(self.runs, f"{name}_most_probable" if self.actions == "greedy" else name)

    def _mean(self, name: str) -> float | None:
        mean = float(self._column(name).mean())
        return None if np.isnan(mean) else mean


class BoardVerdict(NamedTuple):
    """The best rule and the best learner of a scenario, with the seeds that compare them."""

    rule: Cell
    learner: Cell
    chance: float
    """The p-value of their difference, after Holm's correction for the number of scenarios."""

    @property
    def world(self) -> str:
        """The scenario without its parameters."""
        return self.rule.world

    @property
    def difference(self) -> Interval:
        """Student's interval of how much more the learner reaches than the rule, seed by seed."""
        return _interval(self.learner.scores - self.rule.scores)

    @property
    def gain(self) -> float:
        """How much more the learner reaches, as a share of what the rule does."""
        return self.learner.mean / self.rule.mean - 1 if self.rule.mean else np.inf

    @property
    def word(self) -> Word:
        """The verdict that follows from the corrected p-value."""
        if self.chance > 1 - CONFIDENCE:
            return "no clear difference"
        return "learning wins" if self.learner.mean > self.rule.mean else "a rule is enough"


class Remembering(NamedTuple):
    """The value of a memory to rules or learners: their best score with it as a share of their best with any memory."""

    memory: str
    shares: dict[str, float]
    """By scenario."""

    @property
    def mean(self) -> float:
        """Over the scenarios."""
        return float(np.mean(list(self.shares.values())))

    @property
    def least(self) -> float:
        """The smallest share over the scenarios."""
        return min(self.shares.values())


def cells(board: Board) -> list[Cell]:
    """The cells of a board, by scenario, the best first."""
    grouped: dict[BoardEntry, dict[int, Score]] = {}
    for entry, score in board.items():
        grouped.setdefault(entry._replace(seed=0), {})[entry.seed] = score
    every = [_cell(entry, tuple(scores[seed] for seed in sorted(scores))) for entry, scores in grouped.items()]
    return sorted(every, key=lambda cell: (cell.world, -cell.mean))


def best_by_player(every: Iterable[Cell]) -> list[Cell]:
    """Every player of every scenario with its best memory and length, from cells in the order of `cells`."""
    firsts: dict[tuple[str, str], Cell] = {}
    for cell in every:
        firsts.setdefault((cell.scenario, cell.family), cell)
    return list(firsts.values())


def verdicts(every: Iterable[Cell]) -> list[BoardVerdict]:
    """The best rule against the best learner, in every scenario that has both."""
    by_world: dict[str, list[Cell]] = {}
    for cell in every:
        by_world.setdefault(cell.scenario, []).append(cell)
    pairs = []
    for of_world in by_world.values():
        rules, learners = ([cell for cell in of_world if cell.is_rule is wanted] for wanted in (True, False))
        if rules and learners:
            pairs.append((best(rules), best(learners)))
    chances = holm([mean_chance(learner.scores - rule.scores) for rule, learner in pairs])
    return [BoardVerdict(*pair, chance) for pair, chance in zip(pairs, chances, strict=True)]


def best(some: Iterable[Cell]) -> Cell:
    """The cell with the best mean score in the seeds that choose, with the seeds that compare."""
    return max(some, key=lambda cell: cell.chosen_by().mean).compared_by()


def remembering(every: Iterable[Cell], rules: bool) -> list[Remembering]:
    """The value of each memory to rules, or to learners, among those that use a memory; the best first."""
    best: dict[str, dict[str, float]] = {}
    for cell in every:
        if cell.is_rule is rules and players.uses_memory(cell.player):
            scores = best.setdefault(cell.world, {})
            scores[cell.memory] = max(scores.get(cell.memory, 0.0), cell.mean)
    ranked = [
        Remembering(
            memory,
            {
                world: scores[memory] / max(scores.values())
                for world, scores in best.items()
                if memory in scores and max(scores.values()) > 0
            },
        )
        for memory in dict.fromkeys([*MEMORIES, *(name for scores in best.values() for name in scores)])
    ]
    return sorted((memory for memory in ranked if memory.shares), key=lambda memory: -memory.mean)


def headline(every: list[Cell]) -> str:
    """The answer in one or two sentences: where learning wins, and how often it does not."""
    pairs = verdicts(every)
    if not pairs:
        return _NOTHING
    by_word = _by_word(pairs)
    wins, enough, unclear = (len(by_word[word]) for word in _HEADINGS)
    where = f": {_listed(lambda pair: pair.world, by_word['learning wins'])}" if wins else ""
    enough_in = [f"a rule is enough in {enough}"] if enough else []
    unclear_in = [f"in {unclear} there is no clear difference"] if unclear else []
    rest = ", and ".join([*enough_in, *unclear_in])
    more = f" {rest.capitalize()}." if rest else ""
    if len(pairs) == 1 and not wins:
        return f"{_NEVER_IN_ONE} {'A rule is enough.' if enough else 'There is no clear difference.'}"
    return f"Learning wins in {wins or 'none'} of {counted(len(pairs), 'scenario')}{where}.{more}"


def answer(every: list[Cell]) -> list[str]:
    """The answer in a few sentences."""
    return [*compared(every), *best_memories(every)] if verdicts(every) else [_NOTHING]


def compared(every: list[Cell]) -> list[str]:
    """Where learning wins, where a rule is enough, and where neither is clear: a sentence each."""
    pairs = verdicts(every)
    texts = {
        "learning wins": lambda pair: (
            f"{pair.world} ({gain_text(pair)} with {pair.learner.name}{_against(pair, every)})"
        ),
        "a rule is enough": lambda pair: f"{pair.world} ({pair.rule.name}; learning is {gain_text(pair)})",
        "no clear difference": lambda pair: f"{pair.world} ({pair.rule.name} and {pair.learner.name})",
    }
    by_word = _by_word(pairs)
    of = f"of {counted(len(pairs), 'scenario')}"
    sentences = [
        f"{_HEADINGS[word]} in {len(by_word[word])} {of}: {_listed(text, by_word[word])}."
        for word, text in texts.items()
        if by_word[word]
    ]
    never = [] if by_word["learning wins"] else [f"Learning wins in none {of}." if len(pairs) > 1 else _NEVER_IN_ONE]
    return [*never, *sentences]


def best_memories(every: list[Cell]) -> list[str]:
    """Which memory is best, for rules and for learners: two sentences each."""
    sentences = []
    for is_rule, who in ((True, "rules"), (False, "learners")):
        ranked = remembering(every, is_rule)
        if ranked:
            best, without = ranked[0], next((memory.mean for memory in ranked if memory.memory == NONE), None)
            name = "no memory" if best.memory == NONE else best.memory
            against = (
                f"; without a memory they reach {without:.0%}" if without is not None and best.memory != NONE else ""
            )
            sentences.append(
                f"Best memory for {who}: {name}. On average they reach {best.mean:.1%} of the score with the ideal "
                f"memory for each scenario{against}."
            )
    return sentences


def gain_text(pair: BoardVerdict) -> str:
    """The gain in percent, with digits enough that a clear difference is never 0%, and 0.6% is not 1%."""
    size = abs(pair.gain)
    digits = 0 if size >= 0.095 or not size else 1 if size >= 0.005 else 2 if size >= 0.00005 else 3
    return f"{pair.gain:+z.{digits}%}".replace("-", "−")


_HEADINGS = {
    "learning wins": "Learning wins",
    "a rule is enough": "A rule is enough",
    "no clear difference": "There is no clear difference",
}

_NEVER_IN_ONE = "Learning does not win in the one scenario compared."

_NOTHING = "No scenario has both a rule and a learner, so there is nothing to compare."


def _by_word(pairs: list[BoardVerdict]) -> dict[str, list[BoardVerdict]]:
    return {word: [pair for pair in pairs if pair.word == word] for word in _HEADINGS}


def _against(pair: BoardVerdict, every: list[Cell]) -> str:
    """A remark where a learner wins against no rule but `random`."""
    rules = {cell.player for cell in every if cell.scenario == pair.rule.scenario and cell.is_rule}
    return ", where random is the only rule" if rules == {"random"} else ""


def _listed(text: Callable[[BoardVerdict], str], pairs: list[BoardVerdict]) -> str:
    return listed([text(pair) for pair in sorted(pairs, key=lambda pair: -pair.gain)])


def _interval(values: Floats) -> Interval:
    """Student's interval of a mean; the whole line for a single seed, which has no spread."""
    return mean_interval(values) if len(values) > 1 else Interval(-np.inf, np.inf)


def _cell(entry: BoardEntry, runs: tuple[Score, ...]) -> Cell:
    sampled = Cell(entry.scenario, entry.memory, entry.player, runs, None)
    if sampled.is_rule:
        return sampled
    ways = [sampled._replace(actions=way) for way in get_args(Actions)]
    return max(ways, key=lambda cell: np.nan_to_num(cell.chosen_by().mean, nan=-np.inf))


def _column(runs: Sequence[Score], name: str) -> Floats:
    """One number per seed; not a number where there is none."""
    return np.array([np.nan if (value := getattr(score, name)) is None else value for score in runs])
