import pytest

from support.guides import DOCS, run_guide


@pytest.mark.soak
def test_the_guide_to_learning_runs(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names = run_guide(DOCS / "guides" / "learning.md")
    assert names["played"] == pytest.approx(names["result"].final["gini"], abs=0.15)
