from support.guides import DOCS
from support.walkthrough import walk_through


def test_the_commands_of_the_guide_do_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    walk_through(DOCS / "guides" / "which-rule.md", tmp_path)
