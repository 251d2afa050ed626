"""Advice in sentences: what to take, why, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bygones._text import amount, counted, listed
from bygones.audit.advice import Advice
from bygones.audit.advice_facts import PERIODS, TURNS
from bygones.audit.advice_trials import Judged
from bygones.audit.alternatives import Alternative
from bygones.kinds import Kind, words

MUCH_DRIFT = 0.25
"""A history has changed much if this share of all needs moved to other agents from one half to the other."""

MUCH_MORE = 5.0
"""Agents differ much if one asks for this many times as much as another on average."""


class AdviceText(NamedTuple):
    """Advice as people read it, whether rules were compared or not.

    Attributes:
        label: where the history came from.
        half_life: what is recommended, as a duration.
        rule: what is recommended.
        newcomers: the newcomer rule.
        kind: goods or burdens.
        normalised: whether reports should be normalised.
        compared: whether rules were replayed, so that `bygones what-if` can show more.
        steps: whether times are step numbers, which a ledger does not have.
        is_ledger: whether the history is a ledger already.
        is_log: whether it is the log of a cluster, whose queue can be replayed.
        gone_after: after how long without an event agents count as away; empty if never.
        headline: what to take, in a few sentences.
        reasons: why.
        doubts: what would change it.
        notes: what was skipped or assumed.
        title: of the table.
        columns: of the table.
        rows: of the table; empty if there is none.
        about: what the columns mean.
    """

    label: str
    half_life: str
    rule: str
    newcomers: str
    kind: Kind
    normalised: bool
    compared: bool
    steps: bool
    is_ledger: bool
    is_log: bool
    gone_after: str
    headline: list[str]
    reasons: list[str]
    doubts: list[str]
    notes: list[str]
    title: str
    columns: list[str]
    rows: list[list[str]]
    about: str


def memory_named(advice: Advice, memory: Alternative) -> str:
    """A half-life in a sentence: `a half-life of 30d`, or `perfect recall`."""
    if memory.kind == "perfect_recall":
        return "perfect recall"
    if memory.kind == "instantaneous":
        return "no memory"
    if memory.kind != "discounted":
        return f"a {memory.phrase.removeprefix('With a ')}{' steps' if advice.clock.steps else ''}"
    return f"a half-life of {length(advice, memory.length)}"


def _half_lives_named(advice: Advice, memories: Sequence[Alternative]) -> str:
    """Half-lives in a sentence: `half-lives of 7d, 14d and inf`."""
    steps = " steps" if advice.clock.steps else ""
    which = listed([advice.clock.length_text(each.length) for each in memories])
    return f"{'a half-life' if len(memories) == 1 else 'half-lives'} of {which}{steps}"


def length(advice: Advice, value: float) -> str:
    """A length of time in a sentence: `30d`, or `30 steps`."""
    text = advice.clock.length_text(value)
    return text if not advice.clock.steps else f"{text} step{'' if text == '1' else 's'}"


def worst_off(advice: Advice) -> str:
    """The worst-off quarter, in words."""
    return f"the quarter of agents who {words(advice.kind).received} {'most' if advice.kind == 'burden' else 'least'}"


def headline(advice: Advice) -> list[str]:
    """What to take, and how sure that is, in two or three sentences."""
    take = f"{memory_named(advice, advice.memory)} and the rule {advice.rule}"
    if advice.reported:
        take += ", with normalised reports"
    if advice.verdict == "nothing to decide":
        return [f"Begin with {take}.", _nothing_to_decide(advice)]
    if advice.judged is None:
        return [f"Begin with {take}: this history is too short to compare others with it.", _too_short(advice)]
    if advice.verdict == "hardly matters":
        tried = len(advice.fading()) - 1
        would = "carried clearly less" if advice.kind == "burden" else "received clearly more"
        return [
            f"Take {take}.",
            f"It hardly matters here: with none of the {tried} other half-lives and rules that were tried would "
            f"{worst_off(advice)} have {would}, so take the simplest.",
        ]
    than = f"instead of {_worst(advice.judged, advice.simple)} with {_trial(advice, advice.simple)}"
    change = _change(advice.judged, advice.chosen, advice.simple)
    first = (
        f"{worst_off(advice)} would have {words(advice.kind).received} {_worst(advice.judged, advice.chosen)} "
        f"in {length(advice, advice.period)} on average, {than} ({change})"
    )
    if advice.verdict == "better in total":
        total = _change(advice.judged, advice.chosen, advice.simple, of_total=True)
        first += f", and all together {_total(advice.judged, advice.chosen)} ({total})"
    return [f"Take {take}.", f"{first[0].upper()}{first[1:]}."]


def _nothing_to_decide(advice: Advice) -> str:
    if advice.facts.agents == 1:
        return "There is only one agent in this history, so there was nobody to choose between."
    who = "could carry did" if advice.kind == "burden" else "asked was served"
    rows = "could have carried and did not" if advice.kind == "burden" else "asked and was not served"
    return (
        f"Everybody who {who}, every time, so there was nothing to choose and rules cannot be compared: add a row, "
        f"with served 0, for each agent who {rows}."
    )


def _too_short(advice: Advice) -> str:
    need = max(TURNS * advice.facts.turn, min(advice.period, advice.facts.span)) * PERIODS
    wanted = max(round(need / advice.facts.every), advice.facts.decisions + 1)
    return (
        f"It has {counted(advice.facts.decisions, 'decision')} about {counted(advice.facts.agents, 'agent')}, and a "
        f"turn comes about every {length(advice, advice.facts.turn)}; a comparison needs about {wanted:,} decisions."
    )


def reasons(advice: Advice) -> list[str]:
    """Why, in sentences."""
    facts, found = advice.facts, []
    asked, did = ("could carry it", "did") if advice.kind == "burden" else ("asked", "was served")
    do = did if f"{facts.served:.2g}" == "1" or advice.kind == "burden" else "were served"
    found.append(
        f"There were {counted(facts.decisions, 'decision')}, one every {length(advice, facts.every)} on average. "
        f"{amount(facts.asking, 2)} of {counted(facts.agents, 'agent')} {asked} and {amount(facts.served, 2)} {do}, so "
        f"that each has a turn about every {length(advice, facts.turn)}."
    )
    if facts.joined or facts.left:
        stayed = f"; half of those had stayed no longer than {length(advice, facts.stay)}" if facts.left else ""
        found.append(
            f"{facts.joined:,} joined later and {facts.left:,} left before the end{stayed} (newcomer rule: "
            f"{advice.newcomers})."
        )
    found.append(_about_needs(advice))
    if advice.judged is not None:
        found.append(
            f"All were judged within periods of {length(advice, advice.period)}, about "
            f"{counted(max(round(advice.period / facts.turn), 1), 'turn')} for each agent; "
            f"{counted(advice.judged.n_periods, 'period')} could be compared."
        )
        found += [_about_the_rule(advice, advice.judged), _about_the_half_life(advice, advice.judged)]
        found += _about_memory(advice, advice.judged)
    return found


def _about_needs(advice: Advice) -> str:
    facts = advice.facts
    if facts.equal:
        return "At each decision the needs of all are the same, so that it does not matter who has a turn when."
    low, high = (amount(each) for each in facts.between)
    spread = "" if advice.reported else f", and their means go from {low} to {high} between agents"
    return f"The needs of an agent vary by {facts.within:.0%} around their mean{spread}."


def _about_the_rule(advice: Advice, judged: Judged) -> str:
    other = advice.index(advice.memory, "prices" if advice.rule == "one-step" else "one-step")
    name, mine, theirs = advice.trials[other].rule, advice.chosen, other
    row = "carried {} times in a row" if advice.kind == "burden" else "asked {} times in a row in vain"
    worst, total = judged.worst, judged.total
    if max(abs(judged.mean(each, mine) - judged.mean(each, theirs)) for each in (worst, total)) < 1e-9:
        return f"With {memory_named(advice, advice.memory)}, the rules one-step and prices do the same here."
    longest, other_longest = advice.trials[mine].longest, advice.trials[theirs].longest
    than = "with both" if longest == other_longest else f"instead of {longest}"
    said = (
        f"With the rule {name} instead of {advice.rule}, {worst_off(advice)} would have {words(advice.kind).received} "
        f"{_worst(judged, theirs)} instead of {_worst(judged, mine)} and all together {_total(judged, theirs)} instead "
        f"of {_total(judged, mine)}; at worst, somebody {row.format(other_longest)} {than}."
    )
    if advice.reported:
        said += (
            " But with normalised reports one-step leaves nothing to gain by false reports, and prices leave a little."
        )
    elif advice.rule == "one-step":
        said += " One-step is also easier to check: whoever is furthest behind is next."
    return said


def _about_the_half_life(advice: Advice, judged: Judged) -> str:
    alike = [each for each in advice.alike(advice.rule) if each != advice.memory]
    worse = [
        i for i in advice.fading() if advice.trials[i].rule == advice.rule and advice.clearly_better(advice.chosen, i)
    ]
    said = "No other half-life does as well with this rule."
    if alike:
        verb = "does" if len(alike) == 1 else "do"
        said = f"{_capital(_half_lives_named(advice, alike))} {verb} about as well with this rule; "
        said += (
            f"{length(advice, advice.memory.length)} is as long as the period: what was a period ago counts half."
            if advice.memory.length == advice.period
            else f"of these, {memory_named(advice, advice.memory)} is nearest to the period."
        )
    if worse:
        listing = listed([f"{_worst(judged, i)} with {memory_named(advice, advice.trials[i].memory)}" for i in worse])
        said += f" Clearly worse for {worst_off(advice)}: {listing}, instead of {_worst(judged, advice.chosen)}."
    return said


def _about_memory(advice: Advice, judged: Judged) -> list[str]:
    """What no memory, what happened, and memories without a half-life would do; and what the first half alone says."""
    none = next(i for i, each in enumerate(advice.trials) if i and each.memory.kind == "instantaneous")
    received, found = words(advice.kind).received, []
    found.append(
        f"Without any memory, {worst_off(advice)} would have {received} {_worst(judged, none)} in "
        f"{length(advice, advice.period)}; as it was decided, they {received} {_worst(judged, 0)}. With what is "
        f"recommended it is {_worst(judged, advice.chosen)}."
    )
    rest = [i for i, each in enumerate(advice.trials) if i and each.memory.kind in ("sliding_window", "reset")]
    better = [i for i in rest if advice.clearly_better(i, advice.chosen)]
    if better:
        listing = listed([f"{_trial(advice, i)} ({_change(judged, i, advice.chosen)})" for i in better])
        found.append(
            f"Other memories would do better still for them: {listing}. Ledgers keep half-lives only; Python has both."
        )
    if advice.held_out is not None and advice.verdict not in ("hardly matters", "cannot tell"):
        memory, rule, gain = advice.held_out
        first = "By the first half of the history alone it would have been"
        if (memory, rule) == (advice.memory, advice.rule):
            off = f"{abs(gain):.0%} {'better' if gain >= 0 else 'worse'} off"
            found.append(
                f"{first} the same; in the second half, which it had not seen, {worst_off(advice)} would have been "
                f"{off} than with {_trial(advice, advice.simple)}."
            )
        else:
            found.append(
                f"{first} {memory_named(advice, memory)} and the rule {rule}, so the choice is not firm: ask again "
                f"when the history is longer."
            )
    return found


def doubts(advice: Advice) -> list[str]:
    """What would change the advice, in sentences."""
    found = []
    if advice.kind_assumed:
        found.append("It is taken for goods. If these are burdens, such as shifts, add --kind burden.")
    for period, (memory, rule) in advice.others.items():
        said = f"{memory_named(advice, memory)} and the rule {rule}"
        found.append(f"If it should come out even within {length(advice, period)} (--period): {said}.")
    if advice.judged is not None:
        found += _other_aims(advice, advice.judged)
    if not advice.reported and not advice.facts.equal:
        found.append(
            "If agents report their needs themselves, they can gain by reporting little: add --reported, which counts "
            "reports as multiples of what each usually reports."
        )
    if not advice.entitled:
        low, high = advice.facts.between
        if advice.kind == "burden":
            found.append("If some agents have a smaller share of the load, such as half-timers, give --entitlements.")
        elif low > 0 and high > MUCH_MORE * low and not advice.reported:
            found.append(
                f"Some agents ask for {high / low:.0f} times as much as others, and all count as entitled to the same. "
                f"If those who ask for more are larger, such as a clinic with more patients, give --entitlements."
            )
        else:
            found.append("If some agents are entitled to more than others, give --entitlements.")
    if advice.facts.drift > MUCH_DRIFT:
        found.append(
            f"From the first half of the history to the second, {advice.facts.drift:.0%} of all needs moved to other "
            f"agents. If that goes on, prefer a shorter half-life to a longer one."
        )
    return found


def _other_aims(advice: Advice, judged: Judged) -> list[str]:
    """What would be taken if only the total counted, or only the longest wait."""
    found, sign = [], -1.0 if advice.kind == "burden" else 1.0
    tried = range(1, len(advice.trials))
    most = max(tried, key=lambda i: sign * judged.mean(judged.total, i))
    if judged.gain(judged.total, most, advice.chosen).low > 0:
        which = "least" if advice.kind == "burden" else "most"
        found.append(
            f"If only the total counted: {_trial(advice, most)} gives {which}, {_total(judged, most)} in "
            f"{length(advice, advice.period)} ({_change(judged, most, advice.chosen, of_total=True)}), but leaves "
            f"{_worst(judged, most)} for {worst_off(advice)} instead of {_worst(judged, advice.chosen)}."
        )
    shortest = min(advice.fading(), key=lambda i: (advice.trials[i].longest, i != advice.chosen))
    if advice.trials[shortest].longest < 0.8 * advice.trials[advice.chosen].longest:
        row = "carry many times in a row" if advice.kind == "burden" else "ask many times in vain"
        found.append(
            f"If nobody should {row}: {_trial(advice, shortest)}, at most {advice.trials[shortest].longest} "
            f"instead of {advice.trials[advice.chosen].longest}; {worst_off(advice)} would then have "
            f"{words(advice.kind).received} {_worst(judged, shortest)}."
        )
    return found


def advice_text(advice: Advice) -> AdviceText:
    """The advice as people read it."""
    quarter, row = ("heaviest quarter", "in a row") if advice.kind == "burden" else ("worst-off quarter", "in vain")
    received = words(advice.kind).received
    most, streak = ("carried most", "carried") if advice.kind == "burden" else ("received least", "asked in vain")
    return AdviceText(
        advice.label, advice.memory.name, advice.rule, advice.newcomers, advice.kind, advice.reported,
        bool(advice.trials), advice.clock.steps, False, False, "", headline(advice), reasons(advice), doubts(advice),
        list(advice.notes),
        f"What would have been {received} in {length(advice, advice.period)}",
        ["memory", "rule", quarter, "all together", "Gini", row, "for that quarter"],
        [] if advice.judged is None else [_row(advice, advice.judged, i) for i in _shown(advice)],
        f"{_capital(quarter)}: the mean of the quarter of agents who {most}. {_capital(row)}: the most times in a row "
        f"that anybody {streak}. The last column compares with what is recommended; its ranges allow for chance, for "
        f"ties and for the number of comparisons.",
    )  # fmt: skip


def _shown(advice: Advice) -> list[int]:
    """The trials in the table: what happened, the recommended rule under all memories, the other one under its own."""
    rest = [
        i for i, each in enumerate(advice.trials) if i and (each.rule == advice.rule or each.memory == advice.memory)
    ]
    return [0, *sorted(rest, key=lambda i: (i != advice.chosen, advice.trials[i].memory != advice.memory, i))]


def _row(advice: Advice, judged: Judged, i: int) -> list[str]:
    trial, gain = advice.trials[i], advice.gain(i, advice.chosen)
    was = judged.mean(judged.worst, advice.chosen)
    # Of burdens more is worse: the column says what happens to the number, as the others do.
    low, high = (gain.low, gain.high) if advice.kind == "good" else (-gain.high, -gain.low)
    change = f"{_change(judged, i, advice.chosen)} ({_percent(low / was)} to {_percent(high / was)})" if was > 0 else ""
    return [
        "as it was" if i == 0 else trial.memory.name,
        "" if i == 0 or trial.memory.kind == "instantaneous" else trial.rule,
        _worst(judged, i), _total(judged, i), f"{judged.mean(judged.gini, i):.2f}", str(trial.longest),
        "recommended" if i == advice.chosen else change,
    ]  # fmt: skip


def advice_data(advice: Advice) -> dict[str, Any]:
    """The advice as plain data for JSON."""
    length_text, time = advice.clock.length_text, advice.clock.json_time
    facts = advice.facts._asdict() | {"first": time(advice.facts.first), "last": time(advice.facts.last)}
    facts |= {name: length_text(facts[name]) for name in ("every", "turn", "stay")}
    return {
        "history": advice.label,
        "kind": advice.kind,
        "recommendation": {
            "half_life": advice.memory.name,
            "rule": advice.rule,
            "newcomers": advice.newcomers,
            "reports": "normalised" if advice.reported else "as-reported",
            "verdict": advice.verdict,
            "sentences": headline(advice),
        },
        "reasons": reasons(advice),
        "would_change_it": doubts(advice),
        "period": length_text(advice.period),
        "facts": facts,
        "trials": [_trial_data(advice, i) for i in range(len(advice.trials))],
        "other_periods": {length_text(p): {"half_life": m.name, "rule": r} for p, (m, r) in advice.others.items()},
        "notes": list(advice.notes),
    }


def _trial_data(advice: Advice, i: int) -> dict[str, Any]:
    trial, worst = advice.trials[i], "heaviest_quarter" if advice.kind == "burden" else "worst_off_quarter"
    found: dict[str, Any] = {
        "memory": None if i == 0 else trial.memory.name,
        "rule": trial.rule,
        "longest_in_a_row": trial.longest,
    }
    if advice.judged is not None:
        of = advice.judged
        found |= {worst: of.mean(of.worst, i), "total": of.mean(of.total, i), "gini": of.mean(of.gini, i)}
        found["gain"] = advice.gain(i, advice.simple)._asdict()
    return found


def _trial(advice: Advice, i: int) -> str:
    """A trial in a sentence."""
    trial = advice.trials[i]
    rule = "" if trial.memory.kind == "instantaneous" else f" and the rule {trial.rule}"
    return f"{memory_named(advice, trial.memory)}{rule}"


def _worst(judged: Judged, i: int) -> str:
    """What the worst-off quarter of a trial has in a period."""
    return amount(judged.mean(judged.worst, i))


def _total(judged: Judged, i: int) -> str:
    return amount(judged.mean(judged.total, i))


def _change(judged: Judged, i: int, other: int, of_total: bool = False) -> str:
    """How much more a trial gives than another, in percent."""
    what = judged.total if of_total else judged.worst
    was = judged.mean(what, other)
    return _percent(judged.mean(what, i) / was - 1) if was > 0 else "from nothing"


def _percent(change: float) -> str:
    """A change in percent with its sign; nothing falls by more than all of it."""
    points = max(round(100 * change), -100)
    return f"{points:+d}%" if points else "0%"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
