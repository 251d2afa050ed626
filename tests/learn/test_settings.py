import ast
import dataclasses
import inspect
import itertools
from typing import Any

import pytest

from bygones.learn.settings import Settings
from bygones.welfare import nash, parse_welfare


def test_defaults_are_the_papers() -> None:
    settings = Settings()
    assert (settings.rollout_steps, settings.batch_size, settings.epochs) == (2048, 64, 10)
    assert (settings.discount, settings.gae_lambda, settings.clip) == (0.99, 0.95, 0.2)
    assert (settings.value_weight, settings.entropy_weight, settings.max_grad_norm) == (0.5, 0.0, 0.5)
    assert (settings.learning_rate, settings.adam_eps, settings.hidden) == (3e-4, 1e-5, (64, 64))
    assert (settings.total_steps, settings.weight, settings.last_share) == (1_000_000, 0.9, 0.1)
    problem = settings.problem()
    assert (problem.n_agents, problem.scenario.n_resources, problem.scenario.n_actions) == (10, 2, 45)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 60}, r"batch_size must divide rollout_steps \(2048\), got 60"),
        ({"batch_size": 4096}, "batch_size must divide"),
        ({"batch_size": 1}, "batch_size must be a whole number of at least 2"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        ({"learner": "sarsa"}, "learner must be one of ppo.* got 'sarsa'"),
        ({"welfare": "maximin"}, "welfare must be one of .*egalitarian.* got 'maximin'"),
        ({"gamma": 1.5}, "gamma must be between 0 and 1, got 1.5"),
        ({"aggregation": "mean"}, "aggregation must be one of additive, averaged, got 'mean'"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0"),
        ({"discount": 1.01}, "discount must be between 0 and 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"seed": 2**32}, r"seed must be below 2\*\*32"),
        ({"hidden": (64, 0)}, "hidden must be a whole number of at least 1, got 0"),
        ({"last_share": 0.0}, "last_share must be above 0"),
        ({"value_weight": -1.0}, "value_weight must be a finite number of at least 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**changes)


def test_a_welfare_is_one_setting_however_it_is_written() -> None:
    for text in ("nash", "nash()", " nash", "nash ( ) "):
        assert Settings(welfare=text) == Settings(welfare="nash")
        assert Settings(welfare=text).distinction() == Settings().distinction()
    assert Settings(welfare=" alpha_fair( alpha = 2 )").welfare == "alpha_fair(alpha=2)"


@pytest.mark.parametrize("welfare", [nash, parse_welfare("nash"), lambda Z: Z.min(axis=-1), None])
def test_a_welfare_that_is_no_text_is_refused_before_anything_is_trained(welfare: Any) -> None:
    with pytest.raises(ValueError, match=r"welfare must be text such as 'nash' .*: give a function to the problem"):
        Settings(welfare=welfare)


def test_episodes_of_the_last_tenth() -> None:
    settings = Settings(horizon=10_000)
    assert (settings.rollouts, settings.episodes, settings.first_counted) == (489, 100, 90)
    assert Settings(horizon=1_000_000).first_counted == 0


def test_every_setting_survives_json() -> None:
    settings = Settings(gamma=0.9, welfare="alpha_fair(alpha=2)", hidden=(8,), observe_memory=False)
    assert Settings.from_dict(settings.to_dict()) == settings
    with pytest.raises(ValueError, match="unknown setting 'gama'"):
        Settings.from_dict({"gama": 1})


def test_replace_checks_again() -> None:
    assert Settings().replace(seed=3).seed == 3
    with pytest.raises(ValueError, match="gamma"):
        Settings().replace(gamma=2.0)


def test_settings_are_the_command_line() -> None:
    tyro = pytest.importorskip("tyro")
    parsed = tyro.cli(Settings, args=["--gamma", "0.9", "--horizon", "100", "--welfare", "egalitarian"])
    assert parsed == Settings(gamma=0.9, horizon=100, welfare="egalitarian")


def test_every_field_is_explained() -> None:
    body = ast.parse(inspect.getsource(Settings)).body[0].body
    fields = [f.name for f in dataclasses.fields(Settings)]
    pairs = itertools.pairwise(body)
    explained = [a.target.id for a, b in pairs if isinstance(a, ast.AnnAssign) and isinstance(b, ast.Expr)]
    assert explained == fields
