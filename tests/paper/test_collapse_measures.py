"""Fair and learned: the two measures of a policy."""

import numpy as np
import pytest
from benchmarks import collapse_note

from bygones.learn.settings import Settings
from bygones.paper.collapse import LOTS, NETWORKS, SEEDS, WEIGHTS, cells, cells_by_network, learned
from bygones.paper.optimum import for_settings
from bygones.paper.untrained import reached


@pytest.fixture(scope="module")
def runs():
    return collapse_note.runs()


@pytest.mark.parametrize("welfare", ["egalitarian", "nash"])
@pytest.mark.parametrize("aggregation", ["additive", "averaged"])
def test_drawing_lots_is_0_the_optimum_1_and_more_welfare_is_more(welfare, aggregation):
    run = Settings(welfare=welfare, aggregation=aggregation, horizon=1000)
    lots, best = reached(LOTS, run, [1000])[1000].welfare, for_settings(run).bound
    assert learned(run, lots) == pytest.approx(0.0, abs=1e-9)
    assert learned(run, best) == pytest.approx(1.0, abs=1e-9)
    between = learned(run, np.linspace(lots, best, 7))
    assert np.all(np.diff(between) > 0)
    assert learned(run, lots - (best - lots)) < 0


def test_every_cell_has_ten_seeds_and_its_own_settings(runs):
    some = list(cells(runs.where(learner="ppo", horizon=10000, welfare="nash", weight=1.0, gamma=1.0)))
    assert {len(cell.gini) for cell in some} == {len(SEEDS)}
    assert len({cell.run for cell in some}) == len(some)
    assert all(np.isfinite(cell.learned).all() and np.isfinite(cell.least).all() for cell in some)


def test_a_cell_is_measured_as_its_runs_are(runs):
    cell, *more = cells(runs.where(**(wanted := {
        "horizon": 1000, "welfare": "egalitarian", "weight": 1.0, "gamma": 0.9, "observation_scale": "fixed",
        "aggregation": "additive", "policy": "mlp", "observe_denominator": False,
    })))  # fmt: skip
    assert not more
    table = runs.where(**wanted)
    assert cell.median("gini") == pytest.approx(np.median(table["sampled_gini"].astype(float)))
    # Egalitarian welfare of sums is T times the utility per step of the worst-off agent, in the mean over episodes.
    assert cell.least == pytest.approx(table["sampled_welfare"].astype(float) / 1000, rel=1e-5)
    low, high = cell.interval("learned")
    assert low <= cell.median("learned") <= high


def test_every_network_has_every_weight(runs):
    networks = cells_by_network(runs, horizon=10000, welfare="nash", gamma=(1.0, 0.99))
    assert list(networks) == list(NETWORKS)
    for some in networks.values():
        assert sorted((cell.run.gamma, cell.run.weight) for cell in some) == [
            (gamma, weight) for gamma in (0.99, 1.0) for weight in sorted(WEIGHTS)
        ]


def test_the_reward_asks_for_fairness_alone_if_nothing_else_counts(runs):
    networks = cells_by_network(runs, horizon=10000, welfare="nash", gamma=1.0)
    (symmetric,) = [some for name, some in networks.items() if name.startswith("symmetric")]
    asked = {cell.run.weight: cell.asked.gini for cell in symmetric}
    assert asked[0.9] > asked[0.99] > asked[0.999] > asked[1.0]
    for cell in symmetric:
        assert cell.asked.gini == pytest.approx(cell.median("gini"), abs=0.03)
