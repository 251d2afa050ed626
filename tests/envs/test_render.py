import os

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from bygones import Linear
from bygones.envs import needs
from bygones.envs.render import GREEN, HEIGHT, LEFT, RIGHT, WIDTH, Scene, Viewer

ID = "bygones/Allocation-v0"


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def count(frame, colour):
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((frame == rgb).all(axis=-1).sum())


def scene(served=(1, 7), n=10, **changes):
    utilities = np.isin(np.arange(n), served) * 0.5
    told = {"t": 3, "horizon": 10, "needs": np.full(n, 0.5), "utilities": utilities, "cumulative": np.arange(n) / 1.0}
    told |= {"memory": np.ones(n), "memory_name": "γ = 0.9", "step_title": "Need at this step", "mark": "served"}
    return Scene(**{**told, **changes})


def test_a_picture_is_an_array_of_pixels():
    frame = Viewer().draw(scene())
    assert frame.shape == (HEIGHT, WIDTH, 3)
    assert frame.dtype == np.uint8


def test_those_who_are_served_are_green():
    viewer = Viewer()
    nobody, two, four = (count(viewer.draw(scene(served)), GREEN) for served in ((), (1, 7), (1, 3, 5, 7)))
    bars = [two - nobody, four - nobody]
    assert bars[0] > 1000
    assert bars[1] == pytest.approx(2 * bars[0], rel=0.1)
    column = (WIDTH - LEFT - RIGHT) // 10
    frame = viewer.draw(scene((4,)))
    inside = frame[:, LEFT + 4 * column : LEFT + 5 * column]
    assert count(inside, GREEN) == pytest.approx(count(frame, GREEN), rel=0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"cumulative": np.arange(10.0) + 1},
        {"memory": np.linspace(0, 3, 10)},
        {"needs": np.linspace(0, 1, 10)},
        {"t": 9},
        {"memory_name": "averaged"},
        {"memory": np.linspace(-1, 1, 10)},
    ],
    ids=["true utilities", "memory", "needs", "step", "name", "a negative memory"],
)
def test_what_changes_is_seen(changes):
    viewer = Viewer()
    assert not np.array_equal(viewer.draw(scene()), viewer.draw(scene(**changes)))


@pytest.mark.parametrize("n", [1, 2, 30, 300])
def test_any_number_of_agents_is_drawn(n):
    frame = Viewer().draw(scene((0,), n))
    assert count(frame, GREEN) > 0


def test_the_checker_renders_in_every_mode():
    env = gym.make(ID, horizon=20)
    check_env(env.unwrapped)


def test_a_window_opens_steps_and_closes_without_a_screen():
    env = gym.make(ID, render_mode="human")
    env.unwrapped.metadata = {**env.unwrapped.metadata, "render_fps": 1000}
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    env.close()
    env.close()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"


def test_render_without_a_mode_says_what_to_do():
    env = gym.make(ID)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.unwrapped.render() is None
    with pytest.raises(ResetNeeded, match="nothing to render yet"):
        gym.make(ID, render_mode="rgb_array").unwrapped.render()
    with pytest.raises(ValueError, match="render_mode must be one of ansi, human, rgb_array"):
        gym.make(ID, disable_env_checker=True).unwrapped.__class__(render_mode="hologram")


def test_a_linear_memory_is_drawn():
    env = gym.make(ID, memory=Linear(np.eye(3) / 2), needs=needs.uniform(3), render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (HEIGHT, WIDTH, 3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_videos_are_recorded(tmp_path):
    pytest.importorskip("moviepy")
    from gymnasium.wrappers import RecordVideo

    env = RecordVideo(gym.make(ID, horizon=4, render_mode="rgb_array"), str(tmp_path / "films"))
    env.reset(seed=0)
    for action in range(4):
        env.step(action)
    env.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    assert film.stat().st_size > 1000
