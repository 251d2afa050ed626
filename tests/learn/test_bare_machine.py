"""Accelerator machines are often bare: training must need nothing but JAX and NumPy."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import sys

    for name in {missing!r}:
        sys.modules[name] = None  # importing it fails as if it were not installed

    from bygones.learn import Settings, learners, train_many

    settings = Settings(horizon=8, total_steps=16, rollout_steps=16, batch_size=8, epochs=1, hidden=(4,), n_agents=3)
    [result] = train_many([settings], workers=1, unroll=1)
    result.policy.save(sys.argv[1])
    print(result.curves["episodes"].sum())
    for name in learners.names():
        learners.made(settings.replace(learner=name, sequence=4))
"""
MISSING = [
    "gymnasium",
    "matplotlib",
    "pandas",
    "rich",
    "safetensors",
    "stable_baselines3",
    "tensorboardX",
    "torch",
    "tyro",
]


@pytest.mark.soak
def test_trains_and_saves_without_anything_else(tmp_path) -> None:
    program = textwrap.dedent(PROGRAM.format(missing=MISSING))
    file = tmp_path / "policy.safetensors"
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2"]
    assert file.exists()
