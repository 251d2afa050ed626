"""The policies that the repository ships are those of the paper's cells, and play as the runs of these cells do."""

from __future__ import annotations

import pytest
from benchmarks.shipped_policies import ginis_of_runs

from bygones.learn import TrainedPolicy, evaluate
from bygones.paper import shipped_policies
from bygones.paper.evaluated_policy import file_of_trained
from bygones.paper.shipped_policies import NAMES, file_of, shipped_policy

every_policy = pytest.mark.parametrize("name", NAMES)


@every_policy
def test_a_shipped_policy_has_the_settings_of_its_name(name: str) -> None:
    assert shipped_policy(name).settings.replace(seed=0) == NAMES[name]


@pytest.mark.soak
@every_policy
def test_a_shipped_policy_plays_as_the_runs_of_its_cell_do(name: str) -> None:
    known = ginis_of_runs(NAMES[name])
    gini = evaluate(shipped_policy(name), episodes=4).mean["gini"]
    assert known.min() - 0.02 <= gini <= known.max() + 0.02


def test_a_policy_is_named_or_is_a_file(tmp_path, monkeypatch) -> None:
    assert file_of_trained("nash-discounted") == file_of("nash-discounted")
    assert file_of_trained("max-min") is None
    TrainedPolicy.load(file_of("nash-discounted")).save(tmp_path / "mine.safetensors")
    assert file_of_trained(str(tmp_path / "mine.safetensors")) == tmp_path / "mine.safetensors"
    with pytest.raises(ValueError, match=r"policy must be one of nash-perfect-recall, .* got 'nash'"):
        file_of("nash")
    monkeypatch.setattr(shipped_policies, "evidence_folder", lambda: tmp_path / "grid")
    with pytest.raises(FileNotFoundError, match="shipped with the repository, so run this in a clone of it"):
        file_of("nash-discounted")
