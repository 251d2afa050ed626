from pathlib import Path

import pytest

from guides import execute

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.parametrize("guide", ["night-shifts"])
def test_the_guide_does_what_it_says(guide, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert execute(GUIDES / f"{guide}.md", tmp_path) > 3
