"""Turns of phrase that make readers stop, and how often each occurs in a text.

Each pattern is searched without regard to capitals, with line breaks read as spaces and runnable blocks of code left
in: what a program prints is read as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

MANNERISMS = {
    "a clause in place of a noun": r"\bwhat (?:is|was|are|were|has|have|had|an?|it|they|each|everybody|everyone|agents)\b",
    "things that say": r"\bsays?\b",
    "whoever, somebody, everybody": r"\bwhoever\b|\bsomebody\b|\beverybody\b|\bthose (?:who|that|of)\b",
    "as it is": r"\bas it (?:is|was|stands)\b|\bas they are\b",
    "a fronted Of": r"(?:\. |: |- |[|] )Of (?:the|what|a|an|[0-9]+)\b",
    "so that": r"\bso that\b",
    "beside": r"\bbeside\b",
    "of your own": r"\bof (?:your|its|our|their|one's|mine) own\b|\bof ours\b",
    "carry, hand out": r"\bcarr(?:y|ies|ied|ying)\b|\bhand(?:s|ed|ing)? out\b|\bplaces? worth\b|\bturn of\b",
    "drawn and most probable actions": r"\bdrawn actions?\b|\bwith drawn\b|\bactions? (?:are |is )?drawn\b|\bmost probable\b",
    "anew, in vain and others": (
        r"\banew\b|\bin vain\b|\bmeanwhile\b|\bbeforehand\b|\blikewise\b|\ball the same\b|\bthe more so\b|\bcomes? to\b"
    ),
    "half-timer": r"\bhalf-timers?\b",
    "names of perfect recall": r"\bnothing fades\b|\bno fading\b|\bfades? never\b|\bnever fades?\b",
    "--timezone": r"--timezone\b",
}
"""The patterns, by what they are about."""


def counts(paths: Iterable[Path]) -> Counter[str]:
    """How often each turn of phrase occurs in some files."""
    total: Counter[str] = Counter(dict.fromkeys(MANNERISMS, 0))
    for path in paths:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for name, pattern in MANNERISMS.items():
            total[name] += len(re.findall(pattern, text, flags=re.IGNORECASE))
    return total
