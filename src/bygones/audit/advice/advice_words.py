"""Advice in sentences: what to take, why, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

from bygones._text import amount, counted, listed
from bygones.audit.advice.advice import Advice
from bygones.audit.advice.advice_facts import PERIODS
from bygones.audit.advice.advice_trials import JudgedTrials
from bygones.audit.replays.alternatives import Alternative
from bygones.kinds import words

MUCH_DRIFT = 0.25
"""A history has changed much if this share of all needs moved to other agents from one half to the other."""

MUCH_MORE = 5.0
"""Agents differ much if one asks for this many times as much as another on average."""

OTHERS_TOO = "With one agent, every half-life and rule does the same: add the rows of the others who take part, too."
"""What would change the advice about a history of one agent."""


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
        tried = counted(len(advice.fading()) - 1, "other choice")
        return [
            f"Take {take}.",
            f"It hardly matters here: of {tried} of half-life and rule, none would have been clearly better for "
            f"{worst_off(advice)}, so take the simplest.",
        ]
    than = f"instead of {worst_figure(advice.judged, advice.simple)} with {_trial(advice, advice.simple)}"
    change = change_figure(advice.judged, advice.chosen, advice.simple)
    first = (
        f"{worst_off(advice)} would have {words(advice.kind).received} {worst_figure(advice.judged, advice.chosen)} "
        f"in {length(advice, advice.period)} on average, {than} ({change})"
    )
    if advice.verdict == "better in total":
        total = change_figure(advice.judged, advice.chosen, advice.simple, of_total=True)
        first += f", and all together {total_figure(advice.judged, advice.chosen)} ({total})"
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
    wanted = max(round(PERIODS * advice.period / advice.facts.every), advice.facts.decisions + 1)
    return (
        f"It has {counted(advice.facts.decisions, 'decision')} about {counted(advice.facts.agents, 'agent')}, and a "
        f"turn comes about every {length(advice, advice.facts.turn)}; a comparison by periods of "
        f"{length(advice, advice.period)} needs about {wanted:,} decisions."
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
    if facts.agents > 1:
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


def _about_the_rule(advice: Advice, judged: JudgedTrials) -> str:
    other = advice.index(advice.memory, "prices" if advice.rule == "one-step" else "one-step")
    name, mine, theirs = advice.trials[other].rule, advice.chosen, other
    row = "carried {} times in a row" if advice.kind == "burden" else "asked {} times in a row in vain"
    worst, total = judged.worst, judged.total
    if max(abs(judged.mean(each, mine) - judged.mean(each, theirs)) for each in (worst, total)) < 1e-9:
        return f"With {memory_named(advice, advice.memory)}, the rules one-step and prices do the same here."
    longest, other_longest = advice.trials[mine].longest, advice.trials[theirs].longest
    than = "with both" if longest == other_longest else f"instead of {longest}"
    text = (
        f"With the rule {name} instead of {advice.rule}, {worst_off(advice)} would have {words(advice.kind).received} "
        f"{worst_figure(judged, theirs)} instead of {worst_figure(judged, mine)} and all together "
        f"{total_figure(judged, theirs)} instead of {total_figure(judged, mine)}; at worst, somebody "
        f"{row.format(other_longest)} {than}."
    )
    if advice.reported:
        text += (
            " But with normalised reports one-step leaves nothing to gain by false reports, and prices leave a little."
        )
    elif advice.rule == "one-step":
        text += " One-step is also easier to check: whoever is furthest behind is next."
    return text


def _about_the_half_life(advice: Advice, judged: JudgedTrials) -> str:
    alike = [each for each in advice.alike(advice.rule) if each != advice.memory]
    worse = [
        i for i in advice.fading() if advice.trials[i].rule == advice.rule and advice.clearly_better(advice.chosen, i)
    ]
    text = "No other half-life does as well with this rule."
    if alike:
        verb = "does" if len(alike) == 1 else "do"
        text = f"{capital(_half_lives_named(advice, alike))} {verb} about as well with this rule."
        if advice.memory.length == advice.period:
            text = (
                f"{text[:-1]}; {length(advice, advice.memory.length)} is as long as the period: what happened a period "
                f"ago counts half."
            )
    if worse:
        listing = listed(
            [f"{worst_figure(judged, i)} with {memory_named(advice, advice.trials[i].memory)}" for i in worse]
        )
        text += f" Clearly worse for {worst_off(advice)}: {listing}, instead of {worst_figure(judged, advice.chosen)}."
    return text


def _about_memory(advice: Advice, judged: JudgedTrials) -> list[str]:
    """What no memory, what happened, and memories without a half-life would do; and what the first half alone says."""
    none = next(i for i, each in enumerate(advice.trials) if i and each.memory.kind == "instantaneous")
    received, found = words(advice.kind).received, []
    found.append(
        f"Without any memory, {worst_off(advice)} would have {received} {worst_figure(judged, none)} in "
        f"{length(advice, advice.period)}; with the actual decisions, they {received} {worst_figure(judged, 0)}. With "
        f"the recommendation it is {worst_figure(judged, advice.chosen)}."
    )
    rest = [i for i, each in enumerate(advice.trials) if i and each.memory.kind in ("sliding_window", "reset")]
    better = [i for i in rest if advice.clearly_better(i, advice.chosen)]
    if better:
        listing = listed([f"{_trial(advice, i)} ({change_figure(judged, i, advice.chosen)})" for i in better])
        found.append(
            f"Other memories would do better still for them: {listing}. A ledger has "
            f"half-lives only, but Python has these memories, too."
        )
    if advice.held_out is not None and advice.verdict not in ("hardly matters", "cannot tell"):
        memory, rule, gain = advice.held_out
        first = "The first half of the history alone would have led to"
        if (memory, rule) == (advice.memory, advice.rule):
            off = f"{abs(gain):.0%} {'better' if gain >= 0 else 'worse'} off"
            found.append(
                f"{first} the same recommendation; in the second half, which was not used for it, "
                f"{worst_off(advice)} would have been {off} than with {_trial(advice, advice.simple)}."
            )
        else:
            found.append(
                f"{first} {memory_named(advice, memory)} and the rule {rule}, so the recommendation is not firm: ask "
                f"again when the history is longer."
            )
    return found


def doubts(advice: Advice) -> list[str]:
    """What would change the advice, in sentences."""
    if advice.facts.agents == 1:
        return [OTHERS_TOO]
    found = []
    if advice.kind_assumed:
        found.append("The history is taken to be about goods. If these are burdens, such as shifts, add --kind burden.")
    for period, (memory, rule) in advice.others.items():
        text = f"{memory_named(advice, memory)} and the rule {rule}"
        found.append(f"If shares should even out within {length(advice, period)} (--period): {text}.")
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


def _other_aims(advice: Advice, judged: JudgedTrials) -> list[str]:
    """What would be taken if only the total counted, or only the longest wait."""
    found, sign = [], -1.0 if advice.kind == "burden" else 1.0
    tried = range(1, len(advice.trials))
    most = max(tried, key=lambda i: sign * judged.mean(judged.total, i))
    if judged.gain(judged.total, most, advice.chosen).low > 0:
        which = "least" if advice.kind == "burden" else "most"
        found.append(
            f"If only the total counted: {_trial(advice, most)} gives {which}, {total_figure(judged, most)} in "
            f"{length(advice, advice.period)} ({change_figure(judged, most, advice.chosen, of_total=True)}), but "
            f"leaves {worst_figure(judged, most)} for {worst_off(advice)} instead of "
            f"{worst_figure(judged, advice.chosen)}."
        )
    shortest = min(advice.fading(), key=lambda i: (advice.trials[i].longest, i != advice.chosen))
    if advice.trials[shortest].longest < 0.8 * advice.trials[advice.chosen].longest:
        row = "carry many times in a row" if advice.kind == "burden" else "ask many times in vain"
        found.append(
            f"If nobody should {row}: {_trial(advice, shortest)}, at most {advice.trials[shortest].longest} "
            f"instead of {advice.trials[advice.chosen].longest}; {worst_off(advice)} would then have "
            f"{words(advice.kind).received} {worst_figure(judged, shortest)}."
        )
    return found


def _trial(advice: Advice, i: int) -> str:
    """A trial in a sentence."""
    trial = advice.trials[i]
    rule = "" if trial.memory.kind == "instantaneous" else f" and the rule {trial.rule}"
    return f"{memory_named(advice, trial.memory)}{rule}"


def worst_figure(judged: JudgedTrials, i: int) -> str:
    """What the worst-off quarter of a trial has in a period."""
    return amount(judged.mean(judged.worst, i))


def total_figure(judged: JudgedTrials, i: int) -> str:
    """What all agents of a trial have in a period."""
    return amount(judged.mean(judged.total, i))


def change_figure(judged: JudgedTrials, i: int, other: int, of_total: bool = False) -> str:
    """How much more a trial gives than another, in percent."""
    what = judged.total if of_total else judged.worst
    was = judged.mean(what, other)
    return percent(judged.mean(what, i) / was - 1) if was > 0 else "from nothing"


def percent(change: float) -> str:
    """A change in percent with its sign; nothing falls by more than all of it."""
    points = max(round(100 * change), -100)
    return f"{points:+d}%" if points else "0%"


def capital(text: str) -> str:
    """Text that begins with a capital letter."""
    return f"{text[0].upper()}{text[1:]}"
