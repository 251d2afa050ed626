from support.guides import DOCS
from support.walkthrough import walk_through


def test_the_commands_of_the_page_do_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    walk_through(DOCS / "audits.md", tmp_path)
    assert "Who would have been served instead" in (tmp_path / "what-if.html").read_text(encoding="utf-8")
