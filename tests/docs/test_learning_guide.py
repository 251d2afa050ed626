import os

import jax
import pytest

from guides import DOCS, run_guide


def test_the_guide_to_learning_runs(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = jax.config
    before = config.jax_compilation_cache_dir, config.jax_persistent_cache_min_compile_time_secs
    try:
        names = run_guide(DOCS / "guides" / "learning.md")
    finally:
        config.update("jax_compilation_cache_dir", before[0])
        config.update("jax_persistent_cache_min_compile_time_secs", before[1])
    assert names["played"] == pytest.approx(names["result"].final["gini"], abs=0.15)
    assert os.listdir(tmp_path / "bygones" / "compiled")
