"""A process that trains one program after another does not fill up with them."""

from pathlib import Path

import pytest

from bygones.learn import programs
from bygones.learn.runs import train
from bygones.learn.settings import Settings

SMALL = Settings(horizon=16, total_steps=64, rollout_steps=32, batch_size=16, epochs=1, n_agents=3)


def mappings() -> int:
    return Path("/proc/self/maps").read_bytes().count(b"\n")


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux limits memory mappings")
def test_programs_of_earlier_trainings_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAPPINGS", 0)
    train(SMALL.replace(hidden=(4,)), unroll=1)
    one = mappings()
    for width in (5, 6):
        train(SMALL.replace(hidden=(width,)), unroll=1)
    assert mappings() < one + 100  # a program takes several hundred


def test_a_few_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go: list[str] = []
    monkeypatch.setattr(programs.jax, "clear_caches", lambda: let_go.append("all"))
    programs.make_room()
    assert let_go == []
    monkeypatch.setattr(programs, "MAPPINGS", 0)
    programs.make_room()
    assert let_go == ["all"] * Path("/proc/self/maps").exists()
