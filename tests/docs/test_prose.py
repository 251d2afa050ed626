"""Docs and code are written in plain English: turns of phrase that make readers stop stay rare.

Lower a limit when a count has fallen.
"""

import pytest

from support.extras import ROOT
from support.mannerisms import CHAINS, MANNERISMS, chains, counts, prose

LIMITS = {
    "a clause in place of a noun": (24, 11),
    "a thing that says": (10, 35),
    "whoever, somebody, everybody": (16, 2),
    "those who": (3, 40),
    "as it is": (0, 3),
    "so that": (3, 1),
    "beside": (1, 1),
    "a fronted Of": (3, 2),
    "of its own": (5, 2),
    "carry": (1, 3),
    "hand out": (0, 0),
    "drawn actions": (0, 0),
    "anew, in vain and others": (3, 4),
    "other names of a part-timer": (0, 0),
    "other names of perfect recall": (0, 0),
}
"""The most occurrences of each mannerism in the docs and in the package."""

MOST_CHAINS = {"semicolons": 60, "colons": 95}
"""The most sentences of the docs that such a mark joins."""

DOCS = [*map(ROOT.joinpath, ("README.md", "CONTRIBUTING.md", "evidence/README.md")), *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(scope="module")
def occurrences():
    """The counts in the docs and in the package."""
    return counts(DOCS), counts((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("name", MANNERISMS)
def test_a_mannerism_stays_rare(occurrences, name):
    in_docs, in_code = (area[name] for area in occurrences)
    most_in_docs, most_in_code = LIMITS[name]
    assert in_docs <= most_in_docs, f"the docs have {in_docs} of these, at most {most_in_docs} are allowed"
    assert in_code <= most_in_code, f"the code has {in_code} of these, at most {most_in_code} are allowed"


@pytest.mark.parametrize("mark", CHAINS)
def test_sentences_are_seldom_chained(mark):
    number = chains(DOCS)[mark]
    assert number <= MOST_CHAINS[mark], (
        f"the docs have {number} {mark} in prose, at most {MOST_CHAINS[mark]} are allowed"
    )


def test_only_prose_is_searched_for_chains():
    blocks = ("# A title: b", "One: two; three `a: b; c`:", "    code: d;", "- item\n  goes on: here", "| e: f; g |")
    page = "\n\n".join((*blocks, "```\nh: i;\n```", "$$ j; k $$"))
    assert [line for line in prose(page).split("\n") if line] == ["One: two; three …:", "- item goes on: here"]


def test_every_pattern_finds_its_mannerism(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "It shows what\nis remembered. Of the agents, whoever says so goes, so that nobody stands beside it. "
        "It stays as it\nis, with a name of its own, and carries drawn actions anew. A half-timer: nothing fades "
        "for those\nwho hand out shifts.\n"
    )
    assert dict(counts([page])) == dict.fromkeys(MANNERISMS, 1)
