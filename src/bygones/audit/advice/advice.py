"""Advice where rules were replayed: what to take, why, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bygones._text import amount, counted, listed
from bygones.audit.advice.recommendation import (
    KIND_ASSUMED,
    OTHERS_TOO,
    PERIODS,
    HistoryFacts,
    Recommendation,
)
from bygones.audit.advice.trials import AdviceVerdict, JudgedTrials, Trials
from bygones.audit.replay.memories import Alternative
from bygones.document.document import Table
from bygones.kinds import words

MUCH_DRIFT = 0.25
"""A history has changed much if this share of all needs moved to other agents from one half to the other."""

MUCH_MORE = 5.0
"""Agents differ much if one asks for this many times as much as another on average."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Advice(Recommendation, Trials):
    """The result of `advise`.

    Attributes:
        facts: what the history is like.
        verdict: how sure the advice is.
        memory: the half-life that is recommended.
        others: what would be recommended for other periods, by their length.
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
        take = f"{self._named(self.memory)} and the rule {self.rule}"
        if self.reported:
            take += ", with normalised reports"
        if self.verdict == "nothing to decide":
            return [f"Begin with {take}.", self._nothing_to_decide()]
        if self.judged is None:
            return [f"Begin with {take}: this history is too short to compare others with it.", self._too_short()]
        if self.verdict == "hardly matters":
            tried = counted(len(self.fading()) - 1, "other choice")
            return [
                f"Take {take}.",
                f"It hardly matters here: of {tried} of half-life and rule, none would have been clearly better for "
                f"{self._worst_off}, so take the simplest.",
            ]
        than = f"instead of {_worst(self.judged, self.simple)} with {self._trial(self.simple)}"
        change = _change(self.judged.worst, self.chosen, self.simple)
        first = (
            f"{self._worst_off} would have {words(self.kind).received} {_worst(self.judged, self.chosen)} "
            f"in {self.length(self.period)} on average, {than} ({change})"
        )
        if self.verdict == "better in total":
            total = _change(self.judged.total, self.chosen, self.simple)
            first += f", and all together {_total(self.judged, self.chosen)} ({total})"
        return [f"Take {take}.", f"{_capital(first)}."]

    def _nothing_to_decide(self) -> str:
        if self.facts.agents == 1:
            return "There is only one agent in this history, so there was nobody to choose between."
        who = "could carry did" if self.kind == "burden" else "asked was served"
        rows = "could have carried and did not" if self.kind == "burden" else "asked and was not served"
        return (
            f"Everybody who {who}, every time, so there was nothing to choose and rules cannot be compared: add a row, "
            f"with served 0, for each agent who {rows}."
        )

    def _too_short(self) -> str:
        facts = self.facts
        wanted = max(round(PERIODS * self.period / facts.every), facts.decisions + 1)
        return (
            f"It has {counted(facts.decisions, 'decision')} about {counted(facts.agents, 'agent')}, and a turn comes "
            f"about every {self.length(facts.turn)}; a comparison by periods of {self.length(self.period)} needs about "
            f"{wanted:,} decisions."
        )

    def reasons(self) -> list[str]:
        facts = self.facts
        asked, did = ("could carry it", "did") if self.kind == "burden" else ("asked", "was served")
        do = did if f"{facts.served:.2g}" == "1" or self.kind == "burden" else "were served"
        sentences = [
            f"There were {counted(facts.decisions, 'decision')}, one every {self.length(facts.every)} on average. "
            f"{amount(facts.asking, 2)} of {counted(facts.agents, 'agent')} {asked} and {amount(facts.served, 2)} "
            f"{do}, so that each has a turn about every {self.length(facts.turn)}."
        ]
        if facts.joined or facts.left:
            stayed = f"; half of those had stayed no longer than {self.length(facts.stay)}" if facts.left else ""
            sentences.append(
                f"{facts.joined:,} joined later and {facts.left:,} left before the end{stayed} (newcomer rule: "
                f"{self.newcomers})."
            )
        if facts.agents > 1:
            sentences.append(self._about_needs())
        if self.judged is not None:
            sentences += [
                f"All were judged within periods of {self.length(self.period)}, about "
                f"{counted(max(round(self.period / facts.turn), 1), 'turn')} for each agent; "
                f"{counted(self.judged.n_periods, 'period')} could be compared.",
                self._about_the_rule(self.judged),
                self._about_the_half_life(self.judged),
                *self._about_memory(self.judged),
            ]
        return sentences

    def _about_needs(self) -> str:
        if self.facts.equal:
            return "At each decision the needs of all are the same, so that it does not matter who has a turn when."
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
        row = "carried {} times in a row" if self.kind == "burden" else "asked {} times in a row in vain"
        longest, other_longest = self.trials[mine].longest, self.trials[theirs].longest
        than = "with both" if longest == other_longest else f"instead of {longest}"
        text = (
            f"With the rule {self.trials[theirs].rule} instead of {self.rule}, {self._worst_off} would have "
            f"{words(self.kind).received} {_worst(judged, theirs)} instead of {_worst(judged, mine)} and all together "
            f"{_total(judged, theirs)} instead of {_total(judged, mine)}; at worst, somebody "
            f"{row.format(other_longest)} {than}."
        )
        if self.reported:
            text += (
                " But with normalised reports one-step leaves nothing to gain by false reports, and prices leave a "
                "little."
            )
        elif self.rule == "one-step":
            text += " One-step is also easier to check: whoever is furthest behind is next."
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
                text = (
                    f"{text[:-1]}; {self.length(self.memory.length)} is as long as the period: what happened a period "
                    f"ago counts half."
                )
        if worse:
            listing = listed([f"{_worst(judged, i)} with {self._named(self.trials[i].memory)}" for i in worse])
            text += f" Clearly worse for {self._worst_off}: {listing}, instead of {_worst(judged, self.chosen)}."
        return text

    def _about_memory(self, judged: JudgedTrials) -> list[str]:
        """What no memory, what happened, and memories without a half-life would do; what the first half alone says."""
        none = next(i for i, each in enumerate(self.trials) if i and each.memory.kind == "instantaneous")
        received = words(self.kind).received
        sentences = [
            f"Without any memory, {self._worst_off} would have {received} {_worst(judged, none)} in "
            f"{self.length(self.period)}; with the actual decisions, they {received} {_worst(judged, 0)}. With "
            f"the recommendation it is {_worst(judged, self.chosen)}."
        ]
        rest = [i for i, each in enumerate(self.trials) if i and each.memory.kind in ("sliding_window", "reset")]
        better = [i for i in rest if self.clearly_better(i, self.chosen)]
        if better:
            listing = listed([f"{self._trial(i)} ({_change(judged.worst, i, self.chosen)})" for i in better])
            sentences.append(
                f"Other memories would do better still for them: {listing}. A ledger has "
                f"half-lives only, but Python has these memories, too."
            )
        if self.held_out is not None and self.verdict not in ("hardly matters", "cannot tell"):
            memory, rule, gain = self.held_out
            first = "The first half of the history alone would have led to"
            if (memory, rule) == (self.memory, self.rule):
                off = f"{abs(gain):.0%} {'better' if gain >= 0 else 'worse'} off"
                sentences.append(
                    f"{first} the same recommendation; in the second half, which was not used for it, "
                    f"{self._worst_off} would have been {off} than with {self._trial(self.simple)}."
                )
            else:
                sentences.append(
                    f"{first} {self._named(memory)} and the rule {rule}, so the recommendation is not firm: ask "
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
                "If agents report their needs themselves, they can gain by reporting little: add --reported, which "
                "counts reports as multiples of what each usually reports."
            )
        low, high = self.facts.between
        if not self.entitled and self.kind == "burden":
            sentences.append(
                "If some agents have a smaller share of the load, such as half-timers, give --entitlements."
            )
        elif not self.entitled and low > 0 and high > MUCH_MORE * low and not self.reported:
            sentences.append(
                f"Some agents ask for {high / low:.0f} times as much as others, and all count as entitled to the same. "
                f"If those who ask for more are larger, such as a clinic with more patients, give --entitlements."
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
        """What would be taken if only the total counted, or only the longest wait."""
        sentences, sign = [], -1.0 if self.kind == "burden" else 1.0
        most = max(range(1, len(self.trials)), key=lambda i: sign * judged.mean(judged.total, i))
        if judged.gain(judged.total, most, self.chosen).low > 0:
            which = "least" if self.kind == "burden" else "most"
            sentences.append(
                f"If only the total counted: {self._trial(most)} gives {which}, {_total(judged, most)} in "
                f"{self.length(self.period)} ({_change(judged.total, most, self.chosen)}), but leaves "
                f"{_worst(judged, most)} for {self._worst_off} instead of {_worst(judged, self.chosen)}."
            )
        shortest = min(self.fading(), key=lambda i: (self.trials[i].longest, i != self.chosen))
        if self.trials[shortest].longest < 0.8 * self.trials[self.chosen].longest:
            row = "carry many times in a row" if self.kind == "burden" else "ask many times in vain"
            sentences.append(
                f"If nobody should {row}: {self._trial(shortest)}, at most {self.trials[shortest].longest} "
                f"instead of {self.trials[self.chosen].longest}; {self._worst_off} would then have "
                f"{words(self.kind).received} {_worst(judged, shortest)}."
            )
        return sentences

    def table(self) -> Table:
        burden = self.kind == "burden"
        quarter, row = ("heaviest quarter", "in a row") if burden else ("worst-off quarter", "in vain")
        most, streak = ("carried most", "carried") if burden else ("received least", "asked in vain")
        judged = self.judged
        return Table(
            f"What would have been {words(self.kind).received} in {self.length(self.period)}",
            ["memory", "rule", quarter, "all together", "Gini", row, "for that quarter"],
            [] if judged is None else [self._row(judged, i) for i in self.shown()],
            note=f"{_capital(quarter)}: the mean of the quarter of agents who {most}. {_capital(row)}: the most times "
            f"in a row that anybody {streak}. The last column compares with the recommendation; its ranges allow for "
            f"chance, for ties and for the number of comparisons.",
        )

    def shown(self) -> list[int]:
        """The trials in the table: what happened, the recommended rule under all memories, the other under its own."""
        rest = [i for i, each in enumerate(self.trials) if i and (each.rule == self.rule or each.memory == self.memory)]
        return [0, *sorted(rest, key=lambda i: (i != self.chosen, self.trials[i].memory != self.memory, i))]

    def _row(self, judged: JudgedTrials, i: int) -> list[str]:
        trial, gain, was = self.trials[i], self.gain(i, self.chosen), judged.mean(judged.worst, self.chosen)
        # Of burdens more is worse: the column says what happens to the number, as the others do.
        low, high = (gain.low, gain.high) if self.kind == "good" else (-gain.high, -gain.low)
        change = _change(judged.worst, i, self.chosen)
        change = f"{change} ({_percent(low / was)} to {_percent(high / was)})" if was > 0 else ""
        has_rule = i > 0 and trial.memory.kind != "instantaneous"
        return [
            "as it was" if i == 0 else trial.memory.name, trial.rule if has_rule else "",
            _worst(judged, i), _total(judged, i), f"{judged.mean(judged.gini, i):.2f}", str(trial.longest),
            "recommended" if i == self.chosen else change,
        ]  # fmt: skip

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
    def _worst_off(self) -> str:
        return f"the quarter of agents who {words(self.kind).received} {'most' if self.kind == 'burden' else 'least'}"

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
    """What the worst-off quarter of a trial has in a period."""
    return amount(judged.mean(judged.worst, i))


def _total(judged: JudgedTrials, i: int) -> str:
    """What all agents of a trial have in a period."""
    return amount(judged.mean(judged.total, i))


def _change(what: np.ndarray, i: int, other: int) -> str:
    """How much more of something a trial gives than another, in percent."""
    was = float(what[other].mean())
    return _percent(float(what[i].mean()) / was - 1) if was > 0 else "from nothing"


def _percent(change: float) -> str:
    """A change in percent with its sign; nothing falls by more than all of it."""
    points = max(round(100 * change), -100)
    return f"{points:+d}%" if points else "0%"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
