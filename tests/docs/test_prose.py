"""Docs and code are written in plain English: turns of phrase that make readers stop stay rare.

Lower a limit when a count has fallen.
"""

import pytest

from support.extras import ROOT
from support.mannerisms import MANNERISMS, counts

LIMITS = {
    "a clause in place of a noun": (25, 13),
    "a thing that says": (10, 35),
    "whoever, somebody, everybody": (16, 2),
    "as it is": (0, 3),
    "so that": (3, 1),
    "beside": (1, 1),
    "a fronted Of": (3, 2),
    "of its own": (5, 2),
    "carry": (1, 3),
    "drawn actions": (0, 0),
    "anew, in vain and others": (3, 4),
    "other names of a part-timer": (0, 0),
    "other names of perfect recall": (0, 0),
}
"""The most occurrences of each mannerism in the docs and in the package."""


@pytest.fixture(scope="module")
def occurrences():
    """The counts in the docs and in the package."""
    pages = ["README.md", "CONTRIBUTING.md", "evidence/README.md"]
    docs = [*(ROOT / page for page in pages), *(ROOT / "docs").rglob("*.md")]
    return counts(docs), counts((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("name", MANNERISMS)
def test_a_mannerism_stays_rare(occurrences, name):
    in_docs, in_code = (area[name] for area in occurrences)
    most_in_docs, most_in_code = LIMITS[name]
    assert in_docs <= most_in_docs, f"the docs have {in_docs} of these, at most {most_in_docs} are allowed"
    assert in_code <= most_in_code, f"the code has {in_code} of these, at most {most_in_code} are allowed"


def test_every_pattern_finds_its_mannerism(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "It shows what\nis remembered. Of the agents, whoever says so goes, so that nobody stands beside it. "
        "It stays as it\nis, with a name of its own, and carries drawn actions anew. A half-timer: nothing fades.\n"
    )
    assert dict(counts([page])) == dict.fromkeys(MANNERISMS, 1)
