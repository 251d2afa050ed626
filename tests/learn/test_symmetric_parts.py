"""Networks with some parts of the symmetric one; without any they are the MLP, with all of them the symmetric one."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import symmetric_parts

from bygones.learn import Settings
from bygones.learn.actors import actor_of


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("plain", {"policy": "mlp"}),
        ("shared_differences_sequential", {"policy": "symmetric", "agent_features": "plain"}),
        ("shared_differences_sequential_logarithmic", {"policy": "symmetric"}),
    ],
)
def test_no_part_is_the_mlp_and_all_parts_are_the_symmetric_network(name: str, same: dict[str, str]) -> None:
    known = Settings(**same)
    parts = Settings(policy=same["policy"], learner=f"benchmarks.symmetric_parts:{name}")
    networks = [actor_of(run, run.problem()).initial(3) for run in (known, parts)]
    observations = 100 * np.random.default_rng(0).random((5, 20))
    played = []
    for run in (known, parts):
        actor = actor_of(run, run.problem())
        scores = actor.scores(networks[0], observations)
        played.append([scores, actor.value(networks[0], observations), actor.best(scores)])
    for one, other in zip(*played, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(*(each.policy for each in networks), strict=True):
        np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.parametrize("name", symmetric_parts.NETWORKS)
def test_a_network_has_the_parts_in_its_name(name: str) -> None:
    run = next(symmetric_parts.runs(name))
    actor = actor_of(run, run.problem())
    networks, rng = actor.initial(0), np.random.default_rng(0)
    observation = np.concatenate([rng.random(10), 100 * rng.random(10)])
    scores = actor.scores(networks, observation)
    assert scores.shape == ((10,) if "sequential" in name else (45,))
    assert actor.best(scores).shape == ((2,) if "sequential" in name else ())
    assert ("shared" in name) == (networks.policy[0].weight.shape[0] <= 5)
    # Two agents who change places change scores only where weights are shared.
    order = np.array([1, 0, *range(2, 10)])
    exchanged = actor.scores(networks, np.concatenate([observation[:10][order], observation[10:][order]]))
    if "sequential" in name:
        assert np.allclose(scores[order], exchanged) == ("shared" in name)
    else:
        assert np.allclose(sorted(scores), sorted(exchanged)) == ("shared" in name)
    # Where memories are logarithms, a thousand times the memory is not a thousand times as far away.
    far = actor.features(np.concatenate([observation[:10], 1000 * observation[10:]]))
    assert (np.abs(far).max() < 100) == ("logarithmic" in name)
