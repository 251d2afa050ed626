"""`bygones decay` and `bygones stability`: describe a memory before it is used."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones._text import amount
from bygones.cli.arguments import Number, Output, Printed, number_of, optional
from bygones.cli.console import print_document, print_json, read_matrix
from bygones.document.document import Block, Column, Document, Table


def decay(
    gamma: Annotated[Number, optional("Discount factor γ per step, from 0 to 1.")] = None,
    half_life: Annotated[
        str | None,
        optional(
            "Half-life: steps until a past utility counts half. In 30d a step is a day, in 12h an hour.",
            "STEPS",
        ),
    ] = None,
    tenth_life: Annotated[Number, optional("Tenth-life: steps until a past utility counts a tenth.")] = None,
    window: Annotated[Number, optional("Effective window: the total weight of the past, in steps.")] = None,
    last: Annotated[Number, optional("Number of recent steps with --share of the total weight.")] = None,
    share: Annotated[Number, optional("Share of the total weight in the --last steps, for example 0.95.")] = None,
    horizon: Annotated[
        float, arg(metavar="STEPS", help="Number of steps for the bounds; inf for no limit.")
    ] = math.inf,
    u_max: Annotated[float, arg(metavar="NUMBER", help="Largest utility per step, for the bounds.")] = 1.0,
    output: Printed = Output(),
) -> None:
    """Convert a decay between discount factor, half-life, window and share of recent steps.

    Give the decay in exactly one way: --gamma, --half-life, --tenth-life, --window, or --last with --share.

    For example:
        bygones decay --half-life 7
        bygones decay --half-life 30d
        bygones decay --last 30 --share 0.95
        bygones decay --gamma 0.99 --horizon 1000 --u-max 2
    """
    from bygones import decay as d

    steps, step = (None, "") if half_life is None else _steps(half_life)
    numbers = d.equivalents(gamma=gamma, half_life=steps, tenth_life=tenth_life, window=window, last=last, share=share)
    numbers["additive_bound"] = d.additive_bound(u_max, numbers["gamma"], horizon)
    numbers["averaged_bound"] = d.averaged_bound(u_max)
    numbers["responsiveness"] = d.responsiveness(numbers["gamma"], horizon)
    when = "at any time" if horizon == math.inf else f"after {horizon:g} steps"
    eventually = "in the long run" if horizon == math.inf else when
    meaning = {
        "gamma": "weight of a past utility after one step",
        "half_life": "steps until a past utility counts half",
        "tenth_life": "steps until a past utility counts a tenth",
        "window": "total weight of the past, in steps",
        **{f"steps_for_{p}%": f"recent steps with {p}% of the total weight" for p in (50, 90, 95, 99)},
        "additive_bound": f"largest memory {when} if it sums utilities of up to {u_max:g}",
        "averaged_bound": f"largest memory if it averages utilities of up to {u_max:g}",
        "responsiveness": f"weight of the newest utility in the average {eventually}",
    }
    if output.json:
        print_json(numbers)
    else:
        rows = [[name, amount(float(value), digits=6), meaning[name]] for name, value in numbers.items()]
        columns: list[Column | str] = ["quantity", "value", Column("meaning", folds=True)]
        blocks: list[Block] = [Table("", columns, rows), *([f"A step is one {step}."] if step else [])]
        print_document(Document("One decay in every unit", blocks, "Decay"))


def _steps(half_life: str) -> tuple[float, str]:
    """A half-life in steps, and which unit of time a step is; empty if it has no unit."""
    from bygones.ledger.model.times import duration, in_words

    accepted = "half_life must be a number of steps, or a time such as 30d or 12h"
    try:
        duration(half_life)
    except ValueError:
        return number_of(half_life, accepted), ""
    number, _, unit = in_words(half_life).partition(" ")
    return float(number), unit.removesuffix("s")


def stability(
    matrix: Annotated[Positional[Path], arg(metavar="MATRIX", help="CSV file with a square matrix and no header.")],
    u_max: Annotated[float, arg(metavar="NUMBER", help="Largest utility per step.")] = 1.0,
    allow_negative: Annotated[bool, arg(help="Accept negative entries, which log-Nash welfare cannot handle.")] = False,
    output: Printed = Output(),
) -> None:
    """Check whether a linear memory Z' = AZ + u is bounded, and explain the verdict.

    For example, with a file matrix.csv that contains the lines 0.5,0.2 and 0.1,0.4:
        bygones stability matrix.csv
        bygones stability matrix.csv --u-max 10 --allow-negative
    """
    from bygones import stability as s

    design = s.design(read_matrix(matrix), u_max, non_negative=not allow_negative)
    if output.json:
        print_json(design.to_dict())
    else:
        print_document(design.document())
