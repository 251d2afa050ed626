"""`bygones allocate`: reads the tables, decides, and prints the decision with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from bygones._files import check_output, write_text
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import json_text, print_document, print_json, print_paths

if TYPE_CHECKING:
    from bygones.memory import Memory

Needs = Annotated[
    Positional[Path],
    arg(
        metavar="NEEDS",
        help="CSV file: agent,need for places; agent and one column per item, or agent,item,utility, for items; "
        "agent,rate,cap or agent,need for an amount; nobody gets more than their cap or need. Leave a cell empty to "
        "exclude an agent.",
    ),
]
NumberOfPlaces = Annotated[
    int | None,
    arg(
        help="The number of places, for a table of needs (default: 1).",
        help_behavior_hint="",
        metavar="NUMBER",
        aliases=["-k"],
    ),
]
Capacity = Annotated[
    int | None, optional("The most items that one agent may take, for a table of items (default: 1).", "NUMBER")
]
AmountToDivide = Annotated[
    float | None, optional("The amount to divide, for a table of rates and caps, or of needs.", "NUMBER")
]
Whole = Annotated[bool, arg(help="Divide the amount into whole units, such as doses.")]
ThingName = Annotated[
    str | None, optional("The thing that is allocated, in the singular, such as shift or dose.", "NAME")
]
Unit = Annotated[str | None, optional("The unit of needs and totals, such as h or GPU-hours.", "UNIT")]
WhyNot = Annotated[str | None, optional("Also explain why this agent was not chosen.", "AGENT")]


def allocate(
    needs: Needs,
    half_life: Annotated[
        str | None,
        optional(
            "The time after which a utility counts half: a number of steps, or of days if times are dates; a "
            "duration such as 30d or 12h; or inf for perfect recall. Give this, or --memory.",
            "TIME",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        optional(
            "Another memory by name, such as 'sliding_window(length=28d)', 'capped(discounted(half_life=30), cap=40)' "
            "or your own as module:name.",
            "MEMORY",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        optional(
            "CSV file with the columns agent, time and utility (or amount), in order of time; a time is a number "
            "or a date. Without a history, nothing is remembered.",
            "FILE",
        ),
    ] = None,
    past_needs: Annotated[
        Path | None,
        optional(
            "CSV file of past needs to learn prices from, for --rule prices: one row per past step, one column per "
            "agent. A cell is empty if the agent did not ask.",
            "FILE",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"],
        arg(help="good: something people want. burden: work that someone has to do."),
    ] = "good",
    welfare: Annotated[
        str,
        arg(
            help="What to maximise, e.g. egalitarian, nash, 'alpha_fair(alpha=2)'; for burdens egalitarian, "
            "utilitarian, generalized_gini or 'power_burden(p=2)'."
        ),
    ] = "egalitarian",
    rule: Annotated[
        str,
        arg(
            help="one-step maximises welfare after this decision; prices looks ahead and learns from the past. Another "
            "policy, such as max-min or your own as module:name, chooses agents for places.",
            metavar="POLICY",
        ),
    ] = "one-step",
    k: NumberOfPlaces = None,
    capacity: Capacity = None,
    amount: AmountToDivide = None,
    whole: Whole = False,
    entitlements: Annotated[
        Path | None,
        optional(
            "CSV file with the columns agent and entitlement; for burdens, the share of the load (0 is exempt).", "FILE"
        ),
    ] = None,
    others: Annotated[
        str | None,
        optional(
            "The entitlement of agents who are not in that file, such as 1 (default: they are refused).", "NUMBER"
        ),
    ] = None,
    at: Annotated[
        str | None,
        optional(
            "The time of the decision (default: one step after the last utilities, or now if times are dates).", "TIME"
        ),
    ] = None,
    average: Annotated[
        bool, arg(help="With --half-life, remember the weighted mean over the times in the history, not the sum.")
    ] = False,
    seed: Annotated[
        int | None, optional("Makes the random draw between equally good choices repeatable.", "NUMBER")
    ] = None,
    thing: ThingName = None,
    unit: Unit = None,
    why_not: WhyNot = None,
    out: Annotated[Path | None, optional("Also write the decision to this file, .csv or .json.", "FILE")] = None,
    output: Printed = Output(),
) -> None:
    """Decide who gets what now, given what everyone received before.

    For example:
        bygones allocate needs.csv --history past.csv --half-life 30 --welfare egalitarian --k 2
        bygones allocate needs.csv --history past.csv --half-life 30 --rule prices --past-needs sample.csv
        bygones allocate shifts.csv --history past.csv --half-life 30d --kind burden --thing shift --unit h
    """
    import numpy as np

    from bygones import allocation
    from bygones._arrays import check_count
    from bygones._text import check_name, counted
    from bygones.allocation import tables
    from bygones.allocation.calibration import calibrate_by_name
    from bygones.kinds import check_word
    from bygones.memory import Discounted

    if out is not None and out.suffix not in (".csv", ".json"):
        raise ValueError(f"out must end in .csv or .json, got {str(out)!r}")
    if out is not None:
        check_output(out, [each for each in (needs, history, past_needs, entitlements) if each])
    if seed is not None:
        check_count("seed", seed, least=0)
    request = tables.read_needs(needs, k=k, capacity=capacity, amount=amount, whole=whole)
    for name in request.agent_names:
        check_name(f"{needs}: the name of an agent", name)
    agents = request.agent_names
    shares = None
    if others is not None and entitlements is None:
        raise ValueError("others is for --entitlements: give a file, or leave others out")
    if entitlements is not None:
        shares = tables.read_entitlements(entitlements, agents, exempt=kind == "burden", others=others)
    if (half_life is None) == (memory is None):
        raise ValueError("give --half-life or --memory, and not both")
    if average and half_life is None:
        raise ValueError("--average is for --half-life: give the memory its own parameter, as in perfect(average=True)")
    kept: Memory
    if half_life is not None:
        kept, length = Discounted(half_life=_steps(half_life), average=average), half_life
    else:
        kept, length = _named(str(memory))
    learned, notes = None, []
    if past_needs is not None:
        if rule != "prices":
            raise ValueError(f"past-needs is for --rule prices, got --rule {rule}")
        weights = None if shares is None else dict(zip(agents, shares.tolist(), strict=True))
        sample = tables.read_past_needs(past_needs, request)
        notes = _without_a_column(past_needs, needs, agents, {name for each in sample for name in each.agent_names})
        learned = calibrate_by_name(sample, agents, kept, welfare, kind=kind, entitlements=weights)
    elif rule == "prices":
        kept = allocation.learning(kept, welfare, shares, kind)
    past = tables.Past(kept.init(len(agents)), None)
    if history is not None:
        past = tables.read_past(history, agents, kept)
        if past.last is not None and not past.last.is_date and not _is_number(length):
            name = "half-life" if memory is None else "the length in the memory"
            raise ValueError(f"{name} must be a number of steps, as the times in {history} are, got {length!r}")
    decision = allocation.allocate(
        request.among(agents, kind),
        kept,
        past.state,
        welfare,
        elapsed=tables.since_last(past.last, at),
        entitlements=shares,
        time_unit=tables.unit_of(past.last) if _is_number(length) else "day",
        rule=rule,
        calibration=None if learned is None else learned.prices,
        learned_from="" if learned is None else f"{counted(learned.requests, 'row')} of {past_needs}",
        rng=np.random.default_rng(seed),
        thing=check_word("thing", thing or ""),
        unit=check_word("unit", unit or ""),
    )
    answers = [] if why_not is None else [decision.why_not(why_not)]
    data = decision.to_dict() | ({"notes": notes} if notes else {}) | ({"why_not": answers[0]} if answers else {})
    if out is not None:
        text = f"{json_text(data)}\n" if out.suffix == ".json" else tables.decision_csv(decision)
        write_text(out, text, private=True)
    if output.json:
        print_json(data)
        return
    print_document(decision.document().and_also([*answers, *notes]))
    print_paths([] if out is None else [out])


def _named(text: str) -> tuple[Memory, str]:
    """The memory of a name, whose length of time may be a duration such as 28d, and this length."""
    from bygones._registry import as_text
    from bygones.memory import memories, parse_memory
    from bygones.memory.contract import IN_TIME

    entry = memories.read(text)
    word = IN_TIME.get(entry.name, "")
    length = entry.parameters.get(word, 0)
    if isinstance(length, str):
        steps = _steps(length, word)
        number = int(steps) if steps.is_integer() else steps
        return parse_memory(as_text(entry.name, {**entry.parameters, word: number})), length
    if not isinstance(entry.parameters.get("memory"), str):
        return parse_memory(text), "0"
    inside, length = _named(str(entry.parameters["memory"]))
    return parse_memory(entry.build(memory=inside)), length


def _steps(length: str, name: str = "half_life") -> float:
    """A half-life, or another length of time, in steps of the memory, which are days if times are dates."""
    from bygones.ledger.model.times import UNITS, duration

    return float(length) if _is_number(length) else duration(length, name) / UNITS["d"]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_a_column(path: Path, needs: Path, agents: Sequence[str], columns: set[str]) -> list[str]:
    """A note about agents without past needs, whose names may be misspelt in one of the tables."""
    from bygones._text import listed

    missing = [name for name in agents if name not in columns]
    if not missing:
        return []
    others = sorted(columns.difference(agents))
    also = f", and {listed(others, 5)} {'is' if len(others) == 1 else 'are'} not in {needs}" if others else ""
    prices = "price is the mean of the others'" if len(missing) == 1 else "prices are the mean of the others'"
    return [f"{path} has no past needs of {listed(missing, 5)}{also}: their {prices}. Are all names spelt alike?"]
