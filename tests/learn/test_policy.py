import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones.learn import safetensors
from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings
from support.damage import damages, outcome
from support.sharp_networks import sharp

SETTINGS = Settings(gamma=0.9, hidden=(8, 8))


@pytest.fixture
def policy() -> TrainedPolicy:
    return TrainedPolicy(SETTINGS, sharp(0, 20, 45, (8, 8)))


@pytest.fixture
def observations() -> np.ndarray:
    return np.random.default_rng(0).random((6, 20)).astype(np.float32)


def test_probabilities(policy: TrainedPolicy, observations: np.ndarray) -> None:
    probabilities = policy(observations)
    assert probabilities.shape == (6, 45)
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(policy(observations[0]), probabilities[0], rtol=1e-5)
    np.testing.assert_allclose(policy(jnp.asarray(observations)), probabilities, rtol=1e-4)
    assert policy.value(observations).shape == (6,)


def test_predict_draws_with_those_probabilities(policy: TrainedPolicy, observations: np.ndarray) -> None:
    actions, state = policy.predict(np.repeat(observations[:1], 20_000, axis=0), rng=np.random.default_rng(0))
    assert state is None
    seen = np.bincount(actions, minlength=45) / 20_000
    np.testing.assert_allclose(seen, policy(observations[0]), atol=0.02)
    best, _ = policy.predict(observations, deterministic=True)
    np.testing.assert_array_equal(best, policy(observations).argmax(axis=-1))
    assert np.ndim(policy.predict(observations[0])[0]) == 0


def test_saved_and_loaded(policy: TrainedPolicy, observations: np.ndarray, tmp_path: Path) -> None:
    policy.save(tmp_path / "new" / "policy.safetensors")
    loaded = TrainedPolicy.load(tmp_path / "new" / "policy.safetensors")
    assert loaded.settings == SETTINGS
    np.testing.assert_array_equal(loaded(observations), policy(observations))
    np.testing.assert_array_equal(loaded.value(observations), policy.value(observations))


def test_a_policy_is_saved_loaded_and_asked_without_jax(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["jax"] = None
import numpy as np
from bygones import Multiscale
from bygones.envs.problem import problem_of
from bygones.learn import Run, Settings, TrainedPolicy
from bygones.learn.networks import initial

for run in (Run(), Run(Settings(), problem_of(memory=Multiscale((0.9, 0.5), (0.5, 0.5))))):
    TrainedPolicy(run.settings, initial(0, 20, 45, (64, 64)), run.custom_problem).save(sys.argv[1])
    policy = TrainedPolicy.load(sys.argv[1])
    assert 0 <= policy.predict(np.zeros(20))[0] < 45
    print(type(policy.problem.memory).__name__)
"""
    file = str(tmp_path / "policy.safetensors")
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["Discounted", "Multiscale"], done.stderr


def test_the_file_is_what_safetensors_reads(policy: TrainedPolicy, tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    policy.save(tmp_path / "policy.safetensors")
    tensors = theirs.load_file(tmp_path / "policy.safetensors")
    np.testing.assert_array_equal(tensors["policy.0.weight"], policy.networks.policy[0].weight)
    theirs.save_file({"x": np.arange(3, dtype=np.float32)}, tmp_path / "x.safetensors", metadata={"a": "b"})
    read, metadata = safetensors.load(tmp_path / "x.safetensors")
    np.testing.assert_array_equal(read["x"], [0.0, 1.0, 2.0])
    assert metadata == {"a": "b"}


def test_other_files_are_refused(policy: TrainedPolicy, tmp_path: Path) -> None:
    file = tmp_path / "policy.safetensors"
    file.write_bytes(b"not a policy, and long enough")
    with pytest.raises(ValueError, match="not a safetensors file"):
        TrainedPolicy.load(file)
    safetensors.save(file, {"x": np.zeros(2)}, {})
    with pytest.raises(ValueError, match="not a saved policy"):
        TrainedPolicy.load(file)
    policy.save(file)
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ValueError, match="cut off"):
        TrainedPolicy.load(file)
    pytest.importorskip("safetensors.numpy").save_file({"x": np.zeros(2)}, file)
    with pytest.raises(ValueError, match="must be F32, got F64"):
        safetensors.load(file)


def test_observations_of_another_size_are_refused(policy: TrainedPolicy) -> None:
    with pytest.raises(ValueError, match="must have 20 entries along the last axis"):
        policy(np.zeros(21))


def check_damage(policy: TrainedPolicy, file: Path, number: int, seed: int) -> None:
    """Damaged files are refused with a sentence that names them; none is read as something else."""
    policy.save(file)
    content = file.read_bytes()
    for what, damaged in damages(content, number, seed):
        file.write_bytes(damaged)
        loaded, sentence = outcome(lambda: TrainedPolicy.load(file))
        if sentence is not None:
            assert str(file) in sentence, what
            continue
        assert loaded.settings == policy.settings, what
        for a, b in zip(jax.tree.leaves(loaded.networks), jax.tree.leaves(policy.networks), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=what)


def test_damage_is_refused_with_a_sentence(policy: TrainedPolicy, tmp_path: Path) -> None:
    check_damage(policy, tmp_path / "policy.safetensors", 50, 0)


@pytest.mark.soak
def test_thousands_of_damaged_policies_are_never_read_as_something_else(policy: TrainedPolicy, tmp_path: Path) -> None:
    check_damage(policy, tmp_path / "policy.safetensors", 3000, 1)


def test_policies_of_earlier_versions_are_read_and_their_damage_is_no_traceback(
    policy: TrainedPolicy, observations: np.ndarray, tmp_path: Path
) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    file = tmp_path / "policy.safetensors"
    policy.save(file)
    tensors, metadata = safetensors.load(file)
    theirs.save_file(tensors, file, metadata=metadata)
    np.testing.assert_array_equal(TrainedPolicy.load(file)(observations), policy(observations))
    content = file.read_bytes()
    header = int.from_bytes(content[:8], "little") + 8
    refused = 0
    for what, damaged in damages(content[:header], 300):
        file.write_bytes(damaged + content[header:])
        _, sentence = outcome(lambda: TrainedPolicy.load(file))
        assert sentence is None or str(file) in sentence, what
        refused += sentence is not None
    assert refused > 200  # not all: they had no checksum
