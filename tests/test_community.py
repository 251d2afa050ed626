"""The files that people look for before they take part are there, lead somewhere, and agree with the package."""

import re

import pytest

import bygones
from support.extras import PROJECT, ROOT

FILES = [
    "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "ROADMAP.md", "SECURITY.md",
    ".github/PULL_REQUEST_TEMPLATE.md", ".github/ISSUE_TEMPLATE/wrong.md", ".github/ISSUE_TEMPLATE/missing.md",
    ".github/ISSUE_TEMPLATE/claim.md",
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert len(text) > 200
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (ROOT / name).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda path: path.stem)
def test_a_template_has_a_name_and_says_what_it_is_for(path):
    assert re.match(r"---\nname: .+\nabout: .+\n---\n", path.read_text(encoding="utf-8"))


def test_the_roadmap_says_what_is_not_planned():
    text = (ROOT / "ROADMAP.md").read_text(encoding="utf-8")
    assert "## Not planned" in text
    assert len(re.findall(r"^- \*\*", text.partition("## Not planned")[2], re.MULTILINE)) >= 3


def test_the_changelog_has_this_version_with_its_date():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (date,) = re.findall(rf"^## {re.escape(bygones.__version__)} \((\d{{4}}-\d\d-\d\d)\)$", text, re.MULTILINE)
    assert PROJECT["version"] == bygones.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {bygones.__version__}\ndate-released: {date}\n" in citation
    assert "Past-Discounting is Key for Learning Markovian Fairness with Long Horizons" in citation
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"version = {{{bygones.__version__}}},\n  year    = {{{date[:4]}}}" in home
    assert [name in citation for name in ("Kumar", "Ashwin", "Yeoh", "William")] == [True] * 4
