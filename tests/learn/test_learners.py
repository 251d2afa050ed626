"""Learners by name: how they are found, and what every one of them must do."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from bygones import Discounted, SlidingWindow
from bygones.envs import catalogue
from bygones.envs.problem import FairProblem
from bygones.envs.scenarios.replay import Replay
from bygones.learn import Run, RunProgress, Settings, TrainedPolicy, evaluate, learners, runs, train, train_batch

SHORT = Settings(
    total_steps=3072, rollout_steps=64, batch_size=64, hidden=(16,), horizon=10, learning_rate=1e-2, last_share=0.1
)
EASY = FairProblem(
    Replay(horizon=10, needs=((5.0, 0.0, 0.0),), n_resources=1), memory=Discounted(half_life=5), weight=0.5,
    welfare="utilitarian",
)  # fmt: skip


def test_the_names() -> None:
    assert learners.names() == ("ppo", "ggf-ppo", "recurrent-ppo", "dqn", "reinforce")
    assert Settings().learner == "ppo"
    assert set(learners.ACTORS) == set(learners.LEARNERS) > learners.WITHOUT_REWARD


@pytest.mark.soak  # each compiles a program of its own
@pytest.mark.parametrize("name", learners.names())
def test_every_learner_improves_on_random_serving(name: str, tmp_path: Path) -> None:
    result = train(SHORT, problem=EASY, learner=name, unroll=1)
    assert result.settings.learner == name
    assert result.stopped_at is None
    assert result.curves["steps"][-1] == 3072
    assert result.curves["episodes"].sum() == 307
    # Random serving gives 5/3 a step, the best is 5.
    assert result.final["utility_per_step"] > 3.0
    result.policy.save(tmp_path / "policy.safetensors")
    loaded = TrainedPolicy.load(tmp_path / "policy.safetensors")
    assert loaded.settings.learner == name
    for deterministic, least in ((False, 3.0), (True, 4.9)):
        played = evaluate(loaded, episodes=20, deterministic=deterministic).mean
        assert played["utility_per_step"] > least
        assert played == evaluate(result.policy, episodes=20, deterministic=deterministic).mean


@pytest.mark.parametrize("name", learners.names())
def test_what_a_run_carries_from_rollout_to_rollout_keeps_its_form(name: str) -> None:
    """By tracing alone, which is quick: every learner goes on from where it began, or no run could be resumed."""
    run = Run(replace(SHORT, learner=name), EASY)
    shape, params, numbers = runs.shape_of(run), runs.params_of(run), runs.numbers_of(run)
    start = functools.partial(shape.learner.begin, params=params, shape=shape)
    begun = jax.eval_shape(start, jax.random.key(0), shape.actor.initial(0))
    onward, curve = jax.eval_shape(lambda state: shape.learner.iterate(state, params, numbers, shape), begun)
    assert jax.tree.structure(onward) == jax.tree.structure(begun)
    assert [leaf.shape for leaf in jax.tree.leaves(onward)] == [leaf.shape for leaf in jax.tree.leaves(begun)]
    assert {leaf.shape for leaf in jax.tree.leaves(curve)} == {()}


def test_the_learner_is_part_of_the_name_of_a_run_unless_it_is_ppo() -> None:
    assert "learner" not in Run(Settings()).distinction()
    assert Run(Settings(learner="dqn")).distinction()["learner"] == "dqn"


def test_names_are_taken_once() -> None:
    with pytest.raises(ValueError, match="learner 'ppo' exists already"):
        learners.learners.add("elsewhere:Other", name="ppo")


def test_names_are_read_as_those_of_all_other_parts_are() -> None:
    assert Settings(learner="GGF_PPO").learner == "ggf-ppo"
    assert Settings(learner="bygones.learn.dqn:DQN").learner == "dqn"
    with pytest.raises(ValueError, match=r"learner must be one of ppo, .* module:name, got 'pppo'; did you mean ppo\?"):
        Settings(learner="pppo")
    with pytest.raises(ValueError, match=r"learner pathlib:Path must be a class with the methods of, begin"):
        Settings(learner="pathlib:Path")


OWN = """
import dataclasses
from bygones.learn import actors, ppo

@dataclasses.dataclass(frozen=True)
class Cautious(ppo.PPO):
    @staticmethod
    def acts(settings, problem):
        print("made here")
        return actors.plain_actor(settings, problem)
"""


def test_a_learner_from_elsewhere_needs_no_registration_and_files_do_not_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cautious_learner.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    settings = replace(SHORT, learner="cautious_learner:Cautious", total_steps=64)
    result = train(settings, problem=EASY)
    assert "made here" in capsys.readouterr().out
    result.policy.save(tmp_path / "policy.safetensors")
    assert TrainedPolicy.load(tmp_path / "policy.safetensors").settings.learner == "cautious_learner:Cautious"
    code = f"""
        import sys
        from bygones.learn import TrainedPolicy
        sys.path.insert(0, {str(tmp_path)!r})
        TrainedPolicy.load({str(tmp_path / "policy.safetensors")!r})
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert "if you trust cautious_learner:Cautious" in done.stderr


def test_settings_name_a_learner_and_policies_are_found_without_jax() -> None:
    code = """
        import sys

        sys.modules["jax"] = None
        from bygones.learn import learners
        from bygones.learn.actors import actor_of
        from bygones.learn.settings import Settings

        for name in learners.names():
            settings = Settings(learner=name)
            actor_of(settings, settings.problem()).initial(0)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


TINY = Settings(
    horizon=6, total_steps=96, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,), n_agents=3, n_resources=1,
    sequence=4, recurrent_units=4, replay_size=64, agent_units=4,
)  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("name", learners.names())
def test_every_learner_resumes_to_the_bit_and_does_not_depend_on_its_batch(name: str, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(news: RunProgress) -> None:
        raise KilledError

    settings = TINY.replace(learner=name)
    options = {"segment": 1, "unroll": 1}
    whole = train(settings, **options)
    with pytest.raises(KilledError):
        train(settings, progress=kill, checkpoint=tmp_path / "run.npz", **options)
    resumed = train(settings, checkpoint=tmp_path / "run.npz", **options)
    alone, beside = (
        train_batch([settings, settings.replace(seed=other, gamma=0.5)], evaluation_episodes=2, **options)[0]
        for other in (1, 2)
    )
    for first, second in ((whole, resumed), (alone, beside)):
        for a, b in zip(*(jax.tree.leaves(result.networks) for result in (first, second)), strict=True):
            np.testing.assert_array_equal(a, b)
        assert first.final == second.final
    assert alone.played is not None
    assert alone.played.sampled == beside.played.sampled


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        *(("dqn", scenario) for scenario in catalogue.names()),  # it asks most of a scenario
        *((name, "lending") for name in ("ggf-ppo", "recurrent-ppo", "reinforce")),
    ],
)
def test_learners_train_on_scenarios(name: str, scenario: str) -> None:
    problem = FairProblem(catalogue.made(scenario, {"horizon": 6}), memory=SlidingWindow(4), welfare="egalitarian")
    result = train(TINY.replace(counterfactuals=1), problem=problem, learner=name, unroll=1)
    assert result.stopped_at is None
    assert result.curves["episodes"].sum() == 16
    for deterministic in (False, True):
        assert np.isfinite(evaluate(result.policy, episodes=2, deterministic=deterministic).mean["welfare"])
