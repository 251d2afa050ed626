import pytest

from bygones.paper import evidence
from support.guides import DOCS
from support.walkthrough import walk_through


@pytest.mark.soak
def test_the_guide_leads_from_an_empty_folder_to_results(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(evidence, "EVIDENCE", tmp_path / "nowhere")
    assert len(walk_through(DOCS / "guides" / "experiment.md", tmp_path)["runs"]) == 9
    assert (tmp_path / "out" / "mine" / "figures" / "figure-3b.png").exists()
    assert (tmp_path / "out" / "mine" / "report.html").stat().st_size < 8_000_000
    assert len((tmp_path / "out" / "mine" / "runs.csv").read_text().splitlines()) == 7
