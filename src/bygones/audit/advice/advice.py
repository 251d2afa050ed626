"""Advice where rules were replayed: what to use, why, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bygones._text import amount, capitalized, counted, listed
from bygones.audit.advice.recommendation import (
    KIND_ASSUMED,
    OTHERS_TOO,
    PERIODS,
    HistoryFacts,
    Recommendation,
)
from bygones.audit.advice.trial_comparison import change_of, comparison_charts, comparison_table, more_than
from bygones.audit.advice.trials import AdviceVerdict, JudgedTrials, Trials
from bygones.audit.replay.memories import Alternative
from bygones.document.document import Chart, Table
from bygones.kinds import words

MUCH_DRIFT = 0.25
"""A history has changed much if this share of all needs moved to other agents from one half to the other."""

MUCH_MORE = 5.0
"""Agents differ much if one asks for this many times as much as another on average."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Advice(Recommendation, Trials):
    """The result of `advise`.

    Attributes:
        facts: the facts about the history.
        verdict: how sure the advice is.
        memory: the half-life that is recommended.
        others: the recommendations for other periods, by their length.
        held_out: the choice by the first half of the periods alone, and its gain over the simple one in the second.
        entitled: whether entitlements differ.
    """

    facts: HistoryFacts
    verdict: AdviceVerdict
    memory: Alternative
    others: Mapping[float, tuple[Alternative, str]]
    held_out: tuple[Alternative, str, float] | None
    entitled: bool

    def __repr__(self) -> str:
        return f"<Advice for {self.label}: half-life {self.memory.name}, rule {self.rule}>"

    @property
    def takes(self) -> str:
        return self.memory.name

    @property
    def was_replayed(self) -> bool:
        return bool(self.trials)

    @property
    def chosen(self) -> int:
        """The trial that is recommended."""
        return self.index(self.memory, self.rule)

    def headline(self) -> list[str]:
        use = f"{self._named(self.memory)} and the rule {self.rule}"
        if self.reported:
            use += ", with normalised reports"
        if self.verdict == "nothing to decide":
            return [f"Begin with {use}.", self._nothing_to_decide()]
        if self.judged is None:
            return [f"Begin with {use}. This history is too short to compare others with it.", self._too_short()]
        if self.verdict == "hardly matters":
            tried = counted(len(self.fading()) - 1, "other choice")
            return [
                f"Use {use}.",
                f"It hardly matters here. None of {tried} of half-life and rule would have been clearly better for "
                f"{self.worst_off}, so use the simplest.",
            ]
        change = more_than(self.judged.worst, self.chosen, self.simple)
        sentences = [
            f"Use {use}.",
            f"{capitalized(self.worst_off)} would have {words(self.kind).received} "
            f"{_worst(self.judged, self.chosen)} per {self.length(self.period)}, {change} the "
            f"{_worst(self.judged, self.simple)} with the simple choice ({self._trial(self.simple)}).",
        ]
        if self.verdict == "better in total":
            total = more_than(self.judged.total, self.chosen, self.simple)
            sentences.append(
                f"The total would have been {_total(self.judged, self.chosen)}, {total} the "
                f"{_total(self.judged, self.simple)} with the simple choice."
            )
        return sentences

    def _nothing_to_decide(self) -> str:
        if self.facts.agents == 1:
            return "There is only one agent in this history, so there was nobody to choose between."
        who = "was available worked" if self.kind == "burden" else "asked was served"
        rows = "was available and did not work" if self.kind == "burden" else "asked and was not served"
        return (
            f"Every agent who {who}, every time, so there was nothing to choose and rules cannot be compared. Add a "
            f"row, with served 0, for each agent who {rows}."
        )

    def _too_short(self) -> str:
        facts = self.facts
        wanted = max(round(PERIODS * self.period / facts.every), facts.decisions + 1)
        return (
            f"It has {counted(facts.decisions, 'decision')} about {counted(facts.agents, 'agent')}, and an agent has a "
            f"turn about every {self.length(facts.turn)}. A comparison by periods of {self.length(self.period)} needs "
            f"about {wanted:,} decisions."
        )

    def reasons(self) -> list[str]:
        facts = self.facts
        asked, did = ("were available", "worked") if self.kind == "burden" else ("asked", "was served")
        do = did if f"{facts.served:.2g}" == "1" or self.kind == "burden" else "were served"
        sentences = [
            f"There were {counted(facts.decisions, 'decision')}, one every {self.length(facts.every)} on average. "
            f"{amount(facts.asking, 2)} of {counted(facts.agents, 'agent')} {asked} and {amount(facts.served, 2)} "
            f"{do} each time, so each has a turn about every {self.length(facts.turn)}."
        ]
        if facts.joined or facts.left:
            stayed = (
                f" Half of those who left had stayed no longer than {self.length(facts.stay)}." if facts.left else ""
            )
            sentences.append(
                f"{facts.joined:,} joined later and {facts.left:,} left before the end (newcomer rule: "
                f"{self.newcomers}).{stayed}"
            )
        if facts.agents > 1:
            sentences.append(self._about_needs())
        if self.judged is not None:
            sentences += [
                f"Totals were compared within {counted(self.judged.n_periods, 'period')} of "
                f"{self.length(self.period)}, with about "
                f"{counted(max(round(self.period / facts.turn), 1), 'turn')} for each agent.",
                self._about_the_rule(self.judged),
                self._about_the_half_life(self.judged),
                *self._about_memory(self.judged),
            ]
        return sentences

    def _about_needs(self) -> str:
        if self.facts.equal:
            return "At each decision all needs are the same, so it does not matter who has a turn when."
        low, high = (amount(each) for each in self.facts.between)
        spread = "" if self.reported else f", and their means go from {low} to {high} between agents"
        return f"The needs of an agent vary by {self.facts.within:.0%} around their mean{spread}."

    def _about_the_rule(self, judged: JudgedTrials) -> str:
        mine, theirs = self.chosen, self.index(self.memory, "prices" if self.rule == "one-step" else "one-step")
        if (
            max(abs(judged.mean(each, mine) - judged.mean(each, theirs)) for each in (judged.worst, judged.total))
            < 1e-9
        ):
            return f"With {self._named(self.memory)}, the rules one-step and prices do the same here."
        row = "worked {} times in a row" if self.kind == "burden" else "was turned down {} times in a row"
        unluckiest = "the busiest agent" if self.kind == "burden" else "the unluckiest agent"
        longest, other_longest = self.trials[mine].longest, self.trials[theirs].longest
        streak = f"{capitalized(unluckiest)} {row.format(other_longest)} instead of {longest}."
        if longest == other_longest:
            streak = f"Under either rule, {unluckiest} {row.format(longest)}."
        text = (
            f"With the rule {self.trials[theirs].rule} instead of {self.rule}, {self.worst_off} would have "
            f"{words(self.kind).received} {_worst(judged, theirs)} instead of {_worst(judged, mine)}, and the total "
            f"would have been {_total(judged, theirs)} instead of {_total(judged, mine)}. {streak}"
        )
        if self.reported:
            text += (
                " But with normalised reports one-step leaves nothing to gain by false reports, and prices leave a "
                "little."
            )
        elif self.rule == "one-step":
            text += " One-step is also easier to check: the agent furthest behind is next."
        return text

    def _about_the_half_life(self, judged: JudgedTrials) -> str:
        same_rule = [i for i in self.fading() if self.trials[i].rule == self.rule and i != self.chosen]
        worse = [i for i in same_rule if self.clearly_better(self.chosen, i)]
        alike = [i for i in same_rule if i not in worse and not self.clearly_better(i, self.chosen)]
        text = "No other half-life does as well with this rule."
        if alike:
            verb = "does" if len(alike) == 1 else "do"
            which = listed([self.clock.length_text(self.trials[i].memory.length) for i in alike])
            half_lives = f"{'A half-life' if len(alike) == 1 else 'Half-lives'} of {which}"
            text = f"{half_lives}{' steps' if self.clock.steps else ''} {verb} about as well with this rule."
            if self.memory.length == self.period:
                text += f" {self.length(self.memory.length)} is as long as the period."
        if worse:
            listing = listed([f"{_worst(judged, i)} with {self._named(self.trials[i].memory)}" for i in worse])
            text += f" Clearly worse for {self.worst_off}: {listing}, instead of {_worst(judged, self.chosen)}."
        return text

    def _about_memory(self, judged: JudgedTrials) -> list[str]:
        """No memory, the actual decisions and memories without a half-life; and the choice by the first half alone."""
        none = next(i for i, each in enumerate(self.trials) if i and each.memory.kind == "instantaneous")
        received = words(self.kind).received
        sentences = [
            f"With no memory, {self.worst_off} would have {received} {_worst(judged, none)} per "
            f"{self.length(self.period)}. The actual decisions gave {_worst(judged, 0)}, and the recommendation gives "
            f"{_worst(judged, self.chosen)}."
        ]
        rest = [i for i, each in enumerate(self.trials) if i and each.memory.kind in ("sliding_window", "reset")]
        better = [i for i in rest if self.clearly_better(i, self.chosen)]
        if better:
            listing = listed([f"{self._trial(i)} ({change_of(judged.worst, i, self.chosen)})" for i in better])
            sentences.append(
                f"Other memories would do better still for them: {listing}. A ledger has only half-lives, but Python "
                f"has these memories, too."
            )
        if self.held_out is not None and self.verdict not in ("hardly matters", "cannot tell"):
            memory, rule, gain = self.held_out
            first = "The first half of the history alone would have led to"
            if (memory, rule) == (self.memory, self.rule):
                off = f"{abs(gain):.0%} {'better' if gain >= 0 else 'worse'} off"
                sentences.append(
                    f"{first} the same recommendation. In the second half, which was not used for it, "
                    f"{self.worst_off} would have been {off} than with {self._trial(self.simple)}."
                )
            else:
                sentences.append(
                    f"{first} {self._named(memory)} and the rule {rule}, so the recommendation is not firm. Ask "
                    f"again when the history is longer."
                )
        return sentences

    def doubts(self) -> list[str]:
        if self.facts.agents == 1:
            return [OTHERS_TOO]
        sentences = [KIND_ASSUMED] if self.kind_assumed else []
        for period, (memory, rule) in self.others.items():
            text = f"{self._named(memory)} and the rule {rule}"
            sentences.append(f"If shares should even out within {self.length(period)} (--period): {text}.")
        if self.judged is not None:
            sentences += self._other_aims(self.judged)
        if not self.reported and not self.facts.equal:
            sentences.append(
                "If agents report their needs themselves, they can gain by reporting little. Add --reports normalised, "
                "which counts reports as multiples of each agent's usual report."
            )
        low, high = self.facts.between
        if not self.entitled and self.kind == "burden":
            sentences.append(
                "If some agents have a smaller share of the load, such as part-timers, give --entitlements."
            )
        elif not self.entitled and low > 0 and high > MUCH_MORE * low and not self.reported:
            sentences.append(
                f"Some agents ask for {high / low:.0f} times as much as others, but all have equal entitlements. If "
                f"the ones that ask for more are larger, such as a clinic with more patients, give --entitlements."
            )
        elif not self.entitled:
            sentences.append("If some agents are entitled to more than others, give --entitlements.")
        if self.facts.drift > MUCH_DRIFT:
            sentences.append(
                f"From the first half of the history to the second, {self.facts.drift:.0%} of all needs moved to other "
                f"agents. If that goes on, prefer a shorter half-life to a longer one."
            )
        return sentences

    def _other_aims(self, judged: JudgedTrials) -> list[str]:
        """The choices if only the total counted, or only the longest wait."""
        sentences, sign = [], -1.0 if self.kind == "burden" else 1.0
        most = max(range(1, len(self.trials)), key=lambda i: sign * judged.mean(judged.total, i))
        if judged.gain(judged.total, most, self.chosen).low > 0:
            which = "least" if self.kind == "burden" else "most"
            sentences.append(
                f"If only the total counted: {self._trial(most)} gives {which}, {_total(judged, most)} in "
                f"{self.length(self.period)} ({change_of(judged.total, most, self.chosen)}), but leaves "
                f"{_worst(judged, most)} for {self.worst_off} instead of {_worst(judged, self.chosen)}."
            )
        shortest = min(self.fading(), key=lambda i: (self.trials[i].longest, i != self.chosen))
        if self.trials[shortest].longest < 0.8 * self.trials[self.chosen].longest:
            row = "work many times in a row" if self.kind == "burden" else "be turned down many times in a row"
            sentences.append(
                f"If no one should {row}: {self._trial(shortest)}, at most {self.trials[shortest].longest} times "
                f"instead of {self.trials[self.chosen].longest}. {capitalized(self.worst_off)} would then have "
                f"{words(self.kind).received} {_worst(judged, shortest)}."
            )
        return sentences

    def table(self) -> Table:
        return comparison_table(self)

    def charts(self) -> list[Chart]:
        return comparison_charts(self)

    def shown(self) -> list[int]:
        """The trials in the table: what happened, the recommended rule under all memories, the other under its own."""
        rest = [i for i, each in enumerate(self.trials) if i and (each.rule == self.rule or each.memory == self.memory)]
        return [0, *sorted(rest, key=lambda i: (i != self.chosen, self.trials[i].memory != self.memory, i))]

    def _choice(self) -> dict[str, object]:
        reports = "normalised" if self.reported else "as-reported"
        return {"newcomers": self.newcomers, "reports": reports, "verdict": self.verdict}

    def _numbers(self) -> dict[str, object]:
        length, time = self.clock.length_text, self.clock.json_time
        facts = self.facts._asdict() | {"first": time(self.facts.first), "last": time(self.facts.last)}
        return {
            "facts": facts | {name: length(facts[name]) for name in ("every", "turn", "stay")},
            "trials": [self._trial_data(i) for i in range(len(self.trials))],
            "other_periods": {length(p): {"half_life": m.name, "rule": r} for p, (m, r) in self.others.items()},
        }

    def _trial_data(self, i: int) -> dict[str, object]:
        trial, worst = self.trials[i], "heaviest_quarter" if self.kind == "burden" else "worst_off_quarter"
        data: dict[str, object] = {
            "memory": None if i == 0 else trial.memory.name,
            "rule": trial.rule,
            "longest_in_a_row": trial.longest,
        }
        if self.judged is not None:
            of = self.judged
            data |= {worst: of.mean(of.worst, i), "total": of.mean(of.total, i), "gini": of.mean(of.gini, i)}
            data["gain"] = self.gain(i, self.simple)._asdict()
        return data

    @property
    def worst_off(self) -> str:
        """The agents by whom trials are judged."""
        return "the heaviest quarter" if self.kind == "burden" else "the worst-off quarter"

    def _trial(self, i: int) -> str:
        """A trial in a sentence."""
        trial = self.trials[i]
        rule = "" if trial.memory.kind == "instantaneous" else f" and the rule {trial.rule}"
        return f"{self._named(trial.memory)}{rule}"

    def _named(self, memory: Alternative) -> str:
        """A memory in a sentence: `a half-life of 30d`, or `perfect recall`."""
        if memory.kind == "discounted":
            return f"a half-life of {self.length(memory.length)}"
        is_timed = self.clock.steps and math.isfinite(memory.length)
        return f"{memory.phrase.removeprefix('With ')}{' steps' if is_timed else ''}"


def _worst(judged: JudgedTrials, i: int) -> str:
    """The mean of the worst-off quarter of a trial in a period."""
    return amount(judged.mean(judged.worst, i))


def _total(judged: JudgedTrials, i: int) -> str:
    """The total of all agents of a trial in a period."""
    return amount(judged.mean(judged.total, i))
