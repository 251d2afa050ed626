from bygones.ledger.model import times
from bygones.ledger.model.times import instant
from support.guides import DOCS
from support.walkthrough import walk_through


def test_the_guide_leads_from_an_empty_folder_to_a_decision(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(times, "now", lambda: instant("2026-03-16T09:00"))
    assert "Ledger" in walk_through(DOCS / "guides" / "night-shifts.md", tmp_path)
    assert (tmp_path / "ward.db").exists()
    assert (tmp_path / "out" / "newcomers.png").exists()
    assert (tmp_path / "out" / "plan.png").exists()
    assert "SUMMARY:Ana" in (tmp_path / "ana.ics").read_text(encoding="utf-8")
    assert "Who is due what" in (tmp_path / "audit.html").read_text(encoding="utf-8")
