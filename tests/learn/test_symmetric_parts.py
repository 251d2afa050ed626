"""Networks with some parts of the symmetric one; without any they are the MLP, with all of them the symmetric one."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import symmetric_parts

from bygones.learn import Settings, train
from bygones.learn.actors import actor_of

TINY = Settings(total_steps=2048, horizon=100, gamma=1.0, n_agents=4)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("plain", {"policy": "mlp"}),
        ("shared_differences_sequential", {"policy": "symmetric", "agent_features": "plain"}),
        ("shared_differences_sequential_logarithmic", {"policy": "symmetric"}),
    ],
)
def test_no_part_is_the_mlp_and_all_parts_are_the_symmetric_network(name: str, same: dict[str, str]) -> None:
    known = TINY.replace(**same)
    parts = TINY.replace(policy=same["policy"], learner=f"benchmarks.symmetric_parts:{name}")
    for one, other in zip(*(train(run).policy.networks.policy for run in (known, parts)), strict=True):
        np.testing.assert_allclose(one.weight, other.weight, atol=1e-6)


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
