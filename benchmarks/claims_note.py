"""The parts of docs/claims.md and evidence/README.md that are computed: `python -m benchmarks.claims_note` writes them.

Each part is between two comments, `<!-- name -->` and `<!-- end -->`. The text around them is written by hand. A test
compares the parts with the evidence.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sensitivity
from bygones.document.document import Table
from bygones.paper.claims import CLAIMS, RECALL, Judgement, Judgements, cells_by_scale, judge
from bygones.paper.collapse import learned
from bygones.paper.criteria import MORE_STEPS
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import SCALES, WELFARES, in_order, memory_label
from bygones.paper.judgements import counted_verdicts
from bygones.paper.judging import CANNOT_TELL, TOO_FEW
from bygones.paper.results import Results, read
from bygones.report.paper.without_training import columns, problems_of, rows, sentence
from bygones.report.paper.worth_of_policies import tables_of_networks, tables_of_worth

NOTE = Path("docs/claims.md")
HISTORY = Path("evidence/README.md")
WIDTH = 120

PROTOCOLS: dict[str, dict[str, Any]] = {"termination": {"ends": "termination"}, "shaping": {"shaping_discount": 0.99}}
"""Protocols other than the paper's for which there are runs of the whole grid, under two observation scales."""

ABOUT: dict[str, dict[str, Any]] = {
    "C2": {"gamma": RECALL, "horizon": 500},
    "C3, C6, C13": {"gamma": RECALL, "horizon": 10000},
    "C13, ten million steps": {"gamma": RECALL, "horizon": 10000, "total_steps": MORE_STEPS},
    "C5a": {"gamma": 0.999, "horizon": 1000},
    "C4b, C6": {"gamma": 0.999, "horizon": 10000},
    "C4, C8, C9": {"gamma": 0.99, "horizon": 10000},
    "C4, C7, C8": {"gamma": 0.9, "horizon": 10000},
    "C10a": {"gamma": RECALL, "horizon": 10000, "aggregation": "averaged"},
    "C10b": {"gamma": 0.999, "horizon": 10000, "aggregation": "averaged"},
}
"""The memories that the claims about the collapse are about, at the horizon that decides."""

_SIGNS = {CANNOT_TELL: "?", TOO_FEW: "–"}


def parts(results: Results) -> dict[str, str]:
    """Every computed part of docs/claims.md, by its name."""
    judgements = judge(results)
    paper = [judged for judged in judgements if judged.asked.quotes]
    ours = [judged for judged in judgements if not judged.asked.quotes]
    scales = in_order(paper[0].by_scale)
    others = {name: judge(results, [judged.name for judged in paper], **how) for name, how in PROTOCOLS.items()}
    protocols = {f"{name}, {scale}": each for name, each in others.items() for scale in ("none", "window")}
    return {
        "counts": _wrapped(f"{counted_verdicts(Judgements(paper, {}))}."),
        "scales": "\n".join(["| name | what the network sees of the memory |", "|---|---|"]
                            + [f"| {scale} | {SCALES[scale]} |" for scale in scales]),
        "verdicts": _table(dict.fromkeys(scales, paper)),
        "beyond-verdicts": _table(dict.fromkeys(scales, ours)),
        "other-protocols": _table(protocols),
        "fair-and-learned": fair_and_learned(results),
        "sensitivity": sensitivity.table(results),
        "another-bar": another_bar(results),
        "claims": "\n\n".join(map(_section, paper)),
        "beyond": "\n\n".join(map(_section, ours)),
        "networks": "\n\n".join(map(_captioned, tables_of_networks(results))),
        "policies": "\n\n".join(map(_captioned, tables_of_worth(results))),
        "rules": "\n\n".join(map(_rules, problems_of({"evidence": results}).values())),
    }  # fmt: skip


