"""Our policies in Stable-Baselines3 and theirs here: the same probabilities and values."""

import numpy as np
import pytest
import torch

from bygones.learn import sb3
from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings
from support.sharp_networks import sharp

SETTINGS = Settings(gamma=0.99, rollout_steps=64, total_steps=1000)


@pytest.fixture
def observations() -> np.ndarray:
    return np.random.default_rng(0).random((16, 20)).astype(np.float32) * np.repeat([1, 30], 10).astype(np.float32)


def theirs(model: sb3.PPO, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad():
        seen = torch.tensor(observations)
        distribution = model.policy.get_distribution(seen).distribution
        return distribution.probs.numpy(), model.policy.predict_values(seen)[:, 0].numpy()


def test_exported_state_dict_acts_the_same(observations: np.ndarray) -> None:
    policy = TrainedPolicy(SETTINGS, sharp(3, 20, 45, (64, 64), 200))
    model = sb3.learner(SETTINGS)
    model.policy.load_state_dict(policy.state_dict())
    probabilities, values = theirs(model, observations)
    np.testing.assert_allclose(policy(observations), probabilities, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(policy.value(observations), values, rtol=1e-4, atol=1e-5)


def test_imported_state_dict_acts_the_same(observations: np.ndarray) -> None:
    model = sb3.learner(SETTINGS)
    policy = TrainedPolicy.from_state_dict(SETTINGS, model.policy.state_dict())
    probabilities, values = theirs(model, observations)
    np.testing.assert_allclose(policy(observations), probabilities, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(policy.value(observations), values, rtol=1e-4, atol=1e-5)


def test_the_same_settings_train_in_stable_baselines3() -> None:
    seen: list[tuple[int, dict[str, float]]] = []
    settings = Settings(horizon=50, rollout_steps=64, batch_size=32, epochs=1, total_steps=128)
    model = sb3.train(settings, lambda steps, metrics: seen.append((steps, metrics)))
    assert model.num_timesteps == 128
    assert [steps for steps, _ in seen] == [50, 100]
    assert set(seen[0][1]) == {
        "gini", "welfare", "utility_per_step", "welfare_memory", "utility_least", "utility_most",
    }  # fmt: skip
