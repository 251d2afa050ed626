"""Turns of phrase that make readers stop, and how often each occurs in a text.

They were common in earlier versions of the docs and the code. Patterns ignore capitals and line breaks. They also match
some good English, so the limits of `tests/docs/test_prose.py` are low numbers and not zero.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_NOUN_CLAUSE = "is|was|are|were|has|have|had|an?|it|they|each|everybody|everyone|agents"
_FILLERS = ("anew", "in vain", "meanwhile", "beforehand", "likewise", "all the same", "the more so", "comes? to")

MANNERISMS = {
    "a clause in place of a noun": rf"\bwhat (?:{_NOUN_CLAUSE})\b",  # "what is remembered": the recent total
    "a thing that says": r"\bsays?\b",  # shows, sets, defines, lists
    "whoever, somebody, everybody": r"\b(?:whoever|somebody|everybody)\b",  # someone, everyone, the agent with the most
    "those who": r"\bthose (?:who|that|of)\b",  # the agents who, the others, a noun
    "as it is": r"\bas it (?:is|was|stands)\b|\bas they are\b",  # unscaled, unchanged, actual
    "so that": r"\bso that\b",  # so
    "beside": r"\bbeside\b",  # next to, compared with, alongside
    "a fronted Of": r"(?:\. |: |- |[|] )Of (?:the|what|an?|[0-9]+)\b",  # the subject comes first
    "of its own": r"\bof (?:your|its|our|their|one's) own\b|\bof ours\b",  # custom, separate
    "carry": r"\bcarr(?:y|ies|ied)\b",  # take, work
    "hand out": r"\bhand(?:s|ed|ing)? out\b",  # allocate, assign, share out
    "drawn actions": r"\bdrawn actions?\b|\bwith drawn\b|\bmost probable actions?\b",  # sampled, greedy
    "anew, in vain and others": rf"\b(?:{'|'.join(_FILLERS)})\b",
    "other names of a part-timer": r"\bhalf-timers?\b",
    "other names of perfect recall": r"\bnothing fades\b|\bno fading\b",
}
"""The patterns, by the mannerism that they find."""

CHAINS = {"semicolons": ";", "colons": "[a-z]: [a-z]"}
"""Marks that join two statements into one sentence, in the prose of Markdown."""

_BLOCKS = re.compile(r"^ *```.*?^ *```$|^\$\$.*?\$\$$|<!--.*?-->|^(?:\||#|    \S)[^\n]*$", re.DOTALL | re.MULTILINE)
"""Parts of Markdown that are not prose: code, formulas, comments, tables and headings."""


def counts(paths: Iterable[Path]) -> Counter[str]:
    """The number of times that each mannerism occurs in some files."""
    total = Counter(dict.fromkeys(MANNERISMS, 0))
    for path in paths:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for name, pattern in MANNERISMS.items():
            total[name] += len(re.findall(pattern, text, flags=re.IGNORECASE))
    return total


def chains(paths: Iterable[Path]) -> Counter[str]:
    """The number of times that each of `CHAINS` occurs in the prose of some Markdown files."""
    pages = [prose(path.read_text(encoding="utf-8")) for path in paths]
    return Counter({name: sum(len(re.findall(mark, page)) for page in pages) for name, mark in CHAINS.items()})


def prose(markdown: str) -> str:
    """The paragraphs and list items of a page, one a line, without code, formulas, tables and headings."""
    text = re.sub(r"`[^`]+`|\$[^$]+\$", "…", _BLOCKS.sub("\n", markdown))
    paragraphs = re.split(r"\n\s*\n|\n(?= *(?:[-*>]|[0-9]+\.) )", text)
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
