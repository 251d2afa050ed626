"""Scenarios are learned, evaluated, saved and loaded like the paper's problem."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bygones import Discounted, PerfectRecall
from bygones.cli.scenario_commands import problem_of
from bygones.envs import catalogue
from bygones.envs.problem import FairProblem, most_welfare
from bygones.envs.scenarios.donut import Donut
from bygones.envs.scenarios.queues import Queues
from bygones.envs.scenarios.replay import Replay
from bygones.learn import Settings, TrainedPolicy, evaluate, train
from bygones.learn.actors import actor_of
from bygones.learn.descriptions import description, rebuilt
from bygones.learn.symmetric import Rankings
from support.command_line import refused, run

SHORT = Settings(total_steps=3072, rollout_steps=256, hidden=(16,), horizon=10, learning_rate=3e-3, agent_units=8)
EASY = Replay(horizon=10, needs=((5.0, 0.0, 0.0),), n_resources=1)


@pytest.mark.parametrize("policy", ["mlp", pytest.param("symmetric", marks=pytest.mark.soak)])
def test_a_simple_case_is_learned_saved_and_evaluated(policy: str, tmp_path: Path) -> None:
    problem = FairProblem(EASY, weight=0.0, welfare="egalitarian")
    result = train(SHORT.replace(policy=policy), problem=problem)
    curve = result.curves["utility_per_step"]
    assert curve[0] < 2.5
    assert curve[-1] > 4.0
    first = actor_of(result.settings, problem).initial(result.settings.seed)
    assert not np.allclose(first.policy[0].weight, result.networks.policy[0].weight)
    result.policy.save(tmp_path / "policy.safetensors")
    loaded = TrainedPolicy.load(tmp_path / "policy.safetensors")
    assert isinstance(loaded.problem, FairProblem)
    assert loaded.problem.scenario == EASY
    found = evaluate(loaded, episodes=3, deterministic=True)
    assert found.mean["utility_per_step"] == pytest.approx(5.0)
    assert found.episodes["gini"].shape == (3,)
    assert found.mean == evaluate(result.policy, episodes=3, deterministic=True).mean


@pytest.mark.soak
@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_is_learned(name: str) -> None:
    problem = FairProblem(catalogue.made(name, {"horizon": 10}), memory=Discounted(half_life=50))
    kinds = ["mlp"] if problem.scenario.n_served is None else ["mlp", "symmetric"]
    for kind in kinds:
        short = SHORT.replace(policy=kind, total_steps=512)
        result = train(short, problem=problem)
        first = actor_of(short, problem).initial(0)
        assert result.stopped_at is None
        assert not np.allclose(first.policy[0].weight, result.networks.policy[0].weight)
        bound = most_welfare(problem)
        reached = evaluate(result.policy, episodes=20).episodes["welfare"]
        assert np.isfinite(reached).all()
        assert bound is None or reached.mean() <= bound + 4 * reached.std() / np.sqrt(20)


def test_a_description_rebuilds_the_problem() -> None:
    problem = FairProblem(Queues(n_servers=2), memory=Discounted(half_life=5), welfare="alpha_fair(alpha=2)")
    again = rebuilt(description(problem))
    assert description(again) == description(problem)
    other = FairProblem(Queues(n_servers=3), memory=Discounted(half_life=5), welfare="alpha_fair(alpha=2)")
    assert description(other) != description(problem)


def test_a_scenario_of_ones_own_is_not_rebuilt_from_a_description() -> None:
    with pytest.raises(ValueError, match=r"the scenario .*Mine cannot be rebuilt from a description"):
        rebuilt(description(FairProblem(Mine())))


def test_a_description_imports_nothing_that_it_names() -> None:
    described = description(FairProblem(Donut()))
    described["scenario"]["kind"] = "antigravity:Donut"
    with pytest.raises(ValueError, match=r"scenario must be one of .*, got 'antigravity:Donut'"):
        rebuilt(described)
    assert "antigravity" not in sys.modules


@dataclass(frozen=True)
class Mine(Donut):
    """Somebody's own."""


def test_a_symmetric_policy_sees_every_feature_of_an_agent_and_treats_agents_alike() -> None:
    actor = actor_of(SHORT.replace(policy="symmetric"), FairProblem(Queues()))
    assert isinstance(actor, Rankings)
    rng, order = np.random.default_rng(0), np.random.default_rng(1).permutation(8)
    blocks = rng.random((3, 8))
    features = actor.features(blocks.reshape(-1))
    np.testing.assert_allclose(features[:2], blocks[:2])
    np.testing.assert_allclose(features[2:4], blocks[:2] - blocks[:2].mean(axis=1, keepdims=True))
    networks = actor.initial(0)
    scores = actor.scores(networks, blocks.reshape(-1))
    np.testing.assert_allclose(actor.scores(networks, blocks[:, order].reshape(-1)), scores[order], rtol=1e-5)


def test_policies_that_do_not_apply_are_refused() -> None:
    problem = FairProblem(catalogue.made("lending", {}))
    with pytest.raises(ValueError, match='policy "symmetric" chooses k of the agents'):
        actor_of(SHORT.replace(policy="symmetric"), problem)
    many = FairProblem(Queues(arrivals=(0.5,) * 60, n_servers=5))
    with pytest.raises(ValueError, match="choosing 5 of 60 agents gives more than the 100,000 subsets"):
        actor_of(SHORT, many)
    assert actor_of(SHORT.replace(policy="symmetric"), many).n_scores == 60


class TestTheCommands:
    def test_scenarios_are_listed_and_explained(self, capsys: pytest.CaptureFixture[str]) -> None:
        listed = run(capsys, "scenarios")
        assert all(name in listed for name in catalogue.names())
        assert "## Description" in run(capsys, "scenarios", "donut")

    def test_settings_of_the_papers_problem_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = refused(capsys, "train", "--scenario", "donut", "--gamma", "0.5")
        assert "--gamma describes the paper's problem: give --memory" in text
        twice = refused(capsys, "train", "--memory", "perfect", "--gamma", "0.5")
        assert "give --memory, or --gamma and --aggregation, not both" in twice
        assert "scenario must be one of" in refused(capsys, "train", "--scenario", "cake")

    def test_a_memory_works_without_a_scenario(self) -> None:
        settings = Settings(horizon=20, n_agents=4)
        assert problem_of(settings, None, None) is None
        problem = problem_of(settings, None, "perfect")
        assert problem.memory.matches(PerfectRecall())
        assert problem.scenario == settings.problem().scenario

    @pytest.mark.soak
    def test_a_scenario_is_trained_and_evaluated(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        out = str(tmp_path / "out")
        short = ["--total-steps", "512", "--rollout-steps", "256", "--out", out]
        scenario = ["--scenario", "donut(horizon=20)", "--memory", "discounted(half_life=50)", "--welfare", "nash"]
        assert "donut(horizon=20)" in run(capsys, "train", *scenario, *short)
        assert "No policy has a fairness score above" in run(capsys, "evaluate", f"{out}/seed-0.safetensors")
        other = ["--scenario", "donut(horizon=20)", *short]
        assert "scenario, memory or welfare" in refused(capsys, "train", *other)
