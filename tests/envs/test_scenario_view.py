"""What is shown of a scenario, in text and in pictures."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from bygones.envs import catalogue
from bygones.envs.env import FairEnv

DONUT = """\
Step 2 of 10, Gini so far 0.500

 agent  is there  received at this step  memory  received so far
 ────────────────────────────────────────────────────────────────
     0         1                      1    1.50                2
     1         1                      0    0.00                0
"""


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_way_to_show_a_scenario_passes_gymnasiums_checker(name: str, vector: bool) -> None:
    id = catalogue.gymnasium_id(name, vector)
    if not vector:
        check_env(gym.make(id, welfare="egalitarian", render_mode="ansi").unwrapped)
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray), ("human", type(None))):
        env = gym.make(id, render_mode=mode)
        env.reset(seed=0)
        env.step(env.action_space.sample())
        assert isinstance(env.render(), kind)
        env.close()


def test_the_text_has_a_row_for_each_agent() -> None:
    env = gym.make("bygones/Donut-v0", chances=(1.0, 1.0), horizon=10, memory=0.5, render_mode="ansi")
    env.reset(seed=0)
    for _ in range(2):
        env.step(0)
    assert env.render() == DONUT
    without = gym.make("bygones/mo-Plant-v0", render_mode="ansi")
    without.reset(seed=0)
    lines = without.render().splitlines()
    assert lines[0] == "Step 0 of 1000, Gini so far 0.000"
    assert lines[1].startswith("row of part 0 ")
    assert "supply left 1" in " ".join(without.render().split())
    assert "memory" not in without.render()
    assert "…" not in without.render()
    assert len([line for line in lines[lines.index("") :] if line.split()[:1] and line.split()[0].isdigit()]) == 5


def test_a_picture_changes_with_what_was_received() -> None:
    env = gym.make("bygones/JobScheduling-v0", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    for _ in range(8):
        env.step(7)
    after = env.render()
    assert before.shape == after.shape == (640, 960, 3)
    assert (before != after).any()


def test_many_are_shown_at_once() -> None:
    env = gym.make_vec("bygones/Donut-v0", num_envs=2, render_mode="ansi")
    env.reset(seed=0)
    env.step(np.array([0, 1]))
    single = gym.make("bygones/Donut-v0", render_mode="ansi")
    single.reset(seed=1)
    single.step(1)
    assert env.render()[1] == single.render()
    pictures = gym.make_vec("bygones/mo-Donut-v0", num_envs=2, render_mode="rgb_array")
    pictures.reset(seed=0)
    assert [frame.shape for frame in pictures.render()] == [(640, 960, 3)] * 2


def test_bad_use_is_refused() -> None:
    with pytest.raises(ValueError, match="render_mode must be one of ansi, human, rgb_array"):
        FairEnv("donut", render_mode="hologram")
    with pytest.raises(ResetNeeded, match="call reset"):
        gym.make("bygones/Donut-v0", render_mode="ansi").render()
    with pytest.warns(UserWarning, match="render_mode"):
        gym.make("bygones/Donut-v0").render()
