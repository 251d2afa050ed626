"""The pages for a first five minutes and those about concepts: what they show is what happens."""

import pytest

from support.guides import DOCS
from support.walkthrough import walk_through

PAGES = sorted([*DOCS.glob("start/*.md"), *DOCS.glob("concepts/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_the_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    walk_through(page, tmp_path)
