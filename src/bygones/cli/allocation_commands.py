"""`bygones allocate`: thin. Reads the tables, decides, and prints the decision with its reasons."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones.cli.console import print_json, print_paths


def _optional(help_text: str) -> object:
    return arg(help=help_text, help_behavior_hint="")


def allocate(
    needs: Annotated[
        Positional[Path],
        arg(help="CSV file with columns agent and need, or agent and one per item (empty: may not have it)."),
    ],
    half_life: Annotated[float, arg(help="Steps, or days where times are dates, until a past utility counts half.")],
    history: Annotated[
        Path | None,
        _optional(
            "CSV file with columns agent, time, utility, in the order of time; a time is a number "
            "or a date. Without it nothing is remembered."
        ),
    ] = None,
    welfare: Annotated[
        str, arg(help="What to maximise, e.g. egalitarian, nash, 'alpha_fair(alpha=2)'.")
    ] = "egalitarian",
    k: Annotated[int | None, _optional("How many agents are served, for a table of needs; 1 if left out.")] = None,
    capacity: Annotated[int | None, _optional("Most items for one agent, for a table of items; 1 if left out.")] = None,
    entitlements: Annotated[Path | None, _optional("CSV file with columns agent and entitlement.")] = None,
    now: Annotated[
        str | None, _optional("The time of the decision. Left out: one step after the last, or now for dates.")
    ] = None,
    average: Annotated[
        bool, arg(help="Remember the weighted mean over the times in the history, not the sum.")
    ] = False,
    seed: Annotated[int | None, _optional("Makes the draw among equally good decisions repeatable.")] = None,
    out: Annotated[Path | None, _optional("Also write the decision to this file, .csv or .json.")] = None,
    json: Annotated[bool, arg(help="Print JSON for programs instead of sentences.")] = False,
) -> None:
    """Decide who is served now, given what everybody had before.

    Example: bygones allocate needs.csv --history past.csv --half-life 30 --welfare egalitarian --k 2
    """
    import numpy as np

    from bygones import allocation
    from bygones._arrays import check_count
    from bygones.allocation import tables
    from bygones.memory import Discounted

    if out is not None and out.suffix not in (".csv", ".json"):
        raise ValueError(f"out must end in .csv or .json, got {str(out)!r}")
    if seed is not None:
        check_count("seed", seed, least=0)
    memory = Discounted(half_life=half_life, average=average)
    problem, agents, items = tables.read_needs(needs, k=k, capacity=capacity)
    past = tables.Past(memory.init(len(agents)), None)
    if history is not None:
        past = tables.read_past(history, agents, memory)
    decision = allocation.allocate(
        problem,
        memory,
        past.state,
        welfare,
        elapsed=tables.until_now(past.last, now),
        entitlements=None if entitlements is None else tables.read_entitlements(entitlements, agents),
        agents=agents,
        items=items,
        time_unit=tables.unit_of(past.last),
        rng=np.random.default_rng(seed),
    )
    reasons = decision.to_dict()
    if out is not None:
        as_json = json_format.dumps(reasons, ensure_ascii=False, indent=2) + "\n"
        out.write_text(as_json if out.suffix == ".json" else tables.decision_csv(decision), encoding="utf-8")
    if json:
        print_json(reasons)
        return
    print(decision)
    print_paths([] if out is None else [out])
