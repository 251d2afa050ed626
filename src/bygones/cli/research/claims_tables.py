"""Verdicts on a terminal: all claims in a table, or one claim with every number behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bygones.cli.console import print_sentences, print_table, say, say_bold

if TYPE_CHECKING:
    from bygones.paper.claims import Judgement
    from bygones.paper.judging import Comparison, ScaleVerdict

READING = (
    "Medians over seeds with exact intervals. p (claim false): the chance of such seeds if the claim were false (sign "
    "test); p (claim true): if it were true, after Holm's correction. Mean: with Student's 95% interval, as in the "
    "paper's figures. "
    "Of alternatives the claim asks for one, with all that belongs to it. For all seeds, add --json."
)
OUTCOMES = {True: "As claimed", False: "Not as claimed", None: "Cannot tell"}


def print_claims(judgements: Sequence[Judgement], changes: Mapping[str, Any]) -> None:
    """The verdicts; `changes` are the settings in which all the runs differ from the paper's protocol."""
    from bygones.paper.cells import MIN_SEEDS

    verdicts = [verdict for judgement in judgements for verdict in judgement.by_scale.values()]
    if not any(verdict.comparisons for verdict in verdicts):
        say(f"There are too few runs to judge any of the paper's claims: a claim needs {MIN_SEEDS} seeds per cell.")
        if changes:
            text = " ".join(f"{name}={setting_text(value)}" for name, value in changes.items())
            say(f"These runs differ from the paper's protocol. To judge them anyway: bygones claims … --set {text}")
        elif verdicts:
            say(f"The first gap: {verdicts[0].reason}.")
        return
    print_table("The paper's claims", ["", "verdict", "claim"], [[j.name, j.word, j.claim] for j in judgements])
    scales = list(dict.fromkeys(scale for judgement in judgements for scale in judgement.by_scale))
    rows = [
        [j.name, *(_by_welfare(j.by_scale[scale]) if scale in j.by_scale else None for scale in scales)]
        for j in judgements
    ]
    print_table("Under each observation scale (egalitarian, Nash if they differ)", ["", *scales], rows)
    say("For the numbers behind a verdict, add --why and its name, such as --why C6; for all of them, add --json.")


def print_comparisons(judgement: Judgement) -> None:
    """A claim, its criterion, and every comparison that was made, under each observation scale."""
    asked = judgement.asked
    say_bold(f"{judgement.name}  {judgement.claim}  {judgement.word.upper()}")
    say(judgement.counted, "")
    print_sentences(f"The paper: “{quote.text}” ({quote.place})" for quote in asked.quotes)
    print_sentences([f"Criterion: {judgement.criterion}", f"Known before: {asked.known}"])
    say("")
    for scale, verdict in judgement.by_scale.items():
        title = f"{judgement.name} under observation scale {scale}: {verdict.short}"
        if not verdict.comparisons:
            say(f"{title} ({verdict.reason})", "")
            continue
        say_bold(title)
        for made in verdict.comparisons:
            print_sentences(_comparison(made, 100 * (1 - 2 * asked.level)))
        say("")
    print_sentences([READING])
    say("")


def setting_text(value: object) -> str:
    """A setting as it is written on the command line."""
    return f"{value:g}" if isinstance(value, float) else (value if isinstance(value, str) else json.dumps(value))


def _comparison(made: Comparison, confidence: float) -> list[str]:
    """What was compared, and below it the numbers."""
    numbers = [
        f"median {made.value:.3g}, {confidence:g}% interval {made.interval.low:.3g} to {made.interval.high:.3g}, "
        f"claimed: {made.wanted}",
        f"p (claim false) {made.p_holds:.2g}, p (claim true) {made.p_adjusted:.2g}",
    ]
    if made.seeds:
        numbers.insert(1, f"{made.as_claimed:.0%} of {len(made.seeds[0])} seeds as claimed")
    if made.mean is not None and made.mean_interval is not None:
        low, high = made.mean_interval
        numbers.append(f"mean {made.mean:.3g} ({low:.3g} to {high:.3g})")
    if made.splits:
        numbers.append("the seeds split into two groups")
    place = made.place and f" ({made.place})"
    return [f"{OUTCOMES[made.outcome]}{place}: {made.what}", f"  {'; '.join(numbers)}"]


def _by_welfare(found: ScaleVerdict) -> str:
    """The verdicts under the welfare functions, once if they are the same."""
    return ", ".join(dict.fromkeys(verdict.short for verdict in found.by_welfare.values()))