def fair_and_learned(results: Results) -> str:
    """Gini and share of the way to the optimum of the memories that claims are about: medians over all seeds."""
    every = cells_by_scale(results)
    lines = [["claims", "memory", "T", "welfare", *every], ["---"] * (4 + len(every))]
    for claims, about in ABOUT.items():
        for welfare in WELFARES:
            wanted = {"aggregation": "additive", **about, "welfare": welfare}
            row = [claims, memory_label(about["gamma"]), f"{about['horizon']:,}", welfare]
            lines.append([*row, *(_both(some.runs(**wanted)) for some in every.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def another_bar(results: Results) -> str:
    """The verdicts of the claims about fairness, by the Gini of serving the largest needs."""
    with sensitivity.by_the_largest_needs():
        judged = judge(results, sensitivity.BY_THE_BAR)
    return _table(dict.fromkeys(in_order(judged[0].by_scale), judged))


def _both(runs: Results) -> str:
    gini, welfare = (runs[name].astype(float) for name in ("final_gini", "final_welfare"))
    return f"{np.median(gini):.2f}, {np.median(learned(runs.settings()[0], welfare)):z.2f}"


def history() -> dict[str, str]:
    """The computed part of evidence/README.md: for each claim, the results known before its criterion was written."""
    known = [_wrapped(f"- **{claim.name}.** {claim.known}", indent="  ") for claim in CLAIMS.values() if claim.known]
    return {"known": "\n".join(known)}


def with_parts(note: str, computed: Mapping[str, str]) -> str:
    """A document with its computed parts replaced."""
    for name, text in computed.items():
        around = re.split(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", note, flags=re.DOTALL)
        if len(around) != 2:
            raise ValueError(f"the document must have one part <!-- {name} --> … <!-- end -->, got {len(around) - 1}")
        note = f"\n{text}\n\n".join(around)
    return note


def _table(by_column: Mapping[str, Sequence[Judgement]]) -> str:
    """Verdicts by claim; a column is named after its observation scale, perhaps with a protocol before it."""
    claims = next(iter(by_column.values()))
    body = [
        f"| {claim.name} {claim.asked.text.rstrip('.')} | "
        + " | ".join(_words(each[number], name.rpartition(", ")[2]) for name, each in by_column.items())
        + " |"
        for number, claim in enumerate(claims)
    ]
    return "\n".join([f"| claim | {' | '.join(by_column)} |", "|---" * (1 + len(by_column)) + "|", *body])


def _captioned(table: Table) -> str:
    return f"{_wrapped(f'**{table.title}.**')}\n\n{_lines([column.name for column in table.headings], table.texts())}"


def _rules(runs: Results) -> str:
    """Whether learning is worth it under a welfare function, and the table behind that."""
    memory, *others = columns(runs)
    header = [f"{runs['welfare'][0]}, {memory}", *others]
    return f"{_wrapped(sentence(runs))}\n\n{_lines(header, rows(runs))}"


def _lines(header: Sequence[str], body: Sequence[Sequence[object]]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (header, ["---"] * len(header), *body))


def _words(judged: Judgement, scale: str) -> str:
    """The verdicts under egalitarian and Nash welfare, once if they are the same."""
    if scale not in judged.by_scale:
        return ""
    found = judged.by_scale[scale].by_welfare.values()
    return ", ".join(dict.fromkeys(_SIGNS.get(verdict.short, verdict.short) for verdict in found))


def _section(judged: Judgement) -> str:
    asked = judged.asked
    return "\n\n".join(
        [
            f"### {judged.name}. {judged.claim}",
            *(_wrapped(f"{quote.text} ({quote.place})", "> ") for quote in asked.quotes),
            _wrapped(f"**Criterion.** {judged.criterion}"),
            _wrapped(f"**Verdict.** {judged.word.capitalize()} ({judged.counted})."),
        ]
    )


def _wrapped(text: str, prefix: str = "", indent: str = "") -> str:
    lines = textwrap.wrap(
        text, WIDTH - len(prefix), break_on_hyphens=False, break_long_words=False, subsequent_indent=indent
    )
    return "\n".join(prefix + line for line in lines)


def main() -> None:
    """Replaces the computed parts of both documents."""
    computed = parts(read(*sorted(evidence_folder().iterdir())))
    for document, some in ((NOTE, computed), (HISTORY, history())):
        document.write_text(with_parts(document.read_text(encoding="utf-8"), some), encoding="utf-8")


if __name__ == "__main__":
    main()
