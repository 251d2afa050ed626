"""What policies are worth, measured in three ways, for each network by itself."""

import numpy as np
import pytest

from bygones.paper import policy_worth
from bygones.paper.evidence import evidence_folder
from bygones.paper.results import read
from bygones.paper.statistics import median_interval
from bygones.report.paper.worth_of_policies import network_name, tables_of_networks, tables_of_worth


@pytest.fixture(scope="module")
def runs():
    folder = evidence_folder()
    return read(folder / "none", folder / "symmetric", folder / "tenth", folder / "termination").where(horizon=10000)


def test_a_cell_is_measured_from_its_own_seeds(runs):
    (cell,) = policy_worth.measured(
        runs, welfare="nash", aggregation="averaged", gamma=0.9, policy="mlp", observation_scale="none"
    )
    own = runs.where(welfare="nash", aggregation="averaged", gamma=0.9, policy="mlp", ends="truncation")
    for way in policy_worth.WAYS:
        values = np.sort(own[f"{way}_gini"].astype(float))
        found = cell.over_seeds(way, "gini")
        assert found.mean == pytest.approx(values.mean())
        assert (found.least, found.median, found.most) == (values[0], np.median(values), values[-1])
        assert found.interval == median_interval(values)


def test_networks_and_divisors_are_never_joined(runs):
    cells = policy_worth.measured(runs, welfare="egalitarian", aggregation="additive", gamma=1.0)
    assert [(network_name(cell), len(cell.runs)) for cell in cells] == [
        ("paper’s network, unscaled memory", 10),
        ("paper’s network, memory divided by 10", 10),
        ("symmetric network, logarithm of the memory", 10),
    ]
    assert len(policy_worth.measured(runs)) == 20 + 20 + 2


def test_policies_that_were_not_evaluated_have_only_their_training():
    runs = read(evidence_folder() / "tenfold")
    assert policy_worth.measured(runs) == []
    (cell,) = policy_worth.measured(runs, total_steps=10_000_000, welfare="nash", horizon=5000)
    assert cell.over_seeds("sampled", "gini") is None
    assert not {"sampled", "deterministic"} & set(cell.to_dict())
    assert cell.to_dict()["final"]["gini"]["mean"] == pytest.approx(cell.runs["final_gini"].mean())


def test_beside_a_cell_are_the_best_possible_and_the_rules(runs):
    (problem,) = policy_worth.without_training(
        policy_worth.measured(runs, welfare="egalitarian", aggregation="additive")
    )
    assert problem["best_possible"]["utility_least"] == pytest.approx(0.17843, abs=1e-5)
    assert problem["rules_by_gamma"]["1"]["prices"]["utility_least"] == pytest.approx(0.1772, abs=1e-3)
    assert problem["best_possible"]["welfare"] == pytest.approx(1e4 * problem["best_possible"]["utility_least"])


def test_a_table_has_a_row_per_network_and_the_rules_last(runs):
    ginis, least = tables_of_worth(runs)[:2]
    assert ginis.title == (
        "Gini coefficient at T = 10,000, egalitarian welfare, means over seeds: "
        "in training · sampled actions · greedy actions"
    )
    assert [row[0] for row in least.rows][-3:] == [
        "prices, without training",
        "one-step, without training",
        "best possible",
    ]
    assert [row[0] for row in ginis.rows][:2] == [
        "paper’s network, unscaled memory",
        "paper’s network, memory divided by 10",
    ]
    assert ginis.rows[1][1:5] == [""] * 4
    assert ginis.rows[1][5].count("·") == 2


def test_two_networks_stand_side_by_side(runs):
    (egalitarian, nash) = tables_of_networks(runs)
    assert "no policy gives the worst-off agent more than 0.1784 a step" in egalitarian.title
    assert [row[0] for row in nash.rows] == [
        "paper’s network, unscaled memory",
        "symmetric network, logarithm of the memory",
    ]
