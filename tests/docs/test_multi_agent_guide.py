"""Every example of the page runs alone, as a reader would copy it. Learners that are not installed are skipped."""

import re
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch

from support.guides import DOCS, run_guide

PAGE = DOCS / "guides" / "multi-agent.md"

QUICK = (
    "PettingZoo, parallel",
    "PettingZoo, agents take turns",
    "A loop in the style of CleanRL",
    "Agents that die or are absent",
)
LONG = {
    "SuperSuit with Stable-Baselines3": "supersuit",
    "RLlib": "ray",
    "TorchRL": "torchrl",
    "JaxMARL": "jaxmarl",
}
WITHOUT_CODE = ("One reward for all, or one for each", "Costs")

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested:UserWarning"),
]


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for a busy core make small networks many times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_section_is_tried():
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted([*QUICK, *LONG, *WITHOUT_CODE])


def test_agents_that_all_go_to_the_machine_leave_it_to_the_first():
    names = run_guide(PAGE, "PettingZoo, parallel")
    totals = [info["cumulative"] for info in names["infos"].values()]
    assert max(totals) > 90
    assert sum(totals) == max(totals)


def test_turns_end_with_the_metrics_of_the_episode():
    names = run_guide(PAGE, "PettingZoo, agents take turns")
    assert 0 <= names["info"]["episode_metrics"]["gini"] <= 0.75
    assert set(names["observation"]) == {"observation", "memory"}


def test_the_loop_learns_to_take_turns():
    worst_off = run_guide(PAGE, "A loop in the style of CleanRL")["worst_off"]
    assert np.mean(worst_off[:10]) < 12
    assert np.mean(worst_off[-10:]) > 14


def test_an_absent_agent_is_not_the_worst_off():
    rewards = run_guide(PAGE, "Agents that die or are absent")["rewards"]
    assert rewards == (0.07, 0.7)


@pytest.mark.soak
def test_stable_baselines_learns_through_supersuit():
    assert example("SuperSuit with Stable-Baselines3")["model"].num_timesteps >= 2_000


@pytest.mark.soak
@pytest.mark.filterwarnings("default")
def test_rllib_learns():
    pytest.importorskip("tree", reason="dm-tree, which RLlib needs, is not installed (pip install 'bygones[soak]')")
    names = example("RLlib")
    assert np.isfinite(names["result"]["env_runners"]["episode_return_mean"])
    config = names["PPOConfig"]().environment("bygones.envs:bygones/Donut-v0").env_runners(num_env_runners=0)
    config.training(train_batch_size=200, minibatch_size=100, num_epochs=1)
    algorithm = config.build_algo()
    assert algorithm.train()["env_runners"]["num_env_steps_sampled"] >= 200
    algorithm.stop()
    sys.modules["ray"].shutdown()


@pytest.mark.soak
def test_torchrl_plays():
    rollout = example("TorchRL")["rollout"]
    assert rollout["next", "agent", "reward"].shape == (100, 3, 1)
    from torchrl.envs import GymWrapper

    assert GymWrapper(gym.make("bygones.envs:bygones/Donut-v0")).rollout(5).shape == (5,)


@pytest.mark.soak
def test_jaxmarl_plays():
    names = example("JaxMARL")
    assert names["info"]["memory"].shape == (16, 100, 2)
    assert all(np.isfinite(rewards).all() for rewards in names["rewards"].values())


def example(section):
    library = LONG[section]
    pytest.importorskip(library, reason=f"{library} is not installed (pip install 'bygones[soak]')")
    return run_guide(PAGE, section)
